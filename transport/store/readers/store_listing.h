/* transport/store/readers/store_listing.h -- one page of a list of the store: of logs, queues, cursors, states or
 * reminders. The list is read on a thread of weft_offload. */
#ifndef WF_STORE_LISTING_H
#define WF_STORE_LISTING_H

#include "engine.h"
#include "store_file.h"

#include <weft/message.h>

struct wf_listing_kind;

/* The first member of a kind's struct, which has the rows. */
struct wf_listing {
    const struct wf_listing_kind *kind;
    struct wf_store_file *file;
    char after[WF_STORE_TOPIC_MAX + 1], key[WF_STORE_KEY_MAX + 1]; /* the page begins behind these */
    size_t count, max;                                             /* of rows; max: WF_STORE_PAGE_LOGS at most */
    int rc;
};

struct wf_listing_kind {
    size_t size; /* of its struct */
    /* Reads the request into `after`, `key` and `max`: 0, or an error. wf_listing_ask does so for a struct
     * store_list. */
    int (*ask)(struct wf_listing *l, const weft_msg *ask);
    /* On a thread that may block: adds rows until there are `max`. Returns 0 or an error of the engine. */
    int (*list)(struct wf_listing *l);
    /* `l` NULL: there are no rows. */
    void (*answer)(const weft_msg *ask, const struct wf_listing *l, int error);
};

/* [A, W] Answers a request. */
void wf_listing_for(struct wf_store_file *file, const weft_msg *ask, const struct wf_listing_kind *kind);
int wf_listing_ask(struct wf_listing *l, const weft_msg *ask);
/* As many rows as were asked for, but no more than a page has. */
size_t wf_listing_max(uint64_t asked);

#endif
