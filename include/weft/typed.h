/* weft/typed.h -- messages as C structs: one list of fields makes the struct, its tag, and functions that send, read,
 * compare and print it. docs/typed-messages.md has examples.
 *
 *     #define STATE(E) E(STATE_OPEN, 0, "open") E(STATE_PAID, 1, "paid")
 *     WEFT_ENUM(state, STATE)                  -- at file scope, without a semicolon
 *     #define ITEM(F) F(str, name) F(real, price)
 *     WEFT_STRUCT(item, ITEM)                  -- a part of messages
 *     #define ORDER(F) F(uint, id) F(state, now) F(list(item), items) F(map(int), stock) F(maybe(str), note)
 *     WEFT_MESSAGE(order, 1, ORDER)            -- a message; it can also be a part of others
 *
 * Field types, their types in the struct, and their form in msgpack:
 *     str   weft_text  str                     int   int64_t   an integer that fits
 *     bin   weft_text  bin                     uint  uint64_t  an integer >= 0
 *     bool  bool       bool                    real  double    a float or an integer
 *     pid   weft_pid   an array of two uints
 *     state     int64_t             an integer (any enumeration; a number without a name is kept)
 *     item      struct item         an array of its fields (any struct or message)
 *     list(T)   weft_list_T         an array; T is one of the above
 *     map(T)    weft_map_T          a map from str
 *     maybe(T)  weft_maybe_T        nil or the value: struct { bool present; T value; }
 * For a list of lists, or a maybe(list(..)), put a struct in between.
 *
 * Lists and maps never allocate. To send one, point it at an array of yours; `count` is the number of entries. A
 * received list or map is a view of the message, which has been checked. Reading removes entries from the front of
 * the view, so copy the view first if you want to read it twice. A view can be sent unchanged while its message
 * lives.
 *     struct item two[2] = {...};
 *     v.items = item_list(two, 2);
 *     for (struct item i; item_next(&got.items, &i);) ...
 *     weft_entry_int e[1] = {{weft_cstr("tea"), 3}};
 *     v.stock = weft_int_map(e, 1);
 *     for (weft_entry_int e; weft_int_next_entry(&got.stock, &e);) ...
 *     int64_t n;
 *     if (weft_int_find(&got.stock, weft_cstr("tea"), &n)) ... the first entry with that key; else n is unchanged
 * The functions' prefix is the type's name: item_ for a struct item, state_ for an enumeration, weft_int_ for an int.
 *
 * WEFT_ENUM(state, STATE) gives the constants, the functions for lists and maps, and
 *     [S]     const char *state_name(int64_t number)      "open"; NULL: no name
 *
 * WEFT_STRUCT(item, ITEM) gives struct item, the functions for lists and maps, and
 *     [S]     void item_put(weft_writer *w, const struct item *v)
 *     [S]     void item_get(weft_reader *r, struct item *out, struct weft_why *why)
 *                 Write and read it as one value within something larger; an error is kept in the writer or the
 *                 reader. `why` may be NULL.
 *     [S]     bool item_equal(const struct item *a, const struct item *b)
 *     [T]     size_t item_json(const struct item *v, char *out, size_t size)
 *                 Writes it as JSON, as snprintf does; returns the number of bytes of the whole text.
 *     [S]     const struct weft_type_info *item_type(void)
 *                 Returns its description, see typed_desc.h.
 *
 * WEFT_MESSAGE(say, 1, SAY) gives all of that and
 *     enum { SAY_TAG = 1 };                    -- named after the list; 0 to INT32_MAX. When the first node
 *                                                 of a process starts, the log warns if two messages have
 *                                                 the same tag
 *
 *     [A, W]  int say_send(weft_pid to, const struct say *v)
 *     [A, Y]  int say_try_send(weft_pid to, const struct say *v)
 *     [A, W]  int say_send_name(const char *name, const struct say *v)
 *     [A, W]  int say_call(weft_pid to, const struct say *v, weft_msg **answer, int64_t deadline)
 *     [A, W]  int say_call_name(const char *name, const struct say *v, weft_msg **answer, int64_t deadline)
 *     [A]     int say_reply(const weft_msg *ask, const struct say *v)
 *     [A, W]  int say_publish(const char *topic, const struct say *v)
 *     [A, W]  int say_publish_retained(const char *topic, const struct say *v)
 *     [A, Y]  int say_group_send(const char *group, const struct say *v)
 *     [A, Y]  int say_send_after(int64_t when, weft_pid to, const struct say *v, weft_later *out)
 *     [A, W]  int say_gather(struct weft_answer *answers, size_t count, size_t need, const struct say *v,
 *                            int64_t deadline)
 *                 As weft_send, weft_try_send and so on. Each may also fail before anything is sent: WEFT_ETOOBIG
 *                 (more than WEFT_MESSAGE_MAX bytes, or nested deeper than WEFT_NEST_MAX) and WEFT_ENOMEM.
 *     [T]     weft_msg *say_new(const struct say *v)
 *                 Makes the message, to be sent with weft_send_msg and the like. NULL: too big or out of memory.
 *     [A]     int say_reply_msg(const weft_msg *ask, weft_msg *m)
 *                 As weft_reply_msg, with a message from say_new or a received one. WEFT_EFORMAT if its tag is not
 *                 SAY_TAG: no reply was sent, and `m` is freed.
 *     [T]     bool say_is(const weft_msg *m)
 *                 Returns true if its tag is SAY_TAG.
 *     [T]     int say_read(const weft_msg *m, struct say *out)
 *                 Reads it into `*out`. Returns 0; or WEFT_EFORMAT, with `*out` all zeroes, if the tag is another
 *                 one, the body is malformed, or a field has another type. Texts, lists and maps in `*out` are views
 *                 that live as long as the message.
 *     [T]     int say_read_why(const weft_msg *m, struct say *out, struct weft_why *why)
 *                 As say_read; on an error why->text says what did not match, and where:
 *                 "say.nick: expected str, got int".
 *     [T]     int64_t say_json_msg(const weft_msg *m, char *out, size_t size)
 *                 Writes a received message as JSON, as say_json; WEFT_EFORMAT if say_read would fail.
 *
 * A message may have no fields: `#define HELLO(F)` and WEFT_MESSAGE(hello, 2, HELLO). Then `v` may be NULL:
 * hello_send(to, NULL), and hello_is(m) is enough to read it. Fields can be appended to it later.
 *
 * On the wire a message is a msgpack array of its fields in order. Nodes with different versions of a list understand
 * each other if lists, those of parts included, change by these rules only:
 *     - append fields; never reorder, retype or remove one; never give a tag to another message;
 *     - a reader sets fields that the sender did not know to zero, so zero must mean "not given" (or use a maybe());
 *     - a reader skips the fields at the end that it does not know;
 *     - a field that is no longer used stays in the list; a sender may send nil for it, which reads as zero;
 *     - names of an enumeration are appended with new numbers; a reader that does not know one keeps the number. */
#ifndef WEFT_TYPED_H
#define WEFT_TYPED_H

#include <string.h>

#include <weft/api.h>
#include <weft/call.h>
#include <weft/error.h>
#include <weft/group.h>
#include <weft/later.h>
#include <weft/message.h>
#include <weft/pack.h>
#include <weft/pid.h>
#include <weft/topic.h>
#include <weft/typed_desc.h>
WEFT_BEGIN

/* ---- The implementation ---------------------------------------------------------------------------------------- */

#ifdef __cplusplus
#define WEFT_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define WEFT_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* The macros to which the lists are applied. `type` is only pasted, so that a macro called `bool` does not matter.
 * `weft_this` is the struct, in the function that holds its table. */
#define WEFT_FIELD_DECLARE(type, field) weft_value_##type field;
#define WEFT_FIELD_COUNT(type, field) +1
#define WEFT_FIELD_CHECK(type, field) +WEFT_FIELD_TYPE(type)
#define WEFT_FIELD_INFO(type, field)                                                                 \
    {#field, weft_type_##type, (enum weft_kind)weft_kind_##type, (enum weft_shape)weft_shape_##type, \
     offsetof(weft_this, field)},
#define WEFT_ENUM_CONSTANT(constant, number, text) constant = (number),
#define WEFT_ENUM_INFO(constant, number, text) {text, number},
#define WEFT_ENUM_COUNT(constant, number, text) +1

/* The error if a message of `w.size` measured bytes was not made. */
WEFT_TYPED_FN int weft_typed_refused(const weft_writer *w)
{
    return w->error != 0 || w->size > (size_t)WEFT_MESSAGE_MAX ? WEFT_ETOOBIG : WEFT_ENOMEM;
}

/* Calls copy the body, so a small body is packed on the stack. A larger one is packed in a message of its own. */
enum { WEFT_TYPED_SMALL = 256 };
typedef struct {
    weft_msg *large;
    const void *data;
    size_t size;
    unsigned char small[WEFT_TYPED_SMALL];
} weft_typed_body;

#define WEFT_ENUM(name, NAMES)                                                                       \
    enum { NAMES(WEFT_ENUM_CONSTANT) };                                                              \
    typedef int64_t weft_value_##name;                                                               \
    enum { weft_kind_##name = WEFT_KIND_ENUM };                                                      \
    WEFT_TYPED_BEFORE(name)                                                                          \
    WEFT_TYPED_AFTER(name)                                                                           \
    WEFT_TYPED_FN const struct weft_type_info *weft_type_##name(void)                                \
    {                                                                                                \
        static const struct weft_enum_info names[] = {NAMES(WEFT_ENUM_INFO)};                        \
        static const struct weft_type_info info = {#name, WEFT_KIND_ENUM, WEFT_TYPED_SIZES(name),    \
                                                   NULL,  names,          0 NAMES(WEFT_ENUM_COUNT)}; \
        return &info;                                                                                \
    }                                                                                                \
    WEFT_TYPED_LISTS(name, name)                                                                     \
    WEFT_TYPED_FN const char *name##_name(int64_t number)                                            \
    {                                                                                                \
        return weft_typed_name(weft_type_##name(), number);                                          \
    }

#define WEFT_STRUCT(name, FIELDS)                                                                                    \
    struct name;                                                                                                     \
    typedef struct name weft_value_##name;                                                                           \
    enum { weft_kind_##name = WEFT_KIND_STRUCT };                                                                    \
    WEFT_TYPED_FN const struct weft_type_info *weft_type_##name(void);                                               \
    WEFT_TYPED_BEFORE(name)                                                                                          \
    enum { weft_fields_of_##name = 0 FIELDS(WEFT_FIELD_CHECK) };                                                     \
    WEFT_EXTENSION struct name {                                                                                     \
        FIELDS(WEFT_FIELD_DECLARE)                                                                                   \
    };                                                                                                               \
    WEFT_TYPED_AFTER(name)                                                                                           \
    WEFT_TYPED_FN const struct weft_type_info *weft_type_##name(void)                                                \
    {                                                                                                                \
        typedef struct name weft_this;                                                                               \
        static const struct weft_field_info fields[] = {                                                             \
            FIELDS(WEFT_FIELD_INFO){NULL, NULL, WEFT_KIND_STR, WEFT_SHAPE_ONE, sizeof(weft_this)}};                  \
        static const struct weft_type_info info = {#name, WEFT_KIND_STRUCT,          WEFT_TYPED_SIZES(name), fields, \
                                                   NULL,  0 FIELDS(WEFT_FIELD_COUNT)};                               \
        return &info;                                                                                                \
    }                                                                                                                \
    WEFT_TYPED_LISTS(name, name)                                                                                     \
    WEFT_TYPED_FN const struct weft_type_info *name##_type(void)                                                     \
    {                                                                                                                \
        return weft_type_##name();                                                                                   \
    }                                                                                                                \
    WEFT_TYPED_FN void name##_put(weft_writer *w, const struct name *v)                                              \
    {                                                                                                                \
        weft_typed_put(w, weft_type_##name(), v);                                                                    \
    }                                                                                                                \
    WEFT_TYPED_FN void name##_get(weft_reader *r, struct name *out, struct weft_why *why)                            \
    {                                                                                                                \
        weft_typed_get(r, weft_type_##name(), out, why);                                                             \
    }                                                                                                                \
    WEFT_TYPED_FN bool name##_equal(const struct name *a, const struct name *b)                                      \
    {                                                                                                                \
        return weft_typed_equal(weft_type_##name(), a, b);                                                           \
    }                                                                                                                \
    WEFT_TYPED_FN size_t name##_json(const struct name *v, char *out, size_t size)                                   \
    {                                                                                                                \
        return weft_typed_json(weft_type_##name(), v, out, size);                                                    \
    }

#define WEFT_MESSAGE(name, number, FIELDS)                                                                     \
    enum { FIELDS##_TAG = (number) };                                                                          \
    WEFT_STATIC_ASSERT((number) >= 0 && (number) <= INT32_MAX, "the tag of " #name " must be 0 to INT32_MAX"); \
    WEFT_STRUCT(name, FIELDS)                                                                                  \
    __attribute__((constructor)) static void weft_has_##name(void)                                             \
    {                                                                                                          \
        weft_typed_message(#name, (uint32_t)FIELDS##_TAG);                                                     \
    }                                                                                                          \
    WEFT_TYPED_FN int name##_make(const struct name *v, weft_msg **out)                                        \
    {                                                                                                          \
        weft_writer w = weft_writer_on(NULL, 0);                                                               \
        name##_put(&w, v);                                                                                     \
        *out = w.error != 0 ? NULL : weft_msg_new((uint32_t)FIELDS##_TAG, w.size);                             \
        if (*out == NULL) return weft_typed_refused(&w);                                                       \
        w = weft_writer_on(weft_msg_body(*out), w.size);                                                       \
        name##_put(&w, v);                                                                                     \
        return 0;                                                                                              \
    }                                                                                                          \
    WEFT_TYPED_FN int name##_make_body(const struct name *v, weft_typed_body *b)                               \
    {                                                                                                          \
        weft_writer w = weft_writer_on(b->small, sizeof b->small);                                             \
        name##_put(&w, v);                                                                                     \
        b->large = NULL;                                                                                       \
        b->data = b->small;                                                                                    \
        b->size = w.size;                                                                                      \
        if (w.error == 0) return 0;                                                                            \
        int rc = name##_make(v, &b->large);                                                                    \
        if (rc != 0) return rc;                                                                                \
        b->data = weft_msg_body(b->large);                                                                     \
        b->size = weft_size(b->large);                                                                         \
        return 0;                                                                                              \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED weft_msg *name##_new(const struct name *v)                                      \
    {                                                                                                          \
        weft_msg *m;                                                                                           \
        (void)name##_make(v, &m);                                                                              \
        return m;                                                                                              \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_send(weft_pid to, const struct name *v)                              \
    {                                                                                                          \
        weft_msg *m;                                                                                           \
        int rc = name##_make(v, &m);                                                                           \
        return rc != 0 ? rc : weft_send_msg(to, m);                                                            \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_try_send(weft_pid to, const struct name *v)                          \
    {                                                                                                          \
        weft_msg *m;                                                                                           \
        int rc = name##_make(v, &m);                                                                           \
        return rc != 0 ? rc : weft_try_send_msg(to, m);                                                        \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_publish(const char *topic, const struct name *v)                     \
    {                                                                                                          \
        weft_msg *m;                                                                                           \
        int rc = name##_make(v, &m);                                                                           \
        return rc != 0 ? rc : weft_publish_msg(topic, m);                                                      \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_send_name(const char *to, const struct name *v)                      \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_send_name(to, (uint32_t)FIELDS##_TAG, b.data, b.size);                                       \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_call(weft_pid to, const struct name *v, weft_msg **answer,           \
                                               int64_t deadline)                                               \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_call(to, (uint32_t)FIELDS##_TAG, b.data, b.size, answer, deadline);                          \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_call_name(const char *to, const struct name *v, weft_msg **answer,   \
                                                    int64_t deadline)                                          \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_call_name(to, (uint32_t)FIELDS##_TAG, b.data, b.size, answer, deadline);                     \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN int name##_reply(const weft_msg *ask, const struct name *v)                                  \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        return b.large != NULL ? weft_reply_msg(ask, b.large)                                                  \
                               : weft_reply(ask, (uint32_t)FIELDS##_TAG, b.data, b.size);                      \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_publish_retained(const char *topic, const struct name *v)            \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_publish_retained(topic, (uint32_t)FIELDS##_TAG, b.data, b.size);                             \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_group_send(const char *group, const struct name *v)                  \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_group_send(group, (uint32_t)FIELDS##_TAG, b.data, b.size);                                   \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_send_after(int64_t when, weft_pid to, const struct name *v,          \
                                                     weft_later *out)                                          \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_send_after(when, to, (uint32_t)FIELDS##_TAG, b.data, b.size, out);                           \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_gather(struct weft_answer *answers, size_t count, size_t need,       \
                                                 const struct name *v, int64_t deadline)                       \
    {                                                                                                          \
        weft_typed_body b;                                                                                     \
        int rc = name##_make_body(v, &b);                                                                      \
        if (rc != 0) return rc;                                                                                \
        rc = weft_gather(answers, count, need, (uint32_t)FIELDS##_TAG, b.data, b.size, deadline);              \
        weft_msg_free(b.large);                                                                                \
        return rc;                                                                                             \
    }                                                                                                          \
    WEFT_TYPED_FN bool name##_is(const weft_msg *m)                                                            \
    {                                                                                                          \
        return weft_tag(m) == (uint32_t)FIELDS##_TAG;                                                          \
    }                                                                                                          \
    WEFT_TYPED_FN int name##_reply_msg(const weft_msg *ask, weft_msg *m)                                       \
    {                                                                                                          \
        if (m == NULL || name##_is(m)) return weft_reply_msg(ask, m);                                          \
        weft_msg_free(m);                                                                                      \
        return WEFT_EFORMAT;                                                                                   \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_read_why(const weft_msg *m, struct name *out, struct weft_why *why)  \
    {                                                                                                          \
        if (!name##_is(m)) return weft_typed_other_tag(weft_type_##name(), weft_tag(m), out, why);             \
        return weft_typed_read(weft_type_##name(), weft_data(m), weft_size(m), out, why);                      \
    }                                                                                                          \
    WEFT_TYPED_FN WEFT_CHECKED int name##_read(const weft_msg *m, struct name *out)                            \
    {                                                                                                          \
        return name##_read_why(m, out, NULL);                                                                  \
    }                                                                                                          \
    WEFT_TYPED_FN int64_t name##_json_msg(const weft_msg *m, char *out, size_t size)                           \
    {                                                                                                          \
        if (!name##_is(m)) return WEFT_EFORMAT;                                                                \
        return weft_packed_json(weft_type_##name(), weft_data(m), weft_size(m), out, size);                    \
    }

WEFT_END
#endif
