/* cli/bench.c -- weft bench: measures this machine in some seconds. The workloads are those of bench/, linked into
 * the command. Each run is a process of its own, as in bench/, so that no run is influenced by an earlier one. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"

/* bench/local.c and bench/remote.c. */
int bench_local(int argc, char **argv);
int bench_remote(int argc, char **argv);

enum { RUNS = 5, WORDS = 6 };

static const struct workload {
    const char *title;
    const char *words[WORDS]; /* up to a NULL */
    const char *metric, *unit;
    int cores; /* it takes as many */
} workloads[] = {
    {"a switch between two actors", {"yield", "1000000"}, "ns_per_switch", "ns", 1},
    {"a message, back and forth", {"pingpong", "1", "500000"}, "ns_per_msg", "ns", 1},
    {"the same between two workers", {"pingpong-apart", "2", "50000"}, "ns_per_msg", "ns", 2},
    {"a call and its answer", {"call", "1", "300000"}, "ns_per_call", "ns", 1},
    {"spawn, one message, end", {"create", "1", "300000"}, "spawns_per_s", "/s", 1},
    {"messages from 100 senders to one", {"counting", "1", "100", "2000000"}, "msgs_per_s", "/s", 1},
    {"publish to 1,000 subscribers", {"fanout", "1", "1000", "2000"}, "deliveries_per_s", "/s", 1},
    {"round trip over TCP, two processes", {"remote", "rtt", "16", "3000"}, "p50_us", "us", 1},
    {"messages over TCP, 16 bytes", {"remote", "oneway", "16", "500000"}, "msgs_per_s", "/s", 1},
};

/* ---- One run --------------------------------------------------------------------------------------------------- */

/* "workload weft params metric value" */
static bool read_result(FILE *from, const char *metric, char params[128], double *out)
{
    char line[512], name[64], given[128];
    double value;
    bool found = false;
    while (fgets(line, sizeof line, from) != NULL) {
        if (found || sscanf(line, "%*s weft %127s %63s %lf", given, name, &value) != 3) continue;
        if (strcmp(name, metric) != 0) continue;
        snprintf(params, 128, "%s", given);
        *out = value;
        found = true;
    }
    return found;
}

static int run(const struct cli *c, const struct workload *w, char params[128], double *out)
{
    char self[] = "/proc/self/exe", *words[WORDS + 4] = {self, (char[]){"bench"}, (char[]){"--"}};
    struct cli_child child;
    for (int i = 0; w->words[i] != NULL; i++) words[3 + i] = (char *)(uintptr_t)w->words[i];
    int rc = cli_child_start(&child, words, true, false);
    if (rc != 0) return cli_fail(c, CLI_FAILED, "cannot start a run: %s", strerror(rc));
    bool found = read_result(child.out, w->metric, params, out);
    int status = cli_child_end(&child);
    if (found && WIFEXITED(status) && WEXITSTATUS(status) == 0) return CLI_OK;
    return cli_fail(c, CLI_FAILED, "the workload '%s' has failed", w->words[0]);
}

/* ---- All of them ----------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *figure(double value, const char *unit, char out[32])
{
    bool span = strcmp(unit, "ns") == 0;
    if (span && value >= 1e4) snprintf(out, 32, "%.1f us", value / 1e3);
    else if (value >= 1e6) snprintf(out, 32, "%.2f M%s", value / 1e6, unit);
    else if (value >= 1e4) snprintf(out, 32, "%.0f k%s", value / 1e3, unit);
    else snprintf(out, 32, "%.1f %s", value, unit);
    return out;
}

static void print(const struct cli *c, const struct workload *w, const char *params, const double values[RUNS])
{
    char median[32], least[32], most[32];
    double spread = 100 * (values[RUNS - 1] - values[0]) / values[RUNS / 2];
    if (c->json) {
        printf("{\"workload\": \"%s\", \"params\": \"%s\", \"metric\": \"%s\", \"median\": %.1f, \"min\": %.1f, "
               "\"max\": %.1f, \"runs\": %d}\n",
               w->words[0], params, w->metric, values[RUNS / 2], values[0], values[RUNS - 1], RUNS);
    } else {
        printf("%-36s %12s   %s to %s, spread %.0f %%%s\n", w->title, figure(values[RUNS / 2], w->unit, median),
               figure(values[0], w->unit, least), figure(values[RUNS - 1], w->unit, most), spread,
               spread > 25 ? ": a noisy machine" : "");
    }
    fflush(stdout);
}

static int measure(const struct cli *c, const struct workload *w)
{
    double values[RUNS];
    char params[128];
    for (int i = 0; i < RUNS; i++) {
        int rc = run(c, w, params, &values[i]);
        if (rc != CLI_OK) return rc;
    }
    qsort(values, RUNS, sizeof values[0], by_value);
    print(c, w, params, values);
    return CLI_OK;
}

static int one_run(const struct cli *c)
{
    char *words[WORDS + 2] = {(char[]){"weft bench --"}};
    int count = 1;
    bool remote = strcmp(c->rest[0], "remote") == 0;
    if (c->rest_count > WORDS) return cli_fail(c, CLI_USAGE, "no workload takes so many arguments");
    for (int i = remote; i < c->rest_count; i++) words[count++] = (char *)(uintptr_t)c->rest[i];
    return remote ? bench_remote(count, words) : bench_local(count, words);
}

static bool is_wanted(const struct cli *c, const struct workload *w)
{
    for (int i = 0; i < c->argc; i++) {
        for (int k = 0; w->words[k] != NULL; k++)
            if (strcmp(w->words[k], c->argv[i]) == 0) return true;
    }
    return c->argc == 0;
}

static bool are_known(const struct cli *c)
{
    for (int i = 0; i < c->argc; i++) {
        const struct cli one = {.argc = 1, .argv = c->argv + i};
        bool known = false;
        for (size_t k = 0; k < sizeof workloads / sizeof *workloads; k++) known |= is_wanted(&one, &workloads[k]);
        if (known) continue;
        cli_fail(c, 0, "there is no workload %s; there is:", CLI_QUOTE(c->argv[i]));
        for (size_t k = 0; k < sizeof workloads / sizeof *workloads; k++)
            fprintf(stderr, "  %-14s %s\n", workloads[k].words[0], workloads[k].title);
        return false;
    }
    return true;
}

int cli_bench(const struct cli *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int rc = CLI_OK;
    if (c->rest_count > 0) return one_run(c);
    if (!are_known(c)) return CLI_USAGE;
    if (!c->json) printf("%ld processors; the median of %d runs each, the least and the most\n", cores, RUNS);
    for (size_t i = 0; rc == CLI_OK && i < sizeof workloads / sizeof *workloads; i++) {
        if (workloads[i].cores <= cores && is_wanted(c, &workloads[i])) rc = measure(c, &workloads[i]);
    }
    return rc;
}
