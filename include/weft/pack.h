/* weft/pack.h -- reading and writing msgpack without allocating. The reader never trusts a length; the writer never
 * overruns its buffer.
 *
 * A reader and a writer keep their first error. Later calls do nothing, so one check at the end is enough. All calls
 * here are [S]. */
#ifndef WEFT_PACK_H
#define WEFT_PACK_H

#include <weft/api.h>
WEFT_BEGIN

enum {
    WEFT_NEST_MAX = 32,         /* depth of arrays and maps within each other */
    WEFT_ELEMENTS_MAX = 1 << 20 /* values in one message, all levels together */
};

/* A view of text inside a message; not NUL-terminated. "%.*s" prints it with WEFT_STR. */
typedef struct {
    const char *data;
    size_t size;
} weft_text;
#define WEFT_STR(t) (int)(t).size, (t).data

/* [S] Make a view of `size` bytes, or of a C string. No bytes are copied. */
WEFT_API weft_text weft_str(const char *data, size_t size);
WEFT_API weft_text weft_cstr(const char *text); /* NULL: empty */
/* [S] Returns true if `t` has the same bytes as that C string. */
WEFT_API bool weft_text_equal(weft_text t, const char *text);
/* [S] Copies the text into a buffer of `size` > 0 bytes and adds a NUL. Returns false if the text does not fit or has
 * a NUL inside; the buffer then holds the part that fits, or the part before that NUL. */
WEFT_API WEFT_CHECKED bool weft_text_copy(weft_text t, char *out, size_t size);

typedef struct {
    uint8_t *at, *end; /* where the next byte goes; at == NULL: only measure */
    size_t size;       /* bytes written, or needed when only measuring */
    int error;         /* 0, or the first error: WEFT_ETOOBIG */
} weft_writer;

/* [S] Makes a writer into `size` bytes at `buffer`. With a NULL buffer it only measures: afterwards w.size is the
 * number of bytes needed. */
WEFT_API weft_writer weft_writer_on(void *buffer, size_t size);
WEFT_API void weft_put_nil(weft_writer *w);
WEFT_API void weft_put_bool(weft_writer *w, bool value);
WEFT_API void weft_put_int(weft_writer *w, int64_t value);
WEFT_API void weft_put_uint(weft_writer *w, uint64_t value);
WEFT_API void weft_put_real(weft_writer *w, double value); /* always as 64 bits, so that it stays a double */
WEFT_API void weft_put_str(weft_writer *w, weft_text value);
WEFT_API void weft_put_bin(weft_writer *w, const void *data, size_t size);
WEFT_API void weft_put_array(weft_writer *w, uint32_t count); /* `count` values follow */
WEFT_API void weft_put_map(weft_writer *w, uint32_t count);   /* `count` pairs follow */

/* Integers are WEFT_INT when they fit int64_t, whatever width they were written with, and WEFT_UINT above that. */
typedef enum {
    WEFT_NIL,
    WEFT_BOOL,
    WEFT_INT,
    WEFT_UINT,
    WEFT_REAL,
    WEFT_TEXT,
    WEFT_BIN,
    WEFT_ARRAY,
    WEFT_MAP,
    WEFT_EXT
} weft_type;

typedef struct {
    const uint8_t *at, *end, *start;
    /* 0, or the first error: WEFT_EFORMAT. Then `at` stays on the faulty value; at - start is its offset */
    int error;
} weft_reader;

/* [S] Makes a reader of `size` bytes at `data`. The bytes must outlive the reader and every view taken from it. */
WEFT_API weft_reader weft_reader_on(const void *data, size_t size);
WEFT_API bool weft_get_bool(weft_reader *r);   /* false after an error */
WEFT_API int64_t weft_get_int(weft_reader *r); /* 0 after an error; WEFT_EFORMAT if the number does not fit */
WEFT_API uint64_t weft_get_uint(weft_reader *r);
WEFT_API double weft_get_real(weft_reader *r); /* integers are accepted */
WEFT_API weft_text weft_get_str(weft_reader *r);
WEFT_API weft_text weft_get_bin(weft_reader *r);
WEFT_API uint32_t weft_get_array(weft_reader *r); /* the count; WEFT_EFORMAT if fewer bytes than values are left */
WEFT_API uint32_t weft_get_map(weft_reader *r);
/* true if a nil is next, which is then read; else false, and nothing is read */
WEFT_API bool weft_get_nil(weft_reader *r);
WEFT_API int weft_peek_type(const weft_reader *r); /* a weft_type, or WEFT_EFORMAT at the end or after an error */
/* skips one value and everything in it; WEFT_EFORMAT if it nests deeper than WEFT_NEST_MAX */
WEFT_API void weft_skip(weft_reader *r);

/* [S] Checks the whole of `data`, which must be one value, without allocating. Returns 0.
 * Errors: WEFT_EFORMAT (something in it is malformed or cut off, or bytes are left over); WEFT_ETOOBIG (arrays and
 * maps nest deeper than WEFT_NEST_MAX, or there are more than `elements_max` values; containers and the values in
 * them both count). On an error `where` (may be NULL) receives the offset of the fault. */
WEFT_API int weft_pack_check(const void *data, size_t size, size_t elements_max, size_t *where);

WEFT_END
#endif
