/* actors/call/cycle.c -- finds and reports cycles of calls that wait for each other, and lets one of these calls
 * fail.
 *
 * Design notes.
 * (1) On one worker a chain of calls can be followed at once, so a call that closes a cycle there is refused.
 * (2) Other cycles are found by edge chasing, after Chandy, Misra and Haas, "Distributed Deadlock Detection" (ACM
 *     TOCS 1983): an actor whose call has waited for WF_CYCLE_PATIENCE sends a probe to the actor it waits for; an
 *     actor that waits in a call itself adds itself to the probe and passes it on. A probe never overtakes a request
 *     sent before it, so the probe of the actor that began to wait last finds the cycle complete. There is no
 *     polling: each call is looked at once (`patrol`), and again when it changes.
 * (3) A probe that comes back has seen a cycle, but not all of it at one time. So a second round goes the same way:
 *     it asks each member whether it is still in the same call and has its predecessor's request, unanswered. Each
 *     edge existed in both rounds, with the same number, so all edges existed together when the second round began.
 *     Only the second round searches mailboxes.
 * (4) Several probes may find one cycle. All of them choose the same member to fail, from the data in the probe, and
 *     send it the number of its call: the second verdict finds that call gone.
 * (5) A caller knows the actor to which it sent its request, but not the actor to which that was passed on, nor the
 *     actor behind a name on another node. Such requests are marked (wf_terms.moved_on); an actor that has one and
 *     waits in a long call tells its caller (HOLDS). A pool on the caller's worker tells it at once, without a message
 *     (wf_call_moves_on).
 * (6) Any node that knows the number of a request can answer it, or claim that it is in a cycle. So a probe contains
 *     each number in the form that the node with the request knows; the number of a request that has not left its
 *     node is in a form that only that node can read.
 * (7) A weft_gather depends on each of its open requests only while it needs all of them. Its probes share one
 *     credit, which bounds their number. It sends a round of probes when it has waited for WF_CYCLE_PATIENCE, when it
 *     begins to need all open answers, and when half of the actors of the last round have answered: with fewer open,
 *     each probe gets a larger share of the credit. That makes at most twice as many probes as requests.
 * (8) A gather passes a probe on to all actors that it waits for. With n such actors it does so at most once in n
 *     milliseconds; otherwise each actor that waits for it, and each hostile peer, could cause n probes at any time.
 *     A probe that comes too early is dropped: the gather then owes a round of its own, which finds a cycle through
 *     it. The pause before that round doubles each time. */
#include "cycle.h"

#include "actor.h"
#include "call.h"
#include "deliver.h"
#include "utf8.h"

#include <weft/pack.h>

#include <stdio.h>
#include <string.h>

enum {
    MEMBERS_MAX = 64,
    LABEL = 40,   /* bytes of a member's name or kind */
    ENTRY = 96,   /* the most bytes of a member in a probe */
    CREDIT = 1024 /* the most probes that one call can cause */
};
static const int64_t PAUSE_MAX = WEFT_SEC(12);
static const int64_t REST = WEFT_MS(1); /* the pause for each probe of a gather's round, before the next round */

/* The tag of a WF_MSG_PROBE. These values are sent to other nodes: append only. */
enum probe {
    HOLDS = 1,   /* `from` has the request `ref` of the receiver */
    SEEK = 2,    /* first round */
    CONFIRM = 3, /* second round, to the member `at`; if `at` is the number of members, to the first one again */
    VERDICT = 4, /* the call of the member `at` fails */
};

/* An actor that waits for the next member. */
struct member {
    weft_pid pid;
    uint64_t ref; /* the ref of its request to the next member; in a probe it is sealed, see (6) */
    uint64_t since;
    char label[LABEL];
};

struct path {
    uint32_t count, at, credit;
    struct member of[MEMBERS_MAX];
};

struct wf_cycle {
    size_t count;
    weft_pid of[];
};

/* ---- Who waits for whom ---------------------------------------------------------------------------------------- */

static bool needs_all(const struct wf_asking *s)
{
    return s != NULL && s->waiting && s->open > 0 && s->got + s->open == s->need;
}

/* Whether `a` cannot continue without an answer to that request. */
static bool depends_on(const struct wf_actor *a, uint64_t ref)
{
    return needs_all(a->asking) && wf_answer_place(a, ref) != NULL;
}

static bool is_among(const weft_msg *m, weft_pid from, uint64_t ref)
{
    for (; m != NULL; m = (const weft_msg *)m->post.next) {
        if (m->post.flags == WF_MSG_CALL && m->ref == ref && weft_pid_equal(m->from, from)) return true;
    }
    return false;
}

/* Whether `a` has that request and has not answered it. */
static bool has_request(const struct wf_actor *a, weft_pid from, uint64_t ref)
{
    return is_among(a->held, from, ref) || is_among(a->mail.first, from, ref) ||
           is_among(a->signals.first, from, ref);
}

static struct member member_of(const struct wf_actor *a, uint64_t ref)
{
    struct member m = {
        .pid = wf_actor_pid(a), .ref = ref, .since = a->asking == NULL ? 0 : (uint64_t)a->asking->since};
    const char *name = wf_actor_name(a);
    snprintf(m.label, sizeof m.label, "%s", name[0] != 0 ? name : a->kind);
    return m;
}

/* ---- Reporting ------------------------------------------------------------------------------------------------- */

static void log_cycle(const struct path *p, uint32_t first)
{
    char text[1600], pid[WEFT_PID_TEXT];
    size_t size = 0;
    for (uint32_t i = 0; i <= p->count && size < sizeof text - LABEL - WEFT_PID_TEXT - 16; i++) {
        const struct member *m = &p->of[(first + i) % p->count];
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s (%s)", i == 0 ? "" : " -> ", m->label,
                                 weft_pid_format(m->pid, pid));
    }
    weft_log(WEFT_WARN, "a cycle of calls waits for itself, the first one fails: %s", text);
}

/* `a` is the member `first` of the cycle. */
static void report(struct wf_actor *a, const struct path *p, uint32_t first)
{
    log_cycle(p, first);
    struct wf_cycle *c = wf_block_new(WF_POOL_LARGE, sizeof *c + p->count * sizeof c->of[0]);
    if (a->more != NULL && a->more->cycle != NULL) wf_block_free(a->more->cycle);
    if (a->more != NULL) a->more->cycle = NULL;
    if (c == NULL) return; /* the log has told it */
    if (wf_actor_more(a) == NULL) {
        wf_block_free(c);
        return;
    }
    a->more->cycle = c;
    c->count = p->count;
    for (uint32_t i = 0; i < p->count; i++) c->of[i] = p->of[(first + i) % p->count].pid;
}

size_t weft_call_cycle(weft_pid *out, size_t max)
{
    struct wf_actor *self = wf_actor_self();
    const struct wf_cycle *c = self == NULL || self->more == NULL ? NULL : self->more->cycle;
    if (c == NULL) return 0;
    for (size_t i = 0; i < max && i < c->count; i++) out[i] = c->of[i];
    return c->count;
}

/* ---- On one worker --------------------------------------------------------------------------------------------- */

static bool follow(struct wf_actor *self, struct wf_actor *to, struct path *p)
{
    weft_pid me = wf_actor_pid(self);
    p->of[0] = member_of(self, 0);
    for (p->count = 1; to != self; p->count++) {
        const struct wf_asking *s = to == NULL ? NULL : to->asking;
        if (s == NULL || s->count != 1 || !depends_on(to, s->first) || p->count == MEMBERS_MAX) return false;
        /* It must have the request of the member before; the first member has not called yet. */
        if (p->count > 1 && !has_request(to, p->of[p->count - 1].pid, p->of[p->count - 1].ref)) return false;
        p->of[p->count] = member_of(to, s->first);
        weft_pid next = s->slots[0].from;
        if (next.node != me.node || wf_id_worker(next.actor) != to->task.worker->index) return false;
        to = wf_actor_find(to->task.worker, next.actor);
    }
    return p->count == 1 || has_request(self, p->of[p->count - 1].pid, p->of[p->count - 1].ref);
}

/* Whether the walk comes back to `self`. Nearly always it does not, and that must be cheap. */
static bool comes_back(const struct wf_actor *self, const struct wf_actor *to)
{
    for (int steps = 0; to != self; steps++) {
        const struct wf_asking *s = to == NULL ? NULL : to->asking;
        if (s == NULL || !s->waiting || s->count != 1 || steps == MEMBERS_MAX) return false;
        weft_pid next = s->slots[0].from;
        if (next.node != wf_node_of(to->task.worker)->incarnation ||
            wf_id_worker(next.actor) != to->task.worker->index)
            return false;
        to = wf_actor_find(to->task.worker, next.actor);
    }
    return true;
}

bool wf_call_closes_cycle(struct wf_actor *self, struct wf_actor *to)
{
    if (!comes_back(self, to)) return false;
    struct path *p = wf_block_new(WF_POOL_LARGE, sizeof *p);
    if (p == NULL) return false;
    bool closes = follow(self, to, p);
    if (closes) report(self, p, 0);
    wf_block_free(p);
    return closes;
}

/* ---- Probes ---------------------------------------------------------------------------------------------------- */

/* Never delivers on the caller's stack: a probe may pass many actors of one worker. */
static void post(struct wf_worker *w, weft_pid to, weft_msg *m)
{
    weft_node *node = wf_node_of(w);
    uint32_t index = wf_id_worker(to.actor);
    m->post.flags = WF_MSG_PROBE;
    m->to_actor = to.actor;
    if (to.node != node->incarnation) {
        if (node->route != NULL) (void)node->route->send(w, to, m);
        wf_msg_free(w, m);
    } else if (index == w->index) {
        wf_worker_post(w, &m->post);
    } else if (index < node->workers.count) {
        wf_msg_send_to(w, index, m);
    } else {
        wf_msg_free(w, m);
    }
}

/* Without memory the cycle is not found. */
static void send_path(struct wf_actor *a, weft_pid to, enum probe what, const struct path *p)
{
    struct wf_worker *w = a->task.worker;
    size_t most = 32 + (size_t)p->count * ENTRY;
    weft_msg *m = wf_msg_new(w, what, most);
    if (m == NULL) return;
    weft_writer out = weft_writer_on(m + 1, most);
    weft_put_array(&out, 3);
    weft_put_uint(&out, p->at);
    weft_put_uint(&out, p->credit);
    weft_put_array(&out, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct member *k = &p->of[i];
        weft_put_array(&out, 5);
        weft_put_uint(&out, k->pid.node);
        weft_put_uint(&out, k->pid.actor);
        weft_put_uint(&out, k->ref);
        weft_put_uint(&out, k->since);
        weft_put_str(&out, weft_cstr(k->label));
    }
    WF_ASSERT(out.error == 0);
    m->size = (uint32_t)out.size;
    m->from = wf_actor_pid(a);
    post(w, to, m);
}

/* The probe may come from another node, so everything in it is checked. */
static bool read_path(const weft_msg *m, struct path *p)
{
    weft_reader r = weft_reader_on(weft_data(m), weft_size(m));
    if (weft_get_array(&r) != 3) return false;
    uint64_t at = weft_get_uint(&r), credit = weft_get_uint(&r);
    p->count = weft_get_array(&r);
    if (r.error < 0 || p->count == 0 || p->count > MEMBERS_MAX || at > p->count || credit > CREDIT) return false;
    p->at = (uint32_t)at;
    p->credit = (uint32_t)credit;
    for (uint32_t i = 0; i < p->count; i++) {
        struct member *k = &p->of[i];
        if (weft_get_array(&r) != 5) return false;
        k->pid.node = weft_get_uint(&r);
        k->pid.actor = weft_get_uint(&r);
        k->ref = weft_get_uint(&r);
        k->since = weft_get_uint(&r);
        weft_text label = weft_get_str(&r);
        if (r.error < 0) return false;
        snprintf(k->label, sizeof k->label, "%.*s",
                 (int)wf_utf8_whole(label.data, WF_MIN(label.size, sizeof k->label - 1)), label.data);
    }
    return true;
}

static uint64_t seal(struct wf_worker *w, uint64_t node, uint64_t ref)
{
    const struct wf_route *route = wf_node_of(w)->route;
    return route == NULL ? ref : route->seal(w, node, ref);
}

static uint64_t unseal(struct wf_worker *w, uint64_t node, uint64_t ref)
{
    const struct wf_route *route = wf_node_of(w)->route;
    return route == NULL ? ref : route->unseal(w, node, ref);
}

/* The number of the request of the member `i`, an actor of this node: it went to the node of the next one. */
static uint64_t own_ref(struct wf_worker *w, const struct path *p, uint32_t i)
{
    return unseal(w, p->of[(i + 1) % p->count].pid.node, p->of[i].ref);
}

/* The number of the request of that member, as an actor of this node has it. */
static uint64_t ref_here(struct wf_worker *w, const struct member *m)
{
    uint64_t here = wf_node_of(w)->incarnation;
    return m->pid.node == here ? unseal(w, here, m->ref) : m->ref;
}

/* Adds `a` to the probe and sends it to all actors that `a` waits for. */
static void chase(struct wf_actor *a, struct path *p)
{
    struct wf_asking *s = a->asking;
    if (!needs_all(s) || p->count == MEMBERS_MAX || p->credit / s->open == 0) return;
    s->rested = a->task.worker->now + (int64_t)s->open * REST;
    p->credit = (uint32_t)(p->credit / s->open) - 1;
    p->count++;
    for (size_t i = 0; i < s->count; i++) {
        const struct weft_answer *at = &s->slots[i];
        if (at->error != WF_ANSWER_OPEN || at->from.actor == 0) continue;
        p->of[p->count - 1] = member_of(a, seal(a->task.worker, at->from.node, s->first + i));
        send_path(a, at->from, SEEK, p);
    }
}

static void start(struct wf_actor *a)
{
    struct wf_asking *s = a->asking;
    if (!needs_all(s)) return;
    s->looked_at = s->open;
    struct path *p = wf_block_new(WF_POOL_LARGE, sizeof *p);
    if (p == NULL) return;
    p->count = p->at = 0;
    p->credit = CREDIT;
    chase(a, p);
    wf_block_free(p);
}

/* Whether `a`, which is in a long call, may send probes again. */
static bool has_rested(const struct wf_actor *a)
{
    const struct wf_asking *s = a->asking;
    return s->count == 1 || (s->look_at == WEFT_FOREVER && s->rested <= a->task.worker->now);
}

/* `a` may not send probes yet: it starts a round later. */
static void owe_round(struct wf_actor *a)
{
    struct wf_asking *s = a->asking;
    struct wf_worker *w = a->task.worker;
    struct wf_actors *wa = wf_actors_of(w);
    if (s->look_at != WEFT_FOREVER || !needs_all(s)) return;
    s->pause = WF_MIN(WF_MAX(2 * s->pause, WF_CYCLE_PATIENCE), PAUSE_MAX);
    s->rested = WF_MAX(s->rested, w->now + s->pause);
    s->look_at = w->now + WF_CYCLE_PATIENCE;
    wf_unlink(&s->on_calls);
    wf_list_push(&wa->calls, &s->on_calls);
    if (!wf_timer_armed(&wa->patrol)) wf_timer_arm_reserved(w, &wa->patrol, s->look_at);
}

void wf_probe_rest(struct wf_actor *a)
{
    const struct wf_asking *s = a->asking;
    if (s->looked_at != 0 && s->open > s->looked_at / 2) return;
    if (has_rested(a)) start(a);
    else owe_round(a);
}

static bool is_member(const struct wf_actor *a, const struct path *p, uint32_t i)
{
    return weft_pid_equal(p->of[i].pid, wf_actor_pid(a));
}

static void sought(struct wf_actor *a, struct path *p)
{
    for (uint32_t i = 1; i < p->count; i++) {
        if (is_member(a, p, i)) return; /* a cycle without the actor that began the probe: its members find it */
    }
    if (!is_member(a, p, 0)) {
        if (a->asking == NULL || a->asking->probed == NULL) return; /* if it waits, the patrol looks at it soon */
        if (has_rested(a)) chase(a, p);
        else owe_round(a);
    } else if (depends_on(a, own_ref(a->task.worker, p, 0))) {
        p->at = 1;
        send_path(a, p->of[1 % p->count].pid, CONFIRM, p);
    }
}

/* All actors that find this cycle choose the same member. On one node it is the one that began to wait last: it
 * closed the cycle. */
static uint32_t victim(const struct path *p)
{
    uint32_t v = 0;
    bool one_node = true;
    for (uint32_t i = 1; i < p->count; i++) one_node &= p->of[i].pid.node == p->of[0].pid.node;
    for (uint32_t i = 1; i < p->count; i++) {
        const struct member *a = &p->of[i], *b = &p->of[v];
        if (one_node && a->since != b->since) v = a->since > b->since ? i : v;
        else if (a->pid.node != b->pid.node) v = a->pid.node > b->pid.node ? i : v;
        else v = a->pid.actor > b->pid.actor ? i : v;
    }
    return v;
}

static void asked_to_confirm(struct wf_actor *a, struct path *p)
{
    if (p->at == 0) return;
    const struct member *before = &p->of[p->at - 1];
    struct wf_worker *w = a->task.worker;
    uint32_t me = p->at % p->count;
    if (!is_member(a, p, me) || !depends_on(a, own_ref(w, p, me)) ||
        !has_request(a, before->pid, ref_here(w, before)))
        return;
    if (p->at < p->count) {
        p->at++;
        send_path(a, p->of[p->at < p->count ? p->at : 0].pid, CONFIRM, p); /* around the cycle */
    } else {
        p->at = victim(p);
        send_path(a, p->of[p->at].pid, VERDICT, p);
    }
}

/* A verdict is valid only if `a` still waits and has the request of the member before it. */
static void condemned(struct wf_actor *a, const struct path *p)
{
    if (p->at >= p->count || !is_member(a, p, p->at)) return;
    struct wf_worker *w = a->task.worker;
    const struct member *before = &p->of[(p->at + p->count - 1) % p->count];
    uint64_t ref = own_ref(w, p, p->at);
    if (!depends_on(a, ref) || !has_request(a, before->pid, ref_here(w, before))) return;
    report(a, p, p->at);
    wf_answer_fails(a, wf_answer_place(a, ref), WEFT_EDEADLOCK);
}

static void heard_of_holder(struct wf_actor *a, const weft_msg *m)
{
    struct weft_answer *at = wf_answer_place(a, m->ref);
    /* in a gather, `from` is what the caller wrote there */
    if (at == NULL || a->asking->count != 1 || at->from.node != m->from.node) return;
    at->from = m->from;
    if (a->asking->probed != NULL) start(a);
}

/* Whether `who` may send that: a SEEK comes from the last member, a CONFIRM from the one asked before, a VERDICT from
 * the first one. */
static bool is_said_by(const struct path *p, enum probe what, weft_pid who)
{
    uint32_t i = what == SEEK ? p->count - 1 : what == CONFIRM ? p->at - 1 : 0;
    return i < p->count && weft_pid_equal(p->of[i].pid, who);
}

void wf_on_probe(struct wf_actor *a, weft_msg *m)
{
    struct path *p = m->post.word == HOLDS ? NULL : wf_block_new(WF_POOL_LARGE, sizeof *p);
    if (m->post.word == HOLDS) heard_of_holder(a, m);
    else if (p != NULL && read_path(m, p) && is_said_by(p, (enum probe)m->post.word, m->from)) {
        switch (m->post.word) {
        case SEEK: sought(a, p); break;
        case CONFIRM: asked_to_confirm(a, p); break;
        case VERDICT: condemned(a, p); break;
        default: break; /* a later version has other kinds */
        }
    }
    if (p != NULL) wf_block_free(p);
    wf_msg_free(a->task.worker, m);
}

/* A request has come to `a`, which is itself in a long call. */
static void notify_caller(struct wf_actor *a, weft_msg *ask)
{
    if (ask->post.flags != WF_MSG_CALL || !wf_terms(ask)->moved_on) return;
    weft_msg *m = wf_msg_new(a->task.worker, HOLDS, 0);
    if (m == NULL) return;
    wf_terms(ask)->moved_on = 0;
    m->from = wf_actor_pid(a);
    m->ref = ask->ref;
    post(a->task.worker, ask->from, m);
}

/* ---- The patrol ------------------------------------------------------------------------------------------------ */

static void look_at(struct wf_actor *a)
{
    weft_msg *lanes[] = {a->held, a->mail.first, a->signals.first};
    bool again = a->asking->probed != NULL;
    a->asking->probed = notify_caller;
    a->asking->look_at = WEFT_FOREVER;
    for (size_t i = 0; i < WF_COUNT(lanes) && !again; i++) {
        for (weft_msg *m = lanes[i]; m != NULL; m = (weft_msg *)m->post.next) notify_caller(a, m);
    }
    start(a);
}

static void patrol(struct wf_worker *w, struct wf_timer *t)
{
    struct wf_actors *wa = WF_CONTAINER(t, struct wf_actors, patrol);
    for (struct wf_list_node *k; (k = wf_list_first(&wa->calls)) != NULL;) {
        struct wf_actor *a = WF_CONTAINER(k, struct wf_asking, on_calls)->actor;
        struct wf_asking *s = a->asking;
        if (s->look_at > w->now) {
            wf_timer_arm_reserved(w, t, s->look_at);
            return;
        }
        wf_unlink(k);
        if (s->rested > w->now) {
            s->look_at = w->now + WF_CYCLE_PATIENCE;
            wf_list_push(&wa->calls, k);
            continue;
        }
        wf_list_push(&wa->long_calls, k);
        look_at(a);
    }
}

void wf_patrol_init(struct wf_actors *wa)
{
    wf_list_init(&wa->calls);
    wf_list_init(&wa->long_calls);
    wa->patrol.fire = patrol;
}
