/* tests/unit/actors/mailbox/lost_node_test.c -- what a worker does when the link to another node is gone for good: in how
 * many turns, and that it tells the link when it is done. */
#include "../node_harness.h"

#include "inbound.h"

enum { MANY = 10000 /* actors: credit looks at 4,096 of them in a turn */ };

static bool told;

static void is_told(struct wf_lost_node *lost)
{
    (void)lost;
    told = true;
}

static void idles(void *state, weft_msg *m)
{
    (void)state, (void)m;
}

static weft_pid many[MANY];

static void make_many(void)
{
    for (int i = 0; i < MANY; i++) want_int(weft_spawn_handler(&many[i], idles, NULL, 0, NULL), 0);
}

static void end_many(void)
{
    for (int i = 0; i < MANY; i++) want_int(weft_kill(many[i]), 0);
}

/* Returns how many turns of this worker it took. */
static uint64_t turns_until_told(void)
{
    static struct wf_lost_node lost;
    lost = (struct wf_lost_node){.peer = 1, .done = is_told};
    told = false;
    const uint64_t first = wf_here->count.turns;
    wf_node_lost(wf_here, &lost);
    while (!told) want_int(weft_yield(), 0);
    return wf_here->count.turns - first;
}

static void looks_in_parts(const void *arg, size_t size)
{
    (void)arg, (void)size;
    make_many();
    uint64_t turns = turns_until_told();
    want(turns >= MANY / 4096 + 1);
    want(turns <= MANY / 4096 + 3);
    end_many();
}

START_TEST(a_lost_node_is_forgotten_in_parts)
{
    run_on(1, looks_in_parts);
}
END_TEST

/* A post that is left when the worker's thread has ended is dropped, and nobody would tell the link. */
static void looks_at_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
    make_many();
    atomic_store(&wf_node_of(wf_here)->stopping, true);
    want_int((int64_t)turns_until_told(), 1);
    end_many();
}

START_TEST(a_node_that_stops_forgets_a_lost_node_at_once)
{
    run_on(1, looks_at_once);
}
END_TEST

TEST_MAIN("lost node", a_lost_node_is_forgotten_in_parts, a_node_that_stops_forgets_a_lost_node_at_once)
