/* Membership in numbers, in virtual time: how soon a crash is noticed, how long news take to reach all, what it
 * costs, how often loss makes the living look dead. A period is 1 s, so 1000 ms are one. docs/membership.md puts the
 * figures beside those of the SWIM paper. usage: bench_swim [MEMBERS [CRASHES [SECONDS]]] */
#include "swim_net.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t crashed;           /* the node that they have to detect */
static uint32_t unaware, not_told; /* how many still hold it for alive, for present */
static int64_t first_suspicion, first_down;
static uint32_t false_downs; /* members that were wrongly declared down by at least one */
static bool was_down[WF_SWIM_MEMBERS_MAX];

static void watch(struct swim_net *n, uint32_t observer, const struct wf_swim_member *m, enum wf_swim_state before)
{
    (void)observer;
    if (m->node != crashed) {
        uint32_t i = net_index(m->node);
        false_downs += m->state == WF_SWIM_DOWN && !was_down[i];
        was_down[i] = was_down[i] || m->state == WF_SWIM_DOWN;
        return;
    }
    if (before == WF_SWIM_ALIVE && m->state != WF_SWIM_ALIVE) unaware--;
    if (before <= WF_SWIM_SUSPECT && m->state >= WF_SWIM_DOWN) not_told--;
    if (first_suspicion == 0 && m->state == WF_SWIM_SUSPECT) first_suspicion = n->now;
    if (first_down == 0 && m->state == WF_SWIM_DOWN) first_down = n->now;
}

static void report(uint32_t members, const char *params, const char *metric, double value)
{
    printf("swim weft %s,members=%u %s %.2f\n", params, members, metric, value);
}

static double ms(int64_t span)
{
    return (double)span / 1e6;
}

/* Crashes one node after the other, and measures the time until one node notices, all suspect it, and all know it. */
static void measure_crashes(uint32_t members, uint32_t crashes)
{
    double noticed = 0, suspected = 0, known = 0, found = 0;
    struct swim_net *n = net_new(members, members);
    n->changed = watch;
    net_start_full(n);
    net_run(n, n->now + WEFT_SEC(3));
    for (uint32_t i = 0; i < crashes; i++) {
        uint32_t who = i % members;
        net_run(n, n->now + (int64_t)(net_chance(n) * 1e9));
        int64_t start = n->now;
        crashed = n->node[who].node_id;
        unaware = not_told = members - 1;
        first_suspicion = first_down = 0;
        net_crash(n, who);
        while (unaware > 0) (void)net_step(n, INT64_MAX);
        int64_t all_suspect = n->now;
        while (not_told > 0) (void)net_step(n, INT64_MAX);
        noticed += ms(first_suspicion - start);
        suspected += ms(all_suspect - first_suspicion);
        found += ms(first_down - start);
        known += ms(n->now - first_down);
        net_start(n, who);
        net_greet(n, who, (who + 1) % members);
        while (!net_converged(n)) net_run(n, n->now + WEFT_MS(100));
    }
    net_free(n);
    report(members, "crash", "first_suspicion_ms", noticed / crashes);
    report(members, "crash", "suspicion_spread_ms", suspected / crashes);
    report(members, "crash", "first_down_ms", found / crashes);
    report(members, "crash", "down_spread_ms", known / crashes);
}

static void measure_load(uint32_t members, int64_t seconds)
{
    struct swim_net *n = net_new(members, 1);
    net_start_full(n);
    net_run(n, n->now + WEFT_SEC(2));
    uint64_t sent = n->sent, bytes = 0;
    for (uint32_t i = 0; i < members; i++) n->node[i].bytes_sent = 0;
    net_run(n, n->now + WEFT_SEC(seconds));
    for (uint32_t i = 0; i < members; i++) bytes += n->node[i].bytes_sent;
    double share = 1.0 / members / (double)seconds;
    report(members, "quiet", "messages_per_member_period", (double)(n->sent - sent) * share);
    report(members, "quiet", "bytes_per_member_period", (double)bytes * share);
    net_free(n);
}

static void measure_loss(uint32_t members, int64_t seconds, double loss)
{
    char params[32];
    struct swim_net *n = net_new(members, 2);
    snprintf(params, sizeof params, "loss=%.0f%%", loss * 100);
    net_start_full(n);
    net_run(n, n->now + WEFT_SEC(2));
    n->changed = watch;
    n->loss = loss;
    crashed = 0;
    false_downs = 0;
    memset(was_down, 0, sizeof was_down);
    uint64_t refuted = 0, sent = n->sent;
    net_run(n, n->now + WEFT_SEC(seconds));
    for (uint32_t i = 0; i < members; i++) refuted += n->node[i].swim->refuted;
    double hours = (double)members * (double)seconds / 3600;
    report(members, params, "refuted_per_member_hour", (double)refuted / hours);
    report(members, params, "false_downs_per_member_hour", (double)false_downs / hours);
    report(members, params, "messages_per_member_period", (double)(n->sent - sent) / members / (double)seconds);
    net_free(n);
}

/* All at once, each knows only the first. */
static void measure_join(uint32_t members)
{
    struct swim_net *n = net_new(members, 3);
    for (uint32_t i = 0; i < members; i++) net_start(n, i);
    int64_t start = n->now;
    for (uint32_t i = 1; i < members; i++) net_greet(n, i, 0);
    while (!net_converged(n)) net_run(n, n->now + WEFT_MS(20));
    report(members, "join", "all_know_all_ms", ms(n->now - start));
    net_free(n);
}

int main(int argc, char **argv)
{
    uint32_t members = argc > 1 ? (uint32_t)atol(argv[1]) : 1000;
    uint32_t crashes = argc > 2 ? (uint32_t)atol(argv[2]) : 30;
    int64_t seconds = argc > 3 ? atol(argv[3]) : 60;
    if (members < 2 || members > WF_SWIM_MEMBERS_MAX || crashes == 0 || seconds <= 0) {
        fprintf(stderr, "usage: %s [MEMBERS [CRASHES [SECONDS]]]\n", argv[0]);
        return 2;
    }
    measure_load(members, seconds);
    measure_crashes(members, crashes);
    measure_loss(members, seconds, 0.05);
    measure_loss(members, seconds, 0.2);
    measure_join(members);
    return 0;
}
