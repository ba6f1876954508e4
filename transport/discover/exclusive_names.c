/* transport/discover/exclusive_names.c -- exclusive names: the actor $exclusive, which asks etcd (etcd.h) on behalf
 * of all actors of its node. */
#include "exclusive_names.h"
#include "actor.h"
#include "etcd.h"
#include "node_life.h"
#include "send.h"
#include "text.h"
#include "transport.h"

#include <weft/exclusive.h>
#include <weft/monitor.h>
#include <weft/names.h>
#include <weft/wait.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACQUIRE = 1, RELEASE, GIVE_UP, FIND, ANSWER, WAITERS_MAX = 65536 };

struct answer {
    int rc;
    weft_exclusive held;
};

enum state {
    FREE,    /* no node has the name, as far as is known */
    ASKING,  /* etcd has been asked for the name */
    TAKEN,   /* another node has the name, or it is unknown whether one has */
    HELD,    /* an actor of this node has the name */
    LEAVING, /* the name is being released */
};

struct waiter {
    struct wf_list_node in_claim;
    weft_msg *ask;
    weft_monitor_ref ref;
};

struct claim {
    struct wf_list_node in_all;
    char name[WF_NAME_MAX + 1];
    enum state state;
    bool unsure;    /* LEAVING: the release is requested again once etcd can be reached */
    int64_t freed;  /* the last revision at which it became free */
    weft_pid owner; /* HELD */
    weft_monitor_ref ref;
    weft_exclusive held;    /* HELD, LEAVING */
    struct wf_list waiters; /* waiter.in_claim */
};

struct service {
    struct wf_transport *t;
    struct wf_list claims; /* claim.in_all */
    uint32_t waiters;
    weft_event wake;
};

/* ---- Claims ---------------------------------------------------------------------------------------------------- */

static struct claim *find(struct service *s, const char *name)
{
    WF_LIST_EACH(k, &s->claims) {
        struct claim *c = WF_CONTAINER(k, struct claim, in_all);
        if (strcmp(c->name, name) == 0) return c;
    }
    return NULL;
}

static struct claim *find_or_make(struct service *s, const char *name)
{
    struct claim *c = find(s, name);
    if (c != NULL || (c = calloc(1, sizeof *c)) == NULL) return c;
    snprintf(c->name, sizeof c->name, "%s", name);
    wf_list_init(&c->waiters);
    wf_list_push(&s->claims, &c->in_all);
    return c;
}

static void ask(struct service *s, struct claim *c, enum wf_ask_kind kind)
{
    c->state = kind == WF_ASK_ACQUIRE ? ASKING : LEAVING;
    WF_SOMETIMES("exclusive: a release is requested again", c->unsure && kind == WF_ASK_RELEASE);
    c->unsure = wf_etcd_ask(s->t->etcd, kind, c->name, (int64_t)c->held.token) != WEFT_OK;
    if (c->unsure && kind == WF_ASK_ACQUIRE) c->state = TAKEN;
}

/* No actor of this node has the name: asks for it if an actor waits, else forgets it. */
static void settle(struct service *s, struct claim *c)
{
    c->state = FREE;
    if (!wf_list_empty(&c->waiters)) {
        ask(s, c, WF_ASK_ACQUIRE);
        return;
    }
    wf_unlink(&c->in_all);
    free(c);
}

static void answer(const weft_msg *to, int rc, const weft_exclusive *held)
{
    struct answer a = {.rc = rc};
    if (held != NULL) a.held = *held;
    (void)weft_reply(to, ANSWER, &a, sizeof a);
}

/* Takes the message over. */
static void waiter_end(struct service *s, struct waiter *w)
{
    s->waiters--;
    wf_unlink(&w->in_claim);
    weft_msg_free(w->ask);
    free(w);
}

static void notify_lost(const struct claim *c)
{
    struct weft_exclusive_lost lost = {.token = c->held.token};
    snprintf(lost.name, sizeof lost.name, "%s", c->name);
    weft_msg *m = wf_msg_new(NULL, WEFT_TAG_EXCLUSIVE_LOST, sizeof lost);
    if (m == NULL) {
        weft_log(WEFT_ERROR, "no memory to notify the holder of %s that the name is lost: the holder is killed",
                 c->name);
        (void)weft_kill(c->owner);
        return;
    }
    memcpy(m + 1, &lost, sizeof lost);
    m->post.flags = WF_MSG_SYSTEM;
    m->to_actor = c->owner.actor;
    wf_worker_post(wf_here->set->at[wf_id_worker(c->owner.actor)], &m->post);
}

/* The key has been deleted, or will be soon. */
static void lost(struct claim *c)
{
    if (c->state == HELD) {
        weft_log(WEFT_WARN, "the exclusive name %s is lost", c->name);
        WF_SOMETIMES("exclusive: an actor loses a name that it holds", true);
        (void)weft_demonitor(c->ref);
        notify_lost(c);
    }
    c->state = TAKEN; /* until this node has a lease again */
}

/* ---- Events of etcd -------------------------------------------------------------------------------------------- */

static void on_acquired(struct service *s, struct claim *c, const struct wf_etcd_event *t)
{
    c->held = (weft_exclusive){(uint64_t)t->number, (uint64_t)t->lease};
    for (struct wf_list_node *k; (k = wf_list_first(&c->waiters)) != NULL;) {
        struct waiter *w = WF_CONTAINER(k, struct waiter, in_claim);
        bool late = weft_expired(w->ask);
        if (late) {
            WF_SOMETIMES("exclusive: a name is acquired when no actor waits for it any more", true);
            (void)weft_demonitor(w->ref);
        } else {
            c->state = HELD;
            c->owner = weft_from(w->ask);
            c->ref = w->ref;
            answer(w->ask, WEFT_OK, &c->held);
        }
        waiter_end(s, w);
        if (!late) return;
    }
    ask(s, c, WF_ASK_RELEASE);
}

static void on_again(struct service *s)
{
    WF_LIST_EACH(k, &s->claims) {
        struct claim *c = WF_CONTAINER(k, struct claim, in_all);
        if (c->state == TAKEN) settle(s, c);
        else if (c->state == LEAVING && c->unsure) ask(s, c, WF_ASK_RELEASE);
    }
}

static void on_lost(struct service *s)
{
    WF_LIST_EACH(k, &s->claims) {
        struct claim *c = WF_CONTAINER(k, struct claim, in_all);
        if (c->state == HELD || c->state == LEAVING) lost(c);
    }
}

static void on_freed(struct service *s, struct claim *c, int64_t revision)
{
    c->freed = WF_MAX(c->freed, revision);
    if (c->state == TAKEN) settle(s, c);
    else if (c->state == HELD && revision > (int64_t)c->held.token) {
        WF_SOMETIMES("exclusive: the key of a held name is deleted", true);
        lost(c); /* this node has not deleted the key, so the name is lost */
        settle(s, c);
    }
}

static void on_tell(struct service *s, const struct wf_etcd_event *t)
{
    if (t->kind == WF_ETCD_AGAIN) on_again(s);
    if (t->kind == WF_ETCD_LOST) on_lost(s);
    struct claim *c = t->name[0] == '\0' ? NULL : find(s, t->name);
    if (c == NULL && t->kind == WF_ETCD_ACQUIRED) /* no actor waits for it now */
        (void)wf_etcd_ask(s->t->etcd, WF_ASK_RELEASE, t->name, t->number);
    if (c == NULL) return;
    switch (t->kind) {
    case WF_ETCD_ACQUIRED:
        if (c->state == ASKING || c->state == TAKEN) on_acquired(s, c, t);
        break;
    case WF_ETCD_TAKEN:
        if (c->state != ASKING) break;
        c->state = TAKEN;
        WF_SOMETIMES("exclusive: the report that a name is free comes before the answer that it is taken",
                     c->freed > t->number);
        if (c->freed > t->number || wf_list_empty(&c->waiters)) settle(s, c);
        break;
    case WF_ETCD_RELEASED:
        if (c->state == LEAVING) settle(s, c);
        break;
    case WF_ETCD_FAILED:
        if (c->state == ASKING) c->state = TAKEN;
        else c->unsure = true;
        break;
    case WF_ETCD_FREED: on_freed(s, c, t->number); break;
    default: break;
    }
}

/* ---- Messages of actors ---------------------------------------------------------------------------------------- */

static struct waiter *waiter_of(const struct claim *c, weft_pid who)
{
    WF_LIST_EACH(k, &c->waiters) {
        struct waiter *w = WF_CONTAINER(k, struct waiter, in_claim);
        if (weft_pid_equal(weft_from(w->ask), who)) return w;
    }
    return NULL;
}

/* True: the message is kept. */
static bool on_acquire(struct service *s, const char *name, weft_msg *m)
{
    struct claim *c = find_or_make(s, name);
    struct waiter *w = c == NULL ? NULL : calloc(1, sizeof *w);
    weft_pid from = weft_from(m);
    int rc = w == NULL ? WEFT_ENOMEM : WEFT_OK;
    if (rc == WEFT_OK && s->waiters >= WAITERS_MAX) rc = WEFT_EFULL;
    if (rc == WEFT_OK && ((c->state == HELD && weft_pid_equal(c->owner, from)) || waiter_of(c, from) != NULL))
        rc = WEFT_EEXIST;
    if (rc == WEFT_OK) rc = weft_monitor(from, &w->ref);
    if (rc < 0) {
        answer(m, rc, NULL);
        free(w);
        if (c != NULL && c->state == FREE) settle(s, c);
        return false;
    }
    w->ask = m;
    s->waiters++;
    wf_list_push(&c->waiters, &w->in_claim);
    if (c->state == FREE) ask(s, c, WF_ASK_ACQUIRE);
    return true;
}

/* After a pause the end of the lease may not have been noticed yet: then another actor may have had the name already. */
static int on_release(struct service *s, struct claim *c, weft_pid from)
{
    if (c == NULL || c->state != HELD || !weft_pid_equal(c->owner, from)) return WEFT_ENOACTOR;
    bool is_over = wf_etcd_valid_until(s->t->etcd, (int64_t)c->held.lease) <= wf_transport_now(s->t);
    (void)weft_demonitor(c->ref);
    ask(s, c, WF_ASK_RELEASE);
    return is_over ? WEFT_ENOACTOR : WEFT_OK;
}

static void on_give_up(struct service *s, struct claim *c, weft_pid from)
{
    struct waiter *w = c == NULL ? NULL : waiter_of(c, from);
    if (w == NULL) {
        WF_SOMETIMES("exclusive: an actor gives up when it holds the name already",
                     c != NULL && c->state == HELD && weft_pid_equal(c->owner, from));
        (void)on_release(s, c, from); /* the answer came too late for the actor */
        return;
    }
    (void)weft_demonitor(w->ref);
    waiter_end(s, w);
    if (c->state == TAKEN && wf_list_empty(&c->waiters)) settle(s, c);
}

static void on_down(struct service *s, const weft_msg *m)
{
    struct weft_down down;
    if (weft_down_read(m, &down) < 0) return;
    WF_LIST_EACH(k, &s->claims) {
        struct claim *c = WF_CONTAINER(k, struct claim, in_all);
        if (c->state == HELD && c->ref.id == down.ref.id) {
            WF_SOMETIMES("exclusive: the holder of a name ends", true);
            ask(s, c, WF_ASK_RELEASE);
            return;
        }
        struct waiter *w = waiter_of(c, down.who);
        if (w == NULL || w->ref.id != down.ref.id) continue;
        waiter_end(s, w);
        if (c->state == TAKEN && wf_list_empty(&c->waiters)) settle(s, c);
        return;
    }
}

/* True: the message is kept. */
static bool on_message(struct service *s, weft_msg *m)
{
    char name[WF_NAME_MAX + 1] = "";
    if (weft_tag(m) == WEFT_TAG_DOWN) {
        on_down(s, m);
        return false;
    }
    if (weft_size(m) == 0 || weft_size(m) >= sizeof name || weft_from(m).node != s->t->node->incarnation)
        return false;
    memcpy(name, weft_data(m), weft_size(m));
    struct claim *c = find(s, name);
    bool held = c != NULL && c->state == HELD;
    switch (weft_tag(m)) {
    case ACQUIRE: return weft_wants_reply(m) && on_acquire(s, name, m);
    case RELEASE: answer(m, on_release(s, c, weft_from(m)), NULL); break;
    case GIVE_UP: on_give_up(s, c, weft_from(m)); break;
    case FIND: answer(m, held ? WEFT_OK : WEFT_ENOACTOR, held ? &c->held : NULL); break;
    default: break;
    }
    return false;
}

/* ---- The actor ------------------------------------------------------------------------------------------------- */

static void free_all(void *arg)
{
    struct service *s = arg;
    for (struct wf_list_node *k; (k = wf_list_pop(&s->claims)) != NULL;) {
        struct claim *c = WF_CONTAINER(k, struct claim, in_all);
        for (struct wf_list_node *l; (l = wf_list_first(&c->waiters)) != NULL;)
            waiter_end(s, WF_CONTAINER(l, struct waiter, in_claim));
        free(c);
    }
    free(s);
}

static void exclusive_main(const void *arg, size_t size)
{
    struct wf_transport *t = *(struct wf_transport *const *)arg;
    struct service *s = calloc(1, sizeof *s);
    weft_msg *m;
    (void)size;
    if (s == NULL) return;
    s->t = t;
    wf_list_init(&s->claims);
    if (weft_defer(free_all, s) < 0 || weft_event_open(&s->wake) < 0) return;
    wf_etcd_listen(t->etcd, s->wake);
    for (;;) {
        weft_wait what[] = {weft_on_mailbox(), weft_on_event(s->wake)};
        int rc = weft_wait_any(what, 2, WEFT_FOREVER);
        if (rc < 0) return;
        (void)weft_event_take(s->wake);
        for (struct wf_etcd_event *event; (event = wf_etcd_take_event(t->etcd)) != NULL; free(event))
            on_tell(s, event);
        while (weft_recv(&m, WEFT_NOW) == WEFT_OK)
            if (!on_message(s, m)) weft_msg_free(m);
    }
}

int wf_exclusive_start(struct wf_transport *t)
{
    return wf_node_spawn_service(t->node, &t->exclusive, exclusive_main, &t, sizeof t, "$exclusive");
}

/* ---- For actors ------------------------------------------------------------------------------------------------ */

static int check(const char *name, struct wf_transport **t)
{
    const weft_node *node = weft_here();
    if (node == NULL) return WEFT_ENOTACTOR;
    if (name == NULL || !wf_is_name(name)) return WEFT_EINVAL;
    *t = node->transport;
    return *t == NULL || (*t)->etcd == NULL ? WEFT_ENOETCD : WEFT_OK;
}

static int call(const struct wf_transport *t, uint32_t tag, const char *name, weft_exclusive *out, int64_t deadline)
{
    struct answer a;
    weft_msg *m;
    int rc = weft_call(t->exclusive, tag, name, strlen(name), &m, deadline);
    if (rc < 0) return rc;
    bool good = weft_size(m) == sizeof a;
    if (good) memcpy(&a, weft_data(m), sizeof a);
    weft_msg_free(m);
    if (!good) return WEFT_EFORMAT;
    if (a.rc == WEFT_OK && out != NULL) *out = a.held;
    return a.rc;
}

/* Otherwise the caller would get the name later without knowing it. */
static void give_up(const struct wf_transport *t, const char *name)
{
    weft_msg *m = weft_msg_new(GIVE_UP, strlen(name));
    if (m != NULL) memcpy(weft_msg_body(m), name, strlen(name));
    int rc = m == NULL ? WEFT_ENOMEM : wf_send_given(t->exclusive, m, WEFT_FOREVER);
    if (rc < 0 && rc != WEFT_ECANCELED)
        weft_log(WEFT_ERROR, "the exclusive name %s may still be given to an actor that no longer waits for it: %s",
                 name, weft_strerror(rc));
}

int weft_exclusive_acquire(const char *name, weft_exclusive *out, int64_t deadline)
{
    struct wf_transport *t;
    int rc = check(name, &t);
    if (rc < 0 || out == NULL) return rc < 0 ? rc : WEFT_EINVAL;
    rc = call(t, ACQUIRE, name, out, deadline);
    if (rc == WEFT_ETIMEDOUT) give_up(t, name);
    /* An actor that was asked to stop no longer waits; a name that it may still get is released when it ends. */
    else if (rc == WEFT_ECANCELED) weft_ignore(weft_try_send(t->exclusive, GIVE_UP, name, strlen(name)));
    return rc;
}

int weft_exclusive_release(const char *name)
{
    struct wf_transport *t;
    int rc = check(name, &t);
    return rc < 0 ? rc : call(t, RELEASE, name, NULL, WEFT_FOREVER);
}

int weft_exclusive_find(const char *name, weft_exclusive *out)
{
    struct wf_transport *t;
    int rc = check(name, &t);
    if (rc < 0 || out == NULL) return rc < 0 ? rc : WEFT_EINVAL;
    return call(t, FIND, name, out, WEFT_FOREVER);
}

int64_t weft_exclusive_until(weft_exclusive held)
{
    const weft_node *node = weft_here();
    const struct wf_transport *t = node == NULL ? NULL : node->transport;
    if (t == NULL || t->etcd == NULL || held.lease == 0) return WEFT_NOW;
    int64_t until = wf_etcd_valid_until(t->etcd, (int64_t)held.lease);
    return until > wf_transport_now(t) ? until : WEFT_NOW;
}

int weft_exclusive_lost_read(const weft_msg *m, struct weft_exclusive_lost *out)
{
    if (m == NULL || out == NULL || weft_tag(m) != WEFT_TAG_EXCLUSIVE_LOST || weft_size(m) != sizeof *out)
        return WEFT_EFORMAT;
    memcpy(out, weft_data(m), sizeof *out);
    return WEFT_OK;
}
