/* actors/pools/pool_member.c -- members of pools. The rules are in pool_member.h. */
#include "pool_member.h"

#include "actor.h"
#include "deliver.h"
#include "held.h"
#include "local.h"
#include "sanitizer.h"
#include "worker_pool.h"

#include <stdlib.h>

#include <weft/local.h>

static void unref(struct wf_member *m)
{
    if (m != NULL && WF_LAST_HOLDER(&m->refs, 1)) pf_aligned_free(m);
}

static void leave_pool(void *block)
{
    struct wf_member **mine = block;
    unref(*mine);
    *mine = NULL;
}

static const weft_local_key member_key = {sizeof(struct wf_member *), leave_pool};

static void let_go(struct wf_worker *w, struct wf_member *member)
{
    uint64_t done = atomic_load_explicit(&member->done, memory_order_relaxed);
    atomic_store_explicit(&member->done, done + 1, memory_order_relaxed);
    int32_t left = atomic_fetch_sub(&member->outstanding, 1) - 1;
    int32_t wake_at = atomic_load(&member->wake_at);
    if (left > wake_at || (wake_at = atomic_exchange(&member->wake_at, WF_NOBODY_WAITS)) == WF_NOBODY_WAITS) return;
    weft_msg *news = wf_msg_new(w, WF_TAG_POOL_SPACE, 0);
    if (news == NULL) {
        atomic_store(&member->wake_at, wake_at); /* the next message that leaves tries again */
        return;
    }
    news->post.flags = WF_MSG_SYSTEM;
    wf_send_signal(w, member->pool, news);
}

void wf_member_let_go(struct wf_actor *a, weft_msg *m)
{
    struct wf_member **mine = wf_local_find(a, &member_key);
    if (mine == NULL || *mine == NULL) return; /* the pool itself; or a member at its end */
    m->post.kind = wf_is_handling(a, m) ? WF_POST_HANDLED : WF_POST_MESSAGE;
    let_go(a->task.worker, *mine);
}

static void member_main(const void *arg, size_t size)
{
    const struct wf_member_boot *boot = arg;
    struct wf_member **mine = weft_local(&member_key);
    if (mine == NULL) weft_exit(WEFT_ENOMEM);
    *mine = boot->member;
    boot->member->joined = true;
    size -= sizeof *boot;
    boot->body(size > 0 ? boot + 1 : NULL, size);
}

int wf_member_spawn(struct wf_member **out, weft_pid *pid, struct wf_member_boot *arg, size_t size,
                    const weft_spawn_options *options)
{
    struct wf_member *m = pf_aligned_alloc(alignof(struct wf_member), sizeof *m);
    if (m == NULL) return WEFT_ENOMEM;
    *m = (struct wf_member){.pool = weft_self()};
    atomic_init(&m->refs, 2);
    atomic_init(&m->wake_at, WF_NOBODY_WAITS);
    arg->member = m;
    int rc = weft_spawn(pid, member_main, arg, size, options);
    if (rc < 0) pf_aligned_free(m);
    else *out = m;
    return rc;
}

void wf_member_forget(struct wf_member *m, bool ended)
{
    if (m == NULL) return;
    if (ended && !m->joined) unref(m); /* it never ran, so the pool drops its reference, too */
    unref(m);
}
