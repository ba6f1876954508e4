/* weft/typed.h -- messages as C structs: one list of fields makes the struct, its tag, and what sends and reads it.
 *
 *     #define SAY(F) F(str, nick) F(str, text)
 *     WEFT_MESSAGE(say, 1, SAY)                -- at file scope, without a semicolon
 *
 * Field types, what they are in the struct, and what they are in msgpack:
 *     str   weft_text  str                     int   int64_t   an integer that fits
 *     bin   weft_text  bin                     uint  uint64_t  an integer >= 0
 *     bool  bool       bool                    real  double    a float or an integer
 *     pid   weft_pid   an array of two uints
 *
 * WEFT_MESSAGE(say, 1, SAY) gives:
 *     struct say { weft_text nick; weft_text text; };
 *     enum { SAY_TAG = 1 };                    -- named after the list; 0 to INT32_MAX
 *
 *     [A, W]  int say_send(weft_pid to, const struct say *v)
 *     [A]     int say_try_send(weft_pid to, const struct say *v)
 *     [A, W]  int say_send_name(const char *name, const struct say *v)
 *     [A, W]  int say_call(weft_pid to, const struct say *v, weft_msg **answer, int64_t deadline)
 *     [A, W]  int say_call_name(const char *name, const struct say *v, weft_msg **answer, int64_t deadline)
 *     [A]     int say_reply(const weft_msg *ask, const struct say *v)
 *     [A]     int say_publish(const char *topic, const struct say *v)
 *                 As weft_send, weft_try_send and so on. Each may also return, before anything is sent, WEFT_ETOOBIG
 *                 (more than WEFT_MESSAGE_MAX bytes) and WEFT_ENOMEM.
 *     [T]     weft_msg *say_new(const struct say *v)
 *                 The message, to be sent with weft_send_msg and the like. NULL: too big or out of memory.
 *     [T]     bool say_is(const weft_msg *m)
 *                 Whether its tag is SAY_TAG.
 *     [T]     int say_read(const weft_msg *m, struct say *out)
 *                 0; WEFT_EFORMAT, with `*out` all zeroes, if the tag is another one, the body is malformed, or a
 *                 field has another type. The str and bin fields are views that live as long as the message.
 *     [T]     int say_read_why(const weft_msg *m, struct say *out, const char **field)
 *                 The same; `*field` gets the name of the field that did not fit, NULL if there is none to blame.
 *     [S]     void say_put(weft_writer *w, const struct say *v)
 *     [S]     void say_get(weft_reader *r, struct say *out, const char **field)
 *                 Write and read it as one value of something larger; the error is the writer's or the reader's.
 *                 `field` may be NULL.
 *
 * On the wire a message is a msgpack array of its fields in order. Nodes with different versions of a list understand
 * each other if lists change by these rules only:
 *     - append fields; never reorder, retype or remove one; never give a tag to another message;
 *     - a reader gives zero to the fields the sender did not know, so zero must mean "not said";
 *     - a reader skips fields at the end that it does not know;
 *     - a field nobody uses any more stays in the list; who does not care sends nil for it, which reads as zero. */
#ifndef WEFT_TYPED_H
#define WEFT_TYPED_H

#include <string.h>

#include <weft/api.h>
#include <weft/error.h>
#include <weft/message.h>
#include <weft/pack.h>
#include <weft/pid.h>
#include <weft/topic.h>
WEFT_BEGIN

/* ---- The rest of this file is how it is done; use nothing below but WEFT_MESSAGE ------------------------------- */

#define WEFT_FIELD_TYPE_str weft_text
#define WEFT_FIELD_TYPE_bin weft_text
#define WEFT_FIELD_TYPE_bool bool
#define WEFT_FIELD_TYPE_int int64_t
#define WEFT_FIELD_TYPE_uint uint64_t
#define WEFT_FIELD_TYPE_real double
#define WEFT_FIELD_TYPE_pid weft_pid

#define WEFT_FIELD_PUT_str(w, value) weft_put_str(w, value)
#define WEFT_FIELD_PUT_bin(w, value) weft_put_bin(w, (value).data, (value).size)
#define WEFT_FIELD_PUT_bool(w, value) weft_put_bool(w, value)
#define WEFT_FIELD_PUT_int(w, value) weft_put_int(w, value)
#define WEFT_FIELD_PUT_uint(w, value) weft_put_uint(w, value)
#define WEFT_FIELD_PUT_real(w, value) weft_put_real(w, value)
#define WEFT_FIELD_PUT_pid(w, value) weft_typed_put_pid(w, value)

#define WEFT_FIELD_GET_str weft_get_str
#define WEFT_FIELD_GET_bin weft_get_bin
#define WEFT_FIELD_GET_bool weft_get_bool
#define WEFT_FIELD_GET_int weft_get_int
#define WEFT_FIELD_GET_uint weft_get_uint
#define WEFT_FIELD_GET_real weft_get_real
#define WEFT_FIELD_GET_pid weft_typed_get_pid

/* What the field list is applied to. `type` is only pasted, so that a macro called `bool` does not matter. */
#define WEFT_FIELD_DECLARE(type, field) WEFT_FIELD_TYPE_##type field;
#define WEFT_FIELD_COUNT(type, field) +1
#define WEFT_FIELD_PUT(type, field) WEFT_FIELD_PUT_##type(weft_w, weft_v->field);
#define WEFT_FIELD_GET(type, field)                                      \
    if (weft_typed_more(weft_r, &weft_left)) {                           \
        weft_v->field = WEFT_FIELD_GET_##type(weft_r);                   \
        if (weft_r->error != 0 && weft_name == NULL) weft_name = #field; \
    }

#if defined(__GNUC__)
#define WEFT_TYPED_FN static inline __attribute__((unused))
#define WEFT_EXTENSION __extension__ /* a list without fields makes a struct without members */
#else
#define WEFT_TYPED_FN static inline
#define WEFT_EXTENSION
#endif
#ifdef __cplusplus
#define WEFT_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define WEFT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

WEFT_TYPED_FN void weft_typed_put_pid(weft_writer *w, weft_pid p)
{
    weft_put_array(w, 2);
    weft_put_uint(w, p.node);
    weft_put_uint(w, p.actor);
}

WEFT_TYPED_FN weft_pid weft_typed_get_pid(weft_reader *r)
{
    const uint8_t *start = r->at;
    weft_pid p = weft_nobody();
    if (weft_get_array(r) == 2) {
        p.node = weft_get_uint(r);
        p.actor = weft_get_uint(r);
        return r->error == 0 ? p : weft_nobody();
    }
    if (r->error == 0) {
        r->at = start;
        r->error = WEFT_EFORMAT;
    }
    return p;
}

/* Whether the next field is there to be read; steps over a nil. */
WEFT_TYPED_FN bool weft_typed_more(weft_reader *r, uint32_t *left)
{
    if (*left == 0 || r->error != 0) return false;
    --*left;
    return !weft_get_nil(r);
}

/* Why a message of `w.size` measured bytes was not made. */
WEFT_TYPED_FN int weft_typed_refused(const weft_writer *w)
{
    return w->error != 0 || w->size > (size_t)WEFT_MESSAGE_MAX ? WEFT_ETOOBIG : WEFT_ENOMEM;
}

/* Calls copy, so a small one is packed on the stack. A body that does not fit is packed in a message of its own. */
enum { WEFT_TYPED_SMALL = 256 };
typedef struct {
    weft_msg *large;
    const void *data;
    size_t size;
    unsigned char small[WEFT_TYPED_SMALL];
} weft_typed_body;

#define WEFT_MESSAGE(name, number, FIELDS)                                                                        \
    enum { FIELDS##_TAG = (number) };                                                                             \
    WEFT_STATIC_ASSERT((number) >= 0 && (number) <= INT32_MAX, "the tag of " #name " must be 0 to INT32_MAX");    \
    WEFT_EXTENSION struct name {                                                                                  \
        FIELDS(WEFT_FIELD_DECLARE)                                                                                \
    };                                                                                                            \
    WEFT_TYPED_FN void name##_put(weft_writer *weft_w, const struct name *weft_v)                                 \
    {                                                                                                             \
        (void)weft_v;                                                                                             \
        weft_put_array(weft_w, 0 FIELDS(WEFT_FIELD_COUNT));                                                       \
        FIELDS(WEFT_FIELD_PUT)                                                                                    \
    }                                                                                                             \
    WEFT_TYPED_FN void name##_get(weft_reader *weft_r, struct name *weft_v, const char **field)                   \
    {                                                                                                             \
        const char *weft_name = NULL;                                                                             \
        memset(weft_v, 0, sizeof *weft_v);                                                                        \
        uint32_t weft_left = weft_get_array(weft_r);                                                              \
        FIELDS(WEFT_FIELD_GET)                                                                                    \
        for (; weft_left > 0 && weft_r->error == 0; weft_left--) weft_skip(weft_r);                               \
        if (weft_r->error != 0) memset(weft_v, 0, sizeof *weft_v);                                                \
        if (field != NULL) *field = weft_name;                                                                    \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_make(const struct name *v, weft_msg **out)                                           \
    {                                                                                                             \
        weft_writer w = weft_writer_on(NULL, 0);                                                                  \
        name##_put(&w, v);                                                                                        \
        *out = w.error != 0 ? NULL : weft_msg_new((uint32_t)FIELDS##_TAG, w.size);                                \
        if (*out == NULL) return weft_typed_refused(&w);                                                          \
        w = weft_writer_on(weft_msg_body(*out), w.size);                                                          \
        name##_put(&w, v);                                                                                        \
        return 0;                                                                                                 \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_make_body(const struct name *v, weft_typed_body *b)                                  \
    {                                                                                                             \
        weft_writer w = weft_writer_on(b->small, sizeof b->small);                                                \
        name##_put(&w, v);                                                                                        \
        b->large = NULL;                                                                                          \
        b->data = b->small;                                                                                       \
        b->size = w.size;                                                                                         \
        if (w.error == 0) return 0;                                                                               \
        int rc = name##_make(v, &b->large);                                                                       \
        if (rc != 0) return rc;                                                                                   \
        b->data = weft_msg_body(b->large);                                                                        \
        b->size = weft_size(b->large);                                                                            \
        return 0;                                                                                                 \
    }                                                                                                             \
    WEFT_TYPED_FN weft_msg *name##_new(const struct name *v)                                                      \
    {                                                                                                             \
        weft_msg *m;                                                                                              \
        (void)name##_make(v, &m);                                                                                 \
        return m;                                                                                                 \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_send(weft_pid to, const struct name *v)                                              \
    {                                                                                                             \
        weft_msg *m;                                                                                              \
        int rc = name##_make(v, &m);                                                                              \
        return rc != 0 ? rc : weft_send_msg(to, m);                                                               \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_try_send(weft_pid to, const struct name *v)                                          \
    {                                                                                                             \
        weft_msg *m;                                                                                              \
        int rc = name##_make(v, &m);                                                                              \
        return rc != 0 ? rc : weft_try_send_msg(to, m);                                                           \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_publish(const char *topic, const struct name *v)                                     \
    {                                                                                                             \
        weft_msg *m;                                                                                              \
        int rc = name##_make(v, &m);                                                                              \
        return rc != 0 ? rc : weft_publish_msg(topic, m);                                                         \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_send_name(const char *to, const struct name *v)                                      \
    {                                                                                                             \
        weft_typed_body b;                                                                                        \
        int rc = name##_make_body(v, &b);                                                                         \
        if (rc != 0) return rc;                                                                                   \
        rc = weft_send_name(to, (uint32_t)FIELDS##_TAG, b.data, b.size);                                          \
        weft_msg_free(b.large);                                                                                   \
        return rc;                                                                                                \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_call(weft_pid to, const struct name *v, weft_msg **answer, int64_t deadline)         \
    {                                                                                                             \
        weft_typed_body b;                                                                                        \
        int rc = name##_make_body(v, &b);                                                                         \
        if (rc != 0) return rc;                                                                                   \
        rc = weft_call(to, (uint32_t)FIELDS##_TAG, b.data, b.size, answer, deadline);                             \
        weft_msg_free(b.large);                                                                                   \
        return rc;                                                                                                \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_call_name(const char *to, const struct name *v, weft_msg **answer, int64_t deadline) \
    {                                                                                                             \
        weft_typed_body b;                                                                                        \
        int rc = name##_make_body(v, &b);                                                                         \
        if (rc != 0) return rc;                                                                                   \
        rc = weft_call_name(to, (uint32_t)FIELDS##_TAG, b.data, b.size, answer, deadline);                        \
        weft_msg_free(b.large);                                                                                   \
        return rc;                                                                                                \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_reply(const weft_msg *ask, const struct name *v)                                     \
    {                                                                                                             \
        weft_typed_body b;                                                                                        \
        int rc = name##_make_body(v, &b);                                                                         \
        if (rc != 0) return rc;                                                                                   \
        rc = weft_reply(ask, (uint32_t)FIELDS##_TAG, b.data, b.size);                                             \
        weft_msg_free(b.large);                                                                                   \
        return rc;                                                                                                \
    }                                                                                                             \
    WEFT_TYPED_FN bool name##_is(const weft_msg *m)                                                               \
    {                                                                                                             \
        return weft_tag(m) == (uint32_t)FIELDS##_TAG;                                                             \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_read_why(const weft_msg *m, struct name *out, const char **field)                    \
    {                                                                                                             \
        weft_reader r = weft_reader_on(weft_data(m), name##_is(m) ? weft_size(m) : 0);                            \
        name##_get(&r, out, field);                                                                               \
        if (r.error == 0 && r.at != r.end) r.error = WEFT_EFORMAT;                                                \
        if (r.error != 0) memset(out, 0, sizeof *out);                                                            \
        return r.error;                                                                                           \
    }                                                                                                             \
    WEFT_TYPED_FN int name##_read(const weft_msg *m, struct name *out)                                            \
    {                                                                                                             \
        return name##_read_why(m, out, NULL);                                                                     \
    }

WEFT_END
#endif
