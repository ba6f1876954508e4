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
 * One actor at a time has a job, with a lease. The lease ends when the actor calls weft_queue_done or
 * weft_queue_return, when the actor ends, or when the time of the lease is over; in the last two cases another actor
 * gets the job. If the actor's node is lost, the lease ends by its time only, because the actor may still work. A
 * store that is opened again monitors the actors that have jobs.
 *
 * So each job is done at least once. It is done again if a worker ends between its work and the return of
 * weft_queue_done, or works for longer than its lease. A job that was taken `attempts` times (weft_stored_queues)
 * without being done is dead: it stays in the store, and no actor gets it until weft_queue_retry. */
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
    /* actors that wait for a job of one store, or have one; actors of one node may have a fifth of these places */
    WEFT_QUEUE_LEASES_MAX = 100 * 1000,
    WEFT_QUEUE_KEY_MAX = 255,          /* bytes of a key */
    WEFT_QUEUE_KEYS_MAX = 1000 * 1000, /* keys that one store remembers */
    WEFT_REMINDERS_MAX = 1000 * 1000,  /* reminders of one store */
};
/* For how long a key is remembered: ns. */
#define WEFT_QUEUE_KEY_AGE WEFT_SEC(86400)

/* ---- Putting --------------------------------------------------------------------------------------------------- */

typedef struct {
    /* A text that names this job; NULL: none. If a job was put into this queue with the same key in the last 24 hours
     * (WEFT_QUEUE_KEY_AGE), no second one is put, also if the first is done or dead: the call succeeds and returns
     * the id of the first one. So a put whose result is not known can be repeated. */
    const char *key;
    int64_t delay; /* ns, 0 or more: the job can be taken after this time */
} weft_queue_put_options;

/* [A, W] Puts a job with a copy of `size` bytes into the queue and waits until it is on disk. Queues are named as
 * topics are (weft/topic.h). The first job of a queue creates it. Queues whose names begin with "$shared." belong to
 * shared cursors (weft/store.h): no jobs are put into them or taken from them. `tag` is below WEFT_TAG_SYSTEM.
 * `options` may be NULL. `out` (may be NULL) receives the job's id: 1, 2, 3, ... within the store.
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

/* A job that was taken. The struct may be copied, and passed to another actor. The lease stays that of the actor that
 * took the job. */
struct weft_queue_job {
    char queue[256];
    uint64_t id, lease; /* lease: for weft only */
    int64_t time;       /* when it was put: ns since 1970, UTC, by the clock of the store's node */
    uint32_t attempts;  /* how often it was taken, this time included: 1, 2, ... */
    uint32_t tag;
    const void *data; /* valid as long as the message; not aligned */
    size_t size;
    char reminder[256]; /* the key of its reminder (see below); "": the job is no reminder */
    int64_t at, period; /* when a reminder was due this time, and its period; else 0 */
};

/* [A, W] Takes the job of that queue that has been ready for the longest time, and waits until there is one. The
 * caller owns `*m` and frees it; `*out` points into it. The lease begins, for the time that the queue's options give
 * (default: 60 seconds). The actor that has waited for the longest time gets the next job.
 * Errors, after which the caller has no job: WEFT_EINVAL; WEFT_ETIMEDOUT (there was none), WEFT_ECANCELED;
 * WEFT_ENOACTOR (no store is known), WEFT_ENONODE, WEFT_ENOREPLY (the store has ended, or its node is lost: wait with
 * weft_await_name); WEFT_EACCESS (the store does not take this queue); WEFT_EFULL (too many actors wait);
 * WEFT_ENOTSUP, WEFT_ENOSPC, WEFT_EFORMAT, WEFT_ENOMEM, WEFT_ESYSTEM. If the store had already chosen a job for the
 * caller, another actor gets that job, at the latest when the lease ends. */
WEFT_API WEFT_CHECKED int weft_queue_take(const char *queue, weft_msg **m, struct weft_queue_job *out,
                                          int64_t deadline);

/* [A, W] Reports that the job is done: the store removes it. When this returns 0, no actor gets the job again.
 * Errors: WEFT_ECLOSED: the lease is over: another actor has the job or has done it, or it was given back or is dead.
 * After an error that leaves the result open (see weft_queue_put) the call can be repeated; WEFT_ECLOSED then
 * also means that the first call has succeeded. The other errors are those of weft_queue_put, without WEFT_EFULL of
 * the queue; the job keeps its lease. */
WEFT_API WEFT_CHECKED int weft_queue_done(const struct weft_queue_job *job, int64_t deadline);

/* A delay for weft_queue_return: 1 second after the first attempt, 2 after the second, then 4, 8, ..., at most an
 * hour. */
#define WEFT_QUEUE_BACKOFF INT64_C(-1)
/* [A, W] Gives the job back: it can be taken again after `delay` ns (0: at once; WEFT_QUEUE_BACKOFF). If this was its
 * last attempt, the job is dead instead. Errors: those of weft_queue_done; WEFT_EINVAL (another negative delay). */
WEFT_API WEFT_CHECKED int weft_queue_return(const struct weft_queue_job *job, int64_t delay, int64_t deadline);

/* [A, W] Extends the lease: it lasts for `time` ns from now on; 0: for the time that the queue's options give.
 * Errors: those of weft_queue_done; WEFT_EINVAL (a negative time). */
WEFT_API WEFT_CHECKED int weft_queue_extend(const struct weft_queue_job *job, int64_t time, int64_t deadline);

/* ---- Jobs as messages ------------------------------------------------------------------------------------------ */

/* The tag of the messages that weft_queue_subscribe brings. */
#define WEFT_JOB UINT32_C(0xFFFFFE02)

typedef struct {
    weft_pid taker; /* weft's own */
} weft_queue_subscription;

/* [A, W] From now on the calling actor gets the jobs of that queue as messages with the tag WEFT_JOB, beside its
 * other messages; weft_queue_read reads them. They come one at a time: the next job comes when the actor has freed
 * the message of the last one. Call weft_queue_done or weft_queue_return before you free the message: otherwise the
 * job comes again, to this actor or to another one, when its lease has ended by time. The lease begins when the
 * message is sent.
 *
 * An actor of weft's own on this node takes the jobs. It ends with the caller; then another actor gets the caller's
 * job at once. While no store is reachable, weft's actor waits. `queue` is copied. `out` may be NULL.
 * Errors: WEFT_EINVAL, WEFT_EACCESS (the store does not take this queue), WEFT_ENOACTOR (no store is known),
 * WEFT_ENONODE, WEFT_ENOREPLY, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_EFULL, WEFT_ENOTSUP, WEFT_ENOMEM,
 * WEFT_ESYSTEM. */
WEFT_API WEFT_CHECKED int weft_queue_subscribe(const char *queue, weft_queue_subscription *out, int64_t deadline);
/* [A] Ends such a subscription. If the caller still has a job, another actor gets it. WEFT_ECLOSED: the subscription
 * has ended already. */
WEFT_API int weft_queue_unsubscribe(weft_queue_subscription s);
/* [T] Reads such a message into `*out`, which points into it. Returns 0, or WEFT_EFORMAT if `m` is another kind of
 * message. */
WEFT_API WEFT_CHECKED int weft_queue_read(const weft_msg *m, struct weft_queue_job *out);

/* ---- Reminders ------------------------------------------------------------------------------------------------- */

/* A reminder is a timer on disk. It outlives the actor that has set it, and that actor's node. It is a job of a queue,
 * has a key, and is due at a time of the wall clock. An actor that takes jobs of the queue gets it. Give each actor
 * that needs reminders a queue of its own:
 *
 *     struct weft_reminder_when monthly = {.at = first_of_june, .period = 30 * DAY};
 *     rc = weft_reminder_set("remind.ann", "interest", &monthly, INTEREST, data, size, by);
 *     ... and when the actor starts, here or on another node:
 *     rc = weft_queue_subscribe("remind.ann", NULL, by);
 *     ... for each WEFT_JOB message: weft_queue_read(m, &job), the work for job.reminder and job.tag, and
 *     rc = weft_queue_done(&job, by);
 *
 * A store can have WEFT_QUEUE_QUEUES_MAX queues and WEFT_REMINDERS_MAX reminders. If more actors than queues need
 * reminders, let them share a queue: its workers take the jobs, and call or start the actor that the key names.
 *
 * Each reminder is delivered at least once, at its time. If no actor takes the jobs of its queue at that time, it is
 * delivered as soon as one does. It is delivered again until weft_queue_done, or until it is dead because the attempts
 * of its queue are used up (weft_queue_retry). The clock of the store's node decides. If that clock is set, reminders
 * come earlier or later; the store reads the clock at least every ten seconds. */
struct weft_reminder_when {
    int64_t at; /* ns since 1970, UTC; if it has passed, the reminder is due at once */
    /* ns; 0: once. Otherwise weft_queue_done makes it due again at the first of the times at, at + period,
     * at + 2 * period, ... that is later than now. Times that have passed by then cause one delivery together. */
    int64_t period;
};
/* [A, W] Sets the reminder with that key of the queue, and returns when it is on disk. If the reminder exists, its time
 * and content are replaced; then weft_queue_done returns WEFT_ECLOSED to an actor that has it at this moment. So the
 * call can be repeated after any error. `key` has 1 to WEFT_QUEUE_KEY_MAX bytes. The keys of weft_queue_put are
 * independent of those of reminders. The arguments are copied. Errors: those of weft_queue_put; WEFT_EINVAL also: a
 * time before 1970, a negative period. WEFT_EFULL also: the store has WEFT_REMINDERS_MAX reminders. WEFT_EFORMAT also:
 * the reminder is damaged on disk: weft_reminder_cancel. */
WEFT_API WEFT_CHECKED int weft_reminder_set(const char *queue, const char *key, const struct weft_reminder_when *when,
                                            uint32_t tag, const void *data, size_t size, int64_t deadline);
/* [A, W] Removes the reminder. When this returns 0 it is not delivered any more; weft_queue_done returns WEFT_ECLOSED
 * to an actor that has it at this moment. Errors: WEFT_ENOTFOUND: there is none with that key; else those of
 * weft_queue_done. */
WEFT_API WEFT_CHECKED int weft_reminder_cancel(const char *queue, const char *key, int64_t deadline);

struct weft_reminder {
    char queue[256], key[256];
    int64_t at, period; /* at: when it is due, or was due if it has not been done since */
    uint32_t attempts;  /* how often it was delivered since it was due */
    bool is_dead;
};
/* [A, W] Asks the store for the reminders after `after` (NULL: the first ones), in the order of their queues, and
 * those of one queue in the order of their keys. Writes at most `max` to `out`, which the caller owns. Returns
 * their number, which is 0 after the last. Errors: those of weft_queue_counts. */
WEFT_API WEFT_CHECKED int weft_reminders(const struct weft_reminder *after, struct weft_reminder *out, size_t max,
                                         int64_t deadline);

/* ---- Looking after queues -------------------------------------------------------------------------------------- */

/* How many jobs a queue has. */
struct weft_queue_count {
    char queue[256];
    uint64_t ready;   /* can be taken now; also those whose lease has ended by time */
    uint64_t delayed; /* can be taken later */
    uint64_t leased;  /* an actor has them */
    uint64_t dead;
};
/* [A, W] Asks the store for the queues that have jobs, after the name `after` (NULL: from the first one on), in the
 * order of their names. Writes at most `max` to `out`. Returns their number, which is 0 after the last.
 * Errors: those of weft_subscribe_from; WEFT_ENOTSUP. */
WEFT_API WEFT_CHECKED int weft_queue_counts(const char *after, struct weft_queue_count *out, size_t max,
                                            int64_t deadline);

/* [A, W] Revives a dead job: it can be taken again, as if it had never been taken. With `id` 0, this revives up to a
 * thousand dead jobs of the queue. Returns the number of revived jobs. Errors: WEFT_ENOTFOUND (no such dead job); those
 * of weft_queue_done. */
WEFT_API WEFT_CHECKED int weft_queue_retry(const char *queue, uint64_t id, int64_t deadline);
/* [A, W] Removes a dead job, with its reminder if it has one. With `id` 0, this removes up to a thousand dead jobs.
 * Returns their number. Errors: those of weft_queue_retry; WEFT_ENOTSUP (the store is of an older version). */
WEFT_API WEFT_CHECKED int weft_queue_drop(const char *queue, uint64_t id, int64_t deadline);

WEFT_END
#endif
