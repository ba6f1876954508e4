/* actors/credit/credit.c -- the receiving side of credit: how many messages other nodes may send to an actor.
 * transport/link/credit.h has the whole picture.
 *
 * A CREDIT_REQUEST (WF_MSG_CREDIT_REQUEST) comes from a worker of another node that has sent much to an actor and
 * asks how much more it may send. It waits with the senders of this node if the mailbox is full, and becomes the
 * CREDIT that answers it, so the answer needs no memory. Fields: `to_actor`: the actor; `from`: the worker of the
 * other node, as an id that no actor has; tag and `ref` belong to that worker; the body is four bytes, little-endian,
 * in a CREDIT the number of units. */
#include "deliver.h"
#include "mailbox.h"

enum {
    PARKED_MAX = 4096, /* requests of one peer at one actor: an honest peer has one for each worker and name */
    NO_LIMIT = 1 << 20,
    UNIT_BYTES = 64 + 1024,
};
#define LOOKED_AT_ONCE WF_LIMIT("credit: actors looked at in a turn when a node is lost", 4096, 1)
#define UNITS_MAX WF_LIMIT("credit: units of an actor", 16384, 1)
#define RETRY WEFT_MS(20)

/* The slot of a worker. */
enum { SLOT = 1 };
struct credit {
    struct wf_worker *worker;
    weft_msg *grants;      /* the grants that could not be sent for lack of memory */
    struct wf_timer timer; /* when to retry them */
};

static struct credit *credit_of(const struct wf_worker *w)
{
    return wf_actors_of(w)->slots[SLOT];
}

/* Consumes `m`, unless there was no memory. */
static bool try_grant(struct wf_worker *w, weft_msg *m)
{
    const weft_node *node = wf_node_of(w);
    weft_pid caller = m->from;
    m->from = (weft_pid){node->incarnation, m->to_actor == 0 ? 1 : m->to_actor};
    if (node->route != NULL && node->route->send(w, caller, m) == WEFT_ENOMEM) {
        m->from = caller;
        return false;
    }
    wf_msg_free(w, m);
    return true;
}

static void try_later(struct credit *c, weft_msg *m)
{
    WF_SOMETIMES("credit: there is no memory for a grant", true);
    m->post.next = c->grants == NULL ? NULL : &c->grants->post;
    c->grants = m;
    if (!wf_timer_armed(&c->timer)) wf_timer_arm_reserved(c->worker, &c->timer, c->worker->now + RETRY);
}

static void try_all(struct wf_worker *w, struct wf_timer *t)
{
    struct credit *c = WF_CONTAINER(t, struct credit, timer);
    weft_msg *m = c->grants, *next;
    c->grants = NULL;
    for (; m != NULL; m = next) {
        next = (weft_msg *)m->post.next;
        if (!try_grant(w, m)) try_later(c, m);
    }
}

/* Answers a CREDIT_REQUEST. 0 units: the actor is gone. Consumes. */
static void grant(struct wf_worker *w, weft_msg *m, uint32_t units)
{
    m->post.flags = WF_MSG_CREDIT;
    wf_put_u32(wf_msg_bytes(m), units);
    if (!try_grant(w, m)) try_later(credit_of(w), m);
}

/* How many units to grant if there is so much space. */
static uint32_t units_of(const struct wf_actor *a, size_t places, size_t bytes)
{
    size_t n = WF_MIN(places, (size_t)a->mailbox_max / 8);
    n = WF_MIN(WF_MIN(n, bytes / UNIT_BYTES), (size_t)UNITS_MAX);
    return (uint32_t)WF_MAX(n, 1);
}

static void grant_share(struct wf_actor *a, weft_msg *m, struct wf_space *space)
{
    uint32_t units = space == NULL ? 0 : units_of(a, space->places, WF_MIN(space->bytes, space->budget));
    if (space != NULL) wf_space_use(space, units, (size_t)units * UNIT_BYTES);
    grant(a->task.worker, m, units);
}

/* A new CREDIT_REQUEST replaces an older one of the same caller. False: that peer has too many requests here. */
static bool take_place(struct wf_worker *w, struct wf_actor *a, const weft_msg *m)
{
    uint32_t parked = 0, looked_at = 0;
    struct wf_lane *lane = a->more == NULL || a->more->backlog == NULL ? NULL : &a->more->backlog->space;
    weft_msg *previous = NULL, *next;
    for (weft_msg *r = lane == NULL ? NULL : lane->first; r != NULL; r = next) {
        next = (weft_msg *)r->post.next;
        looked_at++;
        if (r->post.flags == WF_MSG_CREDIT_REQUEST && r->ref == m->ref && weft_pid_equal(r->from, m->from)) {
            WF_SOMETIMES("credit: a new request takes the place of an older one", true);
            wf_msg_free(w, wf_lane_take_after(lane, previous));
            continue;
        }
        parked += r->post.flags == WF_MSG_CREDIT_REQUEST && r->from.node == m->from.node;
        previous = r;
    }
    wf_worker_charge(w, looked_at); /* the list may be long, if many peers have requests */
    return parked < PARKED_MAX;
}

/* `a` is NULL if the actor does not exist. */
static void deliver_credit_request(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    bool good = m->size == 4 && m->shared == NULL && m->from.node != 0 && m->from.node != wf_node_of(w)->incarnation;
    if (!good || (a != NULL && !take_place(w, a, m))) {
        wf_msg_free(w, m);
    } else if (a == NULL) {
        grant(w, m, 0);
    } else if (wf_actor_policy(a) != WEFT_FULL_SUSPEND) {
        grant(w, m, NO_LIMIT);
    } else {
        WF_SOMETIMES("credit: a request finds the mailbox of its actor full", wf_mailbox_has_claims(a));
        wf_on_space_asked(w, a, m);
    }
}

static void drop_credit_request(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    deliver_credit_request(w, NULL, m);
}

static void take_grant(struct wf_worker *w, weft_msg *m)
{
    const struct wf_route *route = wf_node_of(w)->route;
    if (route != NULL && m->size == 4 && m->shared == NULL) {
        route->granted(w, m->from.node, m->ref, m->post.word, wf_get_u32(wf_msg_bytes(m)));
    }
    wf_msg_free(w, m);
}

/* It is for the worker, no matter which actor it names. */
static void deliver_credit(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    (void)a;
    take_grant(w, m);
}

static void drop_credit(struct wf_worker *w, weft_msg *m, enum wf_drop why)
{
    (void)why;
    take_grant(w, m);
}

/* Whether the message may have been sent on credit. */
static bool takes_past_bound(struct wf_actor *a, const weft_msg *m)
{
    if (m->shared != NULL) return false; /* a message to a group or topic uses no credit */
    struct wf_worker *w = a->task.worker;
    const struct wf_actors *wa = wf_actors_of(w);
    const struct wf_route *route = wf_node_of(w)->route;
    uint64_t peer = weft_pid_is_nobody(m->from) ? m->ref : m->from.node;
    uint32_t peers = route == NULL ? 0 : route->grants(w, peer);
    if (peers == 0 || wf_all_mail_bytes(wa) / 2 >= wa->mail_bytes_max) return false;
    /* The units that each worker of each peer may have under way to one actor, plus one message. */
    uint64_t each = WF_MAX((uint32_t)WF_CREDIT_FIRST, WF_MIN(a->mailbox_max / 8, (uint32_t)UNITS_MAX)) + 1;
    if (wf_mail_count(a) < a->mailbox_max + each * WF_WORKERS_MAX * peers) return true;
    route->fault(w, peer, "it sends more than it was given credit for");
    return false;
}

/* Returns how many requests it has looked at. */
static uint32_t forget_peer(struct wf_worker *w, struct wf_actor *a, uint64_t peer)
{
    struct wf_lane *lane = a->more == NULL || a->more->backlog == NULL ? NULL : &a->more->backlog->space;
    weft_msg *previous = NULL, *next;
    uint32_t looked_at = 0;
    for (weft_msg *r = lane == NULL ? NULL : lane->first; r != NULL; r = next, looked_at++) {
        next = (weft_msg *)r->post.next;
        if (r->post.flags == WF_MSG_CREDIT_REQUEST && r->from.node == peer) {
            WF_SOMETIMES("credit: a request waits in a full mailbox when its node is lost", true);
            wf_msg_free(w, wf_lane_take_after(lane, previous));
        } else {
            previous = r;
        }
    }
    return looked_at;
}

/* `*at`: the slot of the next actor. */
static bool node_lost(struct wf_worker *w, uint64_t peer, uint64_t *at)
{
    const struct wf_slab *actors = &wf_actors_of(w)->slab;
    for (uint32_t seen = 0; seen < LOOKED_AT_ONCE; seen++, ++*at) {
        if (wf_slab_at(actors, (uint32_t)*at) == NULL) return false;
        struct wf_actor *a = wf_slab_taken_at(actors, (uint32_t)*at);
        if (a != NULL && a->listed) seen += forget_peer(w, a, peer);
    }
    return true;
}

/* ---- Of a worker ----------------------------------------------------------------------------------------------- */

static int worker_init(struct wf_actors *wa)
{
    struct credit *c = wa->slots[SLOT];
    c->worker = wa->worker;
    c->timer.fire = try_all;
    return wf_heap_set_aside(&wa->worker->timers, 1);
}

static void worker_stop(struct wf_worker *w)
{
    wf_timer_disarm(w, &credit_of(w)->timer);
}

static void worker_finish(struct wf_worker *w)
{
    struct credit *c = credit_of(w);
    for (weft_msg *m; (m = c->grants) != NULL;) {
        c->grants = (weft_msg *)m->post.next;
        wf_msg_free(NULL, m);
    }
}

static const struct wf_message_row messages[] = {
    {.kind = WF_MSG_CREDIT_REQUEST,
     .deliver = deliver_credit_request,
     .drop = drop_credit_request,
     .space = grant_share},
    {.kind = WF_MSG_CREDIT, .deliver = deliver_credit, .drop = drop_credit}};
const struct wf_feature wf_credit_feature = {.name = "credit",
                                             .slot = SLOT,
                                             .worker_bytes = sizeof(struct credit),
                                             .worker_init = worker_init,
                                             .worker_stop = worker_stop,
                                             .worker_finish = worker_finish,
                                             .takes_past_bound = takes_past_bound,
                                             .node_lost = node_lost,
                                             .messages = messages,
                                             .message_count = WF_COUNT(messages)};
