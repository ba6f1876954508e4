/* tests/stress/kills.c -- the account of conserve.c when actors are also killed, even during sends, when they forward
 * messages, and when a foreign thread sends, too. Then the same for requests that are answered, freed without a
 * reply, kept or forwarded: each caller gets a result, and the right one.
 *
 *     kills [OPERATIONS [SEED]] */
#include "../unit/actors/node_harness.h"
#include "../unit/actors/random.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { WORKERS = 3, PLACES = 64, ASKERS = 24 };

static struct {
    _Atomic uint64_t actor; /* of the pid; 0: nobody yet */
} places[PLACES];
static _Atomic int64_t operations_left;
static _Atomic uint64_t seeds; /* each life has its own */
static _Atomic int64_t sent, received, refused, lives, kills;
static _Atomic int64_t asked, answered, unanswered, failed, requests;
static uint64_t incarnation;

static void add(_Atomic int64_t *n)
{
    atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static bool go_on(void)
{
    return atomic_fetch_sub_explicit(&operations_left, 1, memory_order_relaxed) > 0;
}

static weft_pid somebody(uint64_t *seed)
{
    return (weft_pid){incarnation, atomic_load(&places[random_below(seed, PLACES)].actor)};
}

struct player {
    uint32_t place;
    bool sending;    /* killed in a send: that message is refused */
    bool forwarding; /* killed while a request is sent on: it is let go */
    bool stubborn;   /* ends only by being killed, or with the run */
    bool ended;      /* by itself, not killed */
    bool asks;       /* the second half: a server of requests */
    uint64_t seed;
};

static void play(const void *arg, size_t size);

static void fill_place(uint32_t place, bool serves)
{
    uint64_t seed = atomic_fetch_add(&seeds, UINT64_C(0x9E3779B97F4A7C15));
    struct player p = {.place = place, .seed = seed, .asks = serves};
    p.stubborn = random_below(&p.seed, 8) == 0;
    weft_spawn_options o = {.kind = "player",
                            .worker = 1 + (int)random_below(&p.seed, WORKERS),
                            .mailbox_max = 1 + random_below(&p.seed, 8),
                            .policy = (weft_full_policy)random_below(&p.seed, 4),
                            .mailbox_bytes = random_below(&p.seed, 2) * 500};
    weft_pid pid;
    int rc = wf_here == NULL ? WEFT_EINVAL : weft_spawn(&pid, play, &p, sizeof p, &o);
    want_int(rc, WEFT_OK);
    atomic_store(&places[place].actor, pid.actor);
    add(&lives);
}

static void leave_place(void *arg)
{
    struct player *p = arg;
    if (p->sending) add(&refused);
    if (p->forwarding) add(&requests); /* let go, which its asker hears */
    if (!p->ended) add(&kills);
    if (atomic_load(&operations_left) > 0) fill_place(p->place, p->asks);
    free(p);
}

static _Noreturn void leave(struct player *p, int reason)
{
    p->ended = true;
    weft_exit(reason);
}

static int count_sent(struct player *p, int rc)
{
    p->sending = false;
    add(&sent);
    if (rc < 0) add(&refused);
    return rc;
}

/* Takes a message; keeps it, frees it or sends it on. */
static int receive(struct player *p)
{
    weft_msg *m;
    int64_t deadline = random_below(&p->seed, 2) == 0 ? WEFT_NOW : weft_after(WEFT_US(50));
    int rc = random_below(&p->seed, 4) == 0 ? weft_recv_tag(&m, 1, WEFT_NOW) : weft_recv(&m, deadline);
    if (rc < 0) return rc;
    add(&received);
    switch (random_below(&p->seed, 8)) {
    case 0: break; /* freed at our end */
    case 1:
        p->sending = true;
        add(&sent); /* counted here: a kill must find both or none */
        rc = weft_send_msg(somebody(&p->seed), m);
        p->sending = false;
        if (rc < 0) add(&refused);
        return rc;
    default: weft_msg_free(m);
    }
    return WEFT_OK;
}

static int move(struct player *p)
{
    static const char bytes[300];
    uint32_t tag = random_below(&p->seed, 3), dice = random_below(&p->seed, 1000);
    size_t size = random_below(&p->seed, sizeof bytes);
    if (dice < 4) return weft_stop(somebody(&p->seed));
    if (dice < 6 && !p->stubborn) leave(p, 7);
    if (dice < 500) return receive(p);
    if (dice < 600) return weft_yield();
    weft_pid to = somebody(&p->seed);
    if (dice < 800) return count_sent(p, weft_try_send(to, tag, bytes, size));
    p->sending = true;
    add(&sent);
    int rc = weft_send(to, tag, bytes, size);
    p->sending = false;
    if (rc < 0) add(&refused);
    return rc;
}

/* The second half: lets requests go, answers them, forwards them, or keeps them until it ends. */
static int serve(struct player *p)
{
    weft_msg *m;
    int rc = weft_recv(&m, weft_after(WEFT_US(200)));
    if (rc == WEFT_ETIMEDOUT && random_below(&p->seed, 16) == 0) leave(p, 9); /* lets go what it has kept */
    if (rc < 0) return rc;
    want(weft_wants_reply(m));
    uint32_t dice = random_below(&p->seed, 100);
    if (dice < 10) {
        p->forwarding = true; /* a kill while that waits for space ends the request here */
        rc = weft_send_msg(somebody(&p->seed), m);
        p->forwarding = false;
        if (rc == WEFT_ECANCELED) add(&requests); /* asked to stop while it waited for space: as above */
        return rc;
    }
    add(&requests);
    if (dice < 15) return WEFT_OK;
    if (dice < 85) want_int(weft_reply(m, 5, weft_data(m), weft_size(m)), WEFT_OK);
    weft_msg_free(m);
    if (dice >= 98) leave(p, 8);
    return dice >= 96 ? weft_stop(somebody(&p->seed)) : WEFT_OK;
}

static void play(const void *arg, size_t size)
{
    struct player *p = malloc(sizeof *p); /* the frame of a body is gone when clean-ups run after it returned */
    want(p != NULL && size == sizeof *p);
    memcpy(p, arg, sizeof *p);
    want_int(weft_defer(leave_place, p), WEFT_OK);
    while (p->asks ? atomic_load(&operations_left) > 0 : go_on()) {
        int rc = p->asks ? serve(p) : move(p);
        if (rc == WEFT_ECANCELED && !p->stubborn) break;
    }
    p->ended = true;
}

static void ask(const void *arg, size_t size)
{
    uint64_t seed = *(const uint64_t *)arg;
    (void)size;
    while (go_on()) {
        uint64_t number = random_next(&seed);
        weft_msg *answer;
        add(&asked);
        int rc = weft_call(somebody(&seed), 4, &number, sizeof number, &answer, WEFT_FOREVER);
        if (rc == WEFT_OK) {
            want(weft_tag(answer) == 5 && memcmp(weft_data(answer), &number, sizeof number) == 0);
            weft_msg_free(answer);
            add(&answered);
        } else if (rc == WEFT_ENOREPLY) {
            add(&unanswered);
        } else {
            if (rc != WEFT_EFULL) want_int(rc, WEFT_ENOACTOR);
            add(&failed);
        }
    }
}

static void begin(const void *arg, size_t size)
{
    bool serves = *(const bool *)arg;
    (void)size;
    for (uint32_t i = 0; i < PLACES; i++) fill_place(i, serves);
    for (int i = 0; i < ASKERS && serves; i++) {
        uint64_t seed = atomic_fetch_add(&seeds, UINT64_C(0x9E3779B97F4A7C15));
        want_int(weft_spawn(NULL, ask, &seed, sizeof seed, &(weft_spawn_options){.worker = 1 + i % WORKERS}), 0);
    }
}

static void *send_from_outside(void *arg)
{
    weft_node *node = arg;
    uint64_t seed = atomic_fetch_add(&seeds, UINT64_C(0x9E3779B97F4A7C15));
    while (atomic_load(&lives) < PLACES) sched_yield();
    for (int64_t share = atomic_load(&operations_left) / 8; share > 0 && go_on(); share--) {
        add(&sent);
        if (weft_node_send(node, somebody(&seed), 1, &seed, sizeof seed) < 0) add(&refused);
    }
    return NULL;
}

static void run_half(bool serves, int64_t operations)
{
    for (int i = 0; i < PLACES; i++) atomic_store(&places[i].actor, 0);
    atomic_store(&operations_left, operations);
    weft_node *node = node_start(RUN_OPTIONS(.workers = WORKERS, .send_timeout = WEFT_MS(1), .grace = WEFT_US(100),
                                             .mailbox_bytes_max = 3 * 30000));
    incarnation = node->incarnation;
    pthread_t outside;
    if (!serves) want_int(pthread_create(&outside, NULL, send_from_outside, node), 0);
    want_int(weft_node_spawn(node, NULL, begin, &serves, sizeof serves, NULL), WEFT_OK);
    want_int(weft_node_wait(node, WEFT_FOREVER), WEFT_OK); /* a hang ends by the runner's timeout */
    if (!serves) want_int(pthread_join(outside, NULL), 0);
    node_finish(node);
    if (!serves) {
        uint64_t all[WF_DROP_REASONS];
        int64_t lost = 0;
        wf_node_drops(node, all);
        for (int i = 0; i < WF_DROP_REASONS; i++) {
            lost += (int64_t)all[i];
            printf("  %-16s %lld\n", wf_drop_names[i], (long long)all[i]);
        }
        printf("  sent %lld = received %lld + refused %lld + dropped %lld; %lld lives, %lld kills\n", (long long)sent,
               (long long)received, (long long)refused, (long long)lost, (long long)lives, (long long)kills);
        want_int(sent, received + refused + lost);
        want_int(all[WF_DROP_LATE_REPLY], 0);
        want(received > 0 && all[WF_DROP_FULL] > 0 && all[WF_DROP_UNREAD] > 0);
    } else {
        printf("  asked %lld = answered %lld + let go %lld + failed %lld; %lld requests taken\n", (long long)asked,
               (long long)answered, (long long)unanswered, (long long)failed, (long long)requests);
        want_int(asked, answered + unanswered + failed);
        want_int(requests, answered + unanswered);
        want(answered > 0 && unanswered > 0);
    }
    wf_node_destroy(node);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int64_t operations = argc > 1 ? strtoll(argv[1], NULL, 10) : 200000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 1000003;
    printf("kills %lld 0x%llx\n", (long long)operations, (unsigned long long)seed);
    atomic_store(&seeds, seed);
    run_half(false, operations);
    run_half(true, operations / 8);
    return 0;
}
