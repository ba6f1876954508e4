/* weft/typed_desc.h -- the descriptions that WEFT_MESSAGE, WEFT_STRUCT and WEFT_ENUM make, and functions that work on
 * any description.
 *
 * A list of fields becomes a constant table (names, types, offsets). One interpreter packs, reads, compares and
 * prints any value that a table describes. `say_type()` of a struct say returns its table, for code that works on all
 * types. */
#ifndef WEFT_TYPED_DESC_H
#define WEFT_TYPED_DESC_H

#include <stddef.h>

#include <weft/api.h>
#include <weft/pack.h>
#include <weft/pid.h>
WEFT_BEGIN

enum weft_kind {
    WEFT_KIND_STR,
    WEFT_KIND_BIN,
    WEFT_KIND_BOOL,
    WEFT_KIND_INT,
    WEFT_KIND_UINT,
    WEFT_KIND_REAL,
    WEFT_KIND_PID,
    WEFT_KIND_ENUM,  /* an int64_t with names */
    WEFT_KIND_STRUCT /* an array of fields */
};

/* How often a field holds its type: one value, one value or nothing, or many. */
enum weft_shape { WEFT_SHAPE_ONE, WEFT_SHAPE_MAYBE, WEFT_SHAPE_LIST, WEFT_SHAPE_MAP };

struct weft_type_info;
struct weft_field_info {
    const char *name;
    const struct weft_type_info *(*type)(void); /* a function, so that a type can hold lists of itself */
    enum weft_kind kind;                        /* kind of the type */
    enum weft_shape shape;
    size_t offset;
};
struct weft_enum_info {
    const char *name;
    int64_t number;
};
struct weft_type_info {
    const char *name; /* "int", "item" */
    enum weft_kind kind;
    size_t size;     /* the size of the value */
    size_t maybe_at; /* offset of the value in a maybe(); its flag is at 0 */
    /* offset of the value in an entry of a map(), whose key is at 0; size of an entry */
    size_t entry_at, entry_size;
    const struct weft_field_info *fields; /* the fields of a struct */
    const struct weft_enum_info *names;   /* the names of an enumeration */
    size_t count;                         /* the number of fields or names */
};

/* Why a value could not be read. */
struct weft_why {
    int error;      /* 0 or WEFT_EFORMAT */
    size_t offset;  /* offset of the fault, from the reader's start */
    char text[160]; /* "order.items[3].price: expected real, got str"; "" without an error; cut off if longer */
};

/* [S] Writes `value`, whose type is `type`. Sets w->error to WEFT_ETOOBIG if it nests deeper than WEFT_NEST_MAX. */
WEFT_API void weft_typed_put(weft_writer *w, const struct weft_type_info *type, const void *value);
/* [S] Reads one value into `*out`, which is all zeroes after an error. `why` may be NULL. */
WEFT_API void weft_typed_get(weft_reader *r, const struct weft_type_info *type, void *out, struct weft_why *why);
/* [S] As weft_typed_get, for `size` bytes that must be exactly one value. Returns 0 or WEFT_EFORMAT. `out` NULL: only
 * checks the bytes. */
WEFT_API WEFT_CHECKED int weft_typed_read(const struct weft_type_info *type, const void *data, size_t size, void *out,
                                          struct weft_why *why);
/* [T] Registers the name and tag of a message of this process; WEFT_MESSAGE calls it before main. */
WEFT_API void weft_typed_message(const char *name, uint32_t tag);
/* [S] For a message with another tag: zeroes `*out`, fills in `why` (may be NULL) and returns WEFT_EFORMAT. */
WEFT_API int weft_typed_other_tag(const struct weft_type_info *type, uint32_t tag, void *out, struct weft_why *why);
/* [T] Writes `value` as JSON, as snprintf does: at most size - 1 bytes and a NUL (nothing at all if `size` is 0).
 * Returns the number of bytes of the whole text. docs/typed-messages.md says how each type is written. */
WEFT_API size_t weft_typed_json(const struct weft_type_info *type, const void *value, char *out, size_t size);
/* [T] As weft_typed_json, for packed bytes, without unpacking them into a struct. WEFT_EFORMAT: they do not match
 * `type`. */
WEFT_API int64_t weft_packed_json(const struct weft_type_info *type, const void *data, size_t data_size, char *out,
                                  size_t size);
/* [S] Returns true if two values are equal: lists and maps in the same order, any NaN equals any other, text by
 * bytes. */
WEFT_API bool weft_typed_equal(const struct weft_type_info *type, const void *a, const void *b);
/* [S] Returns the name of a number of an enumeration; NULL: it has none. */
WEFT_API const char *weft_typed_name(const struct weft_type_info *type, int64_t number);
/* [S] Removes the first item of a list, or the first entry of a map, into `*out`. Returns false if none is left. In
 * programs use item_next instead. */
WEFT_API bool weft_typed_next(const struct weft_type_info *type, void *list, void *out);
WEFT_API bool weft_typed_next_entry(const struct weft_type_info *type, void *map, void *out);
/* [S] Finds the first entry with `key`. Returns false if there is none; `*out` is then unchanged. In programs use
 * item_find instead. */
WEFT_API bool weft_typed_find(const struct weft_type_info *type, const void *map, weft_text key, void *out);

/* ---- What the types are in C ----------------------------------------------------------------------------------- */

#if defined(__GNUC__)
#define WEFT_TYPED_UNUSED __attribute__((unused))
#define WEFT_EXTENSION __extension__ /* a list without fields makes a struct without members */
#else
#define WEFT_TYPED_UNUSED
#define WEFT_EXTENSION
#endif
#define WEFT_TYPED_FN WEFT_TYPED_UNUSED static inline

/* Arguments called `type` are only pasted, so that it does not matter whether `bool` is a macro. */

/* The name that appears in the compiler's error if there is no such type. */
#define WEFT_FIELD_TYPE(type) weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_##type

/* To be expanded before the value's type is complete, so that a struct can hold a list or a map of itself. */
#define WEFT_TYPED_BEFORE(type)                         \
    enum { weft_shape_##type = WEFT_SHAPE_ONE };        \
    enum { WEFT_FIELD_TYPE(type) = 0 };                 \
    typedef struct weft_list_##type {                   \
        const weft_value_##type *items;                 \
        size_t count;                                   \
        const uint8_t *packed, *end;                    \
    } weft_list_##type;                                 \
    typedef struct weft_entry_##type weft_entry_##type; \
    typedef struct weft_map_##type {                    \
        const weft_entry_##type *items;                 \
        size_t count;                                   \
        const uint8_t *packed, *end;                    \
    } weft_map_##type;

#define WEFT_TYPED_AFTER(type)         \
    typedef struct weft_maybe_##type { \
        bool present;                  \
        weft_value_##type value;       \
    } weft_maybe_##type;               \
    struct weft_entry_##type {         \
        weft_text key;                 \
        weft_value_##type value;       \
    };

#define WEFT_TYPED_SIZES(type)                                                                         \
    sizeof(weft_value_##type), offsetof(weft_maybe_##type, value), offsetof(weft_entry_##type, value), \
        sizeof(weft_entry_##type)

#define WEFT_TYPED_LISTS(prefix, type)                                                                  \
    WEFT_TYPED_FN weft_list_##type prefix##_list(const weft_value_##type *items, size_t count)          \
    {                                                                                                   \
        weft_list_##type l = {items, count, NULL, NULL};                                                \
        return l;                                                                                       \
    }                                                                                                   \
    WEFT_TYPED_FN bool prefix##_next(weft_list_##type *list, weft_value_##type *out)                    \
    {                                                                                                   \
        return weft_typed_next(weft_type_##type(), list, out);                                          \
    }                                                                                                   \
    WEFT_TYPED_FN weft_map_##type prefix##_map(const weft_entry_##type *items, size_t count)            \
    {                                                                                                   \
        weft_map_##type m = {items, count, NULL, NULL};                                                 \
        return m;                                                                                       \
    }                                                                                                   \
    WEFT_TYPED_FN bool prefix##_next_entry(weft_map_##type *map, weft_entry_##type *out)                \
    {                                                                                                   \
        return weft_typed_next_entry(weft_type_##type(), map, out);                                     \
    }                                                                                                   \
    WEFT_TYPED_FN bool prefix##_find(const weft_map_##type *map, weft_text key, weft_value_##type *out) \
    {                                                                                                   \
        return weft_typed_find(weft_type_##type(), map, key, out);                                      \
    }

typedef weft_text weft_value_str;
typedef weft_text weft_value_bin;
typedef bool weft_value_bool;
typedef int64_t weft_value_int;
typedef uint64_t weft_value_uint;
typedef double weft_value_real;
typedef weft_pid weft_value_pid;

enum {
    weft_kind_str = WEFT_KIND_STR,
    weft_kind_bin = WEFT_KIND_BIN,
    weft_kind_bool = WEFT_KIND_BOOL,
    weft_kind_int = WEFT_KIND_INT,
    weft_kind_uint = WEFT_KIND_UINT,
    weft_kind_real = WEFT_KIND_REAL,
    weft_kind_pid = WEFT_KIND_PID
};

WEFT_TYPED_BEFORE(str)
WEFT_TYPED_BEFORE(bin)
WEFT_TYPED_BEFORE(bool)
WEFT_TYPED_BEFORE(int)
WEFT_TYPED_BEFORE(uint)
WEFT_TYPED_BEFORE(real)
WEFT_TYPED_BEFORE(pid)

WEFT_TYPED_AFTER(str)
WEFT_TYPED_AFTER(bin)
WEFT_TYPED_AFTER(bool)
WEFT_TYPED_AFTER(int)
WEFT_TYPED_AFTER(uint)
WEFT_TYPED_AFTER(real)
WEFT_TYPED_AFTER(pid)

/* [S] The descriptions of the types that come with weft. */
WEFT_API const struct weft_type_info *weft_type_str(void);
WEFT_API const struct weft_type_info *weft_type_bin(void);
WEFT_API const struct weft_type_info *weft_type_bool(void);
WEFT_API const struct weft_type_info *weft_type_int(void);
WEFT_API const struct weft_type_info *weft_type_uint(void);
WEFT_API const struct weft_type_info *weft_type_real(void);
WEFT_API const struct weft_type_info *weft_type_pid(void);

WEFT_TYPED_LISTS(weft_str, str)
WEFT_TYPED_LISTS(weft_bin, bin)
WEFT_TYPED_LISTS(weft_bool, bool)
WEFT_TYPED_LISTS(weft_int, int)
WEFT_TYPED_LISTS(weft_uint, uint)
WEFT_TYPED_LISTS(weft_real, real)
WEFT_TYPED_LISTS(weft_pid, pid)

/* A list of fields uses list(item), map(item) and maybe(item) for containers of items. */
#define weft_value_list(type) weft_list_##type
#define weft_value_map(type) weft_map_##type
#define weft_value_maybe(type) weft_maybe_##type
#define weft_type_list(type) weft_type_##type
#define weft_type_map(type) weft_type_##type
#define weft_type_maybe(type) weft_type_##type
#define weft_kind_list(type) weft_kind_##type
#define weft_kind_map(type) weft_kind_##type
#define weft_kind_maybe(type) weft_kind_##type
#define weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_list(type) \
    weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_##type
#define weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_map(type) \
    weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_##type
#define weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_maybe(type) \
    weft_field_types_are_str_bin_bool_int_uint_real_pid_list_map_maybe_and_yours_not_##type
#define weft_shape_list(type) WEFT_SHAPE_LIST
#define weft_shape_map(type) WEFT_SHAPE_MAP
#define weft_shape_maybe(type) WEFT_SHAPE_MAYBE

WEFT_END
#endif
