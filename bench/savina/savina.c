/* bench/savina/savina.c -- runs one program of Savina's set: savina NAME WORKERS NUMBER...
 *
 * Prints its wall time and messages per second. A wrong answer ends the process with exit code 1. */
#include "savina.h"

struct savina_args savina;
int64_t savina_begin, savina_end;

static const struct program {
    const char *name;
    long (*run)(void);
    const char *numbers[3]; /* what they are called in the result lines */
} programs[] = {
    {"pingpong", ping_pong, {"n"}},
    {"ring", thread_ring, {"actors", "hops"}},
    {"counting", counting, {"n"}},
    {"big", big, {"actors", "pings"}},
    {"forkjoin", fork_join, {"actors", "msgs"}},
    {"create", fork_join_create, {"n"}},
    {"chameneos", chameneos, {"actors", "meetings"}},
    {"philosophers", philosophers, {"actors", "rounds"}},
    {"barber", barber, {"customers", "chairs"}},
    {"smokers", smokers, {"smokers", "rounds"}},
    {"dictionary", dictionary, {"actors", "msgs", "writes_percent"}},
    {"sortedlist", sorted_list, {"actors", "msgs", "writes_percent"}},
    {"buffer", bounded_buffer, {"size", "producers", "items"}},
    {"bank", bank, {"accounts", "transactions"}},
    {"logistic", logistic_map, {"series", "terms"}},
    {"sieve", sieve, {"n", "primes_per_actor"}},
    {"radixsort", radix_sort, {"n"}},
    {"filterbank", filterbank, {"channels", "taps", "n"}},
    {"quicksort", quicksort, {"n", "cutoff"}},
    {"queens", queens, {"size", "cutoff"}},
    {"matrix", matrix, {"size", "cutoff"}},
    {"tree", cobwebbed_tree, {"n"}},
    {"paths", shortest_paths, {"vertices", "block"}},
    {"astar", a_star, {"side", "actors"}},
};

static const struct program *program;

static void run(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    char params[160];
    int used = snprintf(params, sizeof params, "savina,threads=%d", savina.workers);
    const long numbers[] = {savina.a, savina.b, savina.c};
    for (size_t i = 0; i < 3 && program->numbers[i] != NULL; i++)
        used += snprintf(params + used, sizeof params - (size_t)used, ",%s=%ld", program->numbers[i], numbers[i]);
    clock_starts();
    long messages = program->run();
    if (savina_end == 0) clock_ends();
    double ns = (double)(savina_end - savina_begin);
    report(program->name, params, "wall_ms", ns / 1e6);
    report(program->name, params, "msgs_per_s", 1e9 * (double)messages / ns);
}

static int usage(const char *self)
{
    fprintf(stderr, "usage: %s NAME WORKERS NUMBER...\n", self);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        fprintf(stderr, "  %s WORKERS", programs[i].name);
        for (size_t k = 0; k < 3 && programs[i].numbers[k] != NULL; k++)
            fprintf(stderr, " %s", programs[i].numbers[k]);
        fputc('\n', stderr);
    }
    return 2;
}

int main(int argc, char **argv)
{
    long numbers[4] = {0};
    for (size_t i = 0; argc > 1 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(argv[1], programs[i].name) == 0) program = &programs[i];
    if (program == NULL) return usage(argv[0]);
    int wanted = 1;
    while (wanted < 4 && program->numbers[wanted - 1] != NULL) wanted++;
    if (argc != 2 + wanted) return usage(argv[0]);
    for (int i = 0; i < wanted; i++) {
        char *end;
        numbers[i] = strtol(argv[2 + i], &end, 10);
        if (*end != 0 || numbers[i] < (i == 3 ? 0 : 1)) return usage(argv[0]);
    }
    if (numbers[0] > 64) return usage(argv[0]);
    savina = (struct savina_args){(int)numbers[0], numbers[1], numbers[2], numbers[3]};
    weft_log_set(WEFT_ERROR, false);
    run_node(savina.workers, run, NULL, 0);
    return 0;
}
