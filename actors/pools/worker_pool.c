/* actors/pools/worker_pool.c -- pools of actors behind one pid.
 *
 * Design notes.
 * (1) The pool is an actor with an array of places. A member in a place is an actor that is linked to the pool, which
 *     traps exits: so it is notified of each end, and if the pool itself fails or is killed, the links stop its
 *     members.
 * (2) With a policy by key, a message waits for its member if that is full. Meanwhile the pool takes later messages, for
 *     other members, from its mailbox by selective receives. Two messages for one place never pass each other: a receive
 *     that has passed one for a place takes no other one for it (`passed_in`). A receive passes at most PASSED_MAX
 *     messages. If more wait, and while the pool stops in order, all messages wait.
 * (3) Requests to the pool itself (resize, inspect, stop) come to its system lane and pass the mail, which the pool
 *     does not read while no member has space. */
#include "worker_pool.h"

#include "call.h"
#include "deliver.h"
#include "hash.h"
#include "held.h"
#include "mailbox.h"
#include "pool_member.h"
#include "send.h"

#include <stdlib.h>
#include <string.h>

#include <weft/local.h>
#include <weft/monitor.h>
#include <weft/pool.h>

enum { ARG_MAX = 60 * 1024, OUTSTANDING = 256, REPLACEMENTS = 10, PROBES = 64, PASSED_MAX = 1024 };
#define REPLACEMENT_PERIOD WEFT_SEC(10)

enum place_state { EMPTY, ALIVE, ENDING }; /* ENDING: it was asked to stop */

struct place {
    enum place_state state;
    weft_pid pid;
    struct wf_actor *actor; /* the slot of that actor, which may have ended, and which may be of another worker */
    struct wf_member *member;
    uint64_t passed_in; /* the receive that takes no message for this place */
};

/* The argument of a pool's actor; the argument of its members follows. */
struct pool_boot {
    alignas(16) weft_pool_options options; /* the defaults are filled in; name and monitor are not valid */
    weft_actor *body;
    char name[65];
};

struct pool {
    struct wf_actor *self;
    const struct pool_boot *boot; /* on the stack of the pool: not for clean-ups */
    struct wf_member_boot *member_arg;
    size_t member_arg_size;
    struct place *places;
    uint32_t count, length; /* places to keep filled; all places: the others retire */
    uint32_t next;          /* the place that is next */
    int64_t *replaced_at;   /* ring of replacements_max times */
    uint64_t replaced;
    uint64_t passed_on, refused;
    uint64_t receives; /* selective ones until now */
    bool stop;         /* ends as soon as it can */
    bool stopping;     /* its members end and are not replaced */
    int failed;        /* why it could not start */
    bool started;      /* the actor that started it has got the answer */
    int end_reason;    /* the reason for the end of an actor linked to it; 0: none */
    weft_msg *drain;   /* the request to end in order */
    uint64_t drain_at; /* drain when this number of messages has been received */
    int64_t deadline;  /* when to kill the remaining members */
};

static int32_t outstanding_to(const struct place *p)
{
    return atomic_load(&p->member->outstanding);
}

/* ---- Members --------------------------------------------------------------------------------------------------- */

static int start_member(struct pool *p, uint32_t i)
{
    struct wf_worker *w = p->self->task.worker;
    struct place *place = &p->places[i];
    weft_spawn_options o = p->boot->options.member;
    if (o.kind == NULL) o.kind = "member";
    if (o.worker <= 0) o.worker = 1 + (int)((w->index + i) % w->set->users);
    o.link = true;
    int rc = wf_member_spawn(&place->member, &place->pid, p->member_arg, p->member_arg_size, &o);
    if (rc < 0) return rc;
    place->state = ALIVE;
    const struct wf_worker *there = w->set->at[wf_id_worker(place->pid.actor)];
    place->actor = wf_slab_at(&wf_actors_of(there)->slab, wf_id_slot(place->pid.actor));
    return WEFT_OK;
}

static void clear_place(struct place *place)
{
    wf_member_forget(place->member, true);
    *place = (struct place){.state = EMPTY};
}

static void ask_to_end(struct place *place)
{
    if (place->state != ALIVE) return;
    place->state = ENDING;
    (void)weft_stop(place->pid); /* if it has ended meanwhile, its EXIT will come */
}

/* Members in surplus places end once they have no outstanding work. */
static void retire(struct pool *p)
{
    for (uint32_t i = p->count; i < p->length; i++) {
        struct place *place = &p->places[i];
        if (place->state != ALIVE) continue;
        atomic_store(&place->member->wake_at, 0);
        if (outstanding_to(place) <= 0) ask_to_end(place);
    }
}

/* ---- Replacing ------------------------------------------------------------------------------------------------- */

static bool is_wanted_again(const struct pool *p, int reason)
{
    switch (p->boot->options.replace) {
    case WEFT_POOL_REPLACE_NEVER: return false;
    case WEFT_POOL_REPLACE_FAILED: return reason != WEFT_EXIT_NORMAL && reason != WEFT_EXIT_STOPPED;
    default: return true;
    }
}

/* Notes one more replacement. False: the limit of replacements is exceeded. */
static bool may_replace(struct pool *p)
{
    const weft_pool_options *o = &p->boot->options;
    int64_t *slot = &p->replaced_at[p->replaced % o->replacements_max];
    int64_t now = weft_now();
    if (p->replaced >= o->replacements_max && now - *slot < o->period) return false;
    *slot = now;
    p->replaced++;
    return true;
}

static void replace(struct pool *p, uint32_t i, int reason, const char *text)
{
    char buffer[32];
    int rc;
    do {
        if (!may_replace(p))
            weft_fail(WEFT_EXIT_FAILED, "members of the pool end too often, the last with %s%s%s",
                      weft_reason_text(reason, buffer), text[0] != 0 ? ": " : "", text);
        rc = start_member(p, i);
        reason = rc;
        text = "";
    } while (rc < 0 && rc != WEFT_ECANCELED);
    if (rc == WEFT_ECANCELED) p->stop = true; /* the node ends */
}

static void member_ended(struct pool *p, uint32_t i, const struct weft_down *d)
{
    bool asked = p->places[i].state == ENDING;
    clear_place(&p->places[i]);
    if (p->stopping || i >= p->count) return;
    if (!asked && !is_wanted_again(p, d->reason)) return;
    if (asked) { /* the pool has grown again meanwhile */
        int rc = start_member(p, i);
        if (rc < 0 && rc != WEFT_ECANCELED) replace(p, i, rc, "");
        return;
    }
    replace(p, i, d->reason, d->text);
}

static void on_exit_of(struct pool *p, const weft_msg *m)
{
    struct weft_down d;
    if (weft_down_read(m, &d) < 0) return;
    for (uint32_t i = 0; i < p->length; i++) {
        if (p->places[i].state == EMPTY || !weft_pid_equal(p->places[i].pid, d.who)) continue;
        member_ended(p, i, &d);
        return;
    }
    if (d.reason == WEFT_EXIT_NORMAL) return;
    p->end_reason = d.reason; /* another actor that the pool is linked to has ended */
    p->stop = true;
}

/* ---- Requests to the pool itself ------------------------------------------------------------------------------- */

enum control { START, RESIZE, INSPECT, STOP };

struct ask {
    enum control what;
    uint32_t number; /* RESIZE: how many members; INSPECT: how many to describe at most */
    int64_t deadline;
};

struct reply {
    int rc;
    struct weft_pool_info info;
    struct weft_pool_member members[];
};

static void answer(weft_msg *ask, int rc)
{
    struct reply r = {.rc = rc};
    (void)weft_reply(ask, 0, &r, sizeof r);
    weft_msg_free(ask);
}

/* Starts members in the places from `count` on, until one fails. */
static int resize(struct pool *p, uint32_t count)
{
    if (count > p->length) {
        struct place *places = realloc(p->places, count * sizeof *places);
        if (places == NULL) return WEFT_ENOMEM;
        memset(places + p->length, 0, (count - p->length) * sizeof *places);
        p->places = places;
        p->length = count;
    }
    uint32_t old = p->count;
    p->count = count;
    int rc = WEFT_OK;
    for (uint32_t i = old; i < count && rc == WEFT_OK; i++) {
        if (p->places[i].state == EMPTY) rc = start_member(p, i);
        if (rc < 0) p->count = i;
    }
    retire(p);
    return rc;
}

static void describe(const struct pool *p, weft_msg *ask, uint32_t most)
{
    size_t size = sizeof(struct reply) + WF_MIN(most, p->length) * sizeof(struct weft_pool_member);
    struct reply *r = calloc(1, size);
    if (r == NULL) {
        answer(ask, WEFT_ENOMEM);
        return;
    }
    r->info = (struct weft_pool_info){.count = p->count,
                                      .waiting = wf_mail_count(p->self),
                                      .passed_on = p->passed_on,
                                      .refused = p->refused,
                                      .replaced = p->replaced};
    uint32_t described = 0;
    for (uint32_t i = 0; i < p->length; i++) {
        const struct place *place = &p->places[i];
        if (place->state == EMPTY) continue;
        uint32_t outstanding = (uint32_t)WF_MAX(outstanding_to(place), 0);
        if (place->state == ALIVE && i < p->count) r->info.alive++;
        else r->info.retiring++;
        r->info.outstanding += outstanding;
        if (described == WF_MIN(most, p->length)) continue;
        uint64_t done = atomic_load_explicit(&place->member->done, memory_order_relaxed);
        r->members[described++] = (struct weft_pool_member){place->pid, outstanding, done};
    }
    r->rc = (int)described;
    (void)weft_reply(ask, 0, r, size);
    weft_msg_free(ask);
    free(r);
}

static void on_control(struct pool *p, weft_msg *m)
{
    struct ask ask;
    memcpy(&ask, weft_data(m), sizeof ask);
    if (p->stopping) {
        if (ask.what == START) answer(m, p->failed);
        else weft_msg_free(m); /* answers WEFT_ENOREPLY, which the caller turns into WEFT_ENOACTOR */
        p->started |= ask.what == START;
        return;
    }
    switch (ask.what) {
    case START: answer(m, WEFT_OK); return;
    case RESIZE: answer(m, resize(p, ask.number)); return;
    case INSPECT: describe(p, m, ask.number); return;
    case STOP: break;
    }
    p->deadline = WF_MIN(p->deadline, ask.deadline);
    if (p->drain != NULL) weft_msg_free(p->drain);
    p->drain = m;
    p->drain_at = p->self->gone + wf_mail_count(p->self);
}

static int64_t grace_of(const struct pool *p)
{
    return weft_after(wf_node_of(p->self->task.worker)->options.grace);
}

static void on_signal(struct pool *p, weft_msg *m)
{
    switch (weft_tag(m)) {
    case WF_TAG_POOL_CONTROL: on_control(p, m); return;
    case WF_TAG_POOL_SPACE: retire(p); break;
    case WEFT_TAG_EXIT: on_exit_of(p, m); break;
    case WEFT_TAG_STOP:
        p->stop = true;
        p->deadline = WF_MIN(p->deadline, grace_of(p));
        break;
    default: break;
    }
    weft_msg_free(m);
}

/* Waits for the next signal. WEFT_ETIMEDOUT at the pool's deadline. */
static int handle_next(struct pool *p)
{
    weft_msg *m;
    int rc = wf_recv_signal(&m, p->deadline);
    if (rc == WEFT_OK) on_signal(p, m);
    else p->stop = true;
    return rc;
}

/* ---- Choosing a member ----------------------------------------------------------------------------------------- */

enum { NONE = -1, ALL_FULL = -2 };

/* wf_slab_find without the way to the slot. */
static bool lives(const struct place *place)
{
    return wf_slot_is(&place->actor->slot, place->pid.actor);
}

/* Returns `i` if that member has space, ALL_FULL if the pool has to wait for it, NONE if the place has no member. */
static int try_place(const struct pool *p, uint32_t i)
{
    const struct place *place = &p->places[i];
    if (place->state == EMPTY) return NONE;
    if (place->state == ENDING || outstanding_to(place) >= (int32_t)p->boot->options.outstanding_max) return ALL_FULL;
    return lives(place) ? (int)i : ALL_FULL; /* if it has ended, its EXIT will come soon */
}

/* The place of the message's key; NONE: no place has a member. */
static int place_of(const struct pool *p, const weft_msg *m)
{
    uint64_t key = wf_mix(p->boot->options.key(m));
    for (int probe = 0; probe < PROBES; probe++) { /* places stay empty only if members are not replaced */
        uint32_t i = wf_jump(key, p->count);
        if (p->places[i].state != EMPTY) return (int)i;
        key = wf_mix(key + UINT64_C(0x9E3779B97F4A7C15));
    }
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->places[i].state != EMPTY) return (int)i;
    }
    return NONE;
}

static inline __attribute__((always_inline)) int choose(struct pool *p, const weft_msg *m)
{
    const weft_pool_policy policy = p->boot->options.policy;
    if (policy == WEFT_POOL_BY_KEY) {
        int place = place_of(p, m);
        return place == NONE ? NONE : try_place(p, (uint32_t)place);
    }
    int best = NONE;
    for (uint32_t k = 0; k < p->count; k++) {
        uint32_t at = p->next + k;
        int i = try_place(p, at < p->count ? at : at % p->count);
        if (i < 0) best = best == NONE ? i : best;
        else if (best < 0 || outstanding_to(&p->places[i]) < outstanding_to(&p->places[best])) best = i;
        if (best >= 0 && policy == WEFT_POOL_ROUND_ROBIN) break;
    }
    if (best >= 0) p->next = (uint32_t)best + 1 == p->count ? 0 : (uint32_t)best + 1;
    return best;
}

static void ask_one_for_space(struct pool *p, uint32_t i)
{
    if (p->places[i].state == ALIVE)
        atomic_store(&p->places[i].member->wake_at, (int32_t)p->boot->options.outstanding_max - 1);
}

/* Asks each member that may get the message to notify the pool when it has space for one more. */
static void ask_for_space(struct pool *p, const weft_msg *m)
{
    int i = p->boot->options.policy == WEFT_POOL_BY_KEY ? place_of(p, m) : NONE;
    if (i != NONE) ask_one_for_space(p, (uint32_t)i);
    for (uint32_t k = 0; k < p->count && i == NONE; k++) ask_one_for_space(p, k);
}

/* ---- Passing on ------------------------------------------------------------------------------------------------ */

static void refuse(struct pool *p, weft_msg *m)
{
    p->refused++;
    wf_release(p->self, m);
    m->to_actor = p->self->id;
    wf_drop(p->self->task.worker, m, WF_DROP_NO_ACTOR);
}

static void hand_over(struct pool *p, struct place *place, weft_msg *m)
{
    struct wf_worker *w = p->self->task.worker;
    wf_release(p->self, m);
    m->post.kind = WF_POST_WORK;
    enum wf_mail_wish how = m->post.flags == WF_MSG_CALL ? wf_call_moves_on(w, m, place->pid) : WF_MAIL_HANDED;
    atomic_fetch_add(&place->member->outstanding, 1);
    struct wf_member *member = place->member;
    struct wf_actor *near = wf_is_unrecorded(w, place->pid) && lives(place) ? place->actor : NULL;
    bool handed = near != NULL && how == WF_MAIL_HANDED && m->shared == NULL && m->from.node == place->pid.node &&
                  wf_mailbox_hand(w, near, m, how);
    if (handed || wf_send_near(p->self, near, place->pid, m, WF_SEND_TIMEOUT) == WEFT_OK) {
        p->passed_on++;
    } else {
        atomic_fetch_sub(&member->outstanding, 1);
        p->refused++;
    }
}

/* Whether the pool can pass the message on now, or has to read it for itself. */
static bool is_due(const weft_msg *m, void *arg)
{
    struct pool *p = arg;
    if (m->post.word >= WEFT_TAG_SYSTEM) return true;
    int i = place_of(p, m);
    if (i == NONE) return true; /* it will be refused */
    struct place *place = &p->places[i];
    if (place->passed_in == p->receives) return false;
    if (try_place(p, (uint32_t)i) >= 0) return true;
    ask_one_for_space(p, (uint32_t)i);
    if (try_place(p, (uint32_t)i) >= 0) return true; /* it looks again after asking: pool_member.h, note (2) */
    place->passed_in = p->receives;
    return false;
}

/* Takes the next message that may pass `waiting`, whose member is full. False: none may. */
static bool pass_one_by(struct pool *p, const weft_msg *waiting)
{
    weft_msg *m;
    if (p->boot->options.policy != WEFT_POOL_BY_KEY || p->drain != NULL) return false;
    int i = place_of(p, waiting);
    if (i == NONE) return false;
    p->places[i].passed_in = ++p->receives;
    int rc = weft_recv_match(&m, is_due, p, p->deadline);
    if (rc == WEFT_EFULL || rc == WEFT_ENOMEM) return false;
    if (rc < 0) p->stop = true;
    else if (m->post.word >= WEFT_TAG_SYSTEM) on_signal(p, m);
    else if ((i = place_of(p, m)) == NONE) refuse(p, m);
    else hand_over(p, &p->places[i], m);
    return true;
}

/* Waits until a member can take the message; its place, or NONE. Rare, and not part of the fast path. */
static __attribute__((noinline)) int await_place(struct pool *p, const weft_msg *m)
{
    int i = ALL_FULL;
    for (bool asked = false; i == ALL_FULL && !p->stop; i = choose(p, m)) {
        if (!asked) ask_for_space(p, m);
        else if (!pass_one_by(p, m)) (void)handle_next(p);
        asked = !asked; /* it looks again after asking: pool_member.h, note (2) */
    }
    return p->stop ? NONE : i;
}

static void pass_on(struct pool *p, weft_msg *m)
{
    int i = choose(p, m);
    if (i == ALL_FULL) i = await_place(p, m);
    if (i >= 0) hand_over(p, &p->places[i], m);
    else refuse(p, m);
}

/* ---- The life of a pool ---------------------------------------------------------------------------------------- */

/* A clean-up: a pool that fails or is killed also waits for its members, for at most the grace period. */
static void forget(void *block)
{
    struct pool *p = block;
    p->stopping = true;
    p->deadline = WEFT_FOREVER; /* the grace period bounds it */
    bool waits = true;
    for (uint32_t i = 0; i < p->length; i++) ask_to_end(&p->places[i]);
    for (uint32_t i = 0; i < p->length; i++) {
        while (waits && p->places[i].state != EMPTY) waits = handle_next(p) == WEFT_OK;
        wf_member_forget(p->places[i].member, false); /* a member that has not ended in time may still use it */
    }
    free(p->places);
}

static const weft_local_key pool_key = {sizeof(struct pool), forget};

static int set_up(struct pool *p, const struct pool_boot *boot, size_t size)
{
    p->self = wf_actor_self();
    p->boot = boot;
    p->deadline = WEFT_FOREVER;
    size_t arg_size = size - sizeof *boot;
    p->member_arg_size = sizeof *p->member_arg + arg_size;
    p->member_arg = weft_alloc(p->member_arg_size);
    p->replaced_at = weft_alloc(boot->options.replacements_max * sizeof *p->replaced_at);
    if (p->member_arg == NULL || p->replaced_at == NULL) return WEFT_ENOMEM;
    p->member_arg->body = boot->body;
    memcpy(p->member_arg + 1, boot + 1, arg_size);
    int rc = weft_trap_exits(true);
    if (rc == WEFT_OK) rc = weft_trap_stop(true);
    if (rc == WEFT_OK && boot->name[0] != 0) rc = weft_register(boot->name);
    return rc == WEFT_OK ? resize(p, boot->options.count) : rc;
}

static void serve(struct pool *p)
{
    while (!p->stop && (p->drain == NULL || p->self->gone < p->drain_at)) {
        weft_msg *m;
        if (weft_recv(&m, WEFT_FOREVER) < 0) return; /* asked to stop before it trapped stop requests */
        if (m->post.word >= WEFT_TAG_SYSTEM) on_signal(p, m);
        else pass_on(p, m);
    }
}

/* Each member finishes its outstanding work, is asked to stop, and ends. */
static bool end_in_turn(struct pool *p)
{
    for (uint32_t i = 0; i < p->length; i++) {
        struct place *place = &p->places[i];
        while (place->state == ALIVE) {
            atomic_store(&place->member->wake_at, 0);
            if (outstanding_to(place) <= 0) ask_to_end(place);
            else if (handle_next(p) < 0) return false;
        }
        while (place->state != EMPTY) {
            if (handle_next(p) < 0) return false;
        }
    }
    return true;
}

static bool end_members(struct pool *p)
{
    p->stopping = true;
    p->deadline = p->drain == NULL ? WF_MIN(p->deadline, grace_of(p)) : p->deadline;
    if (end_in_turn(p)) return true;
    for (uint32_t i = 0; i < p->length; i++) {
        if (p->places[i].state != EMPTY) (void)weft_kill(p->places[i].pid);
    }
    p->deadline = grace_of(p); /* the members' clean-ups may take so long */
    (void)end_in_turn(p);
    return false;
}

static void refuse_to_start(struct pool *p, int why)
{
    p->failed = why;
    (void)end_members(p);
    p->deadline = grace_of(p);
    while (!p->started && handle_next(p) == WEFT_OK) {}
}

static void pool_main(const void *arg, size_t size)
{
    struct pool *p = weft_local(&pool_key);
    if (p == NULL) weft_exit(WEFT_ENOMEM);
    int rc = set_up(p, arg, size);
    if (rc < 0) {
        refuse_to_start(p, rc);
        return;
    }
    serve(p);
    bool in_time = end_members(p);
    if (p->drain != NULL) answer(p->drain, in_time ? WEFT_OK : WEFT_ETIMEDOUT);
    if (p->end_reason != 0) weft_exit(p->end_reason);
}

/* ---- weft/pool.h ----------------------------------------------------------------------------------------------- */

static bool options_are_good(const weft_pool_options *o, size_t size)
{
    return size <= ARG_MAX && o->count <= WEFT_POOL_MAX && (unsigned)o->policy <= WEFT_POOL_BY_KEY &&
           (unsigned)o->replace <= WEFT_POOL_REPLACE_NEVER && (o->policy != WEFT_POOL_BY_KEY || o->key != NULL) &&
           o->outstanding_max <= INT32_MAX && o->replacements_max <= WEFT_POOL_MAX && o->period >= 0 &&
           !wf_is_point(o->period) && (o->name == NULL || strnlen(o->name, 65) <= 64) && !o->member.link &&
           o->member.monitor == NULL && (o->member.policy == WEFT_FULL_SUSPEND || o->member.policy == WEFT_FULL_FAIL);
}

static void fill_in(struct pool_boot *boot, const weft_pool_options *o, uint32_t workers)
{
    weft_pool_options *mine = &boot->options;
    *mine = *o;
    if (mine->count == 0) mine->count = workers;
    if (mine->outstanding_max == 0) mine->outstanding_max = OUTSTANDING;
    if (mine->member.mailbox_max > 0) mine->outstanding_max = WF_MIN(mine->outstanding_max, mine->member.mailbox_max);
    if (mine->replacements_max == 0) mine->replacements_max = REPLACEMENTS;
    if (mine->period == 0) mine->period = REPLACEMENT_PERIOD;
    if (o->name != NULL) memcpy(boot->name, o->name, strlen(o->name));
}

/* A WEFT_ENOREPLY means that the pool was ending. */
static int control(weft_pid pool, struct ask ask, weft_msg **out, int64_t deadline)
{
    weft_msg *m;
    int rc = wf_call_control(pool, WF_TAG_POOL_CONTROL, &ask, sizeof ask, &m, deadline);
    if (rc < 0) return rc == WEFT_ENOREPLY ? WEFT_ENOACTOR : rc;
    memcpy(&rc, weft_data(m), sizeof rc);
    if (out != NULL) *out = m;
    else weft_msg_free(m);
    return rc;
}

int weft_spawn_pool(weft_pid *out, weft_actor *body, const void *arg, size_t size, const weft_pool_options *options)
{
    static const weft_pool_options defaults;
    struct wf_actor *self = wf_actor_self();
    if (self == NULL) return WEFT_ENOTACTOR;
    const weft_pool_options *o = options == NULL ? &defaults : options;
    if (body == NULL || (arg == NULL && size > 0) || !options_are_good(o, size)) return WEFT_EINVAL;
    struct pool_boot *boot = weft_alloc(sizeof *boot + size);
    if (boot == NULL) return WEFT_ENOMEM;
    boot->body = body;
    fill_in(boot, o, self->task.worker->set->users);
    if (size > 0) memcpy(boot + 1, arg, size);
    weft_spawn_options mine = {.kind = "pool",
                               .mailbox_max = o->mailbox_max,
                               .skipped_max = PASSED_MAX,
                               .link = o->link,
                               .monitor = o->monitor};
    weft_pid pool;
    int rc = weft_spawn(&pool, pool_main, boot, sizeof *boot + size, &mine);
    (void)weft_release(boot);
    if (rc < 0) return rc;
    rc = control(pool, (struct ask){.what = START}, NULL, WEFT_FOREVER);
    if (rc == WEFT_ECANCELED) (void)weft_stop(pool);
    if (rc == WEFT_OK && out != NULL) *out = pool;
    return rc;
}

int weft_pool_resize(weft_pid pool, uint32_t count, int64_t deadline)
{
    if (count == 0 || count > WEFT_POOL_MAX) return wf_actor_self() == NULL ? WEFT_ENOTACTOR : WEFT_EINVAL;
    return control(pool, (struct ask){.what = RESIZE, .number = count}, NULL, deadline);
}

int weft_pool_stop(weft_pid pool, int64_t deadline)
{
    return control(pool, (struct ask){.what = STOP, .deadline = wf_is_span(deadline) ? WEFT_NOW : deadline}, NULL,
                   deadline);
}

int weft_pool_inspect(weft_pid pool, struct weft_pool_info *out, struct weft_pool_member *members, size_t max,
                      int64_t deadline)
{
    weft_msg *m = NULL;
    if (members == NULL && max > 0) return wf_actor_self() == NULL ? WEFT_ENOTACTOR : WEFT_EINVAL;
    uint32_t most = (uint32_t)WF_MIN(max, (size_t)WEFT_POOL_MAX);
    int count = control(pool, (struct ask){.what = INSPECT, .number = most}, &m, deadline);
    if (m == NULL) return count;
    const struct reply *r = weft_data(m);
    if (out != NULL) *out = r->info;
    if (members != NULL && count > 0) memcpy(members, r->members, (size_t)count * sizeof *members);
    weft_msg_free(m);
    return count;
}

uint64_t weft_hash(const void *data, size_t size)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325); /* FNV-1a, mixed */
    for (size_t i = 0; i < size; i++) h = (h ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001B3);
    return wf_mix(h);
}

/* ---- What the feature registers -------------------------------------------------------------------------------- */

static bool takes_control(const struct wf_actor *a, uint32_t tag)
{
    return tag == WF_TAG_POOL_CONTROL && a->body == pool_main;
}

const struct wf_feature wf_pools_feature = {
    .name = "pools", .takes_control = takes_control, .work_let_go = wf_member_let_go};
