/* actors/topics/publish_report.c -- see publish_report.h. */
#include "publish_report.h"

#include "call.h"
#include "deliver.h"
#include "held.h"
#include "mailbox.h"
#include "sanitizer.h"

#include <stdlib.h>

/* ---- Of a node ------------------------------------------------------------------------------------------------- */

struct wf_publish_count *wf_publish_count_new(weft_pid to, uint64_t ref)
{
    struct wf_publish_count *t = malloc(sizeof *t);
    if (t == NULL) return NULL;
    atomic_init(&t->left, 1);
    atomic_init(&t->count, 0);
    t->to = to;
    t->ref = ref;
    return t;
}

void wf_publish_count_keep(struct wf_publish_count *t)
{
    atomic_fetch_add_explicit(&t->left, 1, memory_order_relaxed); /* the caller is a holder */
}

bool wf_publish_count_done(struct wf_publish_count *t, uint32_t count)
{
    if (t == NULL) return false;
    atomic_fetch_add_explicit(&t->count, count, memory_order_relaxed);
    return WF_LAST_HOLDER(&t->left, 1);
}

void wf_publish_count_end(struct wf_worker *w, struct wf_publish_count *t, uint32_t count)
{
    if (!wf_publish_count_done(t, count)) return;
    weft_msg *m = wf_msg_new(w, 0, sizeof(uint32_t));
    if (m != NULL) {
        wf_put_u32(wf_msg_bytes(m), atomic_load_explicit(&t->count, memory_order_relaxed));
        m->post.flags = WF_MSG_REPLY;
        m->ref = t->ref;
        (void)wf_send_signal(w, t->to, m);
    }
    free(t);
}

/* ---- Of the publisher ------------------------------------------------------------------------------------------ */

int wf_publish_report_begin(struct wf_publish_report *r, struct wf_actor *self, uint32_t nodes)
{
    struct wf_actors *wa = wf_actors_of(self->task.worker);
    size_t count = (size_t)nodes + 1;
    *r = (struct wf_publish_report){.self = self,
                                    .held = wf_msg_new(wa->worker, 0, count * sizeof(struct weft_answer))};
    if (r->held == NULL) return WEFT_ENOMEM;
    wf_hold(self, r->held);
    wf_asking_begin(self, &r->asking, (struct weft_answer *)(void *)wf_msg_bytes(r->held), (uint32_t)count, 0);
    r->asking.count = r->asking.open = 0; /* wf_publish_report_ask opens them */
    return WEFT_OK;
}

uint64_t wf_publish_report_ask(struct wf_publish_report *r, uint64_t node)
{
    struct wf_asking *s = &r->asking;
    if (s->count == r->held->size / sizeof(struct weft_answer)) {
        r->unasked++;
        return 0;
    }
    s->slots[s->count] = (struct weft_answer){.from = {node, 0}, .error = WF_ANSWER_OPEN};
    s->open++;
    return s->first + s->count++;
}

void wf_publish_report_lost(struct wf_publish_report *r, uint64_t ref)
{
    struct weft_answer *place = r == NULL || ref == 0 ? NULL : wf_answer_place(r->self, ref);
    if (place != NULL) wf_answer_fails(r->self, place, WEFT_EFULL);
}

static void sum_up(struct wf_publish_report *r, struct weft_reach *out)
{
    uint64_t own = wf_node_of(r->self->task.worker)->incarnation;
    uint64_t here = r->here;
    *out = (struct weft_reach){.silent = r->unasked};
    for (size_t i = 0; i < r->asking.count; i++) {
        struct weft_answer *at = &r->asking.slots[i];
        uint32_t count = at->answer != NULL && weft_size(at->answer) == 4 ? wf_get_u32(weft_data(at->answer)) : 0;
        out->silent += at->answer == NULL;
        if (at->from.node == own) {
            here += count;
        } else {
            out->nodes += count > 0;
            out->subscribers += count;
        }
        weft_msg_free(at->answer);
    }
    out->nodes += here > 0;
    out->subscribers += here;
}

int wf_publish_report_end(struct wf_publish_report *r, struct weft_reach *out, int64_t deadline)
{
    struct wf_asking *s = &r->asking;
    int rc = WEFT_OK;
    do {
        s->need = s->got + s->open; /* the wait ends with the last answer, or with the next failure */
        r->self->asking = s;
        rc = wf_asking_await(r->self, deadline);
    } while (rc == WEFT_OK && s->open > 0);
    sum_up(r, out);
    wf_release(r->self, r->held);
    wf_msg_free(r->self->task.worker, r->held);
    return (int)wf_task_finish_wait(rc == WEFT_ETIMEDOUT ? WEFT_OK : rc);
}
