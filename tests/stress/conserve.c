/* tests/stress/conserve.c -- no message is lost or duplicated: actors on N workers spawn, send, stop and end at
 * random, into mailboxes that fill up; at the end sent == received + refused + dropped, exactly, by reason.
 *
 *     conserve [OPERATIONS [SEED [WORKERS]]]
 *
 * The seed is printed; thread timing is not part of it, so a failure may need more than one run to come back. */
#include "../unit/actors/node_harness.h"

#include "../unit/actors/random.h"

enum { FIRST = 8, PEERS = 64, DATA = 1 };

static struct {
    _Atomic int64_t budget; /* operations left */
    _Atomic int64_t sent, refused, received;
    /* pid.actor of the actor that was born last there, which may have ended. Release and acquire: an actor that knows
     * a pid may use it. */
    _Atomic uint64_t peers[PEERS];
    uint64_t seed, node;
    _Atomic uint64_t births;
} all;

static void send_somewhere(uint64_t *random)
{
    weft_pid to = {all.node, atomic_load_explicit(&all.peers[random_below(random, PEERS)], memory_order_acquire)};
    int64_t value = (int64_t)*random;
    int rc;
    switch (random_below(random, 4)) {
    case 0: rc = weft_try_send(to, DATA, &value, sizeof value); break;
    case 1: rc = weft_node_send(weft_here(), to, DATA, &value, sizeof value); break;
    case 2: {
        weft_msg *m = weft_msg_new(DATA, sizeof value);
        want(m != NULL);
        memcpy(weft_msg_body(m), &value, sizeof value);
        rc = weft_send_msg(to, m);
        break;
    }
    default: rc = weft_send(to, DATA, &value, sizeof value); break;
    }
    want(rc == 0 || rc == WEFT_ENOACTOR || rc == WEFT_EFULL || rc == WEFT_ECANCELED);
    atomic_fetch_add_explicit(rc == 0 ? &all.sent : &all.refused, 1, memory_order_relaxed);
}

static void receive_some(uint64_t *random)
{
    weft_msg *m;
    for (uint32_t n = random_below(random, 8); n > 0; n--) {
        int rc = random_below(random, 2) == 0 ? weft_recv(&m, WEFT_NOW) : weft_recv_tag(&m, DATA, WEFT_NOW);
        if (rc < 0) return;
        atomic_fetch_add_explicit(&all.received, 1, memory_order_relaxed);
        if (random_below(random, 16) != 0) weft_msg_free(m); /* else it is held to the end */
    }
}

static void citizen(const void *arg, size_t size);

static int give_birth(uint64_t *random)
{
    static const uint32_t bounds[] = {1, 2, 3, 8, 100};
    weft_spawn_options o = {.mailbox_max = bounds[random_below(random, WF_COUNT(bounds))],
                            .policy = (weft_full_policy)(random_below(random, 7) % 5 % 4),
                            .worker = (int)random_below(random, weft_here()->workers.users + 1)};
    weft_pid pid;
    int rc = weft_spawn(&pid, citizen, NULL, 0, &o);
    if (rc == 0) atomic_store_explicit(&all.peers[random_below(random, PEERS)], pid.actor, memory_order_release);
    return rc;
}

static void stop_somebody(uint64_t *random)
{
    weft_pid victim = {all.node, atomic_load_explicit(&all.peers[random_below(random, PEERS)], memory_order_acquire)};
    (void)weft_stop(victim);
}

static void citizen(const void *arg, size_t size)
{
    (void)arg, (void)size;
    uint64_t random = all.seed ^ (atomic_fetch_add(&all.births, 1) + 1) * UINT64_C(0x9E3779B97F4A7C15);
    while (atomic_fetch_sub_explicit(&all.budget, 1, memory_order_relaxed) > 0) {
        uint32_t dice = random_below(&random, 1000);
        if (dice < 700) send_somewhere(&random);
        else if (dice < 900) receive_some(&random);
        else if (dice < 960) (void)weft_yield();
        else if (dice < 965) stop_somebody(&random);
        else if (give_birth(&random) == 0 && dice >= 980) return; /* the child takes over */
        if (dice % 50 == 0) {
            weft_msg *m; /* a stopped actor ends here */
            int rc = weft_recv(&m, weft_after(WEFT_US(50)));
            if (rc == WEFT_ECANCELED) {
                if (give_birth(&random) == 0) return;
            } else if (rc == 0) {
                atomic_fetch_add_explicit(&all.received, 1, memory_order_relaxed);
            }
        }
    }
}

static int check(weft_node *n)
{
    uint64_t by[WF_DROP_REASONS], dropped = 0;
    wf_node_drops(n, by);
    for (int i = 0; i < WF_DROP_REASONS; i++) dropped += by[i];
    int64_t sent = atomic_load(&all.sent), received = atomic_load(&all.received);
    printf("sent %lld = received %lld + dropped %lld", (long long)sent, (long long)received, (long long)dropped);
    for (int i = 0; i < WF_DROP_REASONS; i++) {
        if (by[i] > 0) printf(" %s=%llu", wf_drop_names[i], (unsigned long long)by[i]);
    }
    printf("; refused %lld, born %llu\n", (long long)atomic_load(&all.refused),
           (unsigned long long)atomic_load(&all.births));
    return sent == received + (int64_t)dropped ? 0 : 1;
}

int main(int argc, char **argv)
{
    long long operations = argc > 1 ? atoll(argv[1]) : 200 * 1000;
    all.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)weft_now();
    int workers = argc > 3 ? atoi(argv[3]) : 3;
    printf("seed %#llx, %lld operations, %d workers\n", (unsigned long long)all.seed, operations, workers);
    fflush(stdout);
    atomic_store(&all.budget, operations);
    weft_node *n = node_start(RUN_OPTIONS(.workers = workers, .send_timeout = WEFT_MS(2), .grace = WEFT_MS(20)));
    all.node = weft_node_incarnation(n);
    while (atomic_load(&all.budget) > 0) { /* they may die out */
        for (int i = 0; i < FIRST; i++) {
            weft_pid pid;
            want_int(weft_node_spawn(n, &pid, citizen, NULL, 0, &(weft_spawn_options){.mailbox_max = 8}), 0);
            atomic_store(&all.peers[i], pid.actor);
        }
        want_int(weft_node_wait(n, WEFT_FOREVER), 0);
    }
    node_finish(n);
    int rc = check(n);
    wf_node_destroy(n);
    return rc;
}
