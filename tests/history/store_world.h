/* tests/history/store_world.h -- a simulated cluster in which nodes run a store, on disks that fail (file_volumes.h) or on a
 * server whose sessions end (server_volumes.h, with HISTORY_ON_A_SERVER), and its faults.
 *
 * The store is the product's own. The linker puts the functions below in the place of weft_offload_start
 * and its like (--wrap): a job is done in virtual time, by this world, some time after it was started, and its actor
 * is woken some time after that. So a node can crash in between.
 *
 * A volume has the file of one store. A node that has a volume runs that store whenever it can. When the node crashes,
 * what was not synced is lost in part, or only its processes are killed; then the volume is there again, at the same
 * node or at another one. Two nodes may have the same volume: one of them at a time can open the file. In a part of these
 * runs they stand by for each other (weft_store_options.standby). */
#ifndef HISTORY_STORE_WORLD_H
#define HISTORY_STORE_WORLD_H

#include "linearize.h"
#include "sim_world.h"

#include "../sim/seeds.h"
#include "../unit/actors/random.h"
#ifdef HISTORY_ON_A_SERVER
#include "server_volumes.h"
#else
#include "file_volumes.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <weft.h>
#include <weft/store.h>

#include "store_file.h"

enum { HOSTS = 4, VOLUMES = 2 };

struct disk_job {
    struct disk_job *next;
    unsigned host;
    weft_event done;
    int64_t runs_at, ends_at;
    bool has_run, is_done;
    weft_blocking *run, *drop;
    size_t size;
    _Alignas(max_align_t) uint8_t block[];
};

struct volume {
    char name[8]; /* its files begin so */
    unsigned host;
    bool is_open; /* a store of this node has the file */
    bool reopen;  /* its disk has failed */
};

/* What all seeds of a run have reached, in memory that their processes share: a test in which this does not happen
 * shows nothing. */
enum { REACHED_MAX = 9 };
struct reached {
    const char *what[REACHED_MAX];
    uint64_t times[REACHED_MAX];
};
static struct reached *reached;
static unsigned taken_over; /* which of them is: a standby has opened the store */

static struct {
    uint64_t seed, random;
    unsigned hosts, volumes;
    struct wf_sim_world world;
    struct volume volume[VOLUMES];
    struct disk_job *jobs, **end;
    int64_t slow_disk_by;
    const weft_node *crashing; /* its actors end at once; meanwhile the other nodes go on */
    bool is_quiet;             /* no client begins anything new */
    unsigned busy;             /* a host at which much happens */
    void (*start_actors)(unsigned host);
    void (*before_crash)(unsigned host); /* may be NULL */
    bool keeps_clocks;                   /* no clock is set */
    bool is_calm;                        /* all faults are over, and stores that had failed have been replaced */
    bool stands_by;                      /* nodes stand by for each other's store, of one file */
    uint64_t opened;                     /* then: the number of the file that was opened last, */
    unsigned times_opened, takeovers;    /* takeovers: by another node than the one before */
    unsigned opener;                     /* and the node that has opened it */
    const struct disk_job *running;
    weft_store_options options; /* of each store, but for its URL */
} all;

/* ns since the start of the run. */
static int64_t time_here(void)
{
    return wf_sim_now(&all.world) - PF_SIM_START;
}

__attribute__((noreturn)) static void fail(const char *what)
{
    fprintf(stderr, "seed %llu, at %.6f s: %s\n", (unsigned long long)all.seed, (double)time_here() / 1e9, what);
    exit(EXIT_FAILURE);
}

static void reach(unsigned which, uint64_t times)
{
    __atomic_fetch_add(&reached->times[which], times, __ATOMIC_RELAXED);
}

static unsigned host_here(void)
{
    unsigned host = 0;
    (void)sscanf(weft_node_name(weft_here()), "n%u", &host);
    return host;
}

/* Another one in each run of a node, and with each seed. */
static uint64_t random_here(void)
{
    return weft_self().node ^ weft_self().actor;
}

/* ---- In the place of runtime/wait/offload.c and its threads ---------------------------------------------------- */

int __wrap_weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop, const void *block, size_t size,
                              int64_t deadline);
int __wrap_weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline);
int __wrap_weft_offload_drop(weft_job job);

static int64_t disk_delay(void)
{
    int64_t most = wf_sim_now(&all.world) < all.slow_disk_by ? WEFT_MS(1500) : WEFT_MS(4);
    return random_between(&all.random, WEFT_US(100), most);
}

/* Among the jobs of this node: another node may have an event with the same number. */
static struct disk_job **find_job(weft_job job)
{
    struct disk_job **at = &all.jobs;
    unsigned host = host_here();
    while (*at != NULL && ((*at)->done.id != job.done.id || (*at)->host != host)) at = &(*at)->next;
    return at;
}

static void end_job(struct disk_job **at)
{
    struct disk_job *j = *at;
    *at = j->next;
    if (all.end == &j->next) all.end = at;
    free(j);
}

int __wrap_weft_offload_start(weft_job *out, weft_blocking *run, weft_blocking *drop, const void *block, size_t size,
                              int64_t deadline)
{
    (void)deadline;
    if (all.crashing == weft_here()) return WEFT_ECANCELED;
    struct disk_job *j = calloc(1, sizeof *j + size);
    if (j == NULL || weft_event_open(&j->done) < 0) abort();
    j->host = host_here();
    j->run = run;
    j->drop = drop;
    j->size = size;
    j->runs_at = weft_now() + disk_delay();
    j->ends_at = j->runs_at + disk_delay();
    memcpy(j->block, block, size);
    *all.end = j;
    all.end = &j->next;
    out->done = j->done;
    return WEFT_OK;
}

int __wrap_weft_offload_take(weft_job job, void *block, size_t size, int64_t deadline)
{
    struct disk_job **at;
    for (;;) {
        at = find_job(job);
        if (*at == NULL) return WEFT_ECLOSED;
        if ((*at)->is_done) break;
        int rc = weft_event_await(job.done, deadline);
        if (rc < 0) return rc;
    }
    memcpy(block, (*at)->block, size);
    end_job(at);
    (void)weft_event_close(job.done);
    return WEFT_OK;
}

int __wrap_weft_offload_drop(weft_job job)
{
    struct disk_job **at = find_job(job);
    if (*at == NULL) return WEFT_ECLOSED;
    if ((*at)->drop != NULL) (*at)->drop((*at)->block);
    end_job(at);
    (void)weft_event_close(job.done);
    return WEFT_OK;
}

static bool is_open(uint64_t number)
{
    struct wf_store_file *f = wf_store_file_find(number);
    wf_store_file_release(f);
    return f != NULL;
}

/* To be called after each job, which may have opened the file. */
static void note_openings(unsigned host)
{
    for (; is_open(all.opened + 1); all.opener = host, all.times_opened++) {
        all.takeovers += all.times_opened > 0 && all.opener != host;
        all.opened++;
    }
}

static void disk_step(void)
{
    int64_t now = wf_sim_now(&all.world);
    for (struct disk_job *j = all.jobs; j != NULL; j = j->next) {
        if (now < all.world.host[j->host].frozen_by) continue;
        if (!j->has_run && now >= j->runs_at) {
            all.running = j;
            volume_disturb();
            j->run(j->block);
            all.running = NULL;
            j->has_run = true;
            if (all.stands_by) note_openings(j->host);
        }
        if (j->has_run && !j->is_done && now >= j->ends_at) {
            j->is_done = true;
            (void)weft_event_set(j->done);
        }
    }
}

/* Its threads have ended with its process. */
static void drop_jobs_of(unsigned host)
{
    for (struct disk_job **at = &all.jobs; *at != NULL;) {
        if ((*at)->host != host) {
            at = &(*at)->next;
            continue;
        }
        if ((*at)->drop != NULL) (*at)->drop((*at)->block);
        end_job(at);
    }
}

/* ---- Stores ---------------------------------------------------------------------------------------------------- */

/* False: the caller is asked to stop. */
static bool await_end(struct volume *v, weft_pid store)
{
    for (;;) {
        weft_wait on = weft_on_end(store);
        int rc = weft_wait_any(&on, 1, weft_after(WEFT_MS(200)));
        if (rc == 0) return true;
        if (rc != WEFT_ETIMEDOUT) return false;
        if (v->reopen && weft_stop(store) == WEFT_OK) v->reopen = false;
    }
}

/* The product's own way: it serves the store whenever no other node does. */
static void stand_by(const char *url)
{
    weft_store_options options = all.options;
    options.url = url;
    options.standby = true;
    weft_pid pid;
    int rc;
    while ((rc = weft_store_open(&options, &pid, weft_after(WEFT_SEC(10)))) != WEFT_OK)
        if (rc == WEFT_ECANCELED || weft_sleep(weft_after(WEFT_MS(300))) < 0)
            return; /* its disk fails from the beginning */
    (void)weft_sleep(WEFT_FOREVER);
}

/* Runs the store of a volume whenever the cluster has no other one. */
static void keep_store(const void *arg, size_t size)
{
    struct volume *v = *(struct volume *const *)arg;
    weft_store_options options = all.options;
    char url[VOLUME_URL];
    (void)size;
    volume_url(v->name, url);
    options.url = url;
    if (all.stands_by) {
        stand_by(url);
        return;
    }
    for (;;) {
        weft_pid pid;
        if (weft_whereis(WEFT_STORE_NAME, &pid) == WEFT_OK && weft_sleep(weft_after(WEFT_MS(300))) == WEFT_OK)
            continue;
        int rc = weft_store_open(&options, &pid, weft_after(WEFT_SEC(10)));
        if (rc == WEFT_ECANCELED) return;
        v->is_open = rc == WEFT_OK;
        if (rc == WEFT_OK && !await_end(v, pid)) return;
        v->is_open = false;
        if (weft_sleep(weft_after(WEFT_MS(300))) < 0) return;
    }
}

static void attach(struct volume *v, unsigned host)
{
    v->host = host;
    v->is_open = v->reopen = false;
    if (weft_node_spawn(all.world.host[host].node, NULL, keep_store, &v, sizeof(void *), NULL) < 0) abort();
}

/* An actor got the error that the disk has failed: the stores are opened again. */
static void reopen_stores(void)
{
    for (unsigned i = 0; i < all.volumes; i++) all.volume[i].reopen = true;
}

/* What is known of an operation whose call has returned this. */
__attribute__((unused)) static enum lin_status status_of(int rc)
{
    if (rc == WEFT_ESYSTEM && all.is_calm) fail("a store that cannot store any more has not been replaced");
    if (rc == WEFT_ESYSTEM) reopen_stores();
    if (rc == WEFT_OK) return LIN_OK;
    if (rc == WEFT_ENOACTOR || rc == WEFT_ENOSPC || rc == WEFT_ENOMEM || rc == WEFT_EFULL) return LIN_FAIL;
    if (rc == WEFT_ETIMEDOUT || rc == WEFT_ECANCELED || rc == WEFT_ENONODE || rc == WEFT_ENOREPLY ||
        rc == WEFT_ESYSTEM)
        return LIN_UNKNOWN;
    fprintf(stderr, "%s\n", weft_strerror(rc));
    fail("a call fails with an error that its header does not name");
}

/* ---- The cluster and its faults -------------------------------------------------------------------------------- */

static void start(unsigned host)
{
    char url[WF_URL_TEXT], seed[2][WF_URL_TEXT], name[16];
    wf_sim_url(host, url);
    for (unsigned i = 0; i < 2; i++) wf_sim_url(host == i ? 2 : i, seed[i]);
    snprintf(name, sizeof name, "n%u", host);
    const char *listen[] = {url}, *join[] = {seed[0], seed[1]};
    weft_node_options o = {.name = name,
                           .listen = listen,
                           .listen_count = 1,
                           .join = join,
                           .join_count = all.hosts > 2 ? 2 : 1,
                           .heartbeat = WEFT_MS(200),
                           .resume_window = WEFT_SEC(all.seed % 4 == 0 ? 4 : 1)};
    if (wf_sim_start(&all.world, host, &o) < 0) fail("a node does not start");
    for (unsigned i = 0; i < all.volumes; i++)
        if (all.volume[i].host == host) attach(&all.volume[i], host);
    all.start_actors(host);
}

static void go(int64_t span)
{
    for (int64_t until = wf_sim_now(&all.world) + span; wf_sim_now(&all.world) < until;) {
        wf_sim_run(&all.world, WEFT_MS(1));
        disk_step();
    }
}

static void crash(unsigned host, bool power)
{
    bool off[VOLUMES];
    for (unsigned i = 0; i < all.volumes; i++) {
        off[i] = all.stands_by ? i == 0 && all.opener == host && is_open(all.opened)
                               : all.volume[i].host == host && all.volume[i].is_open;
        if (off[i]) volume_off(all.volume[i].name, power);
    }
    if (all.before_crash != NULL) all.before_crash(host);
    all.crashing = all.world.host[host].node;
    wf_sim_crash(&all.world, host, power);
    drop_jobs_of(host);
    all.crashing = NULL;
    for (unsigned i = 0; i < all.volumes; i++)
        if (off[i]) volume_on(all.volume[i].name, power);
}

/* Its volumes stay, or go to another node at once. */
static void crash_and_start(unsigned host)
{
    crash(host, random_below(&all.random, 2) == 0);
    unsigned other = (host + 1 + random_below(&all.random, all.hosts - 1)) % all.hosts;
    bool moves = random_below(&all.random, 2) == 0;
    for (unsigned i = 0; i < all.volumes && moves; i++)
        if (all.volume[i].host == host) attach(&all.volume[i], other);
    go(random_between(&all.random, WEFT_MS(1), WEFT_SEC(5)));
    start(host);
}

static void cut(unsigned a, unsigned b, int64_t span)
{
    wf_sim_cut(&all.world, a, b, span);
    wf_sim_cut(&all.world, b, a, span);
}

/* Most faults befall a node with a store, or the busy one. */
static void fault(void)
{
    uint32_t where = random_below(&all.random, 3);
    unsigned a = random_below(&all.random, all.hosts);
    if (where == 0) a = all.volume[random_below(&all.random, all.volumes)].host;
    if (where == 1) a = all.busy;
    unsigned b = (a + 1 + random_below(&all.random, all.hosts - 1)) % all.hosts;
    int64_t span = random_between(&all.random, WEFT_MS(20), WEFT_SEC(1)) << random_below(&all.random, 4);
    switch (random_below(&all.random, 12)) {
    case 0: cut(a, b, span); break;
    case 1:
    case 2: /* it is alone */
        for (unsigned i = 0; i < all.hosts; i++)
            if (i != a) cut(a, i, span);
        break;
    case 3: wf_sim_freeze(&all.world, a, span); break;
    case 4: wf_sim_slow(&all.world, a, WEFT_MS(10), span); break;
    case 5: wf_sim_reset(&all.world, a, b); break;
    case 6:
        if (!all.keeps_clocks) wf_sim_step_clock(&all.world, a, a % 2 == 0 ? span * 1000 : -span * 1000);
        break;
    case 7: all.slow_disk_by = wf_sim_now(&all.world) + span; break;
    case 8: volume_fault(true, &all.random); break;
    case 9: volume_fault(false, &all.random); break;
    case 10:
    case 11: crash_and_start(a); break;
    }
    go(random_between(&all.random, WEFT_MS(1), WEFT_SEC(3)));
}

/* Of the host on which the store runs. */
static int64_t wall_clock(void)
{
    unsigned host = all.running != NULL ? all.running->host : weft_here() != NULL ? host_here() : 0;
    return wf_sim_now(&all.world) + all.world.host[host].wall_ahead;
}

/* `shared`: all volumes are the same file. */
static void begin_world(uint64_t seed, unsigned volumes, bool shared, void (*start_actors)(unsigned host))
{
    all.seed = seed;
    all.random = seed ^ UINT64_C(0x686973746F726965);
    all.hosts = 3 + random_below(&all.random, HOSTS - 2);
    all.volumes = volumes;
    all.start_actors = start_actors;
    all.end = &all.jobs;
    all.stands_by = shared && volumes > 1 && seed / 12 % 2 == 0;
    volumes_begin(seed);
    faulty_clock(wall_clock);
    wf_sim_world_init(&all.world, seed);
    for (unsigned i = 0; i < volumes; i++) {
        snprintf(all.volume[i].name, sizeof all.volume[i].name, "v%u", shared ? 0 : i);
        all.volume[i].host = i;
    }
    for (unsigned i = 0; i < all.hosts; i++) start(i);
    go(WEFT_SEC(3));
}

/* After that all faults are over, and so are their consequences. */
static void end_faults(void)
{
    volumes_heal();
    go(WEFT_SEC(8));
    all.is_calm = all.stands_by;
    go(WEFT_SEC(4));
    all.is_quiet = true;
    go(WEFT_SEC(8));
}

/* To be closed with wf_store_file_release. A session that has just ended may have the lock for a moment. */
__attribute__((unused)) static struct wf_store_file *open_volume(const char *name)
{
    struct wf_store_file *file;
    struct wf_store_why why;
    char url[VOLUME_URL];
    int rc;
    volume_url(name, url);
    while ((rc = wf_store_file_open(&file, url, false, &why)) == WEFT_EINUSE) continue;
    if (rc < 0) fail(why.text);
    return file;
}

static void end_nodes(void)
{
    reach(taken_over, all.takeovers);
    for (unsigned i = 0; i < all.hosts; i++) crash(i, false);
    wf_sim_world_finish(&all.world);
}

static void share_reached(const char *const *what)
{
    reached = mmap(NULL, sizeof *reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (reached == MAP_FAILED) abort();
    for (taken_over = 0; taken_over < REACHED_MAX - 1 && what[taken_over] != NULL; taken_over++)
        reached->what[taken_over] = what[taken_over];
    reached->what[taken_over] = "stores that a standby on another node took over";
}

/* After all seeds. The first hundred have to reach all of them. */
static int show_reached(int rc, int argc, char **argv)
{
    bool is_judged = argc < 2 || (strtoull(argv[1], NULL, 10) >= 100 && (argc < 3 || strcmp(argv[2], "1") == 0));
    for (unsigned i = 0; i < REACHED_MAX && reached->what[i] != NULL; i++) {
        printf("%8llu %s\n", (unsigned long long)reached->times[i], reached->what[i]);
        if (rc == EXIT_SUCCESS && is_judged && reached->times[i] == 0) {
            fprintf(stderr, "never reached: %s\n", reached->what[i]);
            rc = EXIT_FAILURE;
        }
    }
    return rc;
}

/* The main function: `states` are the names of what reach() counts. */
static int run_histories(const char *const *states, void (*run)(uint64_t seed), int argc, char **argv)
{
    int rc = volumes_open();
    if (rc != 0) return rc;
    share_reached(states);
    const struct seeds seeds = {
        .count = 100, .limit = 100, .heap = HOSTS * SIM_NODE + (32 << 20), .log = WEFT_SILENT, .run = run};
    rc = show_reached(run_seeds(&seeds, argc, argv), argc, argv);
    volumes_close();
    return rc;
}

#endif
