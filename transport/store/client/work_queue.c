/* transport/store/client/work_queue.c -- weft/queue.h: the calls that put jobs, take them, and report their results. */
#include <assert.h>
#include <string.h>

#include <weft.h>
#include <weft/queue.h>
#include <weft/store.h>

#include "engine.h"
#include "store_client.h"
#include "store_messages.h"
#include "stored_topic.h"

static_assert((int)WEFT_QUEUE_JOB_MAX == (int)WF_STORE_RECORD_MAX, "bytes of a job");
static_assert((int)WEFT_QUEUE_JOBS_MAX == (int)WF_STORE_JOBS_MAX, "jobs of a queue");
static_assert((int)WEFT_QUEUE_KEY_MAX == (int)WF_STORE_KEY_MAX, "bytes of a key");
static_assert((int)WEFT_QUEUE_QUEUES_MAX == (int)WF_STORE_QUEUES_MAX, "queues of a store");
static_assert((int)WEFT_QUEUE_KEYS_MAX == (int)WF_STORE_JOB_KEYS_MAX, "keys of a store");
static_assert((int)WEFT_REMINDERS_MAX == (int)WF_STORE_REMINDERS_MAX, "reminders of a store");

/* Asks for a change. After 0 `*answer` is the caller's. */
static int ask_change(const struct store_change *ask, struct store_changed *got, weft_msg **answer, int64_t deadline)
{
    uint32_t request = ask->kind == WF_JOB_SET || ask->kind == WF_JOB_CANCEL ? WF_STORE_REMIND
                       : ask->kind == WF_JOB_DROP                            ? WF_STORE_DROP
                                                                             : WF_STORE_CHANGE;
    int rc = wf_store_ask(WEFT_STORE_NAME, request, store_change_type(), ask, store_changed_type(), got, answer,
                          deadline);
    if (rc < 0) return rc;
    if (got->error == 0) return WEFT_OK;
    weft_msg_free(*answer);
    *answer = NULL;
    return wf_store_error(got->error);
}

int weft_queue_put(const char *queue, uint32_t tag, const void *data, size_t size,
                   const weft_queue_put_options *options, uint64_t *out, int64_t deadline)
{
    const char *key = options == NULL ? NULL : options->key;
    int64_t delay = options == NULL ? 0 : options->delay;
    if (!wf_store_topic_ok(queue) || tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0) || delay < 0)
        return WEFT_EINVAL;
    if (key != NULL && (key[0] == '\0' || strlen(key) > WEFT_QUEUE_KEY_MAX)) return WEFT_EINVAL;
    if (size > WEFT_QUEUE_JOB_MAX) return WEFT_ETOOBIG;
    struct store_change ask = {.kind = WF_JOB_PUT,
                               .queue = weft_cstr(queue),
                               .delay = delay,
                               .tag = tag,
                               .body = weft_str(data, size),
                               .key = weft_cstr(key)};
    struct store_changed got;
    weft_msg *answer;
    int rc = ask_change(&ask, &got, &answer, deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    if (out != NULL) *out = got.id;
    return WEFT_OK;
}

/* The caller has stopped waiting: tells the store to give back the job that it may have given to the caller. */
static void give_up(uint64_t ticket)
{
    struct store_change untake = {.kind = WF_JOB_UNTAKE, .ticket = ticket};
    weft_msg *m = wf_store_message(WF_STORE_UNTAKE, store_change_type(), &untake);
    if (m == NULL) return;
    weft_ignore(weft_send_name(WEFT_STORE_NAME, WF_STORE_UNTAKE, weft_msg_body(m), weft_size(m)));
    weft_msg_free(m);
}

int weft_queue_take(const char *queue, weft_msg **m, struct weft_queue_job *out, int64_t deadline)
{
    if (!wf_store_topic_ok(queue) || m == NULL || out == NULL) return WEFT_EINVAL;
    struct store_change ask = {.kind = WF_JOB_TAKE, .queue = weft_cstr(queue), .ticket = wf_store_random()};
    struct store_changed got;
    *m = NULL;
    int rc = ask_change(&ask, &got, m, deadline);
    if (rc == WEFT_ETIMEDOUT || rc == WEFT_ECANCELED) give_up(ask.ticket);
    if (rc < 0) return rc;
    *out = (struct weft_queue_job){.id = got.id,
                                   .lease = got.lease,
                                   .time = got.time,
                                   .attempts = (uint32_t)got.attempts,
                                   .tag = (uint32_t)got.tag,
                                   .data = got.body.data,
                                   .size = got.body.size,
                                   .at = got.at,
                                   .period = got.period};
    memcpy(out->queue, queue, strlen(queue) + 1);
    if (weft_text_copy(got.key, out->reminder, sizeof out->reminder)) return WEFT_OK;
    weft_msg_free(*m);
    *m = NULL;
    return WEFT_EFORMAT;
}

static int change_taken(const struct weft_queue_job *job, enum wf_store_change_kind kind, int64_t delay,
                        int64_t deadline)
{
    if (job == NULL || !wf_store_topic_ok(job->queue) || delay < 0) return WEFT_EINVAL;
    struct store_change ask = {
        .kind = kind, .queue = weft_cstr(job->queue), .id = job->id, .lease = job->lease, .delay = delay};
    struct store_changed got;
    weft_msg *answer;
    int rc = ask_change(&ask, &got, &answer, deadline);
    if (rc == WEFT_OK) weft_msg_free(answer);
    return rc;
}

int weft_queue_done(const struct weft_queue_job *job, int64_t deadline)
{
    return change_taken(job, WF_JOB_DONE, 0, deadline);
}

int weft_queue_return(const struct weft_queue_job *job, int64_t delay, int64_t deadline)
{
    if (job != NULL && delay == WEFT_QUEUE_BACKOFF) delay = wf_backoff(job->attempts);
    return change_taken(job, WF_JOB_RETURN, delay, deadline);
}

int weft_queue_extend(const struct weft_queue_job *job, int64_t time, int64_t deadline)
{
    return change_taken(job, WF_JOB_EXTEND, time, deadline);
}

static int change_dead(const char *queue, enum wf_store_change_kind kind, uint64_t id, int64_t deadline)
{
    if (!wf_store_topic_ok(queue)) return WEFT_EINVAL;
    struct store_change ask = {.kind = kind, .queue = weft_cstr(queue), .id = id};
    struct store_changed got;
    weft_msg *answer;
    int rc = ask_change(&ask, &got, &answer, deadline);
    if (rc < 0) return rc;
    weft_msg_free(answer);
    return (int)got.count;
}

int weft_queue_retry(const char *queue, uint64_t id, int64_t deadline)
{
    return change_dead(queue, WF_JOB_REVIVE, id, deadline);
}

int weft_queue_drop(const char *queue, uint64_t id, int64_t deadline)
{
    return change_dead(queue, WF_JOB_DROP, id, deadline);
}

/* ---- Reminders ------------------------------------------------------------------------------------------------- */

static int change_reminder(const struct store_change *ask, const char *key, int64_t deadline)
{
    struct store_changed got;
    weft_msg *answer;
    if (!wf_store_key_ok(key)) return WEFT_EINVAL;
    int rc = ask_change(ask, &got, &answer, deadline);
    if (rc == WEFT_OK) weft_msg_free(answer);
    return rc;
}

int weft_reminder_set(const char *queue, const char *key, const struct weft_reminder_when *when, uint32_t tag,
                      const void *data, size_t size, int64_t deadline)
{
    if (!wf_store_topic_ok(queue) || when == NULL || when->at < 0 || when->period < 0) return WEFT_EINVAL;
    if (tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_QUEUE_JOB_MAX) return WEFT_ETOOBIG;
    const struct store_change ask = {.kind = WF_JOB_SET,
                                     .queue = weft_cstr(queue),
                                     .tag = tag,
                                     .body = weft_str(data, size),
                                     .key = weft_cstr(key),
                                     .at = when->at,
                                     .period = when->period};
    return change_reminder(&ask, key, deadline);
}

int weft_reminder_cancel(const char *queue, const char *key, int64_t deadline)
{
    if (!wf_store_topic_ok(queue)) return WEFT_EINVAL;
    const struct store_change ask = {.kind = WF_JOB_CANCEL, .queue = weft_cstr(queue), .key = weft_cstr(key)};
    return change_reminder(&ask, key, deadline);
}

static bool read_reminder(const struct store_reminder *r, struct weft_reminder *out)
{
    *out = (struct weft_reminder){
        .at = r->at, .period = r->period, .attempts = (uint32_t)r->attempts, .is_dead = r->dead};
    return weft_text_copy(r->queue, out->queue, sizeof out->queue) &&
           weft_text_copy(r->key, out->key, sizeof out->key);
}

int weft_reminders(const struct weft_reminder *after, struct weft_reminder *out, size_t max, int64_t deadline)
{
    struct store_reminders_from ask = {.count = max};
    struct store_reminders got;
    weft_msg *answer;
    if (out == NULL && max > 0) return WEFT_EINVAL;
    if (after != NULL) ask.queue = weft_cstr(after->queue);
    if (after != NULL) ask.key = weft_cstr(after->key);
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_REMINDERS, store_reminders_from_type(), &ask,
                          store_reminders_type(), &got, &answer, deadline);
    if (rc < 0) return rc;
    int count = 0;
    for (struct store_reminder r; (size_t)count < max && got.error == 0 && store_reminder_next(&got.reminders, &r);
         count++)
        if (!read_reminder(&r, &out[count])) got.error = WEFT_EFORMAT;
    weft_msg_free(answer);
    return got.error != 0 ? wf_store_error(got.error) : count;
}

/* ---- Looking after queues -------------------------------------------------------------------------------------- */

int weft_queue_counts(const char *after, struct weft_queue_count *out, size_t max, int64_t deadline)
{
    struct store_list ask = {weft_cstr(after), max};
    struct store_queues got;
    weft_msg *answer;
    if (out == NULL && max > 0) return WEFT_EINVAL;
    int rc = wf_store_ask(WEFT_STORE_NAME, WF_STORE_QUEUES, store_list_type(), &ask, store_queues_type(), &got,
                          &answer, deadline);
    if (rc < 0) return rc;
    int count = 0;
    for (struct store_queue q; (size_t)count < max && got.error == 0 && store_queue_next(&got.queues, &q); count++) {
        struct weft_queue_count *to = &out[count];
        *to = (struct weft_queue_count){.ready = q.ready, .delayed = q.delayed, .leased = q.leased, .dead = q.dead};
        if (!weft_text_copy(q.name, to->queue, sizeof to->queue)) got.error = WEFT_EFORMAT;
    }
    weft_msg_free(answer);
    return got.error != 0 ? wf_store_error(got.error) : count;
}
