/* tests/sim/mixed.c -- nodes of several versions of weft in one simulated cluster, under faults: those of this version,
 * and those of guests (guest.h), each of which has a libweft of its own.
 *
 *     sim_mixed [SEEDS [FIRST [limits]]] GUEST.so... [found]
 *
 * A node that comes back after a crash, or after it was stopped in order, is of a version that the seed chooses: so
 * nodes are upgraded, and taken back, while the others go on. What the actors do is in scene.c. Then:
 *
 *     messages arrive in order and once, and none is missing unless its sender was told that their sink has ended;
 *     all hear, and keep for later subscribers, the last version of what each node has published;
 *     a global name has one holder, which knows it, and all find it;
 *     all senders go on, so all nodes are linked.
 *
 * With `found` the guests are such as do not fit, and each seed must show it. */
#include "guests.h"
#include "scene.h"
#include "seeds.h"
#include "sim_run.h"

#include "hash.h"

#include <inttypes.h>
#include <sys/mman.h>
#include <weft.h>
#include <weft/sim.h>

enum { GUESTS = 4, TODAY = 0 };
#define CALM_AFTER WEFT_SEC(10)
#define STOP_TIME WEFT_SEC(5)
/* In every second seed most faults end nodes. */
#define ENDS (1u << WF_SIM_CRASH | 1u << WF_SIM_POWER | 1u << WF_SIM_RESET | 1u << WF_SIM_CUT)

static struct {
    struct guests *guest[GUESTS];
    const char *path[GUESTS];
    unsigned guest_count;
    bool found, limits;
    struct wf_sim_result *result; /* of the last run; shared with its process */
    uint64_t seed;
    uint32_t began[SCENE_NODES], stopped; /* starts of a node; stops in order of all */
    uint32_t first_poured[SCENE_NODES][SCENE_NODES];
    char waits[64]; /* what all_flows waits for */
    char story[4096];
    size_t told;
} all;

static struct scene scene;

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

/* TODAY, or 1 and the number of a guest. At first there are nodes of all versions. */
static unsigned version_of(unsigned host)
{
    const uint64_t versions = all.guest_count + 1, before = all.began[host];
    return (unsigned)((before == 0 ? all.seed + host : wf_mix(all.seed ^ wf_mix(before << 8 | host))) % versions);
}

static void tell(const struct wf_sim_world *w, unsigned host, const char *what)
{
    int n = snprintf(all.story + all.told, sizeof all.story - all.told, "  %10.6f s  n%u %s\n",
                     (double)(wf_sim_now(w) - PF_SIM_START) / 1e9, host + 1, what);
    if (n > 0 && (size_t)n < sizeof all.story - all.told) all.told += (size_t)n;
}

static int start(struct wf_sim_world *w, unsigned host, const weft_node_options *o)
{
    const unsigned version = version_of(host);
    /* No two versions have the same random numbers, or nodes would have the same incarnation. */
    const struct guests_options first = {wf_mix(all.seed ^ wf_mix(version)), &scene,
                                         getenv("CLUSTER_LOG") == NULL ? WEFT_SILENT : WEFT_INFO};
    all.began[host]++;
    tell(w, host, version == TODAY ? "starts with this weft" : all.path[version - 1]);
    if (version != TODAY) return guests_start(all.guest[version - 1], w, host, o, &first);
    int rc = wf_sim_start(w, host, o);
    weft_spawn_options main = {.kind = "main"};
    return rc < 0 ? rc : weft_node_spawn(w->host[host].node, NULL, scene_first, NULL, 0, &main);
}

/* Half of the nodes that end are stopped in order. */
static void end(struct wf_sim_world *w, const struct wf_sim_fault *f)
{
    bool in_order = (wf_mix(all.seed ^ (uint64_t)f->at) & 1) == 0;
    tell(w, f->a, in_order ? "is stopped" : "crashes");
    if (in_order) (void)wf_sim_stop(w, f->a, wf_sim_now(w) + STOP_TIME);
    else wf_sim_crash(w, f->a, f->kind == WF_SIM_POWER);
}

static const char *nothing_is_wrong(bool over)
{
    (void)over;
    return NULL;
}

/* ---- What has to be true ---------------------------------------------------------------------------------------- */

static bool is_whole(unsigned from, unsigned to)
{
    const struct scene_stream *s = scene.stream[from][to];
    for (uint32_t i = 0; i < scene.opened[from][to] && i < SCENE_STREAMS; i++)
        if (!s[i].told && !s[i].over && (s[i].missing || s[i].came != s[i].sent)) return false;
    return true;
}

static bool all_is_there(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < scene.nodes * scene.nodes; i++)
        if (!is_whole(i / scene.nodes, i % scene.nodes)) return false;
    return true;
}

/* Checks are called first when all faults are over. */
static bool is_calm(void)
{
    if (scene.calm_at == WEFT_FOREVER) scene.calm_at = weft_now() + CALM_AFTER;
    return weft_now() >= scene.calm_at;
}

static bool all_flows(void *arg)
{
    (void)arg;
    if (!is_calm()) {
        memcpy(all.first_poured, scene.poured, sizeof scene.poured);
        return false;
    }
    for (unsigned i = 0; i < scene.nodes * scene.nodes; i++) {
        unsigned from = i / scene.nodes, to = i % scene.nodes;
        if (from == to || scene.poured[from][to] >= all.first_poured[from][to] + 2) continue;
        snprintf(all.waits, sizeof all.waits, "n%u has not sent to n%u", from + 1, to + 1);
        return false;
    }
    all.waits[0] = '\0';
    return true;
}

static bool all_have(void *arg)
{
    uint32_t(*of)[SCENE_NODES] = arg;
    for (unsigned i = 0; i < scene.nodes; i++)
        for (unsigned k = 0; k < scene.nodes; k++)
            if (of[i][k] != scene.published[k] || scene.published[k] == 0) return false;
    return true;
}

static bool is_pid(struct scene_pid a, struct scene_pid b)
{
    return a.node == b.node && a.actor == b.actor;
}

static bool all_agree(void *arg)
{
    struct scene_pid one = {0, 0};
    (void)arg;
    if (!is_calm() || weft_now() < scene.calm_at + CALM_AFTER) return false;
    for (unsigned i = 0; i < scene.nodes; i++) {
        if (scene.holder[i].node == 0) continue;
        if (one.node != 0) return false;
        one = scene.holder[i];
    }
    for (unsigned i = 0; i < scene.nodes; i++)
        if (one.node == 0 || !is_pid(scene.found[i], one) || scene.found_at[i] < scene.calm_at) return false;
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all that was sent is there, or its loss was told", all_is_there, NULL);
    weft_sim_eventually("all senders go on", all_flows, NULL);
    weft_sim_eventually("all hear the last version of each", all_have, scene.heard);
    weft_sim_eventually("all keep the last version of each", all_have, scene.kept);
    weft_sim_eventually("the name has one holder, which all find", all_agree, NULL);
}

/* ---- A run ------------------------------------------------------------------------------------------------------ */

static void fail(const char *what)
{
    weft_sim_fail("%s", what);
}

static void show(const struct wf_sim_result *r)
{
    fprintf(stderr, "seed %" PRIu64 ", at %.6f s: %s\n%s\n%s", all.seed, (double)r->at / 1e9, r->what, all.waits,
            all.story);
    for (uint32_t i = 0; i < r->plan.fault_count; i++) {
        const struct wf_sim_fault *f = &r->plan.fault[i];
        fprintf(stderr, "  %10.6f s  %s n%u n%u, for %.6f s%s\n", (double)f->at / 1e9, wf_sim_fault_names[f->kind],
                f->a + 1u, f->b + 1u, (double)f->span / 1e9, (r->happened >> i & 1) != 0 ? "" : " (not reached)");
    }
    fputs(r->report, stderr);
}

static void run(uint64_t seed)
{
    struct wf_sim_result *r = all.result;
    struct wf_sim_job job = {.keep = UINT32_MAX,
                             .limits = all.limits,
                             .settle = WEFT_SEC(90),
                             .checks = checks,
                             .memory = nothing_is_wrong,
                             .start = start,
                             .end = end};
    all.seed = seed;
    scene.nodes = WF_MIN(WF_MAX(3u, all.guest_count + 1) + (uint32_t)(seed % 2), (uint32_t)SCENE_NODES);
    scene.calm_at = WEFT_FOREVER;
    scene.fail = fail;
    scene_begin(&scene);
    for (unsigned i = 0; i < all.guest_count; i++) (void)sim_memory_watch(guests_code(all.guest[i]));
    memset(r, 0, sizeof *r);
    job.origin = (struct wf_sim_origin){.seed = seed,
                                        .nodes = scene.nodes,
                                        .kinds = seed % 4 < 2 ? (uint32_t)WF_SIM_ALL : ENDS,
                                        .time = WEFT_SEC(30)};
    wf_sim_run_job(&job, r);
    if (r->failed != all.found || getenv("CLUSTER_LOG") != NULL) show(r);
    if (r->failed != all.found) exit(EXIT_FAILURE);
    if (r->failed) exit(EXIT_SUCCESS); /* the nodes of a run that failed are not ended */
}

/* The last seed runs again: it is the same run. */
static bool is_repeatable(const struct seeds *s, uint64_t seed)
{
    const uint64_t trace = all.result->trace;
    printf("seed %" PRIu64 ": %" PRIu64 " turns, trace %016" PRIx64 "\n", seed, all.result->turns, trace);
    if (!seed_passes(s, seed)) return false;
    if (all.result->trace == trace) return true;
    fprintf(stderr, "seed %" PRIu64 " is another run the second time: trace %016" PRIx64 "\n", seed,
            all.result->trace);
    return false;
}

/* The thread-local variables of an older libweft need more space than the loader has beside those of the program, unless
 * it is told before the program begins. */
static void begin_with_space(char **argv)
{
    if (getenv("GLIBC_TUNABLES") != NULL) return;
    setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=65536", 1);
    execv("/proc/self/exe", argv);
}

static void load(const char *path, char **argv)
{
    char why[GUEST_TEXT] = "there are too many guests";
    if (all.guest_count < GUESTS && (all.guest[all.guest_count] = guests_load(path, why)) != NULL) {
        all.path[all.guest_count++] = path;
        return;
    }
    if (strstr(why, "static TLS") != NULL) begin_with_space(argv);
    fprintf(stderr, "sim_mixed: %s\n", why);
    exit(2);
}

int main(int argc, char **argv)
{
    static char again[2048];
    char *numbers[4] = {argv[0]};
    int count = 1;
    for (int i = 1; i < argc; i++) {
        bool guest = strstr(argv[i], ".so") != NULL;
        if (guest || strcmp(argv[i], "found") == 0) {
            if (guest) load(argv[i], argv);
            else all.found = true;
            size_t at = strlen(again);
            snprintf(again + at, sizeof again - at, " %s", argv[i]);
        } else if (count < 4) {
            numbers[count++] = argv[i];
        }
    }
    all.limits = count > 3;
    all.result = mmap(NULL, sizeof *all.result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all.result == MAP_FAILED) return EXIT_FAILURE;
    const struct seeds s = {.count = 20,
                            .limit = 120,
                            .heap = (size_t)SCENE_NODES * SIM_NODE + (64 << 20),
                            .log = WEFT_SILENT,
                            .run = run,
                            .again = again};
    if (run_seeds(&s, count, numbers) != EXIT_SUCCESS) return EXIT_FAILURE;
    const uint64_t seeds = count > 1 ? strtoull(numbers[1], NULL, 10) : s.count;
    const uint64_t from = count > 2 ? strtoull(numbers[2], NULL, 10) : 1;
    return seeds == 0 || is_repeatable(&s, from + seeds - 1) ? EXIT_SUCCESS : EXIT_FAILURE;
}
