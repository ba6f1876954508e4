/* actors/data/typed.h -- shared by typed.c and typed_json.c. */
#ifndef WF_TYPED_H
#define WF_TYPED_H

#include <string.h>

#include <weft/typed_desc.h>

/* The form of every weft_list_T and weft_map_T, for copies from and to them. */
struct wf_many {
    const void *items; /* an array of values or entries, or NULL */
    size_t count;
    const uint8_t *packed, *end; /* the items as they were received, or NULL */
};
_Static_assert(sizeof(struct wf_many) == sizeof(weft_list_int) && sizeof(struct wf_many) == sizeof(weft_map_int),
               "they have the same members");

/* Space for any value that is no struct. */
union wf_scalar {
    weft_text text;
    bool flag;
    int64_t number;
    uint64_t natural;
    double real;
    weft_pid pid;
};

/* Reads a value that is no struct; an error is set in the reader. */
void wf_typed_get_scalar(weft_reader *r, enum weft_kind kind, void *out);

static inline bool wf_text_equal(weft_text a, weft_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

#endif
