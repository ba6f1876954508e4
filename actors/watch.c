/* actors/watch.c -- monitors and links: see watch.h. */
#include "watch.h"

#include "mailbox.h"
#include "supervisor.h"

#include <string.h>

enum { REASON_BYTES = 4 };

/* ---- Reasons --------------------------------------------------------------------------------------------------- */

/* Bodies for the usual reasons, and for when there is no memory for another one. They begin with one reference and so
 * never end. */
#define REASON_BODY(index, code)                                                                                  \
    [index] = {.refs = 1,                                                                                         \
               .block_class = WF_POOL_LARGE,                                                                      \
               .data = (const uint8_t[REASON_BYTES]){(uint8_t)(code), (code) < 0 ? 255 : 0, (code) < 0 ? 255 : 0, \
                                                     (code) < 0 ? 255 : 0},                                       \
               .size = REASON_BYTES}
enum { NO_MEMORY = WEFT_EXIT_FAILED + 1 };
static struct wf_body usual[] = {
    REASON_BODY(WEFT_EXIT_NORMAL, WEFT_EXIT_NORMAL),
    REASON_BODY(WEFT_EXIT_STOPPED, WEFT_EXIT_STOPPED),
    REASON_BODY(WEFT_EXIT_KILLED, WEFT_EXIT_KILLED),
    REASON_BODY(WEFT_EXIT_NO_ACTOR, WEFT_EXIT_NO_ACTOR),
    REASON_BODY(WEFT_EXIT_NODE_LOST, WEFT_EXIT_NODE_LOST),
    REASON_BODY(WEFT_EXIT_FAILED, WEFT_EXIT_FAILED),
    REASON_BODY(NO_MEMORY, WEFT_ENOMEM),
};

struct wf_body *wf_end_body(struct wf_worker *w, int reason, const char *text)
{
    size_t size = strnlen(text, sizeof((struct weft_down *)0)->text - 1);
    struct wf_body *b = wf_body_new(w, NULL, 0, NULL, REASON_BYTES + size);
    if (b == NULL) return NULL;
    uint8_t *out = wf_body_bytes(b);
    wf_put_u32(out, (uint32_t)reason);
    memcpy(out + REASON_BYTES, text, size);
    return b;
}

static int body_reason(const uint8_t *b, size_t size)
{
    return size < REASON_BYTES ? WEFT_EFORMAT : (int)wf_get_u32(b);
}

/* What everyone is told of the end of `a`; the caller gets a reference. */
static struct wf_body *end_of(struct wf_actor *a)
{
    struct wf_body *b = a->more->end;
    a->more->end = NULL;
    if (b != NULL && body_reason(wf_body_bytes(b), b->size) == a->reason) return b;
    if (b != NULL) wf_body_drop(a->task.worker, b); /* asked to end for one reason, it ended for another */
    b = NULL;
    if (a->reason < 0 || a->reason > WEFT_EXIT_FAILED) b = wf_end_body(a->task.worker, a->reason, "");
    if (b != NULL) return b;
    b = &usual[a->reason >= 0 && a->reason <= WEFT_EXIT_FAILED ? a->reason : NO_MEMORY];
    wf_body_keep(b);
    return b;
}

static int reason_of(const weft_msg *m)
{
    return body_reason(weft_data(m), m->size);
}

/* In the place of what it has. */
static void set_body(struct wf_worker *w, weft_msg *m, struct wf_body *b)
{
    if (m->shared != NULL) wf_body_drop(w, m->shared);
    wf_body_keep(b);
    m->shared = b;
    m->size = (uint32_t)b->size;
    m->topic_size = 0;
}

int weft_down_read(const weft_msg *m, struct weft_down *out)
{
    if (m == NULL || out == NULL || (weft_tag(m) != WEFT_TAG_DOWN && weft_tag(m) != WEFT_TAG_EXIT))
        return WEFT_EFORMAT;
    *out = (struct weft_down){.who = m->from, .reason = reason_of(m)};
    if (weft_tag(m) == WEFT_TAG_DOWN) out->ref.id = m->ref;
    if (m->size > REASON_BYTES)
        memcpy(out->text, (const char *)weft_data(m) + REASON_BYTES,
               WF_MIN(m->size - REASON_BYTES, sizeof out->text - 1));
    return WEFT_OK;
}

/* ---- What an actor keeps --------------------------------------------------------------------------------------- */

static struct wf_ties *ties_of(struct wf_actor *a, struct wf_worker *w)
{
    struct wf_actor_more *more = wf_actor_more_from(a, w);
    return more == NULL ? NULL : &more->ties;
}

/* A message from the actor at `from`, for wf_send_signal. */
static weft_msg *signal_new(struct wf_worker *w, enum wf_msg_kind kind, weft_pid from, uint64_t ref)
{
    weft_msg *m = wf_msg_new(w, 0, 0);
    if (m == NULL) return NULL;
    m->post.flags = (uint8_t)kind;
    m->from = from;
    m->ref = ref;
    return m;
}

/* ---- Monitors -------------------------------------------------------------------------------------------------- */

static void monitor_end(struct wf_worker *w, struct wf_monitor *mon)
{
    wf_unlink(&mon->on_actor);
    if (mon->lost != NULL) wf_msg_free(w, mon->lost);
    wf_slab_give(&wf_actors_of(w)->monitors, mon);
}

/* A monitor and its WATCH message. */
static struct wf_monitor *monitor_new(struct wf_actor *self, weft_pid target, weft_msg **watch)
{
    struct wf_worker *w = self->task.worker;
    struct wf_ties *t = ties_of(self, w);
    struct wf_monitor *mon = t == NULL ? NULL : wf_slab_take(&wf_actors_of(w)->monitors);
    if (mon == NULL) return NULL;
    memset((char *)mon + sizeof mon->slot, 0, sizeof *mon - sizeof mon->slot);
    mon->watcher = self;
    mon->target = target;
    uint64_t ref = wf_id_make(&mon->slot, w->index);
    *watch = signal_new(w, WF_MSG_WATCH, wf_actor_pid(self), ref);
    bool remote = target.node != wf_node_of(w)->incarnation;
    if (remote) mon->lost = signal_new(w, WF_MSG_DOWN, target, ref);
    wf_list_push_front(&t->monitors, &mon->on_actor);
    if (*watch != NULL && (!remote || mon->lost != NULL)) return mon;
    if (*watch != NULL) wf_msg_free(w, *watch);
    monitor_end(w, mon);
    return NULL;
}

/* The news of an end that nobody else will bring. */
static void monitor_lost(struct wf_worker *w, struct wf_monitor *mon)
{
    weft_msg *m = mon->lost;
    mon->lost = NULL;
    set_body(w, m, &usual[WEFT_EXIT_NODE_LOST]);
    m->to_actor = mon->watcher->id;
    wf_deliver(w, m);
}

int wf_monitor(struct wf_actor *self, weft_pid target, struct wf_end_wait *wait, uint64_t *ref)
{
    struct wf_worker *w = self->task.worker;
    weft_msg *watch;
    struct wf_monitor *mon = monitor_new(self, target, &watch);
    if (mon == NULL) return WEFT_ENOMEM;
    mon->wait = wait;
    *ref = watch->ref;
    if (wf_send_signal(w, target, watch) < 0) monitor_lost(w, mon);
    return WEFT_OK;
}

int weft_monitor(weft_pid target, weft_monitor_ref *out)
{
    struct wf_actor *self = wf_actor_self();
    weft_monitor_ref unused;
    if (self == NULL) return WEFT_ENOTACTOR;
    if (weft_pid_is_nobody(target)) return WEFT_EINVAL;
    return wf_monitor(self, target, NULL, out == NULL ? &unused.id : &out->id);
}

int wf_watch_child(struct wf_actor *parent, struct wf_actor *child, weft_monitor_ref *out)
{
    struct wf_worker *w = parent->task.worker;
    weft_msg *watch;
    struct wf_ties *t = ties_of(child, w);
    weft_pid pid = {wf_node_of(w)->incarnation, child->id};
    if (t == NULL || monitor_new(parent, pid, &watch) == NULL) return WEFT_ENOMEM;
    out->id = watch->ref;
    wf_chain_add(&t->watchers, watch);
    return WEFT_OK;
}

static bool forget_down(struct wf_actor *a, uint64_t ref)
{
    weft_msg *m = wf_signal_take(a, WEFT_TAG_DOWN, ref, weft_nobody());
    if (m != NULL) wf_msg_free(a->task.worker, m);
    return m != NULL;
}

int weft_demonitor(weft_monitor_ref ref)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_monitor *mon = wf_id_worker(ref.id) == w->index ? wf_slab_find(&wf_actors_of(w)->monitors, ref.id)
                                                              : NULL;
    if (mon == NULL || mon->watcher != self) return forget_down(self, ref.id) ? WEFT_OK : WEFT_ECLOSED;
    /* Without memory for it the other side keeps its entry, and one day sends a DOWN that nobody waits for. */
    weft_msg *m = signal_new(w, WF_MSG_UNWATCH, wf_actor_pid(self), ref.id);
    if (m != NULL) (void)wf_send_signal(w, mon->target, m);
    monitor_end(w, mon);
    return WEFT_OK;
}

static void watch_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    struct wf_ties *t = ties_of(a, w);
    if (t != NULL) {
        wf_chain_add(&t->watchers, m);
        return;
    }
    weft_pid watcher = m->from;
    m->post.flags = WF_MSG_DOWN;
    m->from = wf_actor_pid(a);
    set_body(w, m, &usual[NO_MEMORY]);
    (void)wf_send_signal(w, watcher, m);
}

static void unwatch_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    weft_msg *e = a->more == NULL ? NULL : a->more->ties.watchers;
    while (e != NULL && (e->ref != m->ref || !weft_pid_equal(e->from, m->from))) e = (weft_msg *)e->post.next;
    wf_msg_free(w, m);
    if (e == NULL) return;
    wf_chain_remove(&a->more->ties.watchers, e);
    wf_msg_free(w, e);
}

static void down_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    struct wf_monitor *mon = wf_id_worker(m->ref) == w->index ? wf_slab_find(&wf_actors_of(w)->monitors, m->ref)
                                                              : NULL;
    if (mon == NULL || mon->watcher != a || !weft_pid_equal(mon->target, m->from)) {
        wf_msg_free(w, m); /* ended meanwhile, or invented by another node */
        return;
    }
    struct wf_end_wait *wait = mon->wait;
    monitor_end(w, mon);
    if (wait == NULL) {
        wf_signal_put(a, m, WEFT_TAG_DOWN);
        return;
    }
    wait->ended = true;
    wf_task_wake(&a->task);
    wf_msg_free(w, m);
}

/* ---- Links ----------------------------------------------------------------------------------------------------- */

static weft_msg *link_find(const struct wf_actor *a, weft_pid other)
{
    weft_msg *e = a->more == NULL ? NULL : a->more->ties.links;
    while (e != NULL && !weft_pid_equal(e->from, other)) e = (weft_msg *)e->post.next;
    return e;
}

/* Never 0. */
static uint32_t next_link(struct wf_worker *w)
{
    struct wf_actors *wa = wf_actors_of(w);
    if (++wa->last_link == 0) wa->last_link = 1;
    return wa->last_link;
}

static weft_msg *link_add(struct wf_actor *a, struct wf_worker *w, weft_pid other, uint32_t mine, uint32_t theirs)
{
    struct wf_ties *t = ties_of(a, w);
    weft_msg *e = t == NULL ? NULL : signal_new(w, WF_MSG_EXIT, other, (uint64_t)mine << 32 | theirs);
    if (e != NULL) wf_chain_add(&t->links, e);
    return e;
}

/* The end of a linked actor, known from `m`; the link is gone already. Consumes. */
static void exit_act(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    m->ref = 0;
    if (a->traps_exits) {
        wf_signal_put(a, m, WEFT_TAG_EXIT);
        return;
    }
    int reason = reason_of(m);
    if (reason != WEFT_EXIT_NORMAL) {
        if (m->shared == NULL) m->shared = wf_body_new(w, NULL, 0, weft_data(m), m->size); /* from another node */
        wf_actor_cancel(a, reason, m->shared);
    }
    wf_msg_free(w, m);
}

static void link_lost(struct wf_worker *w, struct wf_actor *a, weft_msg *e)
{
    wf_chain_remove(&a->more->ties.links, e);
    set_body(w, e, &usual[WEFT_EXIT_NODE_LOST]);
    exit_act(w, a, e);
}

int weft_link(weft_pid other)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    weft_pid me = wf_actor_pid(self);
    if (weft_pid_is_nobody(other) || weft_pid_equal(other, me)) return WEFT_EINVAL;
    if (link_find(self, other) != NULL) return WEFT_OK;
    struct wf_worker *w = self->task.worker;
    uint32_t number = next_link(w);
    weft_msg *ask = ties_of(self, w) == NULL ? NULL : signal_new(w, WF_MSG_LINK, me, number);
    if (ask == NULL) return WEFT_ENOMEM;
    weft_msg *e = link_add(self, w, other, number, 0);
    if (e == NULL) {
        wf_msg_free(w, ask);
        return WEFT_ENOMEM;
    }
    if (wf_send_signal(w, other, ask) < 0) link_lost(w, self, e);
    return WEFT_OK;
}

int wf_link_child(struct wf_actor *parent, struct wf_actor *child)
{
    struct wf_worker *w = parent->task.worker;
    weft_pid pid = {wf_node_of(w)->incarnation, child->id};
    uint32_t number = next_link(w);
    if (link_add(child, w, wf_actor_pid(parent), 0, number) == NULL || link_add(parent, w, pid, number, 0) == NULL)
        return WEFT_ENOMEM;
    return WEFT_OK;
}

int weft_unlink(weft_pid other)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    weft_msg *e = link_find(self, other);
    if (e == NULL) {
        weft_msg *m = wf_signal_take(self, WEFT_TAG_EXIT, 0, other);
        if (m == NULL) return WEFT_ECLOSED;
        wf_msg_free(w, m);
        return WEFT_OK;
    }
    wf_chain_remove(&self->more->ties.links, e);
    e->post.flags = WF_MSG_UNLINK;
    e->from = wf_actor_pid(self);
    (void)wf_send_signal(w, other, e);
    return WEFT_OK;
}

static void link_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    uint32_t theirs = (uint32_t)m->ref;
    weft_msg *e = link_find(a, m->from);
    struct wf_ties *t = ties_of(a, w);
    if (e != NULL) {
        e->ref = (e->ref & ~(uint64_t)UINT32_MAX) | theirs;
        wf_msg_free(w, m);
    } else if (t != NULL) { /* the request becomes the envelope of the EXIT that will answer it one day */
        m->post.flags = WF_MSG_EXIT;
        m->ref = theirs;
        wf_chain_add(&t->links, m);
    } else {
        weft_pid asker = m->from;
        m->post.flags = WF_MSG_EXIT;
        m->from = wf_actor_pid(a);
        set_body(w, m, &usual[NO_MEMORY]);
        (void)wf_send_signal(w, asker, m);
    }
}

static void unlink_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    weft_msg *e = link_find(a, m->from);
    if (e != NULL) {
        uint64_t mine = e->ref >> 32, theirs = (uint32_t)e->ref;
        if (theirs == m->ref >> 32) theirs = 0;
        if (mine == (uint32_t)m->ref) mine = 0;
        e->ref = mine << 32 | theirs;
        if (e->ref == 0) {
            wf_chain_remove(&a->more->ties.links, e);
            wf_msg_free(w, e);
        }
    }
    wf_msg_free(w, m);
}

static void exit_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    weft_msg *e = link_find(a, m->from);
    if (e == NULL) { /* unlinked meanwhile */
        wf_msg_free(w, m);
        return;
    }
    wf_chain_remove(&a->more->ties.links, e);
    wf_msg_free(w, e);
    exit_act(w, a, m);
}

int weft_trap_exits(bool on)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    self->traps_exits = on;
    return WEFT_OK;
}

/* ---- Arrival and end ------------------------------------------------------------------------------------------- */

void wf_watch_deliver(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (WF_UNLIKELY(weft_pid_is_nobody(m->from))) { /* a peer has said so: nothing would ever take it back */
        wf_msg_free(w, m);
        return;
    }
    switch (m->post.flags) {
    case WF_MSG_WATCH: watch_came(w, a, m); return;
    case WF_MSG_UNWATCH: unwatch_came(w, a, m); return;
    case WF_MSG_DOWN: down_came(w, a, m); return;
    case WF_MSG_LINK: link_came(w, a, m); return;
    case WF_MSG_UNLINK: unlink_came(w, a, m); return;
    case WF_MSG_EXIT: exit_came(w, a, m); return;
    default: wf_assert_failed("a kind of watch.h", __FILE__, __LINE__);
    }
}

void wf_watch_missed(struct wf_worker *w, weft_msg *m)
{
    if (m->post.flags != WF_MSG_WATCH && m->post.flags != WF_MSG_LINK) {
        wf_msg_free(w, m);
        return;
    }
    weft_pid asker = m->from;
    m->post.flags = m->post.flags == WF_MSG_WATCH ? WF_MSG_DOWN : WF_MSG_EXIT;
    m->from = (weft_pid){wf_node_of(w)->incarnation, m->to_actor};
    set_body(w, m, &usual[WEFT_EXIT_NO_ACTOR]);
    (void)wf_send_signal(w, asker, m);
}

static void tell_end(struct wf_actor *a, weft_msg **chain, enum wf_msg_kind kind, struct wf_body *end)
{
    for (weft_msg *m; (m = *chain) != NULL;) {
        weft_pid other = m->from;
        wf_chain_remove(chain, m);
        m->post.flags = (uint8_t)kind;
        m->from = wf_actor_pid(a);
        set_body(a->task.worker, m, end);
        (void)wf_send_signal(a->task.worker, other, m);
    }
}

/* The supervisor that keeps the actor is told even if there is no link. */
static void tell_keeper(struct wf_actor *a, struct wf_body *end)
{
    weft_pid supervisor;
    weft_msg *m = wf_keep_take_news(wf_actor_keep(a), &supervisor);
    m->post.flags = WF_MSG_SYSTEM;
    m->from = wf_actor_pid(a);
    set_body(a->task.worker, m, end);
    (void)wf_send_signal(a->task.worker, supervisor, m);
}

static void end_monitors(struct wf_actor *a, struct wf_ties *t)
{
    struct wf_worker *w = a->task.worker;
    for (struct wf_link *k; (k = wf_list_first(&t->monitors)) != NULL;) {
        struct wf_monitor *mon = WF_CONTAINER(k, struct wf_monitor, on_actor);
        weft_msg *m = signal_new(w, WF_MSG_UNWATCH, wf_actor_pid(a), wf_id_make(&mon->slot, w->index));
        if (m != NULL) (void)wf_send_signal(w, mon->target, m);
        monitor_end(w, mon);
    }
}

void wf_watch_end(struct wf_actor *a, bool last)
{
    struct wf_actor_more *more = a->more;
    if (more == NULL) return;
    struct wf_ties *t = &more->ties;
    struct wf_worker *w = a->task.worker;
    end_monitors(a, t);
    if (t->links != NULL || t->watchers != NULL || !last) {
        struct wf_body *end = end_of(a);
        tell_end(a, &t->links, WF_MSG_EXIT, end);
        if (last) tell_end(a, &t->watchers, WF_MSG_DOWN, end);
        if (!last) {
            tell_keeper(a, end);
            more->end = end; /* in case no other life follows */
            return;
        }
        wf_body_drop(w, end);
    }
    if (more->end != NULL) wf_body_drop(w, more->end);
    more->end = NULL;
}

void wf_ties_forget(struct wf_actor *parent, struct wf_actor *child)
{
    struct wf_worker *w = parent->task.worker;
    weft_pid pid = {wf_node_of(w)->incarnation, child->id};
    if (child->more == NULL) return;
    struct wf_ties *t = &child->more->ties;
    for (weft_msg *m; (m = t->watchers) != NULL;) {
        wf_chain_remove(&t->watchers, m);
        monitor_end(w, wf_slab_find(&wf_actors_of(w)->monitors, m->ref));
        wf_msg_free(w, m);
    }
    for (weft_msg *m; (m = t->links) != NULL;) {
        wf_chain_remove(&t->links, m);
        wf_msg_free(w, m);
    }
    weft_msg *link = link_find(parent, pid);
    if (link != NULL) {
        wf_chain_remove(&parent->more->ties.links, link);
        wf_msg_free(w, link);
    }
}

/* ---- Actors that another node starts --------------------------------------------------------------------------- */

/* A pid of that node whose actor is not known yet. */
static bool is_pending(weft_pid p)
{
    return p.actor == 0;
}

int wf_tie_pend(struct wf_actor *self, weft_pid there, weft_monitor_ref *monitor, bool link, uint64_t *number)
{
    struct wf_worker *w = self->task.worker;
    weft_msg *watch = NULL;
    *number = link ? next_link(w) : 0;
    bool ok = monitor == NULL || monitor_new(self, there, &watch) != NULL;
    if (watch != NULL) {
        monitor->id = watch->ref;
        wf_msg_free(w, watch);
    }
    if (ok && link) ok = link_add(self, w, there, (uint32_t)*number, 0) != NULL;
    if (!ok) wf_tie_pend_end(self);
    return ok ? WEFT_OK : WEFT_ENOMEM;
}

void wf_tie_bind(struct wf_actor *self, weft_pid child)
{
    if (self->more == NULL) return;
    WF_LIST_EACH(k, &self->more->ties.monitors) {
        struct wf_monitor *mon = WF_CONTAINER(k, struct wf_monitor, on_actor);
        if (is_pending(mon->target)) mon->target = mon->lost->from = child;
    }
    for (weft_msg *e = self->more->ties.links; e != NULL; e = (weft_msg *)e->post.next)
        if (is_pending(e->from)) e->from = child;
}

void wf_tie_pend_end(struct wf_actor *self)
{
    struct wf_worker *w = self->task.worker;
    if (self->more == NULL) return;
    WF_LIST_EACH(k, &self->more->ties.monitors) {
        struct wf_monitor *mon = WF_CONTAINER(k, struct wf_monitor, on_actor);
        if (is_pending(mon->target)) monitor_end(w, mon);
    }
    for (weft_msg *e = self->more->ties.links, *next; e != NULL; e = next) {
        next = (weft_msg *)e->post.next;
        if (!is_pending(e->from)) continue;
        wf_chain_remove(&self->more->ties.links, e);
        wf_msg_free(w, e);
    }
}

int wf_tie_far(struct wf_worker *w, struct wf_actor *child, weft_pid asker, uint64_t monitor, uint32_t link)
{
    struct wf_ties *t = ties_of(child, w);
    weft_msg *watch = t == NULL || monitor == 0 ? NULL : signal_new(w, WF_MSG_WATCH, asker, monitor);
    if (watch != NULL) wf_chain_add(&t->watchers, watch);
    if (t == NULL || (monitor != 0 && watch == NULL)) return WEFT_ENOMEM;
    return link == 0 || link_add(child, w, asker, 0, link) != NULL ? WEFT_OK : WEFT_ENOMEM;
}

/* ---- Lost nodes ------------------------------------------------------------------------------------------------ */

static void lost_to(struct wf_worker *w, struct wf_actor *a, uint64_t peer)
{
    WF_LIST_EACH(k, &a->more->ties.monitors) {
        struct wf_monitor *mon = WF_CONTAINER(k, struct wf_monitor, on_actor);
        if (mon->target.node == peer && !is_pending(mon->target)) monitor_lost(w, mon);
    }
    for (weft_msg *e = a->more->ties.links, *next; e != NULL; e = next) {
        next = (weft_msg *)e->post.next;
        if (e->from.node == peer && !is_pending(e->from)) link_lost(w, a, e);
    }
    for (weft_msg *e = a->more->ties.watchers, *next; e != NULL; e = next) {
        next = (weft_msg *)e->post.next;
        if (e->from.node != peer) continue;
        wf_chain_remove(&a->more->ties.watchers, e);
        wf_msg_free(w, e);
    }
}

void wf_watch_node_lost(struct wf_worker *w, uint64_t peer)
{
    WF_ACTORS_EACH(a, wf_actors_of(w))
    {
        if (a->more != NULL) lost_to(w, a, peer), wf_credit_node_lost(w, a, peer);
    }
}
