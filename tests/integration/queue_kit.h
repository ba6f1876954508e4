/* tests/integration/queue_kit.h -- what actors of the tests of queues and reminders do. */
#ifndef QUEUE_KIT_H
#define QUEUE_KIT_H

#include <weft/queue.h>
#include <weft/store.h>

#include "store_kit.h"

enum { DO = 5 };

__attribute__((unused)) static weft_pid open_store(void)
{
    weft_pid pid;
    const struct weft_stored_queues queues[] = {{.pattern = "few.>", .jobs = 2, .attempts = 2},
                                                {.pattern = "short.>", .lease = WEFT_MS(50)},
                                                {.pattern = "jobs.>", .lease = WEFT_SEC(600), .attempts = 3}};
    int rc = weft_store_open(&(weft_store_options){.url = url[0], .queues = queues, .queue_count = 3}, &pid,
                             patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    return pid;
}

__attribute__((unused)) static uint64_t put(const char *queue, const char *text)
{
    uint64_t id = 0;
    int rc = weft_queue_put(queue, DO, text, strlen(text), NULL, &id, patience());
    ck_assert_msg(rc == WEFT_OK, "%s", weft_strerror(rc));
    ck_assert_uint_ne(id, 0);
    return id;
}

__attribute__((unused)) static struct weft_queue_job take(const char *queue, const char *text, uint32_t attempts)
{
    weft_msg *m;
    struct weft_queue_job job;
    int rc = weft_queue_take(queue, &m, &job, patience());
    ck_assert_msg(rc == WEFT_OK, "%s: %s", text, weft_strerror(rc));
    ck_assert_msg(job.size == strlen(text) && memcmp(job.data, text, job.size) == 0, "%.*s, not %s", (int)job.size,
                  (const char *)job.data, text);
    ck_assert_uint_eq(job.tag, DO);
    ck_assert_uint_eq(job.attempts, attempts);
    ck_assert_str_eq(job.queue, queue);
    ck_assert_int_gt(job.time, INT64_C(1000000000) * 1000000000);
    weft_msg_free(m);
    job.data = NULL;
    return job;
}

__attribute__((unused)) static void take_none(const char *queue)
{
    weft_msg *m;
    struct weft_queue_job job;
    ck_assert_int_eq(weft_queue_take(queue, &m, &job, weft_after(WEFT_MS(20))), WEFT_ETIMEDOUT);
}

__attribute__((unused)) static void done(struct weft_queue_job job)
{
    ck_assert_int_eq(weft_queue_done(&job, patience()), WEFT_OK);
}

__attribute__((unused)) static void expect_counts(const char *queue, int ready, int delayed, int leased, int dead)
{
    struct weft_queue_count c;
    ck_assert_int_eq(weft_queue_counts(NULL, &c, 1, patience()), 1);
    ck_assert_str_eq(c.queue, queue);
    ck_assert_msg(c.ready == (uint64_t)ready && c.delayed == (uint64_t)delayed && c.leased == (uint64_t)leased &&
                      c.dead == (uint64_t)dead,
                  "%d ready, %d delayed, %d leased, %d dead", (int)c.ready, (int)c.delayed, (int)c.leased,
                  (int)c.dead);
}

#define RUN(node, body)                 \
    do {                                \
        run_actor(node, body, NULL, 0); \
        HEAR("done");                   \
    } while (0)

#endif
