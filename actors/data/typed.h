/* actors/data/typed.h -- what typed.c and typed_json.c share. */
#ifndef WF_TYPED_H
#define WF_TYPED_H

#include <string.h>

#include <weft/typed_desc.h>

/* Any weft_list_T or weft_map_T, copied out of one and back. */
struct wf_many {
    const void *items; /* an array of values or entries, or NULL */
    size_t count;
    const uint8_t *packed, *end; /* the items as they came, or NULL */
};
_Static_assert(sizeof(struct wf_many) == sizeof(weft_list_int) && sizeof(struct wf_many) == sizeof(weft_map_int),
               "they have the same members");

/* Room for any value that is no struct. */
union wf_scalar {
    weft_text text;
    bool flag;
    int64_t number;
    uint64_t natural;
    double real;
    weft_pid pid;
};

/* Reads what is no struct; the error is the reader's. */
void wf_typed_get_scalar(weft_reader *r, enum weft_kind kind, void *out);

/* Writes `size` bytes that are msgpack already (actors/data/pack.c). */
void wf_pack_raw(weft_writer *w, const void *data, size_t size);

/* typed_tags.c. The first message with that tag that this process has; NULL: none. */
const char *wf_typed_name_of_tag(uint32_t tag);
/* What a message with that tag is called: WEFT_TAG_..., or the typed message; NULL: it has no name. */
const char *wf_tag_name(uint32_t tag);
/* Before a node starts: says which messages have the same tag. Those of modules that come later are said at once. */
void wf_typed_say_conflicts(void);

/* weft_skip, but of arrays and maps within each other only `levels` (actors/data/pack.c). */
void wf_pack_skip(weft_reader *r, uint32_t levels);

static inline bool wf_text_equal(weft_text a, weft_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

#endif
