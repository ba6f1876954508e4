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

#include "sim.h"
#include "compile.h"
#include "module.h"
#include "sim_hunt.h"
#include "sim_memory.h"
#include "sim_show.h"

enum { SLOTS = 64, GIVEN_UP = 120 /* s of real time for one run */ };

struct slot {
    pid_t pid; /* 0: free */
    struct wf_sim_origin origin;
    struct wf_sim_result *result; /* shared with that process */
};

struct campaign {
    const struct cli *c;
    struct wf_sim_job job;
    struct slot slot[SLOTS];
    unsigned slots;
    uint64_t first, next;         /* seeds */
    uint64_t runs, started, done; /* `runs`: the most there may be */
    int64_t began, until;         /* no run starts later than `until` */
    struct sim_hunt *hunt;
    struct wf_sim_result failed;        /* the result of the lowest seed that failed */
    struct wf_sim_origin failed_origin; /* also that of --replay */
    uint32_t kept;                      /* of the faults of --replay */
    bool has_failed;
    struct sim_states states;
};

/* ---- Options --------------------------------------------------------------------------------------------------- */

/* "all", "none", "cut,crash" or "all,memory". */
static int read_faults(const struct cli *c, uint32_t nodes, uint32_t *kinds)
{
    const char *text = c->faults == NULL ? "all" : c->faults;
    *kinds = 0;
    if (strcmp(text, "none") == 0) return CLI_OK;
    if (text[0] == '\0') return cli_fail(c, CLI_USAGE, "--faults: '': name one kind at least, or none");
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
                            "--faults: %s is not one of all, reset, cut, oneway, split, freeze, crash, power, "
                            "late, clock, slow, memory; or none alone",
                            CLI_QUOTE_PART(at, n));
        *kinds |= 1u << k;
    }
    const uint32_t between = 1u << WF_SIM_RESET | 1u << WF_SIM_CUT | 1u << WF_SIM_ONEWAY | 1u << WF_SIM_SPLIT;
    if (nodes == 1 && (*kinds & ~between) == 0)
        return cli_fail(c, CLI_USAGE,
                        "--faults: %s: these are faults between nodes, and there is one node; give --nodes 2",
                        CLI_QUOTE(text));
    return CLI_OK;
}

/* Digits, and what comes after them. */
static bool read_number(const char **at, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(*at, &end, 10);
    bool good = **at >= '0' && **at <= '9' && errno == 0 && *out <= most;
    *at = end;
    return good;
}

/* "SEED", "SEED+N+N" for a plan that the hunt has changed, and behind it ":1,4": these faults of the plan only. */
static bool read_run(const char *at, struct wf_sim_origin *o, uint32_t *keep)
{
    uint64_t number;
    *keep = UINT32_MAX;
    o->change_count = 0;
    if (!read_number(&at, UINT64_MAX, &o->seed)) return false;
    while (*at == '+') {
        at++;
        if (o->change_count == WF_SIM_CHANGES || !read_number(&at, UINT32_MAX, &number)) return false;
        o->change[o->change_count++] = (uint32_t)number;
    }
    if (*at == '\0') return true;
    if (*at != ':') return false;
    *keep = 0;
    while (at[1] != '\0') {
        at++;
        if (!read_number(&at, WF_SIM_FAULTS, &number) || number == 0 || (*at != ',' && *at != '\0')) return false;
        *keep |= 1u << (number - 1);
        if (*at == '\0') return true;
    }
    return true;
}

static int read_replay(const struct cli *c, struct wf_sim_origin *o, uint32_t *keep)
{
    if (read_run(c->replay, o, keep)) return CLI_OK;
    return cli_fail(
        c, CLI_USAGE,
        "--replay: %s: give a seed, or a seed and the numbers of its faults to use: 17:1,4; or what a hunt "
        "has printed, with at most %d changes: 17+3+5",
        CLI_QUOTE(c->replay), WF_SIM_CHANGES);
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static size_t heap_most; /* bytes, of --heap */

static const char *look_at_memory(bool over)
{
    static char text[256]; /* a result's text has this length */
    if (over ? sim_memory_blocks() == 0 : sim_memory_bytes() <= heap_most) return NULL;
    int n = over ? snprintf(text, sizeof text, "not freed in the end: ")
                 : snprintf(text, sizeof text, "allocated at a moment, more than %zu MiB: ", heap_most >> 20);
    sim_memory_describe(text + n, sizeof text - (size_t)n);
    return text;
}

/* Puts it between the nodes and their allocator, if anything is asked for that needs it. */
static bool watch_memory(struct campaign *k)
{
    if (k->c->heap == 0 && (k->job.origin.kinds >> WF_SIM_MEMORY & 1) == 0) return true;
    heap_most = (size_t)k->c->heap << 20;
    if (k->c->heap != 0) k->job.memory = look_at_memory;
    return sim_memory_watch(dlsym(RTLD_DEFAULT, "weft_sim_fail")) &&
           sim_memory_watch((const void *)(uintptr_t)k->job.body);
}

/* ---- One run in a process of its own --------------------------------------------------------------------------- */

static bool begin(const struct campaign *k, struct slot *s, const struct wf_sim_origin *from, uint32_t keep,
                  bool loud)
{
    memset(s->result, 0, sizeof *s->result);
    fflush(NULL);
    s->origin = *from;
    s->pid = fork();
    if (s->pid != 0) return s->pid > 0;
    struct wf_sim_job job = k->job;
    job.origin = s->origin;
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
    if (job.memory != NULL) sim_memory_count(loud);
    wf_sim_run_job(&job, s->result);
    if (loud && s->result->failed) sim_memory_show();
    fflush(NULL);
    _exit(0);
}

/* Stores in the result how the process of a run ended. */
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

static bool run_one(const struct campaign *k, struct slot *s, const struct wf_sim_origin *from, uint32_t keep,
                    bool loud)
{
    int status;
    if (!begin(k, s, from, keep, loud)) return false;
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
    const double rate = span > 0 ? (double)k->done / span : 0;
    if (k->c->hunt > 0)
        fprintf(stderr, "\r%.1f min [%" PRIu64 " runs, %.0f a second, %" PRIu32 " combinations of states]%s",
                span / 60, k->done, rate, k->hunt->combinations, over ? "\n" : "");
    else
        fprintf(stderr, "\r%3.0f %% [%" PRIu64 "/%" PRIu64 " seeds, %.0f a second]%s",
                100.0 * (double)k->done / (double)k->runs, k->done, k->runs, rate, over ? "\n" : "");
}

/* A module may declare other states with another seed, so they are found by name. */
static void count_states(struct sim_states *all, const struct wf_sim_result *r)
{
    for (uint32_t i = 0; i < r->state_count; i++) {
        uint32_t k = 0;
        while (k < all->count && strcmp(all->state[k].name, r->state[i]) != 0) k++;
        if (k == WEFT_SIM_STATES) continue;
        if (k == all->count) snprintf(all->state[all->count++].name, WF_SIM_STATE, "%s", r->state[i]);
        all->state[k].seeds += r->reached[i] > 0;
    }
}

static void collect(struct campaign *k, struct slot *s, int status)
{
    s->pid = 0;
    k->done++;
    judge(s->result, status);
    count_states(&k->states, s->result);
    sim_hunt_note(k->hunt, &s->origin, s->result);
    if (!s->result->failed || (k->has_failed && (k->c->hunt > 0 || s->origin.seed >= k->failed_origin.seed))) return;
    k->has_failed = true;
    k->failed_origin = s->origin;
    k->failed = *s->result;
}

/* After a failure no run starts, but those under way may have a lower seed. */
static bool may_start(const struct campaign *k)
{
    return !k->has_failed && k->started < k->runs && (k->started == 0 || weft_now() < k->until);
}

static void next_origin(struct campaign *k, struct wf_sim_origin *out)
{
    *out = k->job.origin;
    if (k->c->hunt > 0) sim_hunt_next(k->hunt, &k->next, out);
    else out->seed = k->next++;
}

static int run_all(struct campaign *k)
{
    unsigned busy = 0;
    while (busy > 0 || may_start(k)) {
        for (unsigned i = 0; i < k->slots && may_start(k); i++) {
            if (k->slot[i].pid != 0) continue;
            struct wf_sim_origin from;
            next_origin(k, &from);
            if (!begin(k, &k->slot[i], &from, UINT32_MAX, false))
                return cli_fail(k->c, CLI_FAILED, "no process for a run: %s", strerror(errno));
            k->started++;
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
    for (uint32_t i = 0; i < k->failed.plan.fault_count; i++) {
        uint32_t less = keep & ~(1u << i);
        if (less == keep || !run_one(k, s, &k->failed_origin, less, false)) continue;
        if (!s->result->failed || strcmp(s->result->what, k->failed.what) != 0) continue;
        keep = less;
        k->failed = *s->result;
        i = UINT32_MAX; /* from the beginning, as faults that were needed before may be superfluous now */
    }
    return keep;
}

/* ---- A run that has failed, or is repeated ----------------------------------------------------------------------- */

static struct sim_shown shown(const struct campaign *k, uint32_t keep)
{
    return (struct sim_shown){k->c, &k->job, &k->failed, &k->failed_origin, keep, k->c->replay != NULL};
}

/* The numbers that were given must exist: otherwise a typing mistake would give another run, unnoticed. */
static int check_kept(const struct campaign *k)
{
    struct wf_sim_plan plan;
    wf_sim_draw_plan(&k->failed_origin, &plan);
    if (k->kept == UINT32_MAX || k->kept >> plan.fault_count == 0) return CLI_OK;
    return cli_fail(k->c, CLI_USAGE,
                    "--replay: %s: with these options the plan of seed %" PRIu64 " has %" PRIu32
                    " faults; give --nodes, --faults and --time as they were in the run that failed",
                    CLI_QUOTE(k->c->replay), k->failed_origin.seed, plan.fault_count);
}

static int replay(struct campaign *k)
{
    uint32_t keep = k->kept;
    if (!run_one(k, &k->slot[0], &k->failed_origin, keep, true))
        return cli_fail(k->c, CLI_FAILED, "no process for a run: %s", strerror(errno));
    k->failed = *k->slot[0].result;
    if (k->failed.failed && k->c->minimise) keep = minimise(k, keep);
    const struct sim_shown s = shown(k, keep);
    if (k->failed.failed) sim_show_failure(&s);
    else sim_show_passed(&s);
    return k->failed.failed ? CLI_FAILED : CLI_OK;
}

static int campaign(struct campaign *k)
{
    k->next = k->first = k->c->first == 0 ? 1 : (uint64_t)k->c->first;
    k->runs = k->c->seeds > 0 ? (uint64_t)k->c->seeds : k->c->hunt > 0 ? UINT64_MAX : 100;
    k->began = weft_now();
    k->until = k->c->hunt > 0 ? k->began + k->c->hunt * WEFT_SEC(60) : WEFT_FOREVER;
    k->hunt->random = k->first;
    int rc = run_all(k);
    if (rc != CLI_OK) return rc;
    show_progress(k, true);
    double span = (double)(weft_now() - k->began) / 1e9;
    if (k->has_failed) {
        uint32_t keep = k->c->minimise ? minimise(k, UINT32_MAX) : UINT32_MAX;
        const struct sim_shown s = shown(k, keep);
        sim_show_failure(&s);
        return CLI_FAILED;
    }
    const struct sim_passed s = {
        k->c, &k->job, k->hunt, k->first, k->next - k->first, k->done, span > 0 ? (double)k->done / span : 0};
    return sim_show_campaign(&s, &k->states) ? CLI_OK : CLI_FAILED;
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
    k.job = (struct wf_sim_job){
        .origin = {.nodes = c->nodes == 0 ? 3 : (uint32_t)c->nodes, .time = c->time == 0 ? WEFT_SEC(30) : c->time},
        .limits = c->limits,
        .settle = c->settle == 0 ? WEFT_SEC(60) : c->settle};
    int rc = read_faults(c, k.job.origin.nodes, &k.job.origin.kinds);
    if (rc == CLI_OK && c->hunt > 0 && c->replay != NULL)
        rc = cli_fail(c, CLI_USAGE, "--hunt and --replay: give one of them; --replay runs one seed");
    k.failed_origin = k.job.origin;
    if (rc == CLI_OK && c->replay != NULL) rc = read_replay(c, &k.failed_origin, &k.kept);
    if (rc == CLI_OK && c->replay != NULL) rc = check_kept(&k);
    if (rc == CLI_OK) rc = cli_module(c, &path, module);
    if (rc != CLI_OK) return rc;
    k.job.body = cli_load(c, path);
    if (k.job.body == NULL) return CLI_FAILED;
    if (!watch_memory(&k))
        return cli_fail(c, CLI_FAILED, "%s: not on this system", c->heap != 0 ? "--heap" : "--faults memory");
    k.job.checks = cli_find(path, WEFT_SIM_ENTRY);
    const char **argv = calloc((size_t)c->rest_count + 2, sizeof *argv);
    k.hunt = calloc(1, sizeof *k.hunt);
    if (argv == NULL || k.hunt == NULL || !share(&k)) {
        free(argv);
        free(k.hunt);
        return cli_fail(c, CLI_FAILED, "out of memory");
    }
    argv[0] = c->argv[0];
    for (int i = 0; i < c->rest_count; i++) argv[i + 1] = c->rest[i];
    const struct weft_args args = {c->rest_count + 1, argv};
    k.job.arg = &args;
    k.job.size = sizeof args;
    rc = c->replay != NULL ? replay(&k) : campaign(&k);
    free(argv);
    free(k.hunt);
    return rc;
}
