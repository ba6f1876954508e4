/* transport/admin/rows.c -- see rows.h. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include <weft/call.h>
#include <weft/error.h>
#include <weft/pack.h>

enum { HEAD = 5, /* of an array: its type, and the count in four bytes */ FIRST = 4096 };

int wf_rows_init(struct wf_rows *rows)
{
    *rows = (struct wf_rows){.bytes = malloc(FIRST), .size = HEAD, .capacity = FIRST};
    return rows->bytes == NULL ? WEFT_ENOMEM : WEFT_OK;
}

void wf_rows_free(struct wf_rows *rows)
{
    free(rows->bytes);
    rows->bytes = NULL;
}

uint8_t *wf_rows_reserve(struct wf_rows *rows, size_t size)
{
    if (rows->capacity - rows->size < size) {
        size_t capacity = 2 * rows->capacity + size;
        uint8_t *more = realloc(rows->bytes, capacity);
        if (more == NULL) return NULL;
        rows->bytes = more;
        rows->capacity = capacity;
    }
    return rows->bytes + rows->size;
}

void wf_rows_added(struct wf_rows *rows, size_t size, uint32_t count)
{
    rows->size += size;
    rows->count += count;
}

int wf_rows_add(struct wf_rows *rows, const void *data, size_t size, uint32_t count)
{
    uint8_t *at = wf_rows_reserve(rows, size);
    if (at == NULL) return WEFT_ENOMEM;
    memcpy(at, data, size);
    wf_rows_added(rows, size, count);
    return WEFT_OK;
}

int wf_rows_reply(struct wf_rows *rows, const weft_msg *ask, uint32_t tag)
{
    uint8_t head[HEAD];
    weft_writer w = weft_writer_on(head, sizeof head);
    weft_put_array(&w, rows->count);
    uint8_t *start = rows->bytes + HEAD - w.size; /* the head is put before the rows, as long as it is */
    memcpy(start, head, w.size);
    return weft_reply(ask, tag, start, rows->size - HEAD + w.size);
}
