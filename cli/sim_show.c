/* cli/sim_show.c -- see sim_show.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_show.h"
#include "json.h"

static uint32_t all_of(const struct wf_sim_result *r)
{
    return (uint32_t)((UINT64_C(1) << r->plan.fault_count) - 1);
}

/* ---- The command that runs it again ---------------------------------------------------------------------------- */

/* As a POSIX shell reads it back. */
static void put_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%";
    fputc(' ', out);
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (const char *at = word; *at != '\0'; at++) {
        if (*at == '\'') fputs("'\\''", out);
        else fputc(*at, out);
    }
    fputc('\'', out);
}

/* "17", or "17+3+5" if its plan was changed. */
static void put_origin(FILE *out, const struct wf_sim_origin *o)
{
    fprintf(out, "%" PRIu64, o->seed);
    for (uint32_t i = 0; i < o->change_count; i++) fprintf(out, "+%" PRIu32, o->change[i]);
}

/* Prints the seed, with ":1,4" if not all faults of its plan are kept. */
static void put_seed(FILE *out, const struct sim_shown *s)
{
    uint32_t all = all_of(s->result);
    fputs(" --replay ", out);
    put_origin(out, s->origin);
    if ((s->keep & all) == all) return;
    const char *before = "";
    fputc(':', out);
    for (uint32_t i = 0; i < s->result->plan.fault_count; i++) {
        if ((s->keep >> i & 1) == 0) continue;
        fprintf(out, "%s%" PRIu32, before, i + 1);
        before = ",";
    }
}

/* Without the zeroes that end it. */
static void put_seconds(FILE *out, const char *option, int64_t ns)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    while (text[n - 1] == '0') text[--n] = '\0';
    if (text[n - 1] == '.') text[--n] = '\0';
    fprintf(out, " --%s %s", option, text);
}

/* Prints each option that determines the run: those that were given, and the number of nodes. */
static void put_command(FILE *out, const struct sim_shown *s)
{
    const struct cli *c = s->c;
    fputs("weft sim", out);
    put_word(out, c->argv[0]);
    fprintf(out, " --nodes %" PRIu32, s->job->origin.nodes);
    put_seed(out, s);
    if (c->faults != NULL) {
        fputs(" --faults", out);
        put_word(out, c->faults);
    }
    if (c->time != 0) put_seconds(out, "time", c->time);
    if (c->settle != 0) put_seconds(out, "settle", c->settle);
    if (c->heap != 0) fprintf(out, " --heap %" PRId64, c->heap);
    if (c->limits) fputs(" --limits", out);
    if (c->rest_count > 0) fputs(" --", out);
    for (int i = 0; i < c->rest_count; i++) put_word(out, c->rest[i]);
}

/* ---- For people ------------------------------------------------------------------------------------------------ */

/* "n2", or "n2 to n4" */
static void print_nodes(uint32_t first, uint32_t last)
{
    printf("n%" PRIu32, first + 1);
    if (last > first) printf(" to n%" PRIu32, last + 1);
}

static void print_fault(const struct sim_shown *s, const struct wf_sim_fault *f)
{
    uint32_t last = wf_sim_split_last(f, s->job->origin.nodes);
    double step = (double)wf_sim_clock_step(f) / 1e9;
    printf("%s", wf_sim_fault_names[f->kind]);
    switch ((enum wf_sim_fault_kind)f->kind) {
    case WF_SIM_LATE:
        if (f->lasts) fputs(", for the rest of the run", stdout);
        return;
    case WF_SIM_CLOCK:
        printf(" n%u, %s by %.3f s", f->a + 1, step > 0 ? "forward" : "back", step > 0 ? step : -step);
        return;
    case WF_SIM_RESET: printf(" n%u n%u", f->a + 1, f->b + 1); return;
    case WF_SIM_SPLIT:
        fputs(" ", stdout);
        print_nodes(0, last);
        fputs(" from ", stdout);
        print_nodes(last + 1, s->job->origin.nodes - 1);
        break;
    case WF_SIM_CUT: printf(" n%u n%u", f->a + 1, f->b + 1); break;
    case WF_SIM_ONEWAY: printf(" from n%u to n%u", f->a + 1, f->b + 1); break;
    default: printf(" n%u", f->a + 1); break;
    }
    if (f->lasts) fputs(", for the rest of the run", stdout);
    else printf(", for %.3f s", (double)f->span / 1e9);
}

static void print_plan(const struct sim_shown *s)
{
    const struct wf_sim_result *r = s->result;
    for (uint32_t i = 0; i < r->plan.fault_count; i++) {
        if ((s->keep >> i & 1) == 0) continue;
        printf("  %2" PRIu32 ". at %.3f s  ", i + 1, (double)r->plan.fault[i].at / 1e9);
        print_fault(s, &r->plan.fault[i]);
        if ((r->happened >> i & 1) == 0)
            fputs(r->at < r->plan.fault[i].at ? " (it failed before)" : " (the node was down)", stdout);
        puts("");
    }
}

static void print_turns(const struct sim_shown *s)
{
    if (s->replayed) printf("%" PRIu64 " turns, trace %016" PRIx64 "\n", s->result->turns, s->result->trace);
}

static void print_failure(const struct sim_shown *s)
{
    const struct wf_sim_result *r = s->result;
    fputs("FAILED  seed ", stdout);
    put_origin(stdout, s->origin);
    printf(", at %.6f s: %s\n", (double)r->at / 1e9, r->what);
    puts((s->keep & all_of(r)) == 0 ? "It fails without any injected fault." : "Faults:");
    print_plan(s);
    if (r->report[0] != '\0') printf("The last events of each actor:\n%s", r->report);
    fputs("Again, with what is logged: ", stdout);
    put_command(stdout, s);
    puts("");
    print_turns(s);
}

/* ---- For programs ---------------------------------------------------------------------------------------------- */

static void json_begin(const struct sim_shown *s)
{
    printf("{\"seed\": %" PRIu64 ", \"nodes\": %" PRIu32 ", \"failed\": %s, \"at_ns\": %" PRId64 ", ",
           s->origin->seed, s->job->origin.nodes, s->result->failed ? "true" : "false", s->result->at);
}

static void json_end(const struct sim_shown *s)
{
    printf("\"turns\": %" PRIu64 ", \"trace\": \"%016" PRIx64 "\"}\n", s->result->turns, s->result->trace);
}

/* The nodes it is about: of a split those of the first part. */
static void json_nodes(const struct sim_shown *s, const struct wf_sim_fault *f)
{
    uint32_t last = wf_sim_split_last(f, s->job->origin.nodes);
    fputs(", \"nodes\": [", stdout);
    if (f->kind == WF_SIM_SPLIT)
        for (uint32_t i = 0; i <= last; i++) printf("%s\"n%" PRIu32 "\"", i == 0 ? "" : ", ", i + 1);
    else if (f->kind == WF_SIM_RESET || f->kind == WF_SIM_CUT || f->kind == WF_SIM_ONEWAY)
        printf("\"n%u\", \"n%u\"", f->a + 1, f->b + 1);
    else if (f->kind != WF_SIM_LATE) printf("\"n%u\"", f->a + 1);
    fputs("]", stdout);
}

static void json_fault(const struct sim_shown *s, uint32_t i)
{
    const struct wf_sim_fault *f = &s->result->plan.fault[i];
    printf("{\"number\": %" PRIu32 ", \"at_ns\": %" PRId64 ", \"kind\": \"%s\"", i + 1, f->at,
           wf_sim_fault_names[f->kind]);
    json_nodes(s, f);
    if (f->lasts) fputs(", \"lasts\": true", stdout);
    else if (f->kind == WF_SIM_CLOCK) printf(", \"step_ns\": %" PRId64, wf_sim_clock_step(f));
    else if (f->kind != WF_SIM_LATE && f->kind != WF_SIM_RESET) printf(", \"span_ns\": %" PRId64, f->span);
    printf(", \"happened\": %s}", (s->result->happened >> i & 1) != 0 ? "true" : "false");
}

static void json_failure(const struct sim_shown *s)
{
    const struct wf_sim_result *r = s->result;
    const char *before = "";
    char *command = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&command, &size);
    json_begin(s);
    fputs("\"what\": ", stdout);
    cli_print_string(stdout, r->what, strlen(r->what));
    fputs(", \"faults\": [", stdout);
    for (uint32_t i = 0; i < r->plan.fault_count; i++) {
        if ((s->keep >> i & 1) == 0) continue;
        fputs(before, stdout);
        json_fault(s, i);
        before = ", ";
    }
    fputs("], \"report\": ", stdout);
    cli_print_string(stdout, r->report, strlen(r->report));
    if (text != NULL) {
        put_command(text, s);
        fclose(text);
        fputs(", \"again\": ", stdout);
        cli_print_string(stdout, command, size);
        free(command);
    }
    fputs(", ", stdout);
    json_end(s);
}

/* ---------------------------------------------------------------------------------------------------------------- */

void sim_show_failure(const struct sim_shown *s)
{
    if (s->c->json) json_failure(s);
    else print_failure(s);
}

void sim_show_passed(const struct sim_shown *s)
{
    if (s->c->json) {
        json_begin(s);
        json_end(s);
        return;
    }
    fputs("seed ", stdout);
    put_origin(stdout, s->origin);
    printf(": no fault found in %.3f s of virtual time\n", (double)s->result->at / 1e9);
    print_turns(s);
}

/* ---- Many seeds that passed ------------------------------------------------------------------------------------ */

static void json_states(const struct sim_states *states)
{
    fputs(", \"states\": [", stdout);
    for (uint32_t i = 0; i < states->count; i++) {
        fputs(i == 0 ? "{\"name\": " : ", {\"name\": ", stdout);
        cli_print_string(stdout, states->state[i].name, strlen(states->state[i].name));
        printf(", \"seeds\": %" PRIu64 "}", states->state[i].seeds);
    }
    fputs("]", stdout);
}

static void json_campaign(const struct sim_passed *s, const struct sim_states *states, bool all)
{
    printf("{\"seeds\": %" PRIu64 ", \"first\": %" PRIu64 ", \"nodes\": %" PRIu32 ", \"failed\": %s", s->seeds,
           s->first, s->job->origin.nodes, all ? "false" : "true");
    json_states(states);
    if (s->c->hunt > 0)
        printf(", \"runs\": %" PRIu64 ", \"kept\": %" PRIu32 ", \"last_new\": %" PRIu64, s->runs, s->hunt->kept_count,
               s->hunt->last_new);
    printf(", \"combinations\": %" PRIu32 ", \"seeds_per_s\": %.0f}\n", s->hunt->combinations, s->rate);
}

static void print_hunt(const struct sim_passed *s)
{
    const struct sim_hunt *h = s->hunt;
    if (h->combinations == 0) {
        puts("Nothing has guided the hunt, because no run has reached a state; each run was a seed of its own. The "
             "module "
             "declares states with weft_sim_expect, and marks them with weft_sim_sometimes.");
        return;
    }
    printf("%" PRIu32 " combinations of states, the last new one in run %" PRIu64 " of %" PRIu64 "; %" PRIu32
           " runs were kept, to change their plans\n",
           h->combinations, h->last_new, s->runs, h->kept_count);
}

bool sim_show_campaign(const struct sim_passed *s, const struct sim_states *states)
{
    const char *const runs = s->c->hunt > 0 ? "runs" : s->runs == 1 ? "seed" : "seeds";
    bool all = true;
    for (uint32_t i = 0; i < states->count && s->runs > 1; i++) all &= states->state[i].seeds > 0;
    if (s->c->json) {
        json_campaign(s, states, all);
        return all;
    }
    for (uint32_t i = 0; i < states->count && !all; i++)
        if (states->state[i].seeds == 0)
            printf("FAILED  never reached in %" PRIu64 " %s from %" PRIu64 ": %s\n", s->runs, runs, s->first,
                   states->state[i].name);
    for (uint32_t i = 0; i < states->count; i++)
        if (states->state[i].seeds > 0 || all)
            printf("reached in %" PRIu64 " of %" PRIu64 " %s: %s\n", states->state[i].seeds, s->runs, runs,
                   states->state[i].name);
    if (s->c->hunt > 0) print_hunt(s);
    printf("%" PRIu64 " %s from %s%" PRIu64 ", %" PRIu32 " nodes each: %s (%.0f %s a second)\n", s->runs, runs,
           s->c->hunt > 0 ? "seed " : "", s->first, s->job->origin.nodes,
           all ? "nothing found" : "no other fault found", s->rate, s->c->hunt > 0 ? "runs" : "seeds");
    return all;
}
