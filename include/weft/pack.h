/* weft/pack.h -- reading and writing msgpack without allocating. The reader never trusts a length; the writer never
 * overruns.
 *
 * Both stick at their first error: later calls do nothing, and one check at the end is enough. */
#ifndef WEFT_PACK_H
#define WEFT_PACK_H

#include <weft/api.h>
WEFT_BEGIN

enum {
    WEFT_NEST_MAX = 32,         /* arrays and maps within each other */
    WEFT_ELEMENTS_MAX = 1 << 20 /* values in one message, all levels together */
};

/* A view of text inside a message; not NUL-terminated. "%.*s" prints it with WEFT_STR. */
typedef struct {
    const char *data;
    size_t size;
} weft_text;
#define WEFT_STR(t) (int)(t).size, (t).data

/* [S] A view of a C string, of `size` bytes, of nothing. */
WEFT_API weft_text weft_str(const char *data, size_t size);
WEFT_API weft_text weft_cstr(const char *text); /* NULL: empty */
/* [S] Whether it has the same bytes as that C string. */
WEFT_API bool weft_text_equal(weft_text t, const char *text);
/* [S] Copies it into a buffer of `size` > 0 bytes, with a NUL behind it. False: it does not fit, or has a NUL inside,
 * and the buffer holds what comes before the end of the buffer, or before that NUL. */
WEFT_API WEFT_CHECKED bool weft_text_copy(weft_text t, char *out, size_t size);

typedef struct {
    uint8_t *at, *end; /* where the next byte goes; at == NULL only measures */
    size_t size;       /* bytes written, or needed when only measuring */
    int error;         /* 0, or the first error: WEFT_ETOOBIG */
} weft_writer;

/* [S] Writes into `size` bytes at `buffer`; a NULL buffer only measures: afterwards w.size says what is needed. */
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
    int error; /* 0, or the first error: WEFT_EFORMAT. Then `at` stays on the value at fault, at - start says where */
} weft_reader;

/* [S] Reads `size` bytes at `data`, which must outlive the reader and every view taken from it. */
WEFT_API weft_reader weft_reader_on(const void *data, size_t size);
WEFT_API bool weft_get_bool(weft_reader *r);   /* false after an error */
WEFT_API int64_t weft_get_int(weft_reader *r); /* 0 after an error; an error if it does not fit */
WEFT_API uint64_t weft_get_uint(weft_reader *r);
WEFT_API double weft_get_real(weft_reader *r); /* integers are accepted */
WEFT_API weft_text weft_get_str(weft_reader *r);
WEFT_API weft_text weft_get_bin(weft_reader *r);
WEFT_API uint32_t weft_get_array(weft_reader *r); /* the count; an error if fewer bytes than values are left */
WEFT_API uint32_t weft_get_map(weft_reader *r);
WEFT_API bool weft_get_nil(weft_reader *r);        /* true and past it if a nil is next; else false, nothing read */
WEFT_API int weft_peek_type(const weft_reader *r); /* a weft_type, or WEFT_EFORMAT at the end or after an error */
WEFT_API void weft_skip(weft_reader *r); /* one value and all in it; an error if it nests deeper than WEFT_NEST_MAX */

/* [S] Walks the whole of `data`, which must be one value, without allocating. 0; WEFT_EFORMAT if something in it is
 * malformed or cut off, or bytes are left over; WEFT_ETOOBIG if arrays and maps nest deeper than WEFT_NEST_MAX or
 * there are more than `elements_max` values, containers and all that is in them counted. On an error `where` (may be
 * NULL) gets the offset of the fault. */
WEFT_API int weft_pack_check(const void *data, size_t size, size_t elements_max, size_t *where);

WEFT_END
#endif
