/* transport/store/client/job_subscription.c -- weft_queue_subscribe of weft/queue.h: an actor that takes jobs for
 * another one.
 *
 * The taker sends a job to its subscriber as a request, to which nobody replies: when the subscriber frees the
 * request the taker goes on. The lease of the job is the taker's, so the store gives it back when the taker ends,
 * which ends with the subscriber. */
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "shared_record.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_topic.h"

struct taker {
    weft_pid subscriber;
    char queue[WF_STORE_TOPIC_MAX + 1];
};

/* Brings one job, and returns when its message was freed. Errors: the subscriber has ended, or the taker is
 * stopped. */
static int bring(const struct taker *t, const struct weft_queue_job *job)
{
    const struct store_job is = {.queue = weft_cstr(job->queue),
                                 .id = job->id,
                                 .lease = job->lease,
                                 .time = job->time,
                                 .attempts = job->attempts,
                                 .tag = job->tag,
                                 .body = weft_str(job->data, job->size),
                                 .key = weft_cstr(job->reminder),
                                 .at = job->at,
                                 .period = job->period};
    for (;;) {
        weft_msg *answer = NULL, *m = wf_store_message(WEFT_JOB, store_job_type(), &is);
        int rc = m == NULL
                     ? WEFT_ENOMEM
                     : weft_call(t->subscriber, WEFT_JOB, weft_msg_body(m), weft_size(m), &answer, WEFT_FOREVER);
        weft_msg_free(m);
        weft_msg_free(answer);
        if (rc == WEFT_OK || rc == WEFT_ENOREPLY) return WEFT_OK;
        if (rc != WEFT_EFULL && rc != WEFT_ENOMEM) return rc;
        rc = weft_sleep(weft_after(WEFT_MS(20))); /* the policy of its mailbox does not let senders wait */
        if (rc < 0) return rc;
    }
}

static void take_jobs(const void *arg, size_t size)
{
    struct taker t;
    (void)size;
    memcpy(&t, arg, sizeof t);
    for (int rc = WEFT_OK; rc >= 0;) {
        weft_msg *m;
        struct weft_queue_job job;
        weft_pid asked = wf_store_pid();
        rc = weft_queue_take(t.queue, &m, &job, WEFT_FOREVER);
        if (rc == WEFT_ECANCELED) return;
        if (rc < 0) {
            rc = wf_store_await(asked);
            continue;
        }
        rc = bring(&t, &job);
        weft_msg_free(m);
    }
}

/* Whether the store takes jobs of this queue: no job has the id 0. */
static int try_queue(const char *queue, int64_t deadline)
{
    struct weft_queue_job none = {.id = 0};
    memcpy(none.queue, queue, strlen(queue) + 1);
    int rc = weft_queue_extend(&none, 0, deadline);
    return rc == WEFT_ECLOSED ? WEFT_OK : rc;
}

static void end_taker(void *arg)
{
    weft_pid *pid = arg;
    (void)weft_kill(*pid);
    free(pid);
}

int weft_queue_subscribe(const char *queue, weft_queue_subscription *out, int64_t deadline)
{
    struct taker t = {.subscriber = weft_self()};
    weft_pid taker;
    if (!wf_store_topic_ok(queue) || wf_shared_is(queue)) return WEFT_EINVAL;
    memcpy(t.queue, queue, strlen(queue) + 1);
    int rc = try_queue(queue, deadline);
    if (rc == WEFT_OK)
        rc = weft_spawn(&taker, take_jobs, &t, sizeof t, &(weft_spawn_options){.kind = "job subscription"});
    if (rc != WEFT_OK) return rc;
    weft_pid *pid = malloc(sizeof *pid); /* after the spawn, during which the caller may be killed */
    if (pid == NULL) {
        (void)weft_kill(taker);
        return WEFT_ENOMEM;
    }
    *pid = taker;
    if (out != NULL) out->taker = taker;
    rc = weft_defer(end_taker, pid);
    if (rc < 0) end_taker(pid);
    return rc;
}

int weft_queue_unsubscribe(weft_queue_subscription s)
{
    int rc = weft_kill(s.taker);
    return rc == WEFT_ENOACTOR ? WEFT_ECLOSED : rc;
}

int weft_queue_read(const weft_msg *m, struct weft_queue_job *out)
{
    struct store_job in;
    if (m == NULL || out == NULL) return WEFT_EFORMAT;
    *out = (struct weft_queue_job){.id = 0};
    if (weft_tag(m) != WEFT_JOB) return WEFT_EFORMAT;
    if (weft_typed_read(store_job_type(), weft_data(m), weft_size(m), &in, NULL) < 0) return WEFT_EFORMAT;
    if (in.tag > UINT32_MAX || in.attempts > UINT32_MAX || !weft_text_copy(in.queue, out->queue, sizeof out->queue) ||
        !weft_text_copy(in.key, out->reminder, sizeof out->reminder))
        return WEFT_EFORMAT;
    out->id = in.id;
    out->lease = in.lease;
    out->time = in.time;
    out->attempts = (uint32_t)in.attempts;
    out->tag = (uint32_t)in.tag;
    out->data = in.body.data;
    out->size = in.body.size;
    out->at = in.at;
    out->period = in.period;
    return WEFT_OK;
}
