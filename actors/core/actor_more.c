/* actors/core/actor_more.c -- see actor_more.h. */
#include "actor.h"

enum { SKIPPED_DEFAULT = 10000 }; /* docs/mailboxes.md says why */

struct wf_actor_more *wf_actor_more_from(struct wf_actor *a, struct wf_worker *w)
{
    struct wf_actor_more *m = a->more;
    if (m != NULL) return m;
    WF_ASSERT(w == NULL || w == wf_here);
    m = wf_pool_take(w == NULL ? NULL : &w->pool, wf_pool_class(sizeof *m), sizeof *m);
    if (m == NULL) return NULL;
    memset(m, 0, sizeof *m);
    wf_list_init(&m->ties.here.monitors);
    return a->more = m;
}

struct wf_backlog *wf_backlog_from(struct wf_actor *a, struct wf_worker *w)
{
    struct wf_actor_more *m = wf_actor_more_from(a, w);
    if (m == NULL || m->backlog != NULL) return m == NULL ? NULL : m->backlog;
    WF_ASSERT(m->backlog == NULL && (w == NULL || w == wf_here));
    struct wf_backlog *b = wf_pool_take(w == NULL ? NULL : &w->pool, wf_pool_class(sizeof *b), sizeof *b);
    if (b == NULL) return NULL;
    *b = (struct wf_backlog){.actor = a, .skipped_max = SKIPPED_DEFAULT};
    wf_list_init(&b->evict_marks);
    return m->backlog = b;
}

void wf_actor_more_free(struct wf_actor *a, struct wf_worker *w)
{
    struct wf_actor_more *m = a->more;
    WF_ASSERT(m != NULL && m->defers == NULL && m->locals == NULL);
    WF_ASSERT(m->backlog == NULL || (m->backlog->space.first == NULL && !wf_linked(&m->backlog->on_short) &&
                                     wf_list_empty(&m->backlog->evict_marks)));
    struct wf_pool *pool = w == NULL ? NULL : &w->pool;
    if (m->end != NULL) wf_body_drop(w, m->end); /* nobody was notified of the end */
    if (m->backlog != NULL) wf_pool_give(pool, wf_pool_class(sizeof *m->backlog), m->backlog);
    wf_pool_give(pool, wf_pool_class(sizeof *m), m);
    a->more = NULL;
}
