/* actors/core/credit.c -- the receiving side of credit: what an actor tells the nodes that send to it.
 * transport/link/credit.h has the whole picture.
 *
 * A WANT (WF_MSG_WANT) says that a worker of another node has sent much to an actor, and wants to know how much more
 * it may send. It waits with the senders of this node if the mailbox is full, and becomes the GRANT that answers it,
 * so no memory is needed for that. Fields: `to_actor`: the actor; `from`: the worker there, as an id that no actor
 * has; tag and `ref` belong to the asker; the body is four bytes, little-endian, in a GRANT the units. */
#include "mailbox.h"

enum {
    PARKED_MAX = 4096, /* of one peer at one actor: an honest one has one for each worker and name */
    UNITS_MAX = 16384,
    NO_LIMIT = 1 << 20,
    UNIT_BYTES = 64 + 1024,
};
#define RETRY WEFT_MS(20)

/* Consumes, unless there was no memory. */
static bool try_grant(struct wf_worker *w, weft_msg *m)
{
    const weft_node *node = wf_node_of(w);
    weft_pid asker = m->from;
    m->from = (weft_pid){node->incarnation, m->to_actor == 0 ? 1 : m->to_actor};
    if (node->route != NULL && node->route->send(w, asker, m) == WEFT_ENOMEM) {
        m->from = asker;
        return false;
    }
    wf_msg_free(w, m);
    return true;
}

static void try_later(struct wf_actors *wa, weft_msg *m)
{
    m->post.next = wa->grants == NULL ? NULL : &wa->grants->post;
    wa->grants = m;
    if (!wf_timer_armed(&wa->grant_timer))
        wf_timer_arm_reserved(wa->worker, &wa->grant_timer, wa->worker->now + RETRY);
}

static void try_all(struct wf_worker *w, struct wf_timer *t)
{
    struct wf_actors *wa = WF_CONTAINER(t, struct wf_actors, grant_timer);
    weft_msg *m = wa->grants, *next;
    wa->grants = NULL;
    for (; m != NULL; m = next) {
        next = (weft_msg *)m->post.next;
        if (!try_grant(w, m)) try_later(wa, m);
    }
}

void wf_grant(struct wf_worker *w, weft_msg *m, uint32_t units)
{
    struct wf_actors *wa = wf_actors_of(w);
    m->post.flags = WF_MSG_GRANT;
    wf_put_u32(wf_msg_bytes(m), units);
    if (!try_grant(w, m)) try_later(wa, m);
}

uint32_t wf_grant_units(const struct wf_actor *a, size_t places, size_t bytes)
{
    size_t n = WF_MIN(places, (size_t)a->mailbox_max / 8);
    n = WF_MIN(WF_MIN(n, bytes / UNIT_BYTES), (size_t)UNITS_MAX);
    return (uint32_t)WF_MAX(n, 1);
}

size_t wf_grant_bytes(uint32_t units)
{
    return (size_t)units * UNIT_BYTES;
}

/* A new WANT takes the place of an older one of the same asker. False: that peer has too many here. */
static bool take_place(struct wf_worker *w, struct wf_actor *a, const weft_msg *m)
{
    uint32_t parked = 0, looked_at = 0;
    struct wf_lane *lane = a->more == NULL || a->more->backlog == NULL ? NULL : &a->more->backlog->room;
    weft_msg *previous = NULL, *next;
    for (weft_msg *r = lane == NULL ? NULL : lane->first; r != NULL; r = next) {
        next = (weft_msg *)r->post.next;
        looked_at++;
        if (r->post.flags == WF_MSG_WANT && r->ref == m->ref && weft_pid_equal(r->from, m->from)) {
            wf_msg_free(w, wf_lane_take_after(lane, previous));
            continue;
        }
        parked += r->post.flags == WF_MSG_WANT && r->from.node == m->from.node;
        previous = r;
    }
    wf_worker_charge(w, looked_at); /* many peers may have many here */
    return parked < PARKED_MAX;
}

void wf_want_came(struct wf_worker *w, struct wf_actor *a, weft_msg *m)
{
    bool good = m->size == 4 && m->shared == NULL && m->from.node != 0 && m->from.node != wf_node_of(w)->incarnation;
    if (!good || (a != NULL && !take_place(w, a, m))) {
        wf_msg_free(w, m);
    } else if (a == NULL) {
        wf_grant(w, m, 0);
    } else if (wf_actor_policy(a) != WEFT_FULL_SUSPEND) {
        wf_grant(w, m, NO_LIMIT);
    } else {
        wf_room_asked(w, a, m);
    }
}

void wf_grant_came(struct wf_worker *w, weft_msg *m)
{
    const struct wf_route *route = wf_node_of(w)->route;
    if (route != NULL && m->size == 4 && m->shared == NULL) {
        route->granted(w, m->from.node, m->ref, m->post.word, wf_get_u32(wf_msg_bytes(m)));
    }
    wf_msg_free(w, m);
}

bool wf_credit_covers(struct wf_actor *a, const weft_msg *m)
{
    if (m->shared != NULL) return false; /* of a group or a topic: it took no credit */
    struct wf_worker *w = a->task.worker;
    const struct wf_actors *wa = wf_actors_of(w);
    const struct wf_route *route = wf_node_of(w)->route;
    uint64_t peer = weft_pid_is_nobody(m->from) ? m->ref : m->from.node;
    uint32_t peers = route == NULL ? 0 : route->grants(w, peer);
    if (peers == 0 || wa->mail_bytes / 2 >= wa->mail_bytes_max) return false;
    /* What each worker of each peer may have under way to one actor, and one message beyond it. */
    uint64_t each = WF_MAX((uint32_t)WF_CREDIT_FIRST, WF_MIN(a->mailbox_max / 8, (uint32_t)UNITS_MAX)) + 1;
    if (a->mail_count < a->mailbox_max + each * WF_WORKERS_MAX * peers) return true;
    route->fault(w, peer, "it sends more than it was given credit for");
    return false;
}

void wf_credit_node_lost(struct wf_worker *w, struct wf_actor *a, uint64_t peer)
{
    struct wf_lane *lane = a->more == NULL || a->more->backlog == NULL ? NULL : &a->more->backlog->room;
    weft_msg *previous = NULL, *next;
    for (weft_msg *r = lane == NULL ? NULL : lane->first; r != NULL; r = next) {
        next = (weft_msg *)r->post.next;
        if (r->post.flags == WF_MSG_WANT && r->from.node == peer) wf_msg_free(w, wf_lane_take_after(lane, previous));
        else previous = r;
    }
}

void wf_credit_init(struct wf_actors *wa)
{
    wa->grant_timer.fire = try_all;
}

void wf_credit_finish(struct wf_actors *wa)
{
    for (weft_msg *m; (m = wa->grants) != NULL;) {
        wa->grants = (weft_msg *)m->post.next;
        wf_msg_free(NULL, m);
    }
}
