/* tests/unit/actors/programs.h -- random programs of actors, which are compared with a specification. Each comes from
 * a seed. One that fails is made shorter as long as it still fails, is run once more with each of its operations
 * printed, and the command is printed that repeats it.
 *
 * NAME_SEEDS in the environment is the number of programs, NAME_SEED is the first seed; without NAME_SEEDS it is the
 * only one. With PROGRAMS_LONG a failing program is not made shorter. */
#ifndef WF_PROGRAMS_H
#define WF_PROGRAMS_H

#include "../../suite.h"
#include "random.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>

/* One operation of one actor. `random` decides what it does, and gives it further random numbers. */
struct op {
    uint32_t who;
    uint64_t random;
};

struct program {
    uint64_t seed; /* the same after operations were left out */
    const struct op *ops;
    size_t n;
};

struct programs {
    const char *name, *test;              /* "EVENT", "unit/actors/run/event_programs" */
    uint64_t seeds;                       /* unless the environment says something else */
    uint32_t actors, ops;                 /* of each program */
    int times;                            /* how often one is tried that is not the same each time; 0: once */
    void (*run)(const struct program *p); /* calls programs_fail where the specification says something else */
};

enum { SHORTENED_MAX = 3000 }; /* attempts to make a program shorter */

static struct {
    const struct programs *all;
    uint64_t seed;
    bool telling; /* the program is printed */
    atomic_bool broken;
    char why[512]; /* of the first failure */
    char told[65536];
    size_t told_size;
} programs;

/* Whether the running program has failed. */
__attribute__((unused)) static bool programs_broken(void)
{
    return atomic_load(&programs.broken);
}

/* Says what the program does, if it is printed: under a lock where several actors run at once. */
WEFT_PRINTF(1, 2) __attribute__((unused)) static void programs_tell(const char *format, ...)
{
    char text[600];
    va_list args;
    if (!programs.telling) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t space = sizeof programs.told - programs.told_size;
    const int n = snprintf(&programs.told[programs.told_size], space, "    %s\n", text);
    programs.told_size += WF_MIN((size_t)n, space - 1);
}

/* The first failure of a program counts. Any thread. */
WEFT_PRINTF(1, 2) __attribute__((unused)) static void programs_fail(const char *format, ...)
{
    va_list args;
    if (atomic_exchange(&programs.broken, true)) return;
    va_start(args, format);
    vsnprintf(programs.why, sizeof programs.why, format, args);
    va_end(args);
    programs_tell("FAILED: %s", programs.why);
}

static void programs_say_seed(void)
{
    fprintf(stderr, "%s_SEED=%" PRIu64 " ./dev test %s\n", programs.all->name, programs.seed, programs.all->test);
}

/* An assertion of weft, or of the test, has failed: then there is no way on, but the seed is known. */
static void programs_aborted(int signal)
{
    (void)signal;
    programs_say_seed();
}

static bool programs_try(const struct program *p)
{
    atomic_store(&programs.broken, false);
    for (int i = 0; i < WF_MAX(programs.all->times, 1) && !programs_broken(); i++) {
        programs.told_size = 0;
        programs.all->run(p);
    }
    return !programs_broken();
}

/* Leaves out halves, quarters and so on, down to single operations, until none can go any more. */
static void programs_shorten(struct program *p, struct op *ops)
{
    int left = SHORTENED_MAX;
    struct op *all = malloc((p->n + 1) * sizeof *all);
    if (all == NULL) return;
    bool shorter = true;
    for (size_t part = p->n / 2; part > 0 && left > 0; part = part > 1 ? part / 2 : shorter) {
        shorter = false;
        for (size_t at = 0; at + part <= p->n && left > 0; left--) {
            memcpy(all, ops, p->n * sizeof *ops);
            memmove(&ops[at], &ops[at + part], (p->n - at - part) * sizeof *ops);
            p->n -= part;
            if (!programs_try(p)) {
                shorter = true;
                continue;
            }
            p->n += part;
            memcpy(ops, all, p->n * sizeof *ops);
            at += part;
        }
    }
    free(all);
}

static void programs_report(struct program *p, struct op *ops)
{
    const size_t n = p->n;
    fprintf(stderr, "%s seed %" PRIu64 ": %s\n", programs.all->name, programs.seed, programs.why);
    if (getenv("PROGRAMS_LONG") != NULL) return;
    programs_shorten(p, ops);
    fprintf(stderr, "  with %zu of %zu operations:\n", p->n, n);
    programs.telling = true;
    (void)programs_try(p);
    programs.telling = false;
    fwrite(programs.told, 1, programs.told_size, stderr);
    programs_say_seed();
}

static uint64_t programs_number(const char *what, uint64_t preset)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", programs.all->name, what);
    const char *text = getenv(name);
    return text == NULL ? preset : strtoull(text, NULL, 10);
}

/* Returns whether all have passed. In the main thread or in an actor, as `run` needs it. */
__attribute__((unused)) static bool programs_pass(const struct programs *all)
{
    programs.all = all;
    const uint64_t preset = (uint64_t)repeats((int)all->seeds), first = programs_number("SEED", 0);
    const uint64_t seeds = programs_number("SEEDS", first > 0 ? 1 : preset);
    struct op *ops = malloc(all->ops * sizeof *ops);
    bool good = ops != NULL;
    void (*before)(int) = signal(SIGABRT, programs_aborted);
    for (uint64_t i = 0; i < seeds && good; i++) {
        programs.seed = WF_MAX(first, (uint64_t)1) + i;
        uint64_t random = programs.seed;
        struct program p = {.seed = programs.seed, .ops = ops, .n = all->ops};
        for (size_t k = 0; k < p.n; k++)
            ops[k] = (struct op){.who = random_below(&random, all->actors), .random = random_next(&random)};
        good = programs_try(&p);
        if (!good) programs_report(&p, ops);
    }
    (void)signal(SIGABRT, before);
    free(ops);
    return good;
}

#endif
