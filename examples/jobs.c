/* jobs.c -- a work queue: jobs that are on disk until a worker has done them.
 *
 *     $ weft run jobs.c          or: cc jobs.c $(pkg-config --cflags --libs weft-store) && ./a.out
 *     a worker takes 'resize cat.png' and dies of it
 *     resize cat.png: done in attempt 2
 *     resize dog.png: done in attempt 1
 *     mail the report: given back, later again
 *     mail the report: done in attempt 2
 *     no job was lost
 *
 * The jobs are in the file jobs.db, in the folder where it runs. What is left there from a run that was ended too early
 * is done in the next one. */
#include <stdio.h>
#include <string.h>
#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

enum { DO = 1, DONE = 2 };

static int64_t soon(void)
{
    return weft_after(WEFT_SEC(10));
}

/* Takes a job and ends: the store gives the job to the next worker at once. */
static void bad_worker(const void *arg, size_t size)
{
    weft_msg *m;
    struct weft_queue_job job;
    (void)arg, (void)size;
    if (weft_queue_take("work.images", &m, &job, soon()) < 0) return;
    printf("a worker takes '%.*s' and dies of it\n", (int)job.size, (const char *)job.data);
    weft_msg_free(m);
    weft_fail(WEFT_EXIT_FAILED, "a bad image");
}

static void worker(const void *arg, size_t size)
{
    weft_pid boss = *(const weft_pid *)arg;
    weft_msg *m;
    struct weft_queue_job job;
    (void)size;
    while (weft_queue_take("work.images", &m, &job, WEFT_FOREVER) == 0) {
        bool is_mail = job.size >= 4 && memcmp(job.data, "mail", 4) == 0;
        if (is_mail && job.attempts == 1) { /* the mail server is down */
            printf("%.*s: given back, later again\n", (int)job.size, (const char *)job.data);
            if (weft_queue_return(&job, WEFT_MS(100), soon()) < 0) return;
        } else {
            printf("%.*s: done in attempt %u\n", (int)job.size, (const char *)job.data, (unsigned)job.attempts);
            if (weft_queue_done(&job, soon()) < 0) return; /* when it returns 0 the job is gone from the disk */
            if (weft_send(boss, DONE, NULL, 0) < 0) return;
        }
        weft_msg_free(m);
    }
}

static void put(const char *text)
{
    int rc = weft_queue_put("work.images", DO, text, strlen(text), NULL, NULL, soon());
    if (rc < 0) weft_fail(rc, "%s: %s", text, weft_strerror(rc));
}

static void first(const void *arg, size_t size)
{
    const struct weft_stored_queues queues = {.pattern = "work.*", .lease = WEFT_SEC(30), .attempts = 5};
    const weft_store_options options = {.url = "sqlite:jobs.db", .queues = &queues, .queue_count = 1};
    weft_pid self = weft_self(), store, bad, good;
    (void)arg, (void)size;
    int rc = weft_store_open(&options, &store, soon());
    if (rc < 0) weft_fail(rc, "jobs.db: %s", weft_strerror(rc));
    put("resize cat.png");
    if (weft_spawn(&bad, bad_worker, NULL, 0, NULL) < 0) return;
    weft_wait end = weft_on_end(bad);
    if (weft_wait_any(&end, 1, soon()) < 0) return;
    if (weft_spawn(&good, worker, &self, sizeof self, NULL) < 0) return;
    static const char *const more[] = {"resize dog.png", "mail the report"};
    for (int i = 0; i < 3; i++) {
        weft_msg *m;
        if (weft_recv_tag(&m, DONE, soon()) < 0) return;
        weft_msg_free(m);
        if (i < 2) put(more[i]);
    }
    printf("no job was lost\n");
    weft_stop(good);
    weft_stop(store);
}

WEFT_MODULE(first) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
