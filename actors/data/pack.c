/* actors/data/pack.c -- reads and writes msgpack in place; msgpack-c knows the format. See include/weft/pack.h.
 *
 * Design notes.
 * (1) Each value is written by a msgpack_packer of its own, which calls `append` to store its bytes in the writer.
 *     The compiler reduces that to stores.
 * (2) `decode` reads with msgpack-c's parser template and callbacks of ours. It reads one value at a time, and stops
 *     at the head of a container instead of reading the values inside. All other functions use `decode`. It compares
 *     every length with the bytes left before it accepts a value, so callers can trust the sizes and counts that it
 *     reports. msgpack_unpack_next must not be used for data from other nodes: it reserves memory for as many values
 *     as a count claims, 24 bytes each.
 * (3) The template reports only the size of a body; the body ends where the value ends. (For an empty body the
 *     template does not know where it begins.) For an ext of 4 GiB - 1 bytes the template's size overflows to 0. No
 *     other ext has this size, because its type counts as a byte: such an ext is refused. A message has 16 MiB at
 *     most.
 * (4) A reader that fails does not move: `at` stays at the value that did not match.
 * (5) Nothing recurses: nesting is a fixed array of counters, and a count larger than the bytes left is refused when
 *     it is met, so the work is bounded by the size of the input. */
#include <string.h>

#include <msgpack/pack.h>

#include "pack.h"

#include "base.h"
#include "typed.h"
#include <weft/pack.h>

weft_text weft_str(const char *data, size_t size)
{
    weft_text t = {data, size};
    return t;
}

weft_text weft_cstr(const char *text)
{
    return weft_str(text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

bool weft_text_equal(weft_text t, const char *text)
{
    weft_text other = weft_cstr(text);
    return t.size == other.size && (t.size == 0 || memcmp(t.data, other.data, t.size) == 0);
}

bool weft_text_copy(weft_text t, char *out, size_t size)
{
    if (size == 0) return false;
    size_t whole = t.size == 0 ? 0 : strnlen(t.data, t.size), fits = whole < size ? whole : size - 1;
    if (fits > 0) memcpy(out, t.data, fits);
    out[fits] = 0;
    return fits == t.size;
}

/* ---- Writer ---------------------------------------------------------------------------------------------------- */

weft_writer weft_writer_on(void *buffer, size_t size)
{
    weft_writer w = {buffer, buffer == NULL ? NULL : (uint8_t *)buffer + size, 0, 0};
    return w;
}

static bool has_space(const weft_writer *w, size_t size)
{
    return w->at != NULL ? (size_t)(w->end - w->at) >= size : size <= SIZE_MAX - w->size;
}

/* The msgpack_packer_write function of the writer. It writes all bytes or none. */
static inline int append(void *writer, const char *bytes, size_t size)
{
    weft_writer *w = writer;
    if (WF_UNLIKELY(!has_space(w, size))) return w->error = WEFT_ETOOBIG;
    if (w->at != NULL) {
        memcpy(w->at, bytes, size);
        w->at += size;
    }
    w->size += size;
    return 0;
}

static inline msgpack_packer packer_on(weft_writer *w)
{
    return (msgpack_packer){w, append};
}

void weft_put_nil(weft_writer *w)
{
    msgpack_packer p = packer_on(w);
    if (w->error == 0) msgpack_pack_nil(&p);
}

void weft_put_bool(weft_writer *w, bool value)
{
    msgpack_packer p = packer_on(w);
    if (w->error != 0) return;
    value ? msgpack_pack_true(&p) : msgpack_pack_false(&p);
}

void weft_put_int(weft_writer *w, int64_t value)
{
    msgpack_packer p = packer_on(w);
    if (w->error == 0) msgpack_pack_int64(&p, value);
}

void weft_put_uint(weft_writer *w, uint64_t value)
{
    msgpack_packer p = packer_on(w);
    if (w->error == 0) msgpack_pack_uint64(&p, value);
}

void weft_put_real(weft_writer *w, double value)
{
    msgpack_packer p = packer_on(w);
    if (w->error == 0) msgpack_pack_double(&p, value);
}

/* Checks that there is space for the body before its head is written, so that all of it is written or nothing. */
static inline bool begin_body(weft_writer *w, size_t size)
{
    if (w->error != 0) return false;
    if (size > UINT32_MAX || !has_space(w, size)) {
        w->error = WEFT_ETOOBIG;
        return false;
    }
    if (w->at != NULL) w->end -= size;
    else w->size += size;
    return true;
}

static inline void end_body(weft_writer *w, const void *data, size_t size)
{
    if (w->at == NULL) {
        if (w->error != 0) w->size -= size;
        return;
    }
    w->end += size;
    if (w->error == 0 && size > 0) (void)append(w, data, size);
}

void weft_put_str(weft_writer *w, weft_text value)
{
    msgpack_packer p = packer_on(w);
    if (!begin_body(w, value.size)) return;
    msgpack_pack_str(&p, value.size);
    end_body(w, value.data, value.size);
}

void weft_put_bin(weft_writer *w, const void *data, size_t size)
{
    msgpack_packer p = packer_on(w);
    if (!begin_body(w, size)) return;
    msgpack_pack_bin(&p, size);
    end_body(w, data, size);
}

void weft_put_array(weft_writer *w, uint32_t count)
{
    msgpack_packer p = packer_on(w);
    if (w->error == 0) msgpack_pack_array(&p, count);
}

void weft_put_map(weft_writer *w, uint32_t count)
{
    msgpack_packer p = packer_on(w);
    if (w->error == 0) msgpack_pack_map(&p, count);
}

void wf_pack_raw(weft_writer *w, const void *data, size_t size)
{
    if (w->error == 0 && size > 0) (void)append(w, data, size);
}

/* ---- Reader ---------------------------------------------------------------------------------------------------- */

enum { NOTHING = -1 };
struct item {
    int type;       /* a weft_type, or NOTHING */
    uint32_t size;  /* bytes of the body, or the container's count */
    uint64_t value; /* the bits of the integer or double, or the bool */
};

static inline int found(struct item *it, weft_type type, uint64_t value)
{
    it->type = (int)type;
    it->value = value;
    return 0;
}

static inline int found_real(struct item *it, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return found(it, WEFT_REAL, bits);
}

static inline int found_body(struct item *it, weft_type type, size_t size)
{
    it->type = (int)type;
    it->size = (uint32_t)size;
    return 0;
}

/* Returns a failure, so that the template does not read the values of the container. */
static inline int found_container(struct item *it, weft_type type, uint32_t count)
{
    (void)found_body(it, type, count);
    return -1;
}

/* The callbacks of the template. They ignore its objects, and the template never gets to a container's values. */
#define ON_VALUE(name, type, ...)                                          \
    static inline int on_##name(struct item *it, type value, char *object) \
    {                                                                      \
        return (void)object, __VA_ARGS__;                                  \
    }
#define ON_CONSTANT(name, ...)                                 \
    static inline int on_##name(struct item *it, char *object) \
    {                                                          \
        return (void)object, __VA_ARGS__;                      \
    }
#define ON_BODY(name, ...)                                                                                        \
    static inline int on_##name(struct item *it, const char *data, const char *body, unsigned size, char *object) \
    {                                                                                                             \
        return (void)data, (void)body, (void)object, __VA_ARGS__;                                                 \
    }
ON_CONSTANT(nil, found(it, WEFT_NIL, 0))
ON_CONSTANT(true, found(it, WEFT_BOOL, 1))
ON_CONSTANT(false, found(it, WEFT_BOOL, 0))
ON_VALUE(uint8, uint8_t, found(it, WEFT_INT, value))
ON_VALUE(uint16, uint16_t, found(it, WEFT_INT, value))
ON_VALUE(uint32, uint32_t, found(it, WEFT_INT, value))
ON_VALUE(uint64, uint64_t, found(it, value <= INT64_MAX ? WEFT_INT : WEFT_UINT, value))
ON_VALUE(int8, int8_t, found(it, WEFT_INT, (uint64_t)value))
ON_VALUE(int16, int16_t, found(it, WEFT_INT, (uint64_t)value))
ON_VALUE(int32, int32_t, found(it, WEFT_INT, (uint64_t)value))
ON_VALUE(int64, int64_t, found(it, WEFT_INT, (uint64_t)value))
ON_VALUE(float, float, found_real(it, value))
ON_VALUE(double, double, found_real(it, value))
ON_VALUE(array, unsigned, found_container(it, WEFT_ARRAY, value))
ON_VALUE(map, unsigned, found_container(it, WEFT_MAP, value))
ON_BODY(str, found_body(it, WEFT_TEXT, size))
ON_BODY(bin, found_body(it, WEFT_BIN, size))
ON_BODY(ext, size == 0 ? -1 : found_body(it, WEFT_EXT, size - 1)) /* without the byte of its type */

static inline char on_root(struct item *it)
{
    return it->type = NOTHING, 0;
}

static inline int on_array_item(struct item *it, char *array, char object)
{
    return (void)it, (void)array, (void)object, -1;
}

static inline int on_map_item(struct item *it, char *map, char key, char object)
{
    return (void)it, (void)map, (void)key, (void)object, -1;
}

#define MSGPACK_EMBED_STACK_SIZE 1
#include <msgpack/unpack.h>
#include <msgpack/unpack_define.h>
#define msgpack_unpack_struct(name) struct template##name
#define msgpack_unpack_func(type, name) __attribute__((always_inline, unused)) static inline type template##name
#define msgpack_unpack_callback(name) on##name
#define msgpack_unpack_object char
#define msgpack_unpack_user struct item
#include <msgpack/unpack_template.h>

/* Reads the value at `at`; if it is a container, only its head. Returns the end of what it read, or NULL: the value
 * is malformed, or fewer bytes follow a container's head than the container has values. */
__attribute__((always_inline)) static inline const uint8_t *decode(const uint8_t *at, const uint8_t *end,
                                                                   struct item *out)
{
    struct template_context c;
    size_t size = 0;
    template_init(&c);
    int rc = template_execute(&c, (const char *)at, (size_t)(end - at), &size);
    *out = c.user;
    if (rc > 0) return at + size;
    if (out->type != WEFT_ARRAY && out->type != WEFT_MAP) return NULL;
    at += size + 1; /* the template stopped at the last byte of the head */
    /* Twice a map's count may not fit into 32 bits. */
    uint64_t least = out->type == WEFT_MAP ? (uint64_t)out->size * 2 : out->size;
    return least <= (uint64_t)(end - at) ? at : NULL;
}

weft_reader weft_reader_on(const void *data, size_t size)
{
    static const uint8_t nothing[1];
    const uint8_t *start = data == NULL ? nothing : data;
    weft_reader r = {start, start + (data == NULL ? 0 : size), start, 0};
    return r;
}

static void fail(weft_reader *r)
{
    if (r->error == 0) r->error = WEFT_EFORMAT;
}

/* Returns whether the next value is well-formed and of one of the types `wanted` (one bit each); if so, moves past
 * its head and body. If `wanted` is a constant, the compiler leaves out the code for other types. */
__attribute__((always_inline)) static inline bool is_next(weft_reader *r, unsigned wanted, struct item *out)
{
    if (r->error != 0) return false;
    const uint8_t *next = decode(r->at, r->end, out);
    if (next == NULL || (wanted >> out->type & 1) == 0) return false;
    r->at = next;
    return true;
}

/* As is_next, but the reader fails if the value is not of these types. */
__attribute__((always_inline)) static inline bool take(weft_reader *r, unsigned wanted, struct item *out)
{
    if (WF_LIKELY(is_next(r, wanted, out))) return true;
    fail(r);
    return false;
}

bool weft_get_bool(weft_reader *r)
{
    struct item it;
    return take(r, 1 << WEFT_BOOL, &it) && it.value != 0;
}

int64_t weft_get_int(weft_reader *r)
{
    struct item it;
    return take(r, 1 << WEFT_INT, &it) ? (int64_t)it.value : 0;
}

uint64_t weft_get_uint(weft_reader *r)
{
    const uint8_t *start = r->at;
    struct item it;
    if (!take(r, 1 << WEFT_INT | 1 << WEFT_UINT, &it)) return 0;
    if (it.type == WEFT_UINT || it.value <= INT64_MAX) return it.value;
    r->at = start;
    fail(r);
    return 0;
}

double weft_get_real(weft_reader *r)
{
    struct item it;
    double value;
    if (!take(r, 1 << WEFT_INT | 1 << WEFT_UINT | 1 << WEFT_REAL, &it)) return 0;
    if (it.type == WEFT_INT) return (double)(int64_t)it.value;
    if (it.type == WEFT_UINT) return (double)it.value;
    memcpy(&value, &it.value, sizeof value);
    return value;
}

weft_text weft_get_str(weft_reader *r)
{
    struct item it;
    if (!take(r, 1 << WEFT_TEXT, &it)) return weft_str("", 0);
    return weft_str((const char *)r->at - it.size, it.size);
}

weft_text weft_get_bin(weft_reader *r)
{
    struct item it;
    if (!take(r, 1 << WEFT_BIN, &it)) return weft_str("", 0);
    return weft_str((const char *)r->at - it.size, it.size);
}

uint32_t weft_get_array(weft_reader *r)
{
    struct item it;
    return take(r, 1 << WEFT_ARRAY, &it) ? it.size : 0;
}

uint32_t weft_get_map(weft_reader *r)
{
    struct item it;
    return take(r, 1 << WEFT_MAP, &it) ? it.size : 0;
}

bool weft_get_nil(weft_reader *r)
{
    enum {
        NIL = 0xc0
    }; /* nothing else begins with this byte: each field of a typed message is asked whether it is nil */
    if (r->error != 0 || r->at == r->end || *r->at != NIL) return false;
    r->at++;
    return true;
}

int weft_peek_type(const weft_reader *r)
{
    struct item it;
    if (r->error != 0 || decode(r->at, r->end, &it) == NULL) return WEFT_EFORMAT;
    return it.type;
}

/* Moves past one value with all values inside, nested `levels` deep at most. On an error r->at is at the malformed
 * value, and the caller sets r->error. */
static int walk(weft_reader *r, size_t budget, uint32_t levels)
{
    WF_ASSERT(levels <= WEFT_NEST_MAX);
    uint64_t pending[WEFT_NEST_MAX]; /* values still to be read in each open container */
    uint32_t depth = 0;
    do {
        struct item it;
        const uint8_t *next = decode(r->at, r->end, &it);
        if (next == NULL) return WEFT_EFORMAT;
        if (budget-- == 0) return WEFT_ETOOBIG;
        uint64_t children = it.type == WEFT_ARRAY ? it.size : it.type == WEFT_MAP ? (uint64_t)it.size * 2 : 0;
        if (it.type == WEFT_ARRAY || it.type == WEFT_MAP) {
            if (depth == levels || children > budget) return WEFT_ETOOBIG;
        }
        r->at = next;
        if (children > 0) {
            pending[depth++] = children;
        } else {
            while (depth > 0 && --pending[depth - 1] == 0) depth--;
        }
    } while (depth > 0);
    return 0;
}

void weft_skip(weft_reader *r)
{
    if (r->error == 0 && walk(r, SIZE_MAX, WEFT_NEST_MAX) != 0) fail(r);
}

void wf_pack_skip(weft_reader *r, uint32_t levels)
{
    if (r->error == 0 && walk(r, SIZE_MAX, levels) != 0) fail(r);
}

int weft_pack_check(const void *data, size_t size, size_t elements_max, size_t *where)
{
    weft_reader r = weft_reader_on(data, size);
    int rc = walk(&r, elements_max, WEFT_NEST_MAX);
    if (rc == 0 && r.at != r.end) rc = WEFT_EFORMAT;
    if (rc != 0 && where != NULL) *where = (size_t)(r.at - r.start);
    return rc;
}
