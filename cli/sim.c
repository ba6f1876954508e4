/* cli/sim.c -- weft sim: many runs of a module's actors in a simulated cluster, each from a seed and in a process of
 * its own, one for each core at a time; and what a failing one looks like. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "sim_run.h"

enum { SLOTS = 64, GIVEN_UP = 120 /* s of real time for one run */ };

struct slot {
    pid_t pid; /* 0: free */
    uint64_t seed;
    struct wf_sim_result *result; /* shared with that process */
};

struct campaign {
    const struct cli *c;
    struct wf_sim_job job;
    struct slot slot[SLOTS];
    unsigned slots;
    uint64_t first, next, end, done;
    int64_t began;
    struct wf_sim_result failed; /* of the lowest seed that did */
    uint64_t failed_seed;
    bool has_failed;
};

/* ---- What is asked for ----------------------------------------------------------------------------------------- */

/* "all", "none", "cut,crash" or "all,memory". */
static int read_faults(const struct cli *c, uint32_t *kinds)
{
    const char *text = c->faults == NULL ? "all" : c->faults;
    *kinds = 0;
    if (strcmp(text, "none") == 0) return CLI_OK;
    for (const char *at = text; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n == 3 && strncmp(at, "all", n) == 0) {
            *kinds |= WF_SIM_ALL;
            continue;
        }
        unsigned k = 0;
        while (k < WF_SIM_KINDS && (strlen(wf_sim_fault_names[k]) != n || strncmp(at, wf_sim_fault_names[k], n) != 0))
            k++;
        if (k == WF_SIM_KINDS)
            return cli_fail(c, CLI_USAGE,
                            "--faults: '%.*s' is none of all, none, reset, cut, oneway, split, freeze, crash, power, "
                            "late, clock, slow, memory",
                            (int)n, at);
        *kinds |= 1u << k;
    }
    return CLI_OK;
}

/* "SEED" or "SEED:1,4": these faults of its plan only. */
static int read_replay(const struct cli *c, uint64_t *seed, uint32_t *keep)
{
    char *end;
    errno = 0;
    *seed = strtoull(c->replay, &end, 10);
    *keep = UINT32_MAX;
    bool good = end != c->replay && errno == 0 && c->replay[0] != '-' && (*end == '\0' || *end == ':');
    if (good && *end == ':') *keep = 0;
    while (good && *end != '\0' && end[1] != '\0') {
        const char *digits = end + 1;
        unsigned long i = strtoul(digits, &end, 10);
        good = end != digits && i >= 1 && i <= WF_SIM_FAULTS && (*end == ',' || *end == '\0');
        if (good) *keep |= 1u << (i - 1);
    }
    return good ? CLI_OK
                : cli_fail(c, CLI_USAGE, "--replay %s: a seed, or one with the faults to keep: 17:1,4", c->replay);
}

/* ---- One run in a process of its own --------------------------------------------------------------------------- */

static bool begin(const struct campaign *k, struct slot *s, uint64_t seed, uint32_t keep, bool loud)
{
    memset(s->result, 0, sizeof *s->result);
    fflush(NULL);
    s->seed = seed;
    s->pid = fork();
    if (s->pid != 0) return s->pid > 0;
    struct wf_sim_job job = k->job;
    job.seed = seed;
    job.keep = keep;
    if (!loud) {
        int none = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (none >= 0) {
            (void)dup2(none, STDOUT_FILENO);
            (void)dup2(none, STDERR_FILENO);
        }
        weft_log_set(WEFT_SILENT, false);
    }
    alarm(GIVEN_UP);
    wf_sim_run_job(&job, s->result);
    fflush(NULL);
    _exit(0);
}

/* How the process of a run ended, into its result. */
static void judge(struct wf_sim_result *r, int status)
{
    if (WIFEXITED(status) && r->done) return;
    r->failed = true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(r->what, sizeof r->what, "it has not ended within %d s of real time", GIVEN_UP);
    else if (WIFSIGNALED(status))
        snprintf(r->what, sizeof r->what, "the process ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else snprintf(r->what, sizeof r->what, "the process ended with code %d", WEXITSTATUS(status));
}

static int wait_for(pid_t pid, int *status)
{
    pid_t got;
    do got = waitpid(pid, status, 0);
    while (got < 0 && errno == EINTR);
    return (int)got;
}

static bool run_one(const struct campaign *k, struct slot *s, uint64_t seed, uint32_t keep, bool loud)
{
    int status;
    if (!begin(k, s, seed, keep, loud)) return false;
    if (wait_for(s->pid, &status) < 0) return false;
    s->pid = 0;
    judge(s->result, status);
    return true;
}

/* ---- Many ------------------------------------------------------------------------------------------------------ */

static void show_progress(const struct campaign *k, bool over)
{
    double span = (double)(weft_now() - k->began) / 1e9;
    if (!isatty(STDERR_FILENO)) return;
    uint64_t all = k->end - k->first;
    fprintf(stderr, "\r%3.0f %% [%" PRIu64 "/%" PRIu64 " seeds, %.0f a second]%s",
            100.0 * (double)k->done / (double)all, k->done, all, span > 0 ? (double)k->done / span : 0,
            over ? "\n" : "");
}

static void collect(struct campaign *k, struct slot *s, int status)
{
    s->pid = 0;
    k->done++;
    judge(s->result, status);
    if (!s->result->failed || (k->has_failed && s->seed >= k->failed_seed)) return;
    k->has_failed = true;
    k->failed_seed = s->seed;
    k->failed = *s->result;
    k->end = k->next; /* no new ones: those under way may have a lower seed */
}

static int run_all(struct campaign *k)
{
    unsigned busy = 0;
    while (busy > 0 || k->next < k->end) {
        for (unsigned i = 0; i < k->slots && k->next < k->end; i++) {
            if (k->slot[i].pid != 0) continue;
            if (!begin(k, &k->slot[i], k->next, UINT32_MAX, false))
                return cli_fail(k->c, CLI_FAILED, "no process for a run: %s", strerror(errno));
            k->next++;
            busy++;
        }
        int status;
        pid_t pid = wait_for(-1, &status);
        for (unsigned i = 0; i < k->slots; i++) {
            if (k->slot[i].pid != pid) continue;
            collect(k, &k->slot[i], status);
            busy--;
        }
        if (k->done % 16 == 0) show_progress(k, false);
    }
    return CLI_OK;
}

/* ---- Making a failing plan shorter ----------------------------------------------------------------------------- */

/* Leaves out one fault after the other as long as the run fails in the same way. */
static uint32_t minimise(struct campaign *k, uint32_t keep)
{
    struct slot *s = &k->slot[0];
    for (uint32_t i = 0; i < k->failed.fault_count; i++) {
        uint32_t less = keep & ~(1u << i);
        if (less == keep || !run_one(k, s, k->failed_seed, less, false)) continue;
        if (!s->result->failed || strcmp(s->result->what, k->failed.what) != 0) continue;
        keep = less;
        k->failed = *s->result;
        i = UINT32_MAX; /* from the beginning: what was needed may not be any more */
    }
    return keep;
}

/* ---- For people ------------------------------------------------------------------------------------------------ */

static void print_plan(const struct wf_sim_result *r, uint32_t keep)
{
    for (uint32_t i = 0; i < r->fault_count; i++) {
        const struct wf_sim_fault *f = &r->fault[i];
        bool one = f->kind >= WF_SIM_FREEZE;
        if ((keep >> i & 1) == 0) continue;
        printf("  %2" PRIu32 ". at %.3f s  %s", i + 1, (double)f->at / 1e9, wf_sim_fault_names[f->kind]);
        if (f->kind == WF_SIM_LATE) printf("\n");
        else if (f->kind == WF_SIM_CLOCK)
            printf(" n%u, %s by %.0f s\n", f->a + 1, f->b % 2 == 0 ? "forward" : "back", (double)f->span / 1e6);
        else if (f->kind == WF_SIM_RESET) printf(" n%u n%u\n", f->a + 1, f->b + 1);
        else if (f->kind == WF_SIM_SPLIT) printf(" behind n%u, for %.3f s\n", f->a + 1, (double)f->span / 1e9);
        else if (one) printf(" n%u, for %.3f s\n", f->a + 1, (double)f->span / 1e9);
        else printf(" n%u n%u, for %.3f s\n", f->a + 1, f->b + 1, (double)f->span / 1e9);
    }
}

static void print_failure(const struct campaign *k, uint32_t keep)
{
    const struct wf_sim_result *r = &k->failed;
    printf("FAILED  seed %" PRIu64 ", at %.6f s: %s\n", k->failed_seed, (double)r->at / 1e9, r->what);
    puts(r->fault_count == 0 || keep == 0 ? "No fault is needed." : "Faults:");
    print_plan(r, keep);
    if (r->report[0] != '\0') printf("The last events of each actor:\n%s", r->report);
    printf("Again, with what is logged: weft sim %s --nodes %" PRIu32 " --replay %" PRIu64, k->c->argv[0],
           k->job.nodes, k->failed_seed);
    const char *before = ":";
    uint32_t all = (uint32_t)((UINT64_C(1) << r->fault_count) - 1);
    for (uint32_t i = 0; (keep & all) != all && i < r->fault_count; i++) {
        if ((keep >> i & 1) == 0) continue;
        printf("%s%" PRIu32, before, i + 1);
        before = ",";
    }
    if ((keep & all) == 0 && r->fault_count > 0) printf(":");
    if (k->c->faults != NULL) printf(" --faults %s", k->c->faults);
    puts("");
}

/* ---- For programs ---------------------------------------------------------------------------------------------- */

static void json_seed(const struct campaign *k)
{
    printf("{\"seed\": %" PRIu64 ", \"nodes\": %" PRIu32 ", \"failed\": %s, \"at_ns\": %" PRId64 ", ", k->failed_seed,
           k->job.nodes, k->failed.failed ? "true" : "false", k->failed.at);
}

static void json_failure(const struct campaign *k, uint32_t keep)
{
    const struct wf_sim_result *r = &k->failed;
    const char *before = "";
    json_seed(k);
    fputs("\"what\": ", stdout);
    cli_print_string(stdout, r->what, strlen(r->what));
    fputs(", \"faults\": [", stdout);
    for (uint32_t i = 0; i < r->fault_count; i++) {
        const struct wf_sim_fault *f = &r->fault[i];
        if ((keep >> i & 1) == 0) continue;
        printf("%s{\"number\": %" PRIu32 ", \"at_ns\": %" PRId64 ", \"span_ns\": %" PRId64
               ", \"kind\": \"%s\", \"a\": %u, \"b\": %u}",
               before, i + 1, f->at, f->span, wf_sim_fault_names[f->kind], f->a, f->b);
        before = ", ";
    }
    fputs("], \"report\": ", stdout);
    cli_print_string(stdout, r->report, strlen(r->report));
    printf(", \"turns\": %" PRIu64 ", \"trace\": \"%016" PRIx64 "\"}\n", r->turns, r->trace);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void say_failure(const struct campaign *k, uint32_t keep)
{
    if (k->c->json) json_failure(k, keep);
    else print_failure(k, keep);
}

static void say_replayed(const struct campaign *k, uint32_t keep)
{
    const struct wf_sim_result *r = &k->failed;
    if (r->failed) say_failure(k, keep);
    else if (k->c->json) json_seed(k);
    else printf("seed %" PRIu64 ": no fault found in %.3f s of virtual time\n", k->failed_seed, (double)r->at / 1e9);
    if (!k->c->json) printf("%" PRIu64 " turns, trace %016" PRIx64 "\n", r->turns, r->trace);
    else if (!r->failed) printf("\"turns\": %" PRIu64 ", \"trace\": \"%016" PRIx64 "\"}\n", r->turns, r->trace);
}

static int replay(struct campaign *k)
{
    uint32_t keep;
    int rc = read_replay(k->c, &k->failed_seed, &keep);
    if (rc != CLI_OK) return rc;
    if (!run_one(k, &k->slot[0], k->failed_seed, keep, true))
        return cli_fail(k->c, CLI_FAILED, "no process for a run: %s", strerror(errno));
    k->failed = *k->slot[0].result;
    if (k->failed.failed && k->c->minimise) keep = minimise(k, keep);
    say_replayed(k, keep);
    return k->failed.failed ? CLI_FAILED : CLI_OK;
}

static int campaign(struct campaign *k)
{
    k->next = k->first = k->c->first == 0 ? 1 : (uint64_t)k->c->first;
    k->end = k->next + (k->c->seeds == 0 ? 100 : (uint64_t)k->c->seeds);
    k->began = weft_now();
    int rc = run_all(k);
    if (rc != CLI_OK) return rc;
    show_progress(k, true);
    double span = (double)(weft_now() - k->began) / 1e9;
    if (k->has_failed) {
        say_failure(k, k->c->minimise ? minimise(k, UINT32_MAX) : UINT32_MAX);
        return CLI_FAILED;
    }
    double rate = span > 0 ? (double)k->done / span : 0;
    if (k->c->json)
        printf("{\"seeds\": %" PRIu64 ", \"first\": %" PRIu64 ", \"nodes\": %" PRIu32
               ", \"failed\": false, \"seeds_per_s\": %.0f}\n",
               k->done, k->first, k->job.nodes, rate);
    else
        printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu32 " nodes each: nothing found (%.0f seeds a second)\n",
               k->done, k->first, k->job.nodes, rate);
    return CLI_OK;
}

/* ---- The verb -------------------------------------------------------------------------------------------------- */

static bool share(struct campaign *k)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    k->slots = k->c->jobs > 0 ? (unsigned)k->c->jobs : cores > 0 ? (unsigned)cores : 1;
    if (k->slots > SLOTS) k->slots = SLOTS;
    for (unsigned i = 0; i < k->slots; i++) {
        void *at = mmap(NULL, sizeof *k->slot[i].result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) return false;
        k->slot[i].result = at;
    }
    return true;
}

int cli_sim(const struct cli *c)
{
    struct campaign k = {.c = c};
    char module[PATH_MAX];
    const char *path = c->argv[0];
    k.job = (struct wf_sim_job){.nodes = c->nodes == 0 ? 3 : (uint32_t)c->nodes,
                                .time = c->time == 0 ? WEFT_SEC(30) : c->time,
                                .settle = c->settle == 0 ? WEFT_SEC(60) : c->settle};
    int rc = read_faults(c, &k.job.kinds);
    if (rc == CLI_OK) rc = cli_module(c, &path, module);
    if (rc != CLI_OK) return rc;
    k.job.body = cli_load(c, path);
    if (k.job.body == NULL) return CLI_FAILED;
    if ((k.job.kinds >> WF_SIM_MEMORY & 1) != 0 && !cli_sim_memory(k.job.body))
        return cli_fail(c, CLI_FAILED, "--faults memory: not on this system");
    k.job.checks = cli_find(path, WEFT_SIM_ENTRY);
    const char **argv = calloc((size_t)c->rest_count + 2, sizeof *argv);
    if (argv == NULL || !share(&k)) {
        free(argv);
        return cli_fail(c, CLI_FAILED, "out of memory");
    }
    argv[0] = c->argv[0];
    for (int i = 0; i < c->rest_count; i++) argv[i + 1] = c->rest[i];
    const struct weft_args args = {c->rest_count + 1, argv};
    k.job.arg = &args;
    k.job.size = sizeof args;
    rc = c->replay != NULL ? replay(&k) : campaign(&k);
    free(argv);
    return rc;
}
