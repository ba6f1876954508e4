/* transport/store/server/pending_requests.c -- see pending_requests.h. */
#include <stdlib.h>

#include <weft/call.h>

#include "pending_requests.h"
#include "store_batch.h"

void wf_pending_requests_add(struct wf_pending_requests *r, struct wf_pending_request *w)
{
    *r->end = w;
    r->end = &w->next;
    r->count++;
    r->bytes += w->bytes;
}

static struct wf_pending_request *pop(struct wf_pending_requests *r)
{
    struct wf_pending_request *w = r->first;
    r->first = w->next;
    if (r->first == NULL) r->end = &r->first;
    r->count--;
    r->bytes -= w->bytes;
    w->next = NULL;
    return w;
}

size_t wf_pending_requests_choose(struct wf_pending_requests *r, size_t most, size_t *data,
                                  void (*drop)(void *arg, struct wf_pending_request *w), void *arg)
{
    struct wf_pending_request **end = &r->running;
    size_t count = 0;
    *data = 0;
    while (r->first != NULL && count < most && *data + r->first->data <= WF_STORE_BATCH_BYTES_MAX) {
        struct wf_pending_request *w = pop(r);
        if (w->ask != NULL && weft_expired(w->ask)) {
            if (drop != NULL) drop(arg, w);
            else wf_pending_request_free(w);
            wf_effort_count(r->effort, WF_EFFORT_ANSWER);
            continue;
        }
        count++;
        *data += w->data;
        *end = w;
        end = &w->next;
    }
    return count;
}

void wf_pending_request_free(struct wf_pending_request *w)
{
    weft_msg_free(w->ask);
    free(w);
}

void wf_pending_requests_free(struct wf_pending_requests *r)
{
    while (r->first != NULL || r->running != NULL) {
        struct wf_pending_request *w = r->running != NULL ? r->running : pop(r);
        if (w == r->running) r->running = w->next;
        free(w);
        wf_effort_count(r->effort, WF_EFFORT_FREE);
    }
    wf_store_batch_free(r->batch);
}
