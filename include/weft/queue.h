/* weft/queue.h -- work queues: jobs that are on disk until one worker has done them.
 *
 * This is a part of libweft-store: link with `pkg-config --libs weft-store`. weft.h does not include this header.
 * docs/store.md has examples, and examples/jobs.c is a program.
 *
 * The node that runs the store (weft/store.h) has the queues: weft_store_options.queues, or `weft run --store
 * sqlite:FILE --queues 'mail.>:lease=30:attempts=5'`. Actors on any node put jobs and take them.
 *
 *     rc = weft_queue_put("mail.out", SEND, text, size, NULL, NULL, weft_after(WEFT_SEC(5)));
 *     ... rc == 0: the job is on disk
 *
 *     weft_msg *m;
 *     struct weft_queue_job job;
 *     while (weft_queue_take("mail.out", &m, &job, WEFT_FOREVER) == 0) {
 *         bool sent = send_mail(job.data, job.size);
 *         rc = sent ? weft_queue_done(&job, by) : weft_queue_return(&job, WEFT_QUEUE_BACKOFF, by);
 *         weft_msg_free(m);
 *     }
 *
 * A job is given to one actor at a time, with a lease. The lease ends when the actor calls weft_queue_done or
 * weft_queue_return, when the actor ends, or when its time is over; after the last two another actor gets the job. If
 * the actor's node is lost, the lease ends by its time only, because the actor may still work. A store that is opened
 * again monitors the actors that have jobs.
 *
 * So each job is done at least once. It is done twice if a worker ends between its work and the return of
 * weft_queue_done, or works for longer than its lease. A job that was taken as often as the queue's `attempts` say and
 * was not done is dead: it stays in the store and is not given, until weft_queue_retry. */
#ifndef WEFT_QUEUE_H
#define WEFT_QUEUE_H

#include <weft/api.h>
#include <weft/message.h>
#include <weft/time.h>
WEFT_BEGIN

enum {
    WEFT_QUEUE_JOB_MAX = 1024 * 1024,  /* bytes of one job */
    WEFT_QUEUE_JOBS_MAX = 1000 * 1000, /* jobs of one queue, with the dead ones */
    WEFT_QUEUE_QUEUES_MAX = 10 * 1000, /* queues that have jobs, of one store */
    WEFT_QUEUE_TAKERS_MAX = 10 * 1000, /* actors that wait for a job of one queue */
    WEFT_QUEUE_LEASES_MAX = 100 *
                            1000, /* actors that wait for a job, or have one, of one store; a fifth on one node */
    WEFT_QUEUE_KEY_MAX = 255,     /* bytes of a key */
    WEFT_QUEUE_KEYS_MAX = 1000 * 1000, /* keys that one store remembers */
};
/* For how long a key is remembered: ns. */
#define WEFT_QUEUE_KEY_AGE WEFT_SEC(86400)

/* ---- Putting --------------------------------------------------------------------------------------------------- */

typedef struct {
    /* A text that names this job; NULL: none. If a job was put into this queue with the same key in the last 24 hours
     * (WEFT_QUEUE_KEY_AGE), no second one is put, also if the first is done or dead: the call succeeds, with the
     * first one's id. So a put whose result is not known can be repeated. */
    const char *key;
    int64_t delay; /* ns, from 0 on: the job can be taken after that time */
} weft_queue_put_options;

/* [A, W] Puts a job with a copy of `size` bytes into the queue and waits until it is on disk. Queues are named as topics
 * are (weft/topic.h); a queue needs no other beginning. `tag` is below WEFT_TAG_SYSTEM. `options` may be NULL. `out`
 * (may be NULL) receives the job's id: 1, 2, 3, ... within the store.
 *
 * With these errors nothing was put:
 *     WEFT_EINVAL, WEFT_ETOOBIG (more than WEFT_QUEUE_JOB_MAX)
 *     WEFT_ENOACTOR   no store is known in the cluster
 *     WEFT_EACCESS    the store does not take this queue
 *     WEFT_EFULL      the queue has as many jobs as it may have, or the store as many queues or keys; or those of
 *                     weft_send
 *     WEFT_ENOTSUP    the store's node has an older weft, without queues
 *     WEFT_ENOSPC, WEFT_EFORMAT, WEFT_ENOMEM
 * With these it is not known whether it was put. Repeat it with the same key:
 *     WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENONODE, WEFT_ENOREPLY, WEFT_ESYSTEM (see weft_publish_stored) */
WEFT_API WEFT_CHECKED int weft_queue_put(const char *queue, uint32_t tag, const void *data, size_t size,
                                         const weft_queue_put_options *options, uint64_t *out, int64_t deadline);

/* ---- Working --------------------------------------------------------------------------------------------------- */

/* A job that was taken. It may be copied, and given to another actor, but its lease is that of the actor that took
 * it. */
struct weft_queue_job {
    char queue[256];
    uint64_t id, lease; /* lease: weft's own */
    int64_t time;       /* when it was put: ns since 1970, UTC, by the clock of the store's node */
    uint32_t attempts;  /* how often it was taken, with this time: 1, 2, ... */
    uint32_t tag;
    const void *data; /* valid as long as the message; not aligned */
    size_t size;
};

/* [A, W] Takes the job of that queue that can be taken for the longest time, and waits until there is one. The caller
 * owns `*m` and frees it; `*out` points into it. The lease begins; it lasts for as long as the store
 * says (60 seconds, if it does not say). Of several actors that wait, the first one gets the first job.
 * Errors, after which the caller has no job: WEFT_EINVAL; WEFT_ETIMEDOUT (there was none), WEFT_ECANCELED;
 * WEFT_ENOACTOR (no store is known), WEFT_ENONODE, WEFT_ENOREPLY (the store has ended, or its node is lost: wait with
 * weft_await_name); WEFT_EACCESS (the store does not take this queue); WEFT_EFULL (too many actors wait); WEFT_ENOTSUP,
 * WEFT_ENOSPC, WEFT_EFORMAT, WEFT_ENOMEM, WEFT_ESYSTEM. If the store had a job for the caller already, it gives it to
 * another actor, at the latest when the lease ends. */
WEFT_API WEFT_CHECKED int weft_queue_take(const char *queue, weft_msg **m, struct weft_queue_job *out,
                                          int64_t deadline);

/* [A, W] The job is done: it is removed from the store. When this returns 0 it is never given again.
 * Errors: WEFT_ECLOSED: the lease is over: another actor has the job or has done it, or it was given back or is dead.
 * After an error that leaves open what has happened (see weft_queue_put) the call can be repeated; WEFT_ECLOSED then
 * also means that the first call has succeeded. The other errors are those of weft_queue_put, without WEFT_EFULL of
 * the queue; the job keeps its lease. */
WEFT_API WEFT_CHECKED int weft_queue_done(const struct weft_queue_job *job, int64_t deadline);

/* With this as its delay, a job that is given back waits for a second after the first attempt, two after the second,
 * then 4, 8, ..., and at most an hour. */
#define WEFT_QUEUE_BACKOFF INT64_C(-1)
/* [A, W] Gives the job back: it can be taken again after `delay` ns (0: at once; WEFT_QUEUE_BACKOFF), or is dead if
 * this was its last attempt. Errors: those of weft_queue_done; WEFT_EINVAL (another negative delay). */
WEFT_API WEFT_CHECKED int weft_queue_return(const struct weft_queue_job *job, int64_t delay, int64_t deadline);

/* [A, W] The lease lasts for `time` ns from now on; 0: for the time of the queue. Errors: those of weft_queue_done;
 * WEFT_EINVAL (a negative time). */
WEFT_API WEFT_CHECKED int weft_queue_extend(const struct weft_queue_job *job, int64_t time, int64_t deadline);

/* ---- Looking after queues -------------------------------------------------------------------------------------- */

/* How many jobs a queue has. */
struct weft_queue_count {
    char queue[256];
    uint64_t ready;   /* can be taken now; also those whose lease has ended by time */
    uint64_t delayed; /* can be taken later */
    uint64_t leased;  /* an actor has them */
    uint64_t dead;
};
/* [A, W] Asks the store for the queues that have jobs, those behind the name `after` (NULL: the first ones), in the
 * order of their names. Writes at most `max` to `out`. Returns their number, which is 0 after the last.
 * Errors: those of weft_subscribe_from; WEFT_ENOTSUP. */
WEFT_API WEFT_CHECKED int weft_queue_counts(const char *after, struct weft_queue_count *out, size_t max,
                                            int64_t deadline);

/* [A, W] A dead job can be taken again, as if it had never been taken; with `id` 0, up to a thousand dead jobs of the
 * queue. Returns the number of revived jobs. Errors: WEFT_ENOTFOUND (no such dead job); those of weft_queue_done. */
WEFT_API WEFT_CHECKED int weft_queue_retry(const char *queue, uint64_t id, int64_t deadline);

WEFT_END
#endif
