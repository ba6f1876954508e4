/* actors/core/send.c -- the way of a message out of an actor: to this worker, to another one, to another node; and
 * what happens to those that reach nobody.
 *
 * Design notes.
 * (1) Same worker: found, checked and linked into the mailbox at once; no atomic operation. The flight recorder
 *     (runtime/log/record.h) does not see it, as what is received tells of it; with weft_node_options.record_sends no
 *     message goes this way.
 * (2) Another worker: looked up there (a read of its first cache line), then put into this worker's outbox for it,
 *     which is handed over once a turn.
 * (3) Another node: encoded by the route, then freed; a large one is kept by the route, which sends its bytes from
 *     where they are.
 * (4) Where there is no room the sender waits: it asks for news (WF_MSG_ROOM to the mailbox, wf_worker_wait_room for
 *     a congested lane, the route for a full link or for credit), waits, and tries again, until its send timeout. */
#include "send.h"

#include "deliver.h"
#include "held.h"
#include "mailbox.h"

#include <string.h>

/* ---- Waiting for room ------------------------------------------------------------------------------------------ */

/* `weight`: the room its message takes, in bytes. */
static int ask_room(struct wf_actor *self, weft_pid to, uint32_t weight, uint32_t forget)
{
    struct wf_worker *w = self->task.worker;
    WF_ASSERT(w == wf_here && w->current == &self->task);
    weft_msg *ask = wf_msg_new(w, forget, 0);
    if (ask == NULL) return WEFT_ENOMEM;
    ask->post.flags = WF_MSG_ROOM;
    ask->from = wf_actor_pid(self);
    ask->size = forget ? 0 : ++self->room_asked;
    ask->topic_size = weight;
    return wf_send_signal(w, to, ask);
}

static int wait_for_mailbox(struct wf_actor *self, weft_pid to, uint32_t weight, int64_t deadline)
{
    WF_ASSERT(!self->wants_room); /* an actor waits for one thing */
    self->wants_room = true;
    self->room_news = false;
    int rc = ask_room(self, to, weight, 0);
    /* Asked of our own worker, the answer may have come before the wait. */
    while (rc == WEFT_OK && !self->room_news) rc = wf_task_wait(deadline, "room in a mailbox");
    self->wants_room = false;
    /* Who will not use the room passes it on. */
    if (rc < 0 || self->task.killed) (void)ask_room(self, to, 0, 1);
    return rc;
}

int wf_await_room(struct wf_actor *self, weft_pid to, uint32_t weight, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    uint32_t index = wf_id_worker(to.actor);
    WF_ASSERT(to.node == wf_node_of(w)->incarnation && index < w->set->count);
    if (deadline == WEFT_NOW) return WEFT_EFULL;
    int rc = wf_worker_is_congested(w->set->at[index]) ? wf_worker_wait_room(w, index, deadline)
                                                       : wait_for_mailbox(self, to, weight, deadline);
    wf_task_finish_wait(rc);
    return rc == WEFT_ETIMEDOUT ? WEFT_EFULL : rc;
}

void wf_return_room(struct wf_actor *self, weft_pid to)
{
    (void)ask_room(self, to, 0, 1);
}

/* PLACE: the lane again, by one who has been told of a place in the mailbox. */
enum where { MAILBOX, LANE, PLACE, LINK };

/* `name`: of the actor on another node; NULL: it is known by `to`.
 * The message is on the sender's held list meanwhile, so that it is not lost when the sender is killed. WEFT_EFULL at
 * the deadline. */
static int wait_for_room(struct wf_actor *self, weft_pid to, const char *name, weft_msg *m, enum where where,
                         int64_t *deadline)
{
    struct wf_worker *w = self->task.worker;
    WF_ASSERT(where != LINK || wf_node_of(w)->route != NULL);
    if (*deadline == WEFT_NOW) return WEFT_EFULL;
    if (*deadline == WF_SEND_TIMEOUT) *deadline = weft_after(wf_node_of(w)->options.send_timeout);
    wf_hold(self, m);
    int rc = where == MAILBOX ? wait_for_mailbox(self, to, (uint32_t)wf_msg_weight(m), *deadline)
             : where == LINK  ? wf_node_of(w)->route->wait_room(w, to, name, *deadline)
                              : wf_worker_wait_room(w, wf_id_worker(to.actor), *deadline);
    if (where == PLACE && (rc < 0 || self->task.killed)) (void)ask_room(self, to, 0, 1); /* as in wait_for_mailbox */
    wf_task_finish_wait(rc);
    wf_release(self, m);
    return rc == WEFT_ETIMEDOUT ? WEFT_EFULL : rc;
}

/* ---- The three ways -------------------------------------------------------------------------------------------- */

static int send_across(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    uint32_t index = wf_id_worker(to.actor);
    WF_ASSERT(index != w->index);
    if (WF_UNLIKELY(index >= w->set->count)) return WEFT_ENOACTOR;
    struct wf_worker *target = w->set->at[index];
    for (bool told = false;;) { /* of a place in the mailbox, which is its own until it is used or given up */
        struct wf_actor *there = wf_slab_find(&wf_actors_of(target)->slab, to.actor);
        if (WF_UNLIKELY(there == NULL)) return WEFT_ENOACTOR;
        enum where where;
        if (WF_UNLIKELY(wf_worker_is_congested(target))) where = told ? PLACE : LANE;
        else if (WF_UNLIKELY(wf_actor_is_full(there) && !told)) {
            if (wf_actor_policy(there) == WEFT_FULL_FAIL) return WEFT_EFULL;
            where = MAILBOX;
        } else break;
        int rc = wait_for_room(self, to, NULL, m, where, &deadline);
        if (rc < 0) return rc;
        told = told || where == MAILBOX;
    }
    m->to_actor = to.actor;
    wf_worker_send(w, index, &m->post);
    return WEFT_OK;
}

static int send_here(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    for (;;) {
        struct wf_actor *a = wf_actor_find(w, to.actor);
        if (WF_UNLIKELY(a == NULL)) return WEFT_ENOACTOR;
        bool full = wf_mailbox_full(a);
        if (WF_UNLIKELY(full) && wf_actor_policy(a) == WEFT_FULL_FAIL) return WEFT_EFULL;
        if (WF_LIKELY(!full || wf_actor_policy(a) != WEFT_FULL_SUSPEND)) {
            m->to_actor = to.actor;
            wf_mailbox_put(a, m);
            return WEFT_OK;
        }
        int rc = wait_for_room(self, to, NULL, m, MAILBOX, &deadline);
        if (rc < 0) return rc;
    }
}

static int send_remote(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    if (WF_UNLIKELY(weft_pid_is_nobody(to))) return WEFT_ENOBODY;
    if (route == NULL) return WEFT_ENONODE;
    if (m->from.node != wf_node_of(w)->incarnation)
        return WEFT_EINVAL; /* somebody else's request passed on: see weft_send_msg */
    for (;;) {
        int rc = route->send(w, to, m);
        if (rc == WEFT_EFULL) rc = wait_for_room(self, to, NULL, m, LINK, &deadline);
        else {
            if (rc == WEFT_OK) wf_msg_free(w, m);
            return WF_MIN(rc, WEFT_OK);
        }
        if (rc < 0) return rc;
    }
}

static bool is_passed_on(const struct wf_actor *self, const weft_msg *m)
{
    return m->from.actor != self->id || wf_answer_place(self, m->ref) == NULL;
}

/* The way of most messages: to an actor of the same worker that has room. */
static inline bool send_at_once(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    if (WF_UNLIKELY(to.node != wf_node_of(w)->incarnation || wf_id_worker(to.actor) != w->unrecorded)) return false;
    struct wf_actor *a = wf_actor_find(w, to.actor);
    if (WF_UNLIKELY(a == NULL || wf_mailbox_full(a))) return false;
    m->to_actor = to.actor;
    WF_PROBE3(send, m->from.actor, to.actor, m->post.word);
    wf_mailbox_add(a, m);
    return true;
}

static __attribute__((noinline)) int send_or_free(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_worker *w = self->task.worker;
    uint32_t tag = m->post.word;
    if (WF_UNLIKELY(wf_actors_of(w)->tracing)) m = wf_node_of(w)->tracing->out(w, self, to, NULL, m);
    int rc = to.node != wf_node_of(w)->incarnation ? send_remote(self, to, m, deadline)
             : wf_id_worker(to.actor) == w->index  ? send_here(self, to, m, deadline)
                                                   : send_across(self, to, m, deadline);
    if (WF_UNLIKELY(rc < 0)) {
        if (wf_is_traced(m)) wf_node_of(w)->tracing->failed(w, self, to, NULL, m, rc);
        /* That this actor is asked to stop is nothing to the asker. */
        if (m->post.flags == WF_MSG_CALL && is_passed_on(self, m))
            wf_refuse(w, m, rc == WEFT_ECANCELED ? WEFT_ENOREPLY : rc);
        else wf_msg_free(w, m);
        return rc;
    }
    wf_actor_record(self, WEFT_RECORD_SEND, to, tag);
    return rc;
}

int wf_send_or_free(struct wf_actor *self, weft_pid to, weft_msg *m, int64_t deadline)
{
    return send_at_once(self->task.worker, to, m) ? WEFT_OK : send_or_free(self, to, m, deadline);
}

int wf_send_or_drop(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    WF_ASSERT(w == wf_here);
    weft_node *node = wf_node_of(w);
    uint32_t index = wf_id_worker(to.actor);
    m->to_actor = to.actor;
    if (to.node != node->incarnation) {
        int rc = node->route == NULL ? WEFT_ENONODE : node->route->send(w, to, m);
        if (rc == WF_ROUTE_KEPT) return WEFT_OK;
        if (rc == WEFT_OK) wf_msg_free(w, m);
        else wf_drop(w, m, rc == WEFT_EFULL ? WF_DROP_FULL : WF_DROP_NO_ACTOR);
        return rc;
    }
    struct wf_worker *target = index < node->workers.count ? node->workers.at[index] : NULL;
    struct wf_actor *a = target == NULL ? NULL : wf_slab_find(&wf_actors_of(target)->slab, to.actor);
    if (a == NULL) {
        wf_drop(w, m, WF_DROP_NO_ACTOR);
        return WEFT_ENOACTOR;
    }
    if (target != w) {
        bool full = wf_worker_is_congested(target) || wf_actor_is_full(a);
        if (full) wf_drop(w, m, WF_DROP_FULL);
        else wf_worker_send(w, index, &m->post);
        return full ? WEFT_EFULL : WEFT_OK;
    }
    weft_full_policy policy = wf_actor_policy(a);
    if (wf_mailbox_full(a) && (policy == WEFT_FULL_SUSPEND || policy == WEFT_FULL_FAIL)) {
        wf_actor_dropped(a);
        wf_drop(w, m, WF_DROP_FULL);
        return WEFT_EFULL;
    }
    wf_mailbox_put(a, m);
    return WEFT_OK;
}

static inline __attribute__((always_inline)) int send_copy(weft_pid to, uint32_t tag, const void *data, size_t size,
                                                           int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (WF_UNLIKELY(self == NULL)) return WEFT_ENOTACTOR;
    struct wf_worker *w = self->task.worker;
    if (WF_UNLIKELY(wf_is_wrong_message(tag, data, size))) return wf_wrong_message("weft_send", tag, data, size);
    wf_task_tick(&self->task);
    weft_msg *m = wf_msg_new(w, tag, size);
    if (WF_UNLIKELY(m == NULL)) return WEFT_ENOMEM;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = (weft_pid){wf_node_of(w)->incarnation, self->id};
    return WF_LIKELY(send_at_once(w, to, m)) ? WEFT_OK : send_or_free(self, to, m, deadline);
}

int weft_send(weft_pid to, uint32_t tag, const void *data, size_t size)
{
    return send_copy(to, tag, data, size, WF_SEND_TIMEOUT);
}

int weft_try_send(weft_pid to, uint32_t tag, const void *data, size_t size)
{
    return send_copy(to, tag, data, size, WEFT_NOW);
}

/* A request keeps its asker and its number, so that the answer goes straight to the asker; other messages are sent as
 * new ones. */
int wf_send_given(weft_pid to, weft_msg *m, int64_t deadline)
{
    struct wf_actor *self = wf_actor_self();
    if (m == NULL) return wf_wrong(WEFT_EINVAL, "weft_send_msg: the message is NULL");
    if (self == NULL) {
        wf_msg_free(wf_here, m);
        return WEFT_ENOTACTOR;
    }
    if (m->post.word >= WEFT_TAG_SYSTEM) {
        int rc = wf_wrong_message("weft_send_msg", m->post.word, NULL, 0);
        weft_msg_free(m);
        return rc;
    }
    wf_task_tick(&self->task);
    wf_release(self, m);
    if (m->post.flags != WF_MSG_CALL) {
        m->post.flags = WF_MSG_SEND;
        m->ref = 0;
        m->from = wf_actor_pid(self);
    } else {
        wf_terms(m)->moved_on = 1;
    }
    return wf_send_or_free(self, to, m, deadline);
}

int weft_send_msg(weft_pid to, weft_msg *m)
{
    return wf_send_given(to, m, WF_SEND_TIMEOUT);
}

int weft_try_send_msg(weft_pid to, weft_msg *m)
{
    return wf_send_given(to, m, WEFT_NOW);
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

/* Splits "name@node". False: there is no node in it. */
static bool split_name(const char *whole, char name[65], const char **node)
{
    WF_ASSERT(whole != NULL);
    const char *at = strchr(whole, '@');
    size_t size = at == NULL ? strlen(whole) : (size_t)(at - whole);
    if (size > 64) size = 0; /* too long: no such name */
    memcpy(name, whole, size);
    name[size] = 0;
    *node = at == NULL ? NULL : at + 1;
    return at != NULL;
}

static int find_name(weft_node *n, weft_text name, bool any, weft_pid *to)
{
    return n->naming == NULL ? WEFT_ENOACTOR : n->naming->find(n, name, any, to);
}

int wf_resolve(struct wf_worker *w, const char *whole, weft_pid *to)
{
    const char *node_name;
    char name[65];
    *to = weft_nobody();
    if (!split_name(whole, name, &node_name)) return find_name(wf_node_of(w), weft_cstr(name), true, to);
    if (strcmp(node_name, wf_node_of(w)->name) != 0) return WEFT_OK;
    return find_name(wf_node_of(w), weft_cstr(name), false, to);
}

int wf_send_named(struct wf_actor *self, const char *whole, weft_msg *m, int64_t deadline, uint64_t *node)
{
    struct wf_worker *w = self->task.worker;
    const struct wf_route *route = wf_node_of(w)->route;
    const char *node_name;
    char name[65];
    weft_pid to;
    int rc = wf_resolve(w, whole, &to);
    *node = to.node;
    if (rc == WEFT_OK && to.node != 0) return wf_send_or_free(self, to, m, deadline);
    if (rc == WEFT_OK && route == NULL) rc = WEFT_ENONODE;
    if (rc == WEFT_OK && split_name(whole, name, &node_name)) {
        if (WF_UNLIKELY(wf_actors_of(w)->tracing)) m = wf_node_of(w)->tracing->out(w, self, weft_nobody(), whole, m);
        while ((rc = route->send_name(w, node_name, strlen(node_name), name, m, node)) == WEFT_EFULL) {
            weft_pid peer = {*node, 0};
            rc = wait_for_room(self, peer, name, m, LINK, &deadline);
            if (rc < 0) break;
        }
    }
    if (rc == WF_ROUTE_KEPT) return WEFT_OK;
    if (WF_UNLIKELY(rc < 0 && wf_is_traced(m))) wf_node_of(w)->tracing->failed(w, self, weft_nobody(), whole, m, rc);
    wf_msg_free(w, m);
    return rc;
}

weft_msg *wf_message_to_name(struct wf_actor *self, const char *name, uint32_t tag, const void *data, size_t size,
                             int *why)
{
    *why = self == NULL                           ? WEFT_ENOTACTOR
           : name == NULL                         ? wf_wrong_name(WEFT_EINVAL, NULL)
           : wf_is_wrong_message(tag, data, size) ? wf_wrong_message("weft_send_name", tag, data, size)
                                                  : WEFT_ENOMEM;
    if (*why != WEFT_ENOMEM) return NULL;
    wf_task_tick(&self->task);
    weft_msg *m = wf_msg_new(self->task.worker, tag, size);
    if (m == NULL) return NULL;
    if (size > 0) memcpy(m + 1, data, size);
    m->from = wf_actor_pid(self);
    return m;
}

int weft_send_name(const char *name, uint32_t tag, const void *data, size_t size)
{
    struct wf_actor *self = wf_actor_self();
    int why;
    uint64_t node;
    weft_msg *m = wf_message_to_name(self, name, tag, data, size, &why);
    return m == NULL ? why : wf_send_named(self, name, m, WF_SEND_TIMEOUT, &node);
}
