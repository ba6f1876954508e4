/* tests/stress/account.h -- the counts of operations.c, and the equations that they must fulfil. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "../unit/actors/node_harness.h"
#include "../unit/actors/random.h"

enum {
    PLACES = 96,
    SERVERS = 32 /* the last of the places */,
    AUDITORS = 4,
    LISTENERS = 4,
    TIES = 24,
    SUBSCRIPTIONS = 6,
    OWN_REASONS = 16,
    GROUPS = 3,
    LATERS = 4
};
enum { MAIL = 1, ASK = 2, ANSWER = 3, NEWS = 4, LATE = 5 };

static struct {
    _Atomic int64_t budget;          /* operations left */
    _Atomic uint64_t place[PLACES];  /* pid.actor of a player, alive or not; release, acquire */
    _Atomic uint64_t births, course; /* course: a hash of what happened, for virtual time */
    _Atomic int64_t players;         /* alive */
    uint64_t seed, incarnation;
    bool one_thread;
    /* Operations that are left out, so that only user messages are dropped. */
    bool calls, laters;
} all;

/* clang-format off */
#define COUNTS(X) \
    X(sent) X(received) X(refused) X(asked) X(requests) X(answered) X(let_go) X(failed) X(abandoned) X(lives) \
    X(watched) X(told) X(unwatched) X(forgotten) X(tied) X(exits) X(untied) X(names) X(name_taken) X(published) \
    X(handed) X(heard) X(joined) X(joins_told) X(leaves_told) X(armed) X(disarmed)
/* clang-format on */
static struct {
#define COUNT(name) _Atomic int64_t name;
    COUNTS(COUNT)
#undef COUNT
} count;
#define ADD(name) ((void)atomic_fetch_add_explicit(&count.name, 1, memory_order_relaxed))

/* Pending operations of one actor, which must be accounted for however it ends. */
struct player {
    uint32_t place;
    bool auditor; /* traps exits, and ends only when everything it waits for has been told */
    bool sending, asking;
    uint64_t random;
    struct tie {
        weft_monitor_ref ref;
        weft_pid who;
    } monitors[TIES];
    weft_pid links[TIES];
    weft_later later[LATERS];
    uint32_t monitor_count, link_count, later_count;
    bool member[GROUPS];
    struct members *members; /* an auditor's: who is in which group, by what it was told */
};

/* Pids of one group in no order. */
struct members {
    struct {
        weft_pid *pid;
        uint32_t count, capacity;
    } of[GROUPS];
};

static void note(uint64_t what)
{
    if (all.one_thread) all.course = (all.course ^ what) * UINT64_C(0x100000001B3);
}

static weft_pid one_of(struct player *p, uint32_t first, uint32_t end)
{
    uint32_t place = first + random_below(&p->random, end - first);
    return (weft_pid){all.incarnation, atomic_load_explicit(&all.place[place], memory_order_acquire)};
}

static weft_pid somebody(struct player *p)
{
    return one_of(p, 0, PLACES);
}

static weft_pid some_player(struct player *p)
{
    return one_of(p, 0, PLACES - SERVERS);
}

static weft_pid some_server(struct player *p)
{
    return one_of(p, PLACES - SERVERS, PLACES);
}

static bool is_server(uint32_t place)
{
    return place >= PLACES - SERVERS;
}

static uint64_t new_seed(void)
{
    return all.seed ^ (atomic_fetch_add(&all.births, 1) + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The number of messages dropped on the workers from `first` to `end` - 1. */
static int64_t dropped_on(weft_node *n, uint32_t first, uint32_t end)
{
    int64_t sum = 0;
    for (uint32_t i = first; i < end; i++) {
        for (int why = 0; why < WF_DROP_REASONS; why++) {
            int64_t by = (int64_t)atomic_load_explicit(&wf_actors_of(n->workers.at[i])->dropped[why],
                                                       memory_order_relaxed);
            if (why != WF_DROP_LATE_REPLY && why != WF_DROP_SLOW_READER) sum += by;
            if (by > 0) printf("  worker %u dropped %s %lld\n", i, wf_drop_names[why], (long long)by);
        }
    }
    return sum;
}

static void judge(weft_node *n)
{
    uint32_t workers = n->workers.users;
    int64_t mail = dropped_on(n, 0, workers == 1 ? 1 : workers - 1);
    if (workers > 1) (void)dropped_on(n, workers - 1, workers);
#define COUNT(name) printf("  %s %lld\n", #name, (long long)count.name);
    COUNTS(COUNT)
#undef COUNT
    if ((workers > 1 || !all.calls) && !all.laters) want_int(count.sent, count.received + count.refused + mail);
    want_int(count.watched, count.told + count.unwatched + count.forgotten);
    want_int(count.tied, count.exits + count.untied);
    /* An auditor was not notified of members that had left before it began to watch. */
    want_int(count.joins_told, count.leaves_told);
    want(count.joins_told > 0 && count.joins_told <= AUDITORS * count.joined);
    want_int(count.asked, count.answered + count.let_go + count.failed + count.abandoned);
    if (all.one_thread) want_int(count.handed, count.heard);
    want(count.told > 0 && count.exits > 0 && count.heard > 0 && count.received > 0);
}

#endif
