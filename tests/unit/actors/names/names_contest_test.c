/* Several nodes register one global name at about the same time, with clocks that differ and frames that take any time:
 * in the end one of them has it, and all nodes find that one. What a node tells another comes in order, and what it
 * acknowledges may overtake what it tells, as on a link. Random programs; CONTEST_SEEDS=N runs more of them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "names.h"
#include "../random.h"
#include "../../../suite.h"

enum { NODES = 3, TOLD_MAX = 256, STEPS = 30 };

struct told {
    bool set;
    uint64_t stamp;
    int64_t at; /* when it was told */
};

/* What one node tells another. */
struct way {
    struct told told[TOLD_MAX];
    size_t count, received;
};

static struct place {
    struct wf_names *names;
    struct wf_name *chain;
    struct wf_copies copies[NODES]; /* of each other node */
    int64_t clock_off;
} places[NODES];
static struct way ways[NODES][NODES]; /* from, to */
static int64_t now;
static const char NAME[] = "boss";

static weft_pid actor_of(size_t node)
{
    return (weft_pid){node + 1, 1};
}

static void tell(size_t from, struct told t)
{
    for (size_t to = 0; to < NODES; to++) {
        struct way *w = &ways[from][to];
        if (to == from) continue;
        ck_assert_uint_lt(w->count, TOLD_MAX);
        w->told[w->count++] = t;
    }
}

static void registers(size_t node)
{
    struct place *p = &places[node];
    uint64_t stamp = (uint64_t)(now + p->clock_off);
    if (wf_names_add_global(p->names, weft_cstr(NAME), actor_of(node), stamp, now, &p->chain) == WEFT_OK)
        tell(node, (struct told){true, stamp, now});
}

static void unregisters(size_t node)
{
    struct place *p = &places[node];
    if (wf_names_remove(p->names, weft_cstr(NAME), &p->chain) == WEFT_OK) tell(node, (struct told){false, 0, now});
}

/* The next thing that `from` has told comes to `to`. */
static bool arrives(size_t from, size_t to)
{
    struct way *w = &ways[from][to];
    struct place *p = &places[to];
    if (from == to || w->received == w->count) return false;
    struct told t = w->told[w->received++];
    if (!t.set) {
        (void)wf_names_take_copy(p->names, &p->copies[from], weft_cstr(NAME));
        return true;
    }
    struct wf_name_clash clash;
    int rc = wf_names_put_copy(p->names, &p->copies[from], weft_cstr(NAME), actor_of(from), t.stamp, now, &clash);
    ck_assert_int_ge(rc, 0);
    if (!weft_pid_is_nobody(clash.loser)) tell(to, (struct told){false, 0, now});
    if (!weft_pid_is_nobody(clash.defender)) tell(to, (struct told){true, clash.stamp, now});
    return true;
}

/* `from` gets to know what `to` has received. */
static void acknowledges(size_t from, size_t to)
{
    const struct way *w = &ways[from][to];
    if (from != to && w->received > 0)
        places[from].copies[to].known = WF_MAX(places[from].copies[to].known, w->told[w->received - 1].at);
}

static void open(uint64_t *seed)
{
    now = WEFT_SEC(100000);
    memset(ways, 0, sizeof ways);
    for (size_t i = 0; i < NODES; i++) {
        places[i].chain = NULL;
        places[i].clock_off = WEFT_SEC(random_below(seed, 3) * 1000);
        ck_assert_int_eq(wf_names_create(&places[i].names, 7), 0);
        for (size_t k = 0; k < NODES; k++) wf_copies_init(&places[i].copies[k], k + 1);
    }
}

static void close(void)
{
    for (size_t i = 0; i < NODES; i++) {
        wf_names_remove_all(places[i].names, &places[i].chain);
        for (size_t k = 0; k < NODES; k++)
            (void)wf_names_take_copy(places[i].names, &places[i].copies[k], weft_cstr(NAME));
        wf_names_destroy(places[i].names);
    }
}

static void step(uint64_t *seed)
{
    size_t from = random_below(seed, NODES), to = random_below(seed, NODES);
    now += WEFT_MS(random_below(seed, 2) == 0 ? 1 : random_below(seed, 40000));
    switch (random_below(seed, 8)) {
    case 0:
    case 1: registers(from); break;
    case 2: unregisters(from); break;
    case 3:
    case 4: acknowledges(from, to); break;
    default: (void)arrives(from, to); break;
    }
}

/* Until nothing is under way. A contest that goes on for ever fills a way. */
static void settle(uint64_t *seed)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < NODES * NODES; i++) {
            size_t from = random_below(seed, NODES), to = random_below(seed, NODES);
            acknowledges(from, to);
            (void)arrives(from, to);
            acknowledges(from, to);
        }
        for (size_t i = 0; i < NODES * NODES; i++) {
            const struct way *w = &ways[i / NODES][i % NODES];
            more |= w->received < w->count;
        }
    }
}

static void judge(uint64_t seed)
{
    weft_pid own, found[NODES];
    size_t holders = 0, lost = 0;
    for (size_t i = 0; i < NODES; i++) {
        holders += wf_names_find(places[i].names, weft_cstr(NAME), &own) == WEFT_OK;
        found[i] = weft_nobody();
        (void)wf_names_find_any(places[i].names, weft_cstr(NAME), &found[i]);
        lost += !weft_pid_equal(found[i], found[0]);
    }
    ck_assert_msg(holders <= 1, "seed %llu: %zu nodes have the name", (unsigned long long)seed, holders);
    ck_assert_msg(lost == 0, "seed %llu: nodes find different actors", (unsigned long long)seed);
    ck_assert_msg(weft_pid_is_nobody(found[0]) == (holders == 0), "seed %llu: a name without holder is found",
                  (unsigned long long)seed);
}

START_TEST(of_those_who_claim_a_name_one_has_it)
{
    const char *seeds = getenv("CONTEST_SEEDS");
    uint64_t count = seeds == NULL ? 20000 : strtoull(seeds, NULL, 10);
    for (uint64_t seed = 1; seed <= count; seed++) {
        uint64_t state = seed;
        open(&state);
        for (int i = 0; i < STEPS; i++) step(&state);
        settle(&state);
        judge(seed);
        close();
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("names: contest");
    TCase *t = tcase_create("contest");
    tcase_add_test(t, of_those_who_claim_a_name_one_has_it);
    suite_add_tcase(s, t);
    return run_suite(s);
}
