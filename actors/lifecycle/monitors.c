/* actors/lifecycle/monitors.c -- monitors and links: see monitors.h. */
#include "monitors.h"

#include "deliver.h"
#include "end.h"
#include "end_wait.h"
#include "kept_actor.h"
#include "mailbox.h"
#include "stopping.h"
#include "supervisor.h"

#include <string.h>

/* ---- Reasons --------------------------------------------------------------------------------------------------- */

/* Bodies for the usual reasons, and one for use when there is no memory for another body. They start with one
 * reference, so they are never freed. */
#define REASON_BODY(index, code)                                                                                     \
    [index] = {.refs = 1,                                                                                            \
               .block_class = WF_POOL_LARGE,                                                                         \
               .data = (const uint8_t[WF_REASON_BYTES]){(uint8_t)(code), (code) < 0 ? 255 : 0, (code) < 0 ? 255 : 0, \
                                                        (code) < 0 ? 255 : 0},                                       \
               .size = WF_REASON_BYTES}
enum { NO_MEMORY = WEFT_EXIT_FAILED + 1, TOO_MANY };
static struct wf_body usual[] = {
    REASON_BODY(WEFT_EXIT_NORMAL, WEFT_EXIT_NORMAL),
    REASON_BODY(WEFT_EXIT_STOPPED, WEFT_EXIT_STOPPED),
    REASON_BODY(WEFT_EXIT_KILLED, WEFT_EXIT_KILLED),
    REASON_BODY(WEFT_EXIT_NO_ACTOR, WEFT_EXIT_NO_ACTOR),
    REASON_BODY(WEFT_EXIT_NODE_LOST, WEFT_EXIT_NODE_LOST),
    REASON_BODY(WEFT_EXIT_FAILED, WEFT_EXIT_FAILED),
    REASON_BODY(NO_MEMORY, WEFT_ENOMEM),
    REASON_BODY(TOO_MANY, WEFT_EFULL),
};

static int body_reason(const uint8_t *b, size_t size)
{
    return size < WF_REASON_BYTES ? WEFT_EFORMAT : (int)wf_get_u32(b);
}

/* The body of all notifications of the end of `a`. The caller gets a reference. */
static struct wf_body *end_of(struct wf_actor *a)
{
    struct wf_body *b = a->more->end;
    a->more->end = NULL;
    if (b != NULL && body_reason(wf_body_bytes(b), b->size) == a->reason) return b;
    if (b != NULL) wf_body_drop(a->task.worker, b); /* it was asked to end for another reason */
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

/* Replaces the body of `m`. */
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
    if (m->size > WF_REASON_BYTES)
        memcpy(out->text, (const char *)weft_data(m) + WF_REASON_BYTES,
               WF_MIN(m->size - WF_REASON_BYTES, sizeof out->text - 1));
    return WEFT_OK;
}

/* ---- Messages -------------------------------------------------------------------------------------------------- */

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

/* Refuses a request (WATCH, LINK) with an `answer` that has one of the usual reasons. Consumes `m`. */
static void refuse(struct wf_worker *w, weft_msg *m, enum wf_msg_kind answer, int why)
{
    weft_pid caller = m->from;
    m->post.flags = (uint8_t)answer;
    m->from = (weft_pid){wf_node_of(w)->incarnation, m->to_actor};
    set_body(w, m, &usual[why]);
    (void)wf_send_signal(w, caller, m);
}

/* Whether that actor's node is another one and has as many ties here as it may have. */
static bool has_too_many(const struct wf_worker *w, weft_pid who)
{
    return who.node != wf_node_of(w)->incarnation && wf_ties_full(w, who.node);
}

static void tie_free(struct wf_worker *w, struct wf_actor *a, weft_msg *e)
{
    wf_tie_remove(a, e);
    wf_msg_free(w, e);
}

/* ---- Monitors -------------------------------------------------------------------------------------------------- */

static void monitor_end(struct wf_worker *w, struct wf_monitor *mon)
{
    wf_tie_remove_monitor(mon);
    if (mon->lost != NULL) wf_msg_free(w, mon->lost);
    wf_slab_give(&wf_ties_of(w)->monitors, mon);
}

/* A monitor and its WATCH message. */
static struct wf_monitor *monitor_new(struct wf_actor *self, weft_pid target, weft_msg **watch)
{
    struct wf_worker *w = self->task.worker;
    struct wf_monitor *mon = wf_slab_take(&wf_ties_of(w)->monitors);
    if (mon == NULL) return NULL;
    memset((char *)mon + sizeof mon->slot, 0, sizeof *mon - sizeof mon->slot);
    mon->watcher = self;
    mon->target = target;
    if (!wf_tie_add_monitor(mon)) {
        wf_slab_give(&wf_ties_of(w)->monitors, mon);
        return NULL;
    }
    uint64_t ref = wf_slot_id(&mon->slot);
    *watch = signal_new(w, WF_MSG_WATCH, wf_actor_pid(self), ref);
    bool remote = target.node != wf_node_of(w)->incarnation;
    if (remote) mon->lost = signal_new(w, WF_MSG_DOWN, target, ref);
    if (*watch != NULL && (!remote || mon->lost != NULL)) return mon;
    if (*watch != NULL) wf_msg_free(w, *watch);
    monitor_end(w, mon);
    return NULL;
}

/* Sends a DOWN to its own watcher, as no other node will. */
static void monitor_lost(struct wf_worker *w, struct wf_monitor *mon)
{
    weft_msg *m = mon->lost;
    mon->lost = NULL;
    WF_SOMETIMES("monitors: the node of a monitored actor is lost", true);
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
    wf_task_charge_entry(&self->task);
    return wf_monitor(self, target, NULL, out == NULL ? &unused.id : &out->id);
}

/* Lets the parent monitor a child that has not started. WEFT_ENOMEM. */
static int watch_child(struct wf_actor *parent, struct wf_actor *child, weft_monitor_ref *out)
{
    struct wf_worker *w = parent->task.worker;
    weft_msg *watch;
    weft_pid pid = {wf_node_of(w)->incarnation, child->id};
    if (monitor_new(parent, pid, &watch) == NULL) return WEFT_ENOMEM;
    out->id = watch->ref;
    if (wf_tie_add(child, w, watch)) return WEFT_OK;
    monitor_end(w, wf_slab_find(&wf_ties_of(w)->monitors, watch->ref));
    wf_msg_free(w, watch);
    return WEFT_ENOMEM;
}

static bool forget_down(struct wf_actor *a, uint64_t ref)
{
    weft_msg *m = wf_signal_take(a, WEFT_TAG_DOWN, ref, weft_nobody());
    WF_SOMETIMES("monitors: a monitor is removed when DOWN is in the mailbox already", m != NULL);
    if (m != NULL) wf_msg_free(a->task.worker, m);
    return m != NULL;
}

int weft_demonitor(weft_monitor_ref ref)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    struct wf_monitor *mon = wf_id_worker(ref.id) == w->index ? wf_slab_find(&wf_ties_of(w)->monitors, ref.id) : NULL;
    if (mon == NULL || mon->watcher != self) return forget_down(self, ref.id) ? WEFT_OK : WEFT_ECLOSED;
    /* Without memory for the UNWATCH the other side keeps its entry, and later sends a DOWN that is freed here. */
    weft_msg *m = signal_new(w, WF_MSG_UNWATCH, wf_actor_pid(self), ref.id);
    if (m != NULL) (void)wf_send_signal(w, mon->target, m);
    monitor_end(w, mon);
    return WEFT_OK;
}

static void watch_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (wf_tie_watcher(a, m->from, m->ref) != NULL) wf_msg_free(w, m); /* it must not be notified twice */
    else if (has_too_many(w, m->from)) refuse(w, m, WF_MSG_DOWN, TOO_MANY);
    else if (!wf_tie_add(a, w, m)) refuse(w, m, WF_MSG_DOWN, NO_MEMORY);
}

static void unwatch_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    weft_msg *e = wf_tie_watcher(a, m->from, m->ref);
    wf_msg_free(w, m);
    if (e != NULL) tie_free(w, a, e);
}

static void down_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    struct wf_monitor *mon = wf_id_worker(m->ref) == w->index ? wf_slab_find(&wf_ties_of(w)->monitors, m->ref) : NULL;
    if (mon == NULL || mon->watcher != a || !weft_pid_equal(mon->target, m->from)) {
        WF_SOMETIMES("monitors: a DOWN comes when the monitor was removed", true);
        wf_msg_free(w, m); /* the monitor has ended meanwhile, or another node made it up */
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

/* Never 0. */
static uint32_t next_link(struct wf_worker *w)
{
    struct wf_worker_ties *t = wf_ties_of(w);
    if (++t->last_link == 0) t->last_link = 1;
    return t->last_link;
}

static weft_msg *link_add(struct wf_actor *a, struct wf_worker *w, weft_pid other, uint32_t mine, uint32_t theirs)
{
    weft_msg *e = signal_new(w, WF_MSG_EXIT, other, (uint64_t)mine << 32 | theirs);
    if (e == NULL || wf_tie_add(a, w, e)) return e;
    wf_msg_free(w, e);
    return NULL;
}

/* Acts on the end of a linked actor, of which `m` tells; the link is removed already. Consumes `m`. */
static void exit_act(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    m->ref = 0;
    if (a->traps_exits) {
        wf_signal_put(a, m, WEFT_TAG_EXIT);
        return;
    }
    int reason = reason_of(m);
    if (reason != WEFT_EXIT_NORMAL) {
        if (m->shared == NULL) m->shared = wf_body_new(w, NULL, 0, weft_data(m), m->size); /* m is of another node */
        wf_actor_cancel(a, reason, m->shared);
    }
    wf_msg_free(w, m);
}

static void link_lost(struct wf_worker *w, struct wf_actor *a, weft_msg *e)
{
    wf_tie_remove(a, e);
    WF_SOMETIMES("links of actors: the node of the other actor is lost", true);
    set_body(w, e, &usual[WEFT_EXIT_NODE_LOST]);
    exit_act(w, a, e);
}

int weft_link(weft_pid other)
{
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    weft_pid me = wf_actor_pid(self);
    if (weft_pid_is_nobody(other) || weft_pid_equal(other, me)) return WEFT_EINVAL;
    if (wf_tie_link(self, other) != NULL) return WEFT_OK;
    wf_task_charge_entry(&self->task);
    struct wf_worker *w = self->task.worker;
    uint32_t number = next_link(w);
    weft_msg *ask = signal_new(w, WF_MSG_LINK, me, number);
    if (ask == NULL) return WEFT_ENOMEM;
    weft_msg *e = link_add(self, w, other, number, 0);
    if (e == NULL) {
        wf_msg_free(w, ask);
        return WEFT_ENOMEM;
    }
    if (wf_send_signal(w, other, ask) < 0) link_lost(w, self, e);
    return WEFT_OK;
}

/* The same with a link. */
static int link_child(struct wf_actor *parent, struct wf_actor *child)
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
    weft_msg *e = wf_tie_link(self, other);
    /* Several may wait, and a link exist, if the actor has linked again with one that has ended. */
    const bool waited = wf_signals_drop(self, WEFT_TAG_EXIT, WEFT_TAG_EXIT, 0, other) > 0;
    WF_SOMETIMES("links of actors: an actor unlinks when EXIT is in its mailbox already", waited);
    if (e == NULL) return waited ? WEFT_OK : WEFT_ECLOSED;
    wf_tie_remove(self, e);
    e->post.flags = WF_MSG_UNLINK;
    e->from = wf_actor_pid(self);
    (void)wf_send_signal(w, other, e);
    return WEFT_OK;
}

static void link_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    uint32_t theirs = (uint32_t)m->ref;
    weft_msg *e = wf_tie_link(a, m->from);
    if (e != NULL) {
        WF_SOMETIMES("links of actors: both sides link at the same time", true);
        e->ref = (e->ref & ~(uint64_t)UINT32_MAX) | theirs;
        wf_msg_free(w, m);
        return;
    }
    m->ref = theirs;
    if (has_too_many(w, m->from)) {
        refuse(w, m, WF_MSG_EXIT, TOO_MANY);
        return;
    }
    m->post.flags = WF_MSG_EXIT; /* the request becomes the envelope of the EXIT that will be sent when `a` ends */
    if (!wf_tie_add(a, w, m)) refuse(w, m, WF_MSG_EXIT, NO_MEMORY);
}

static void unlink_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    weft_msg *e = wf_tie_link(a, m->from);
    if (e != NULL) {
        uint64_t mine = e->ref >> 32, theirs = (uint32_t)e->ref;
        if (theirs == m->ref >> 32) theirs = 0;
        if (mine == (uint32_t)m->ref) mine = 0;
        e->ref = mine << 32 | theirs;
        WF_SOMETIMES("links of actors: an actor links again while UNLINK is under way", e->ref != 0);
        if (e->ref == 0) tie_free(w, a, e);
    }
    wf_msg_free(w, m);
}

static void exit_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    weft_msg *e = wf_tie_link(a, m->from);
    if (e == NULL) { /* unlinked meanwhile */
        WF_SOMETIMES("links of actors: an EXIT comes after the unlinking", true);
        wf_msg_free(w, m);
        return;
    }
    tie_free(w, a, e);
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

/* A message of one of these kinds came for an actor that does not exist, or ends. Consumes. */
static void drop(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    if (m->post.flags != WF_MSG_WATCH && m->post.flags != WF_MSG_LINK) {
        wf_msg_free(w, m);
        return;
    }
    WF_SOMETIMES("monitors: the actor has ended before it is monitored", m->post.flags == WF_MSG_WATCH);
    WF_SOMETIMES("links of actors: the actor has ended before it is linked", m->post.flags == WF_MSG_LINK);
    refuse(w, m, m->post.flags == WF_MSG_WATCH ? WF_MSG_DOWN : WF_MSG_EXIT, WEFT_EXIT_NO_ACTOR);
}

/* Delivers a message of one of these kinds to `a`. Consumes. An actor of this worker has paid for it itself. */
static void deliver(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    if (w->current == NULL) wf_worker_charge(w, WF_ENTRY_WORK);
    if (WF_UNLIKELY(weft_pid_is_nobody(m->from))) { /* sent by a peer: nothing could ever undo it */
        wf_msg_free(w, m);
        return;
    }
    if (WF_UNLIKELY(m->post.flags == WF_MSG_LINK && a->lasts)) { /* only its node can end it */
        wf_drop(w, m, WF_DROP_NO_ACTOR);
        return;
    }
    if (WF_UNLIKELY(a->more != NULL && a->more->unties &&
                    (m->post.flags == WF_MSG_WATCH || m->post.flags == WF_MSG_LINK))) {
        drop(w, m, WF_DROP_NO_ACTOR);
        return;
    }
    switch (m->post.flags) {
    case WF_MSG_WATCH: watch_came(w, a, m); return;
    case WF_MSG_UNWATCH: unwatch_came(w, a, m); return;
    case WF_MSG_DOWN: down_came(w, a, m); return;
    case WF_MSG_LINK: link_came(w, a, m); return;
    case WF_MSG_UNLINK: unlink_came(w, a, m); return;
    case WF_MSG_EXIT: exit_came(w, a, m); return;
    default: wf_assert_failed("a kind of monitors.h", __FILE__, __LINE__);
    }
}

/* Notifies one actor, which watches `a` or is linked with it. Consumes `m`. */
static void tell_one(struct wf_actor *a, weft_msg *m, struct wf_body *end)
{
    weft_pid other = m->from;
    const bool watches = m->post.flags == WF_MSG_WATCH;
    wf_tie_remove(a, m);
    m->post.flags = watches ? WF_MSG_DOWN : WF_MSG_EXIT;
    m->from = wf_actor_pid(a);
    set_body(a->task.worker, m, end);
    (void)wf_send_signal(a->task.worker, other, m);
}

/* Notifies the actors of one set: those that watch, or those that are linked. */
static void tell_end(struct wf_actor *a, struct wf_tie_set *s, bool watchers, struct wf_body *end)
{
    for (weft_msg *m = s->ends, *next; m != NULL; m = next) {
        next = (weft_msg *)m->post.next;
        if ((m->post.flags == WF_MSG_WATCH) == watchers) tell_one(a, m, end);
    }
}

/* Notifies the supervisor that keeps the actor, even without a link. */
static void tell_keeper(struct wf_actor *a, struct wf_body *end)
{
    weft_pid supervisor;
    weft_msg *m = wf_kept_actor_take_news(wf_actor_keep(a), &supervisor);
    m->post.flags = WF_MSG_SYSTEM;
    m->from = wf_actor_pid(a);
    set_body(a->task.worker, m, end);
    (void)wf_send_signal(a->task.worker, supervisor, m);
}

/* Ends at most `most` monitors of the set. Returns how many. */
static uint32_t end_monitors(struct wf_actor *a, struct wf_tie_set *s, uint32_t most)
{
    struct wf_worker *w = a->task.worker;
    uint32_t ended = 0;
    for (bool more = !wf_list_empty(&s->monitors); more && ended < most; ended++) {
        struct wf_list_node *k = wf_list_first(&s->monitors);
        struct wf_monitor *mon = WF_CONTAINER(k, struct wf_monitor, on_set);
        weft_msg *m = signal_new(w, WF_MSG_UNWATCH, wf_actor_pid(a), wf_slot_id(&mon->slot));
        if (m != NULL) (void)wf_send_signal(w, mon->target, m);
        more = k->next != &s->monitors.head; /* the set may be freed with its last monitor */
        monitor_end(w, mon);
    }
    return ended;
}

/* Loops over all sets of `a`; the loop's body may empty the set. */
#define EACH_SET(s, a)                                               \
    for (struct wf_tie_set *s = wf_tie_set_next(a, NULL), *s##_next; \
         s != NULL && ((s##_next = wf_tie_set_next(a, s)), true); s = s##_next)

#define LOST_AT_ONCE WF_LIMIT("ties: ended in a turn when a node is lost", 1024, 1)
enum {
    PART = 64,               /* ties that are ended at a time */
    SEARCHED_MOST = 4 * PART /* ties of an actor that have to be looked at to know whether they are many */
};

static bool has_many(const struct wf_actor *a)
{
    uint32_t seen = 0;
    EACH_SET(s, a)
    {
        WF_LIST_EACH(k, &s->monitors) {
            if (++seen == SEARCHED_MOST) return true;
        }
        for (const weft_msg *m = s->ends; m != NULL; m = (weft_msg *)m->post.next) {
            if (++seen == SEARCHED_MOST) return true;
        }
    }
    return false;
}

/* Ends some monitors, or notifies some actors, in whatever order. False: there are none left. */
static bool end_some(struct wf_actor *a, struct wf_body *end)
{
    uint32_t done = 0;
    EACH_SET(s, a)
    {
        if (done == PART) break;
        done += end_monitors(a, s, PART - done);
    }
    EACH_SET(s, a)
    {
        for (weft_msg *m = s->ends, *next; m != NULL && done < PART; m = next, done++) {
            next = (weft_msg *)m->post.next;
            tell_one(a, m, end);
        }
        if (done == PART) break;
    }
    wf_actor_end_part(a, done);
    return done == PART;
}

/* A kept actor has the actors that watch it for its next life. It has few others, or as many as it likes. */
static void actor_end_early(struct wf_actor *a, bool last)
{
    if (!last || !has_many(a)) return;
    struct wf_body *end = end_of(a);
    a->more->unties = true;
    while (end_some(a, end)) {}
    a->more->end = end; /* for actor_end */
}

/* Notifies all monitors and linked actors of the end. At the end of a life that is not the last one (see
 * kept_actor.c) monitors are not notified, and stay. */
static void actor_end(struct wf_actor *a, bool last)
{
    struct wf_actor_more *more = a->more;
    struct wf_worker *w = a->task.worker;
    EACH_SET(s, a)(void) end_monitors(a, s, UINT32_MAX);
    if (more->ties.here.ends != NULL || more->ties.far != NULL || !last) {
        struct wf_body *end = end_of(a);
        EACH_SET(s, a) tell_end(a, s, false, end);
        if (last) EACH_SET(s, a) tell_end(a, s, true, end);
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

/* Undoes watch_child and link_child, even if only a part was done. */
static void forget_ties(struct wf_actor *parent, struct wf_actor *child)
{
    struct wf_worker *w = parent->task.worker;
    weft_pid pid = {wf_node_of(w)->incarnation, child->id};
    if (child->more == NULL) return;
    for (weft_msg *m; (m = child->more->ties.here.ends) != NULL;) {
        if (m->post.flags == WF_MSG_WATCH) monitor_end(w, wf_slab_find(&wf_ties_of(w)->monitors, m->ref));
        wf_tie_remove(child, m);
        wf_msg_free(w, m);
    }
    weft_msg *link = wf_tie_link(parent, pid);
    if (link != NULL) tie_free(w, parent, link);
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
    if (!ok) wf_tie_pend_end(self, there);
    return ok ? WEFT_OK : WEFT_ENOMEM;
}

/* An actor waits for one such answer at a time and makes no other monitor meanwhile, so this one is the newest. */
static struct wf_monitor *pending_monitor(const struct wf_actor *self, weft_pid there)
{
    const struct wf_tie_set *s = wf_tie_set_of(self, there.node);
    struct wf_list_node *k = s == NULL ? NULL : wf_list_first(&s->monitors);
    struct wf_monitor *mon = k == NULL ? NULL : WF_CONTAINER(k, struct wf_monitor, on_set);
    return mon != NULL && is_pending(mon->target) ? mon : NULL;
}

static weft_msg *pending_link(const struct wf_actor *self, weft_pid there)
{
    return wf_tie_link(self, (weft_pid){there.node, 0});
}

void wf_tie_bind(struct wf_actor *self, weft_pid child)
{
    struct wf_monitor *mon = pending_monitor(self, child);
    weft_msg *link = pending_link(self, child);
    if (mon != NULL) mon->target = mon->lost->from = child;
    if (link != NULL) wf_tie_rename(self, link, child);
}

void wf_tie_pend_end(struct wf_actor *self, weft_pid there)
{
    struct wf_worker *w = self->task.worker;
    struct wf_monitor *mon = pending_monitor(self, there);
    weft_msg *link = pending_link(self, there);
    if (mon != NULL) monitor_end(w, mon);
    if (link != NULL) tie_free(w, self, link);
}

int wf_tie_remote(struct wf_worker *w, struct wf_actor *child, weft_pid caller, uint64_t monitor, uint32_t link)
{
    if (has_too_many(w, caller)) return WEFT_EFULL;
    weft_msg *watch = monitor == 0 ? NULL : signal_new(w, WF_MSG_WATCH, caller, monitor);
    if (watch != NULL && !wf_tie_add(child, w, watch)) {
        wf_msg_free(w, watch);
        watch = NULL;
    }
    if (monitor != 0 && watch == NULL) return WEFT_ENOMEM;
    return link == 0 || link_add(child, w, caller, 0, link) != NULL ? WEFT_OK : WEFT_ENOMEM;
}

/* ---- Lost nodes ------------------------------------------------------------------------------------------------ */

/* Returns how many it has notified or freed, at most `most`. */
static uint32_t lost_to(struct wf_worker *w, struct wf_actor *a, struct wf_tie_set *s, uint32_t most)
{
    uint32_t done = 0;
    WF_LIST_EACH(k, &s->monitors) {
        struct wf_monitor *mon = WF_CONTAINER(k, struct wf_monitor, on_set);
        if (done == most) return done;
        if (is_pending(mon->target)) continue;
        monitor_lost(w, mon);
        done++;
    }
    for (weft_msg *e = s->ends, *next; e != NULL && done < most; e = next) {
        next = (weft_msg *)e->post.next;
        if (e->post.flags != WF_MSG_WATCH && is_pending(e->from)) continue;
        if (e->post.flags == WF_MSG_WATCH) tie_free(w, a, e);
        else link_lost(w, a, e);
        done++;
    }
    return done;
}

static bool node_lost(struct wf_worker *w, uint64_t peer, uint64_t *at)
{
    (void)at;
    return wf_ties_some(w, peer, LOST_AT_ONCE, lost_to);
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static int worker_init(struct wf_actors *wa)
{
    wf_slab_init(&wf_ties_of(wa->worker)->monitors, sizeof(struct wf_monitor), WF_SLAB_MAX, wa->worker->index);
    return WEFT_OK;
}

static void worker_finish(struct wf_worker *w)
{
    wf_slab_finish(&wf_ties_of(w)->monitors);
    wf_ties_finish(w);
}

static int actor_birth(struct wf_actor *a, const weft_spawn_options *o)
{
    struct wf_actor *parent = wf_actor_self();
    int rc = o->monitor == NULL ? WEFT_OK : watch_child(parent, a, o->monitor);
    if (rc == WEFT_OK && o->link) rc = link_child(parent, a);
    if (rc < 0) forget_ties(parent, a);
    return rc;
}

#define TIE(kind_)                                      \
    {                                                   \
        .kind = kind_, .deliver = deliver, .drop = drop \
    }
static const struct wf_message_row messages[] = {TIE(WF_MSG_WATCH), TIE(WF_MSG_UNWATCH), TIE(WF_MSG_DOWN),
                                                 TIE(WF_MSG_LINK),  TIE(WF_MSG_UNLINK),  TIE(WF_MSG_EXIT)};
const struct wf_feature wf_monitors_feature = {.name = "monitors and links",
                                               .slot = WF_TIES_SLOT,
                                               .worker_bytes = sizeof(struct wf_worker_ties),
                                               .worker_init = worker_init,
                                               .worker_finish = worker_finish,
                                               .actor_birth = actor_birth,
                                               .actor_end_early = actor_end_early,
                                               .actor_end = actor_end,
                                               .node_lost = node_lost,
                                               .wait_kind = &wf_end_wait_kind,
                                               .messages = messages,
                                               .message_count = WF_COUNT(messages)};
