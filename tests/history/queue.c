/* tests/history/queue.c -- histories of work queues (weft/queue.h) in a simulated cluster with faults: whether those
 * of each job are linearizable.
 *
 *     history_queue [SEEDS [FIRST SEED [limits]]]
 *
 * Actors on all nodes put jobs, some with a key that is used again, some with a delay. Workers take them, extend
 * their leases, give jobs back, work for longer than the lease, report old leases, end and are killed. The history of
 * each job is linearizable (queue_model.h). So an acknowledged job is done, dead or there; a job is given to one
 * worker until that one has given it back, has ended, or its time is over, and not before a delay is over; nothing is
 * done with an old lease, and nothing is refused with a valid one; a job is given JOB_ATTEMPTS times at most; a key
 * stands for one job. These are checked besides, as they are about several jobs: an id is that of one job; the counts
 * of a queue are between the number of jobs that are surely there and the number that may be; in the end they are
 * those of the file.
 *
 * In a quarter of the runs wall clocks are set. Times say nothing then: a lease may be over at once. In half of all
 * runs the workers go on until all is done or dead; in the others they stop, so that the file has jobs of each kind. */
#include "store_world.h"

#include "queue_model.h"

#include "engine.h"
#include "store_file.h"

#include <weft/queue.h>

enum { QUEUES = 2, WORKERS = 2, JOBS = 400, TAKES = 8000, COUNTS = 2000, LEASES = 24 };
enum { CONFIRMED, NOT_KNOWN, REFUSED, PUT_AGAIN, TAKEN_AGAIN, DIED, LOST_TAKINGS, LEFT };

static const char *const states[REACHED_MAX + 1] = {
    "operations confirmed",         "operations with an unknown result",
    "operations with an old lease", "puts of a key that was used",
    "jobs that are given again",    "jobs that are dead in the end",
    "takings that only show later", "jobs that wait, or are leased, in the end"};
static const char *const queues[QUEUES] = {"work.a", "work.b"};
static const int64_t leases[QUEUES] = {WEFT_SEC(1), WEFT_SEC(3)};

struct body {
    uint32_t job, put;
};

/* Who has taken something, from its start to its end. */
struct worker {
    weft_pid pid;
    int64_t ends_at; /* since when it may have ended; 0: it has not */
    unsigned count;
    struct {
        uint64_t job, lease;
        int64_t taken;
    } had[LEASES];
};

static struct {
    struct lin_history history;
    unsigned jobs;
    struct {
        unsigned queue;
        bool has_key;
        uint64_t id;
        unsigned puts;
        size_t first_op; /* in the history */
    } job[JOBS + 1];
    uint64_t puts, grants;
    unsigned takes;
    struct {
        unsigned queue;
        bool is_hidden; /* it may have taken something */
        int64_t begin;
    } take[TAKES];
    unsigned counts;
    struct {
        unsigned queue;
        int64_t begin, end;
        uint64_t jobs;
    } count[COUNTS];
    struct worker worker[HOSTS][WORKERS];
    bool drains, is_asked;
    int64_t asked_from, asked_by; /* the store's clock at the last counts */
    struct weft_queue_count last[QUEUES];
} is;

/* ---- The history ----------------------------------------------------------------------------------------------- */

static size_t begin(uint32_t what, uint64_t job, uint64_t a, uint64_t b, uint64_t c)
{
    struct lin_op op = {.who = host_here(), .what = what, .key = job, .in = {a, b, c}};
    return lin_begin(&is.history, time_here(), op);
}

/* Something may happen from then on. */
static void add_event(uint32_t what, uint64_t job, uint64_t a, int64_t at)
{
    lin_add(&is.history, (struct lin_op){.begin = at, .end = INT64_MAX, .what = what, .key = job, .in = {a}});
}

/* A span ends at the earliest; the store's clock counts in ms. With clocks that are set, it may end at once. */
static void add_due(uint64_t job, uint64_t grant, int64_t from, int64_t span)
{
    add_event(JOB_DUE, job, grant, all.keeps_clocks ? from + WF_MAX(0, span - WEFT_MS(1)) : from);
}

static void end(size_t op, enum lin_status status, uint64_t out)
{
    lin_end(&is.history, op, time_here(), status, out);
    if (status != LIN_FAIL) reach(status == LIN_OK ? CONFIRMED : NOT_KNOWN, 1);
}

static uint64_t number_of(uint64_t of_job, uint64_t id)
{
    if (of_job == 0 || of_job > is.jobs) fail("a job that nobody has put");
    if (is.job[of_job].id == 0) {
        for (unsigned i = 1; i <= is.jobs; i++)
            if (is.job[i].id == id) fail("two jobs have the same id");
        is.job[of_job].id = id;
    }
    return of_job;
}

/* ---- Putting --------------------------------------------------------------------------------------------------- */

static uint64_t choose_job(uint64_t *random)
{
    uint64_t again = is.jobs == 0 ? 0 : 1 + random_below(random, is.jobs);
    if (is.jobs > 8 && random_below(random, 2) == 0) again = is.jobs - random_below(random, 8);
    if (random_below(random, 4) == 0 && again > 0 && is.job[again].has_key) return again;
    if (is.jobs == JOBS) return 0;
    is.job[++is.jobs].queue = random_below(random, QUEUES);
    is.job[is.jobs].has_key = random_below(random, 2) == 0;
    return is.jobs;
}

static void put(uint64_t *random)
{
    uint64_t job = choose_job(random), id = 0;
    if (job == 0) return;
    bool again = is.job[job].puts++ > 0;
    int64_t delay = random_below(random, 2) == 0 ? 0 : random_between(random, WEFT_MS(50), WEFT_SEC(4));
    struct body body = {(uint32_t)job, (uint32_t)++is.puts};
    char key[16];
    snprintf(key, sizeof key, "key%u", (unsigned)job);
    const weft_queue_put_options options = {.key = is.job[job].has_key ? key : NULL, .delay = delay};
    size_t op = begin(JOB_PUT, job, body.put, delay > 0, ++is.grants);
    if (!again) is.job[job].first_op = op;
    if (delay > 0) add_due(job, is.grants, is.history.op[op].begin, delay);
    int rc = weft_queue_put(queues[is.job[job].queue], 7, &body, sizeof body, &options, &id,
                            weft_after(random_between(random, WEFT_MS(5), WEFT_SEC(3))));
    if (rc == WEFT_OK) (void)number_of(job, id);
    end(op, status_of(rc), id);
    reach(PUT_AGAIN, again && rc == WEFT_OK);
}

static void putter(const void *arg, size_t size)
{
    uint64_t random = random_here();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_MS(900)))) == WEFT_OK)
        if (!all.is_quiet) put(&random);
}

/* ---- Working --------------------------------------------------------------------------------------------------- */

/* What the worker may have had is given to others from now on. */
static void end_worker(struct worker *w, int64_t now)
{
    if (w->ends_at == 0) w->ends_at = now;
    for (unsigned i = 0; i < w->count; i++)
        add_event(JOB_END, w->had[i].job, w->had[i].lease, WF_MAX(w->ends_at, w->had[i].taken));
    w->count = 0;
}

static bool take(struct worker *w, unsigned queue, struct weft_queue_job *job, uint64_t *number, uint64_t *lease,
                 uint64_t *random)
{
    struct body body;
    weft_msg *m;
    if (is.takes == TAKES) fail("too many takings");
    unsigned n = is.takes++;
    size_t op = begin(JOB_TAKE, 0, 0, 0, 0);
    int64_t since = is.history.op[op].begin;
    is.take[n].queue = queue;
    is.take[n].begin = since;
    is.take[n].is_hidden = true;
    int rc = weft_queue_take(queues[queue], &m, job, weft_after(random_between(random, WEFT_MS(20), WEFT_SEC(5))));
    if (rc == WEFT_ENOACTOR) is.take[n].is_hidden = false;
    if (status_of(rc) != LIN_OK) {
        is.history.op[op].status = LIN_FAIL; /* it counts as hidden */
        return false;
    }
    if (job->size != sizeof body) fail("a job has another body");
    memcpy(&body, job->data, sizeof body);
    weft_msg_free(m);
    is.take[n].is_hidden = false;
    *number = number_of(body.job, job->id);
    if (is.job[*number].queue != queue) fail("a job comes from another queue");
    *lease = ++is.grants;
    struct lin_op *o = &is.history.op[op];
    o->key = *number;
    o->in[0] = job->id, o->in[1] = body.put, o->in[2] = *lease;
    end(op, LIN_OK, job->attempts);
    reach(TAKEN_AGAIN, job->attempts > 1);
    w->had[w->count].job = *number;
    w->had[w->count].lease = *lease;
    w->had[w->count++].taken = is.history.op[op].end;
    add_due(*number, *lease, since, leases[queue]);
    return true;
}

static int report(uint32_t what, const struct weft_queue_job *job, uint64_t number, uint64_t lease, uint64_t *random)
{
    int64_t span = 0, by = weft_after(random_between(random, WEFT_MS(5), WEFT_SEC(2)));
    int rc;
    if (what == JOB_EXTEND && random_below(random, 2) == 0) span = random_between(random, WEFT_MS(50), WEFT_SEC(4));
    if (what == JOB_RETURN && random_below(random, 2) == 0) span = random_between(random, WEFT_MS(50), WEFT_SEC(3));
    bool backs_off = what == JOB_RETURN && random_below(random, 3) == 0;
    if (backs_off) span = WEFT_SEC(1) << (job->attempts - 1);
    size_t op = begin(what, number, lease, span > 0, ++is.grants);
    int64_t since = is.history.op[op].begin;
    if (what != JOB_DONE && (span > 0 || what == JOB_EXTEND))
        add_due(number, is.grants, since, span > 0 ? span : leases[is.job[number].queue]);
    if (what == JOB_DONE) rc = weft_queue_done(job, by);
    else if (what == JOB_RETURN) rc = weft_queue_return(job, backs_off ? WEFT_QUEUE_BACKOFF : span, by);
    else rc = weft_queue_extend(job, span, by);
    if (rc == WEFT_ECLOSED) {
        end(op, LIN_OK, 0);
        reach(REFUSED, 1);
    } else {
        end(op, status_of(rc), 1);
    }
    return rc;
}

static bool retry(const struct weft_queue_job *job, uint64_t number, uint64_t *random)
{
    size_t op = begin(JOB_RETRY, number, job->id, 0, 0);
    int rc = weft_queue_retry(job->queue, job->id, weft_after(random_between(random, WEFT_MS(5), WEFT_SEC(2))));
    if (rc == WEFT_ENOTFOUND) end(op, LIN_OK, 0);
    else end(op, status_of(rc >= 0 ? WEFT_OK : rc), 1);
    return rc > 0;
}

static bool rest(uint64_t *random, int64_t most)
{
    return all.is_quiet || weft_sleep(weft_after(random_between(random, 0, most))) == WEFT_OK;
}

/* False: the worker is asked to stop. */
static bool work(const struct weft_queue_job *job, uint64_t number, uint64_t lease, uint64_t *random)
{
    int64_t most = leases[is.job[number].queue] * (random_below(random, 6) == 0 ? 2 : 1) / 2;
    if (!rest(random, most)) return false;
    while (!all.is_quiet && random_below(random, 4) == 0) {
        if (report(JOB_EXTEND, job, number, lease, random) == WEFT_ECANCELED || !rest(random, 2 * most)) return false;
    }
    uint32_t chance = all.is_quiet ? 0 : random_below(random, 10);
    if (chance == 9) return true; /* it forgets the job */
    for (int times = 0; times < 3; times++) {
        int rc = report(chance < 6 ? JOB_DONE : JOB_RETURN, job, number, lease, random);
        if (rc == WEFT_ECANCELED) return false;
        if (rc == WEFT_OK || rc == WEFT_ECLOSED || random_below(random, 2) == 0) break;
    }
    return true;
}

/* Reports an earlier job again, or asks whether it is dead. */
static void look_back(const struct weft_queue_job *job, uint64_t number, uint64_t lease, uint64_t *random)
{
    static const uint32_t what[] = {JOB_DONE, JOB_RETURN, JOB_EXTEND};
    if (random_below(random, 2) == 0) (void)retry(job, number, random);
    else (void)report(what[random_below(random, 3)], job, number, lease, random);
}

static void worker(const void *arg, size_t size)
{
    struct worker *w;
    struct weft_queue_job job, old = {.id = 0};
    uint64_t random = random_here(), number, lease, old_number = 0, old_lease = 0;
    (void)size;
    memcpy(&w, arg, sizeof(void *));
    while (w->count < LEASES && (!all.is_quiet || is.drains)) {
        if (take(w, random_below(&random, QUEUES), &job, &number, &lease, &random)) {
            if (!all.is_quiet && random_below(&random, 16) == 0) break;
            if (!work(&job, number, lease, &random)) break;
            if (old_number == 0 || random_below(&random, 2) == 0) old = job, old_number = number, old_lease = lease;
        } else if (weft_sleep(weft_after(WEFT_MS(20))) < 0) {
            break;
        }
        if (!all.is_quiet && old_number != 0 && random_below(&random, 4) == 0)
            look_back(&old, old_number, old_lease, &random);
    }
    w->ends_at = time_here();
}

static void keep_worker(const void *arg, size_t size)
{
    struct worker *w;
    weft_monitor_ref ref;
    weft_msg *m;
    uint64_t random = random_here();
    memcpy(&w, arg, sizeof(void *));
    for (;;) {
        w->ends_at = 0;
        if (weft_spawn(&w->pid, worker, arg, size, &(weft_spawn_options){.monitor = &ref}) < 0) fail("no memory");
        int rc = weft_recv(&m, weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(15))));
        if (rc == WEFT_ETIMEDOUT && (!all.is_quiet || !is.drains)) {
            if (w->ends_at == 0) w->ends_at = time_here();
            (void)weft_kill(w->pid);
        }
        if (rc == WEFT_ETIMEDOUT) rc = weft_recv(&m, WEFT_FOREVER);
        if (rc < 0) return;
        weft_msg_free(m);
        end_worker(w, time_here());
        if (weft_sleep(weft_after(WEFT_MS(100))) < 0) return;
    }
}

static void before_crash(unsigned host)
{
    for (unsigned i = 0; i < WORKERS; i++) end_worker(&is.worker[host][i], time_here());
}

/* ---- Counting -------------------------------------------------------------------------------------------------- */

static void ask_counts(void)
{
    struct weft_queue_count c[QUEUES + 1];
    int64_t from = time_here(), clock = wall_clock();
    int n = weft_queue_counts(NULL, c, QUEUES + 1, weft_after(WEFT_SEC(3)));
    if (n < 0) return;
    if (n > QUEUES || is.counts + QUEUES > COUNTS) fail("there are too many queues");
    is.is_asked = true;
    is.asked_from = clock;
    is.asked_by = wall_clock();
    for (unsigned q = 0; q < QUEUES; q++) {
        int i = 0;
        while (i < n && strcmp(c[i].queue, queues[q]) != 0) i++;
        is.last[q] = i < n ? c[i] : (struct weft_queue_count){.ready = 0};
        is.count[is.counts].queue = q;
        is.count[is.counts].begin = from;
        is.count[is.counts].end = time_here();
        is.count[is.counts++].jobs = is.last[q].ready + is.last[q].delayed + is.last[q].leased + is.last[q].dead;
    }
}

static void counter(const void *arg, size_t size)
{
    uint64_t random = random_here();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(3)))) == WEFT_OK) ask_counts();
}

static void start_clients(unsigned host)
{
    weft_node *node = all.world.host[host].node;
    int rc = weft_node_spawn(node, NULL, putter, NULL, 0, NULL);
    for (unsigned i = 0; i < WORKERS && rc == WEFT_OK; i++) {
        struct worker *w = &is.worker[host][i];
        memset(w, 0, sizeof *w);
        rc = weft_node_spawn(node, NULL, keep_worker, &w, sizeof(void *), NULL);
    }
    if (rc == WEFT_OK) rc = weft_node_spawn(node, NULL, counter, NULL, 0, NULL);
    if (rc < 0) fail("no memory");
}

/* A job is surely there if its put has returned and nobody has begun to report it done. */
static void check_count(unsigned queue, int64_t from, int64_t by, uint64_t count)
{
    static uint8_t surely[JOBS + 1], perhaps[JOBS + 1];
    uint64_t least = 0, most = 0;
    memset(surely, 0, sizeof surely);
    memset(perhaps, 0, sizeof perhaps);
    for (size_t i = 0; i < is.history.count; i++) {
        const struct lin_op *op = &is.history.op[i];
        if (op->status == LIN_FAIL || is.job[op->key].queue != queue) continue;
        bool ok = op->status == LIN_OK && op->end < from, may = op->begin < by;
        if (op->what == JOB_PUT && ok) surely[op->key] |= 1;
        if (op->what == JOB_PUT && may) perhaps[op->key] |= 1;
        if (op->what == JOB_DONE && may && (op->status == LIN_UNKNOWN || op->out == 1)) surely[op->key] |= 2;
        if (op->what == JOB_DONE && ok && op->out == 1) perhaps[op->key] |= 2;
    }
    for (unsigned i = 1; i <= is.jobs; i++) least += surely[i] == 1, most += perhaps[i] == 1;
    if (count >= least && count <= most) return;
    fprintf(stderr, "%s: %llu jobs, not %llu to %llu, at %.6f\n", queues[queue], (unsigned long long)count,
            (unsigned long long)least, (unsigned long long)most, (double)by / 1e9);
    fail("a queue has another number of jobs");
}

/* ---- In the end ------------------------------------------------------------------------------------------------ */

struct on_disk {
    unsigned queue;
    bool is_found[JOBS + 1];
    uint64_t dead, others, leased_first, leased_last, ready_first, ready_last;
};

static void add_final(uint64_t job, uint64_t id, uint64_t put_number, enum job_found found, uint64_t attempts)
{
    struct lin_op op = {.who = HOSTS, .what = JOB_FINAL, .key = job, .in = {id, put_number, found}};
    lin_end(&is.history, lin_begin(&is.history, time_here(), op), time_here(), LIN_OK, attempts);
}

static bool found_on_disk(void *arg, const struct wf_store_job *j, const void *data)
{
    struct on_disk *d = arg;
    struct body body;
    if (j->size != sizeof body) fail("a job has another body in the end");
    memcpy(&body, data, sizeof body);
    uint64_t number = number_of(body.job, j->id);
    if (d->is_found[number] || is.job[number].queue != d->queue) fail("a job is there twice in the end");
    d->is_found[number] = true;
    add_final(number, j->id, body.put,
              j->dead         ? FOUND_DEAD
              : j->lease != 0 ? FOUND_LEASED
                              : FOUND_READY,
              j->attempts);
    d->dead += j->dead;
    d->others += !j->dead;
    if (j->dead) return true;
    d->ready_first += j->due <= is.asked_from;
    d->ready_last += j->due <= is.asked_by;
    d->leased_first += j->lease != 0 && j->due > is.asked_by;
    d->leased_last += j->lease != 0 && j->due > is.asked_from;
    return true;
}

static bool is_between(uint64_t n, uint64_t a, uint64_t b)
{
    return n >= a && n <= b;
}

static void check_last_counts(const struct on_disk *d)
{
    const struct weft_queue_count *c = &is.last[d->queue];
    bool good = c->dead == d->dead && c->ready + c->delayed + c->leased == d->others;
    if (all.keeps_clocks)
        good = good && is_between(c->ready, d->ready_first, d->ready_last) &&
               is_between(c->leased, d->leased_first, d->leased_last);
    if (!good) fail("the counts in the end are not those of the file");
    if (is.drains && all.keeps_clocks && d->others > 0) fail("a job is not given in the end");
    reach(DIED, d->dead);
    reach(LEFT, d->others);
}

static void read_volume(void)
{
    struct wf_store_file *file = open_volume(all.volume[0].name);
    struct on_disk d = {0};
    const struct wf_store_engine *engine = file->store->engine;
    for (d.queue = 0; d.queue < QUEUES; d.queue++) {
        d.dead = d.others = d.ready_first = d.ready_last = d.leased_first = d.leased_last = 0;
        for (int dead = 0; dead < 2; dead++)
            if (engine->jobs(file->store, queues[d.queue], dead != 0, found_on_disk, &d) < 0)
                fail("a queue cannot be read in the end");
        check_last_counts(&d);
    }
    wf_store_file_release(file);
    for (unsigned i = 1; i <= is.jobs; i++)
        if (!d.is_found[i]) add_final(i, 0, 0, FOUND_NOTHING, 0);
}

/* How many takings whose result is lost had begun by the end of each operation, and may have met the job: a taking of at
 * most 5 s has its effect within 30 s, if at all. */
static void count_hidden(void)
{
    for (size_t i = 0; i < is.history.count; i++) {
        struct lin_op *op = &is.history.op[i];
        if (op->key == 0) continue;
        int64_t since = is.history.op[is.job[op->key].first_op].begin - WEFT_SEC(30);
        op->in[3] = 0;
        for (unsigned n = 0; n < is.takes; n++)
            op->in[3] += is.take[n].is_hidden && is.take[n].queue == is.job[op->key].queue &&
                         is.take[n].begin < op->end && is.take[n].begin > since;
    }
}

/* The operations of an actor that was killed, of which only the beginning is known: a taking has no job yet. */
static void forget_takings(void)
{
    for (size_t i = 0; i < is.history.count; i++)
        if (is.history.op[i].what == JOB_TAKE && is.history.op[i].key == 0) is.history.op[i].status = LIN_FAIL;
    for (unsigned n = 0; n < is.takes; n++) reach(LOST_TAKINGS, is.take[n].is_hidden);
}

static void run(uint64_t seed)
{
    static const struct weft_stored_queues keep[] = {{"work.a", WEFT_SEC(1), JOB_ATTEMPTS, 0},
                                                     {"work.b", WEFT_SEC(3), JOB_ATTEMPTS, 0}};
    all.options = (weft_store_options){.queues = keep, .queue_count = QUEUES};
    all.keeps_clocks = seed % 4 != 0;
    all.before_crash = before_crash;
    is.drains = seed % 2 != 0;
    begin_world(seed, seed % 3 == 0 ? 2 : 1, true, start_clients);
    for (unsigned n = 3 + random_below(&all.random, 6); n > 0; n--) fault();
    end_faults();
    go(WEFT_SEC(12));
    is.is_asked = false;
    go(WEFT_SEC(8));
    if (!is.is_asked) fail("no store can be asked any more");
    end_nodes();
    read_volume();
    forget_takings();
    count_hidden();
    for (unsigned i = 0; i < is.counts; i++)
        check_count(is.count[i].queue, is.count[i].begin, is.count[i].end, is.count[i].jobs);
    if (lin_check(&is.history, &job_model, stderr) != LIN_LINEARIZABLE) fail("this is not the history of a job");
    lin_free(&is.history);
    volumes_end();
}

int main(int argc, char **argv)
{
    return run_histories(states, run, argc, argv);
}
