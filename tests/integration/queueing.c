/* A module for queue_processes_test.py: `put QUEUE N [FIRST]` puts N jobs, numbered from FIRST or 0, and prints each one that
 * is acknowledged; `work QUEUE` prints each job that it takes, and each that is done; `remind QUEUE N` sets N reminders, one each 20 ms, and prints
 * each one that is acknowledged; `reminded QUEUE` prints the key of each reminder that comes, and of each that is done; `spread PREFIX N` puts a job in each of N queues;
 * `hold QUEUE` takes one job and keeps it; `watch` prints why the holder has ended; `idle` does nothing. `takers
 * QUEUE N`: N actors wait for a job, and end, the last one first; `readers TOPIC N`: N subscriptions wait for a
 * record, and end, the first one first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

static const char *queue;

static int64_t soon(void)
{
    return weft_after(WEFT_SEC(20));
}

static void put_line(const char *what, const void *text, size_t size)
{
    char line[200];
    int n = snprintf(line, sizeof line, "%s %.*s\n", what, (int)size, (const char *)text);
    fwrite(line, 1, (size_t)n, stdout);
    fflush(stdout);
}

/* Waits until there is a store again. */
static void await_store(void)
{
    weft_pid store;
    if (weft_await_name(WEFT_STORE_NAME, &store, WEFT_FOREVER) < 0 || weft_sleep(weft_after(WEFT_MS(20))) < 0)
        weft_exit(WEFT_EXIT_STOPPED);
}

/* The key makes a put whose result is not known one that can be repeated. */
static void put_jobs(int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char text[32];
        snprintf(text, sizeof text, "job-%d", i);
        const weft_queue_put_options options = {.key = text};
        while (weft_queue_put(queue, 1, text, strlen(text), &options, NULL, soon()) < 0) await_store();
        put_line("put", text, strlen(text));
    }
}

static void set_reminders(int count)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0) weft_exit(9);
    for (int i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "key-%d", i);
        const struct weft_reminder_when when = {.at = WEFT_SEC(now.tv_sec) + now.tv_nsec + i * WEFT_MS(20)};
        while (weft_reminder_set(queue, key, &when, 1, key, strlen(key), soon()) < 0) await_store();
        put_line("set", key, strlen(key));
    }
}

static void be_reminded(void)
{
    weft_msg *m;
    struct weft_queue_job job;
    while (weft_queue_subscribe(queue, NULL, soon()) < 0) await_store();
    while (weft_recv_tag(&m, WEFT_JOB, WEFT_FOREVER) == WEFT_OK) {
        int rc = weft_queue_read(m, &job);
        if (rc < 0) weft_fail(rc, "no job");
        put_line("gets", job.reminder, strlen(job.reminder));
        while ((rc = weft_queue_done(&job, soon())) < 0 && rc != WEFT_ECLOSED) await_store();
        if (rc == WEFT_OK) put_line("did", job.reminder, strlen(job.reminder));
        weft_msg_free(m);
    }
}

/* One job in each of so many queues. */
static void spread_jobs(int count)
{
    await_store();
    for (int i = 0; i < count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s.%03d", queue, i);
        if (weft_queue_put(name, 1, "x", 1, NULL, NULL, soon()) < 0) weft_exit(8);
    }
    put_line("spread", "", 0);
}

static void worker(const void *arg, size_t size)
{
    weft_msg *m;
    struct weft_queue_job job;
    (void)arg, (void)size;
    for (;;) {
        int rc = weft_queue_take(queue, &m, &job, WEFT_FOREVER);
        if (rc < 0) {
            await_store();
            continue;
        }
        put_line("takes", job.data, job.size);
        while ((rc = weft_queue_done(&job, soon())) < 0 && rc != WEFT_ECLOSED) await_store();
        if (rc == WEFT_OK) put_line("did", job.data, job.size);
        weft_msg_free(m);
    }
}

static void hold(void)
{
    weft_msg *m;
    struct weft_queue_job job;
    await_store();
    int rc = weft_queue_take(queue, &m, &job, WEFT_FOREVER);
    if (rc == WEFT_OK) rc = weft_register_global("holder");
    if (rc < 0 && rc != WEFT_EEXIST) weft_fail(rc, "%s", weft_strerror(rc)); /* there may be two holders */
    put_line("holds", job.data, job.size);
}

static void watch(void)
{
    weft_pid holder;
    weft_msg *m;
    struct weft_down down;
    if (weft_await_name("holder", &holder, WEFT_FOREVER) < 0 || weft_monitor(holder, NULL) < 0) return;
    put_line("watches", "", 0);
    if (weft_recv(&m, WEFT_FOREVER) < 0 || weft_down_read(m, &down) < 0) return;
    put_line("ended:", down.reason == WEFT_EXIT_NODE_LOST ? "lost" : "known",
             down.reason == WEFT_EXIT_NODE_LOST ? 4 : 5);
    weft_msg_free(m);
}

enum { WAITS = 1 }; /* what a taker says to its parent, just before it asks */

static void take_one(const void *arg, size_t size)
{
    weft_pid parent;
    weft_msg *m;
    struct weft_queue_job job;
    (void)size;
    memcpy(&parent, arg, sizeof parent);
    weft_ignore(weft_send(parent, WAITS, NULL, 0));
    weft_ignore(weft_queue_take(queue, &m, &job, WEFT_FOREVER));
}

/* When the store answers, it has done all that it was asked and told before: the node has one worker. */
static void settle(void)
{
    struct weft_queue_count count;
    if (weft_queue_counts(NULL, &count, 1, soon()) < 0) weft_exit(1);
}

static void end_actor(weft_pid pid)
{
    weft_wait on = weft_on_end(pid);
    if (weft_kill(pid) < 0 || weft_wait_any(&on, 1, soon()) < 0) weft_exit(2);
}

/* The node ends with its last actor. */
static void end_store(void)
{
    weft_pid store;
    if (weft_whereis(WEFT_STORE_NAME, &store) == 0) weft_ignore(weft_stop(store));
}

static void takers(int count)
{
    weft_pid self = weft_self(), *pid = calloc((size_t)count + 1, sizeof *pid);
    for (int i = 0; i < count; i++)
        if (pid == NULL || weft_spawn(&pid[i], take_one, &self, sizeof self, NULL) < 0) weft_exit(3);
    for (int i = 0; i < count; i++) {
        weft_msg *m;
        if (weft_recv_tag(&m, WAITS, soon()) < 0) weft_exit(4);
        weft_msg_free(m);
    }
    settle();
    for (int i = count; i > 0; i--) end_actor(pid[i - 1]);
    settle();
    free(pid);
}

/* A reader that has told of a record asks for the next one at once. */
static void readers(const char *topic, int count)
{
    weft_stored_subscription *s = calloc((size_t)count + 1, sizeof *s);
    if (s == NULL || weft_publish_stored(topic, 1, "x", 1, NULL, soon()) < 0) weft_exit(5);
    for (int i = 0; i < count; i++) {
        weft_msg *m;
        if (weft_subscribe_from(topic, WEFT_FROM_START, &s[i], soon()) < 0) weft_exit(6);
        if (weft_recv_tag(&m, WEFT_STORED, soon()) < 0) weft_exit(7);
        weft_msg_free(m);
    }
    settle();
    for (int i = 0; i < count; i++) end_actor(s[i].reader);
    settle();
    free(s);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    put_line("ready", "", 0);
    const char *what = args->argc > 1 ? args->argv[1] : "idle";
    if (args->argc > 2) queue = args->argv[2];
    int count = args->argc > 3 ? atoi(args->argv[3]) : 1;
    if (strcmp(what, "put") == 0) put_jobs(args->argc > 4 ? atoi(args->argv[4]) : 0, count);
    if (strcmp(what, "spread") == 0) spread_jobs(count);
    if (strcmp(what, "remind") == 0) set_reminders(count);
    if (strcmp(what, "reminded") == 0) be_reminded();
    if (strcmp(what, "hold") == 0) hold();
    if (strcmp(what, "watch") == 0) watch();
    if (strcmp(what, "takers") == 0) takers(count);
    if (strcmp(what, "readers") == 0) readers(queue, count);
    if (strcmp(what, "takers") == 0 || strcmp(what, "readers") == 0) {
        end_store();
        return;
    }
    for (int i = 0; i < 4 && strcmp(what, "work") == 0; i++)
        weft_ignore(weft_spawn(NULL, worker, NULL, 0, &(weft_spawn_options){.worker = WEFT_SPREAD}));
    (void)weft_sleep(WEFT_FOREVER);
}

WEFT_MODULE(first)
