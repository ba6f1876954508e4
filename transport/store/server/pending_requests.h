/* transport/store/server/pending_requests.h -- requests that wait to be stored, and the requests of the running batch. */
#ifndef WF_PENDING_REQUESTS_H
#define WF_PENDING_REQUESTS_H

#include <weft/message.h>

#include "effort.h"
#include "store_file.h"

struct wf_store_batch;

/* The first field of each kind of request; the whole is freed with free(). */
struct wf_pending_request {
    weft_msg *ask; /* NULL: a change by the store itself */
    size_t bytes;  /* what it holds while it waits: the request, also its fields that this version does not know */
    size_t data;   /* bytes of data that it adds to a batch */
    struct wf_pending_request *next;
};

struct wf_pending_requests {
    struct wf_pending_request *first, **end; /* not stored yet */
    size_t count, bytes;
    struct wf_pending_request *running; /* those of the running batch, in its order */
    struct wf_store_batch *batch;       /* their batch, while it is filled or its results are used; else NULL */
    struct wf_effort *effort;
};

static inline void wf_pending_requests_init(struct wf_pending_requests *r, struct wf_effort *effort)
{
    r->end = &r->first;
    r->effort = effort;
}

static inline bool wf_pending_requests_has_space(const struct wf_pending_requests *r)
{
    return r->count < WF_STORE_BATCH_MAX && r->bytes < WF_STORE_BATCH_BYTES_MAX;
}

void wf_pending_requests_add(struct wf_pending_requests *r, struct wf_pending_request *w);

/* Moves the requests that fit into one batch, at most `most`, to `running`. Returns their number; `*data`: the bytes of
 * their data. Requests whose callers have given up are not stored: `drop` frees them, or wf_pending_request_free if
 * it is NULL. [A, W] */
size_t wf_pending_requests_choose(struct wf_pending_requests *r, size_t most, size_t *data,
                                  void (*drop)(void *arg, struct wf_pending_request *w), void *arg);

/* Frees a request and its message. */
void wf_pending_request_free(struct wf_pending_request *w);
/* The actor ends: frees all requests, and the batch. Their messages end with the actor. [A, W] */
void wf_pending_requests_free(struct wf_pending_requests *r);

#endif
