/* tests/litmus/interleave.c -- runs the product's code of runtime/sched/post.c and of the loop in
 * runtime/sched/worker.c, in every order of the steps of a worker and of the threads that post to it. No post is lost
 * or comes twice, the posts of each sender come in order, and no wake is lost: if a worker slept for ever with a post
 * in its inbox, the run would end too early. models/ has the same protocol with more threads, but as a model.
 *
 * Mutants change one operation each, and have to be found: a search that finds nothing proves nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"
#include "steps.h"

#include "../../runtime/sched/post.c"
#include "../../runtime/sched/worker.c"
#include "parts.h"

enum { INBOX, SPACE_CALLS, STATE, EDGE, ITEMS_MAX = 12, SENDERS = THREADS_MAX };

static struct pf_env env;
static struct wf_workers set = {.count = 2};
static struct wf_worker *worker; /* under test; set.at[1] is a sender's */
static bool edge;                /* its poller was woken and has not been waited for since */

struct item {
    struct wf_call call;
    int sender, serial;
};

static struct item items[SENDERS][ITEMS_MAX];
static int handled, expected, last[SENDERS], slept, woken;

/* ---- Mutants --------------------------------------------------------------------------------------------------- */

enum mutant {
    NONE,
    NO_SECOND_LOOK, /* sleep_until does not look at the inbox after it has said ASLEEP */
    LATE_ASLEEP,    /* it says so after it has looked */
    EARLY_STATE,    /* the producer reads the state before it pushes */
    SPLIT_PUSH,     /* the push compares, and then stores */
    SPLIT_TAKE,     /* taking all reads, and then empties */
    SPLIT_WAKE,     /* the wake reads, and then stores RUNNING: two may pay for it */
    NO_SPACE_LOOK,  /* the second look forgets the calls that wait for space */
    MUTANTS
};
static const char *const mutant_names[MUTANTS] = {"none",
                                                  "no second look",
                                                  "ASLEEP after the look",
                                                  "state before the push",
                                                  "push in two steps",
                                                  "take in two steps",
                                                  "wake in two steps",
                                                  "no second look at space calls"};
static enum mutant mutant;
static bool said_asleep; /* by the worker, since it last ran */
static struct {
    bool is;
    int value;
} delayed;
static int state_before[THREADS_MAX];

static int variable(const volatile void *at)
{
    if (worker == NULL) return -1;
    if (at == (const volatile void *)&worker->inbox) return INBOX;
    if (at == (const volatile void *)&worker->space_calls) return SPACE_CALLS;
    return at == (const volatile void *)&worker->state ? STATE : -1;
}

static bool is_in(const char *function, const char *name)
{
    return strcmp(function, name) == 0;
}

void litmus_step(const volatile void *at, enum step_kind kind, const char *function)
{
    int which = variable(at);
    if (which >= 0 && search_self() >= 0) search_step(which, kind, NULL, function);
}

bool litmus_misses(const volatile void *at, const char *function)
{
    if (!is_in(function, "has_posts") || !said_asleep) return false;
    return (mutant == NO_SECOND_LOOK && variable(at) >= 0) ||
           (mutant == NO_SPACE_LOOK && variable(at) == SPACE_CALLS);
}

bool litmus_splits(const volatile void *at, const char *function)
{
    switch (mutant) {
    case SPLIT_PUSH: return variable(at) == INBOX && is_in(function, "push_chain");
    case SPLIT_TAKE: return variable(at) == INBOX && is_in(function, "wf_posts_take");
    case SPLIT_WAKE: return variable(at) == STATE && is_in(function, "wake_if_asleep");
    default: return false;
    }
}

bool litmus_delays(volatile void *at, int value, const char *function)
{
    if (variable(at) != STATE || !is_in(function, "sleep_until")) return false;
    said_asleep = value == WF_ASLEEP;
    slept += value == WF_ASLEEP;
    delayed.is = mutant == LATE_ASLEEP && value == WF_ASLEEP;
    delayed.value = value;
    return delayed.is;
}

void litmus_counts(const volatile void *at, const char *function)
{
    if (mutant != EARLY_STATE || search_self() <= 0 || !is_in(function, "wf_worker_post_chain")) return;
    if (at != (const volatile void *)&worker->inbox_count) return;
    search_step(STATE, STEP_READ, NULL, function);
    state_before[search_self()] = *(int *)(uintptr_t)&worker->state;
}

bool litmus_early(const volatile void *at, const char *function, int *value)
{
    if (mutant != EARLY_STATE || variable(at) != STATE || !is_in(function, "wake_if_asleep")) return false;
    *value = state_before[search_self()];
    return true;
}

/* ---- What surrounds them --------------------------------------------------------------------------------------- */

static int64_t no_time(struct pf_env *e)
{
    (void)e;
    return 1;
}

static int wait_for_edge(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    (void)p, (void)out, (void)max;
    if (delayed.is) {
        search_step(STATE, STEP_WRITE, NULL, "sleep_until");
        *(int *)(uintptr_t)&worker->state = delayed.value;
        delayed.is = false;
    }
    search_step(EDGE, deadline == WEFT_NOW ? STEP_WRITE : STEP_WAIT, &edge, __func__);
    edge = false;
    said_asleep = false;
    return 0;
}

static void make_edge(struct pf_poller *p)
{
    (void)p;
    if (search_self() < 0) return;
    search_step(EDGE, STEP_WRITE, NULL, __func__);
    edge = true;
    woken++;
}

static void handle(struct wf_worker *w, struct wf_call *c)
{
    struct item *i = WF_CONTAINER(c, struct item, call);
    if (w != worker) search_fail("it is on another worker");
    if (i->serial != last[i->sender] + 1)
        search_fail(i->serial <= last[i->sender] ? "it came twice" : "out of order");
    last[i->sender] = i->serial;
    w->stop = ++handled == expected; /* else the last turn would sleep, for good */
}

static struct item *item_of(int sender, int serial)
{
    struct item *i = &items[sender][serial - 1];
    *i = (struct item){.call = {.post = {.kind = WF_POST_CALL}, .call = handle}, .sender = sender, .serial = serial};
    return i;
}

static void begin(void)
{
    *(struct wf_post **)(uintptr_t)&worker->inbox = *(struct wf_post **)(uintptr_t)&worker->space_calls = NULL;
    *(int *)(uintptr_t)&worker->state = WF_RUNNING;
    *(uint32_t *)(uintptr_t)&worker->inbox_count = 0;
    worker->last_poll = worker->now = 1;
    set.at[1]->batches[0].count = 0;
    set.at[1]->batch_mask = 0;
    worker->stop = edge = said_asleep = delayed.is = false;
    handled = slept = woken = 0;
    memset(last, 0, sizeof last);
}

static const char *end_of_order(void)
{
    if (handled != expected) return "not all came";
    return woken > slept ? "a sleep was ended twice" : NULL;
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static void run_worker(int self)
{
    (void)self;
    while (!worker->stop) wf_worker_turn(worker, WEFT_FOREVER);
}

static void post_one(int self)
{
    wf_worker_post(worker, &item_of(self, 1)->call.post);
}

static void post_two(int self)
{
    for (int i = 1; i <= 2; i++) wf_worker_post(worker, &item_of(self, i)->call.post);
}

static void post_three(int self)
{
    post_two(self);
    wf_worker_post(worker, &item_of(self, 3)->call.post);
}

/* A turn of another worker: two go as a list, three as a bundle. */
static void send_batch(int self, int count)
{
    for (int i = 1; i <= count; i++) wf_worker_send(set.at[1], 0, &item_of(self, i)->call.post);
    wf_post_batch_flush(set.at[1], 0);
}

static void send_list(int self)
{
    send_batch(self, 2);
    wf_worker_post(worker, &item_of(self, 3)->call.post);
}

static void send_bundle(int self)
{
    send_batch(self, 3);
}

static void ask_for_space(int self)
{
    wf_worker_when_space(worker, &item_of(self, 1)->call);
}

/* ---- Cases ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int senders, items, interruptions;
    void (*sender[THREADS_MAX - 1])(int self);
} cases[] = {
    {"1 x 2 posts", 1, 2, 0, {post_two}},
    {"1 x 3 posts", 1, 3, 0, {post_three}},
    {"2 x 1 post", 2, 2, 0, {post_one, post_one}},
    {"a call for space and a post", 2, 2, 0, {ask_for_space, post_one}},
    {"2 x 2 posts", 2, 4, 4, {post_two, post_two}},
    {"3 x 1 post", 3, 3, 3, {post_one, post_one, post_one}},
    {"a list, then a post, and a post", 2, 4, 4, {send_list, post_one}},
    {"a bundle and two posts", 2, 5, 4, {send_bundle, post_two}},
};

static const char *search_case(size_t i, struct search *s)
{
    *s = (struct search){.threads = cases[i].senders + 1,
                         .interruptions = cases[i].interruptions,
                         .begin = begin,
                         .end = end_of_order};
    s->body[0] = run_worker;
    for (int t = 0; t < cases[i].senders; t++) s->body[t + 1] = cases[i].sender[t];
    expected = cases[i].items;
    return search_all(s);
}

static bool all_hold(void)
{
    bool good = true;
    for (size_t i = 0; i < WF_COUNT(cases); i++) {
        struct search s;
        const char *wrong = search_case(i, &s);
        printf("%-32s %s %8llu orders: %s\n", cases[i].name, s.interruptions == 0 ? "all" : "   ",
               (unsigned long long)s.orders, wrong == NULL ? "all hold" : wrong);
        if (wrong != NULL) search_print();
        good &= wrong == NULL && s.orders > 1;
        fflush(stdout);
    }
    return good;
}

static bool is_found(enum mutant m)
{
    mutant = m;
    for (size_t i = 0; i < WF_COUNT(cases); i++) {
        struct search s;
        const char *wrong = search_case(i, &s);
        if (wrong == NULL) continue;
        printf("mutant: %-24s found in order %llu of \"%s\": %s\n", mutant_names[m], (unsigned long long)s.orders,
               cases[i].name, wrong);
        return true;
    }
    printf("mutant: %-24s NOT FOUND\n", mutant_names[m]);
    return false;
}

int main(void)
{
    static const struct wf_hooks hooks = {0};
    env = *pf_env_native();
    env.now = no_time;
    env.poller_wait = wait_for_edge;
    env.poller_wake = make_edge;
    set.env = &env;
    set.hooks = &hooks;
    set.parts = wf_runtime_parts;
    if (wf_workers_init(&set) < 0) abort();
    set.may_look = false; /* looking before sleeping is a time to read the inbox in, again and again */
    worker = set.at[0];
    bool good = all_hold();
    for (enum mutant m = NONE + 1; m < MUTANTS; m++) good &= is_found(m);
    return good ? 0 : 1;
}
