/* transport/admin/rows.h -- an answer of $node that is an array of unknown length: rows are added one after the other,
 * and the head of the array is written when they are all there. */
#ifndef WF_ROWS_H
#define WF_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <weft/message.h>

struct wf_rows {
    uint8_t *bytes; /* behind space for the head */
    size_t size, capacity;
    uint32_t count;
};

int wf_rows_init(struct wf_rows *rows); /* WEFT_ENOMEM */
void wf_rows_free(struct wf_rows *rows);
/* Returns where `size` more bytes may be written, for wf_rows_added. NULL: no memory. */
uint8_t *wf_rows_reserve(struct wf_rows *rows, size_t size);
/* `size` bytes, which are `count` rows, were written there. */
void wf_rows_added(struct wf_rows *rows, size_t size, uint32_t count);
int wf_rows_add(struct wf_rows *rows, const void *data, size_t size, uint32_t count); /* WEFT_ENOMEM */
/* [A] Replies with all rows. No more may be added. */
int wf_rows_reply(struct wf_rows *rows, const weft_msg *ask, uint32_t tag);

#endif
