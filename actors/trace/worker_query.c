/* actors/trace/worker_query.c -- see worker_query.h. */
#include "worker_query.h"

#include <stdlib.h>

#include "node.h"
#include "stuck.h"
#include "sanitizer.h"

void wf_worker_query_drop(struct wf_worker_query *r)
{
    if (!WF_LAST_HOLDER(&r->refs, 1)) return;
    if (r->free != NULL) r->free(r);
    else free(r);
}

static void caller_ended(struct wf_owned *o)
{
    wf_worker_query_drop(WF_CONTAINER(o, struct wf_worker_query, caller));
}

int wf_worker_query_begin(struct wf_worker_query *r, uint32_t workers, void (*free)(struct wf_worker_query *r))
{
    atomic_init(&r->refs, workers + 1);
    atomic_init(&r->left, workers);
    r->caller.close = caller_ended;
    r->free = free;
    return weft_event_open(&r->ready);
}

void wf_worker_query_ask(weft_node *node, uint32_t worker, struct wf_call *c,
                         void (*answer)(struct wf_worker *w, struct wf_call *c))
{
    *c = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = answer};
    wf_worker_post(node->workers.at[worker], &c->post);
}

void wf_worker_query_answered(struct wf_worker_query *r)
{
    if (WF_LAST_HOLDER(&r->left, 1)) (void)weft_event_set(r->ready);
    wf_worker_query_drop(r);
}

int wf_worker_query_await(struct wf_worker_query *r, int64_t deadline)
{
    wf_list_push(&wf_here->current->owned, &r->caller.on_task);
    int rc = weft_event_await(r->ready, deadline);
    wf_unlink(&r->caller.on_task);
    (void)weft_event_close(r->ready);
    return rc;
}

struct look {
    struct wf_worker_query round;
    struct wf_call call;
    bool (*look)(struct wf_worker *w, void *data);
    alignas(max_align_t) unsigned char data[];
};

static void look_here(struct wf_worker *w, struct wf_call *call)
{
    struct look *l = WF_CONTAINER(call, struct look, call);
    if (l->look(w, l->data)) wf_worker_post(w, &call->post);
    else wf_worker_query_answered(&l->round);
}

int wf_worker_inspect(weft_node *node, uint32_t worker, bool (*look)(struct wf_worker *w, void *data), void *data,
                      size_t size, int64_t deadline)
{
    struct look *l = calloc(1, sizeof *l + size);
    if (l == NULL) return WEFT_ENOMEM;
    int rc = wf_worker_query_begin(&l->round, 1, NULL);
    if (rc < 0) {
        free(l);
        return rc;
    }
    l->look = look;
    memcpy(l->data, data, size);
    wf_task_charge(wf_here->current, size);
    wf_worker_query_ask(node, worker, &l->call, look_here);
    rc = wf_worker_query_await(&l->round, wf_stuck_at(&node->workers, worker, NULL) ? WEFT_NOW : deadline);
    if (rc == WEFT_OK) memcpy(data, l->data, size);
    wf_worker_query_drop(&l->round);
    return rc;
}
