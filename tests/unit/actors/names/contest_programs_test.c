/* Random programs of nodes that register one global name at about the same time, with clocks that differ and frames
 * that take any time: in the end one node has the name, and all nodes find that node. The frames of a node to another
 * arrive in order, but acknowledgements may overtake them, as on a link. */
#include "names.h"
#include "../programs.h"

enum { NODES = 3, TOLD_MAX = 256 };

struct told {
    bool set;
    uint64_t stamp;
    int64_t at; /* when it was told */
};

/* A message from one node to another. */
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
        if (w->count == TOLD_MAX) programs_fail("a contest does not end");
        else w->told[w->count++] = t;
    }
}

static void registers(size_t node)
{
    struct place *p = &places[node];
    uint64_t stamp = (uint64_t)(now + p->clock_off);
    if (wf_names_add_global(p->names, weft_cstr(NAME), actor_of(node), stamp, now, &p->chain) == WEFT_OK)
        tell(node, (struct told){true, stamp, now});
    programs_tell("node %zu registers, with the clock at %llu s", node, (unsigned long long)stamp / WEFT_SEC(1));
}

static void unregisters(size_t node)
{
    struct place *p = &places[node];
    if (wf_names_remove(p->names, weft_cstr(NAME), &p->chain) == WEFT_OK) tell(node, (struct told){false, 0, now});
    programs_tell("node %zu unregisters", node);
}

/* The next thing that `from` has told comes to `to`. */
static bool arrives(size_t from, size_t to)
{
    struct way *w = &ways[from][to];
    struct place *p = &places[to];
    if (from == to || w->received == w->count) return false;
    struct told t = w->told[w->received++];
    programs_tell("node %zu hears from %zu: %s, stamp %llu", to, from, t.set ? "set" : "unset",
                  (unsigned long long)t.stamp);
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
    if (from == to || w->received == 0) return;
    places[from].copies[to].known = WF_MAX(places[from].copies[to].known, w->told[w->received - 1].at);
    programs_tell("node %zu acknowledges what %zu has told it", to, from);
}

static void begin(uint64_t *seed)
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

static void finish(void)
{
    for (size_t i = 0; i < NODES; i++) {
        wf_names_remove_all(places[i].names, &places[i].chain);
        for (size_t k = 0; k < NODES; k++)
            (void)wf_names_take_copy(places[i].names, &places[i].copies[k], weft_cstr(NAME));
        wf_names_destroy(places[i].names);
    }
}

static void step(size_t node, uint64_t random)
{
    size_t other = random_below(&random, NODES);
    now += WEFT_MS(random_below(&random, 2) == 0 ? 1 : random_below(&random, 40000));
    switch (random_below(&random, 8)) {
    case 0:
    case 1: registers(node); break;
    case 2: unregisters(node); break;
    case 3:
    case 4: acknowledges(node, other); break;
    default: (void)arrives(node, other); break;
    }
}

/* Runs until no message is under way. */
static void settle(uint64_t *seed)
{
    for (bool more = true; more && !programs_broken();) {
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

static void judge(void)
{
    weft_pid own, found[NODES];
    size_t holders = 0;
    for (size_t i = 0; i < NODES; i++) {
        holders += wf_names_find(places[i].names, weft_cstr(NAME), &own) == WEFT_OK;
        found[i] = weft_nobody();
        (void)wf_names_find_any(places[i].names, weft_cstr(NAME), &found[i]);
        if (!weft_pid_equal(found[i], found[0])) programs_fail("nodes 0 and %zu find different actors", i);
    }
    if (holders > 1) programs_fail("%zu nodes have the name", holders);
    if (weft_pid_is_nobody(found[0]) != (holders == 0)) programs_fail("a name is found that no node has");
}

static void run(const struct program *p)
{
    uint64_t random = p->seed;
    begin(&random);
    for (size_t i = 0; i < p->n; i++) step(p->ops[i].who, p->ops[i].random);
    settle(&random);
    judge();
    finish();
}

START_TEST(exactly_one_of_the_nodes_that_claim_a_name_holds_it)
{
    ck_assert(programs_pass(&(struct programs){.name = "CONTEST",
                                               .test = "unit/actors/names/contest_programs",
                                               .seeds = 20000,
                                               .actors = NODES,
                                               .ops = 30,
                                               .run = run}));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("contest programs");
    TCase *t = tcase_create("contest");
    tcase_add_test(t, exactly_one_of_the_nodes_that_claim_a_name_holds_it);
    suite_add_tcase(s, t);
    return run_suite(s);
}
