/* tests/sim/seeds.h -- the main function of a program that is one scenario: [SEEDS [FIRST [limits]]]. With `limits`,
 * limits of nodes are drawn from the seed (transport/sim/sim_limits.h). Each seed runs in a process of its own, so
 * that any failure is reported with its seed. A run has to free all that it allocates, and must never allocate more
 * than a limit. With SEEDS 1 the call stacks of blocks that were not freed are shown. CLUSTER_LOG=1 in the
 * environment shows the logs of the nodes. */
#ifndef SIM_SEEDS_H
#define SIM_SEEDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/log.h>

#include "sim_limits.h"
#include "sim_memory.h"

/* Bytes that a node takes that uses each kind of object. Most of it is address space of tables. */
enum { SIM_NODE = 30 << 20 };

struct seeds {
    uint64_t count;             /* without SEEDS */
    bool limits;                /* are drawn */
    unsigned limit;             /* seconds of real time for one seed */
    size_t heap;                /* the most bytes it may have allocated at a moment: nodes, and what is under way */
    weft_log_level log;         /* what is shown anyway */
    void (*run)(uint64_t seed); /* ends the process if it fails */
    const char *again;          /* NULL, or further arguments of the command that runs a seed again */
};

static bool limits_are_drawn; /* in this run */

static inline void run_counted(const struct seeds *s, uint64_t seed)
{
    char left[256];
    bool counted = sim_memory_watch((const void *)(uintptr_t)s->run);
    if (counted) sim_memory_count(s->count == 1);
    limits_are_drawn = s->limits;
    wf_sim_limits_draw(s->limits, seed);
    s->run(seed);
    if (sim_memory_blocks() == 0 && sim_memory_most() <= s->heap) return;
    sim_memory_describe(left, sizeof left);
    fprintf(stderr, "seed %llu, at the end: not freed: %s; the most at a moment: %zu bytes, of %zu\n",
            (unsigned long long)seed, left, sim_memory_most(), s->heap);
    sim_memory_show();
    exit(EXIT_FAILURE);
}

static inline bool seed_passes(const struct seeds *s, uint64_t seed)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(s->limit);
        run_counted(s, seed);
        exit(EXIT_SUCCESS);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) return false;
    if (WIFSIGNALED(status)) fprintf(stderr, "seed %llu: signal %d\n", (unsigned long long)seed, WTERMSIG(status));
    return status == 0;
}

static inline int run_seeds(const struct seeds *s, int argc, char **argv)
{
    struct seeds some = *s;
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : s->count;
    some.count = count;
    uint64_t from = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    some.limits = argc > 3 && strcmp(argv[3], "limits") == 0;
    weft_log_set(getenv("CLUSTER_LOG") == NULL ? s->log : WEFT_INFO, false);
    for (uint64_t seed = from; seed < from + count; seed++) {
        if (seed_passes(&some, seed)) continue;
        fprintf(stderr, "failed: seed %llu\nAgain: %s 1 %llu%s%s\n", (unsigned long long)seed, argv[0],
                (unsigned long long)seed, some.limits ? " limits" : "", some.again == NULL ? "" : some.again);
        return EXIT_FAILURE;
    }
    printf("%llu seeds from %llu\n", (unsigned long long)count, (unsigned long long)from);
    return EXIT_SUCCESS;
}

#endif
