/* transport/store/engine/engine.h -- the interface between the store and what keeps its data on disk.
 *
 * An engine keeps logs, cursors, queues of jobs and states of actors. A log belongs to one topic. Its records have
 * the offsets 1, 2, 3, ... without a hole; old records are removed from the front only. A log has an epoch: a random
 * number that was drawn when the log began. So the same topic in another file has another epoch, and a position
 * (epoch, offset) never means two different records.
 *
 * What every engine promises (tests/unit/transport/store/conformance.h checks it):
 *     - append returns 0 only when all records are on disk: they survive a crash of the process and of the machine;
 *     - after any crash each log holds its acknowledged records, in order, without a hole. Records whose append was
 *       not acknowledged may be there, too, after these;
 *     - each record has a checksum (CRC-32C, crc32c.h) over its epoch, offset, time, tag and bytes. A record that is
 *       damaged or missing is never served: WEFT_EFORMAT;
 *     - the same holds for the changes of queues: after a crash each batch of them is there as a whole or not at all,
 *       and an acknowledged batch is there. A damaged job is never given: it is skipped, and check finds it;
 *     - and for the changes of states. A write that does not show the number of the last opening changes nothing, also
 *       after a crash. A snapshot or an event that is damaged or missing is never served, and neither is what follows;
 *     - append, trim, advance, change and change_states are called from one thread at a time; read, find, list,
 *       queues, jobs, states and read_state from any thread, also meanwhile. Readers do not wait for the writer; only
 *       queues may wait for the end of a change that is being stored.
 *
 * Errors, besides those that each function names:
 *     WEFT_ENOSPC   the disk is full; nothing was stored, and the store can be used again when there is space
 *     WEFT_ESYSTEM  the disk failed. After a failed sync nothing is appended until the store is opened again, because
 *                   nobody knows what of the written bytes is on disk. Or the connection to the server was lost: then a
 *                   batch that was being stored is there as a whole or not at all, and the next call connects again
 *     WEFT_EFORMAT  what is on disk is damaged
 *     WEFT_EACCESS  the file, or the store, is read-only
 *     WEFT_ENOMEM */
#ifndef WF_STORE_ENGINE_H
#define WF_STORE_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/error.h>

#define WF_STORE_OFFSET_MAX ((UINT64_C(1) << 40) - 1) /* records of one log, also removed ones */
enum {
    WF_STORE_TOPIC_MAX = 255,                    /* bytes */
    WF_STORE_RECORD_MAX = 1024 * 1024,           /* bytes */
    WF_STORE_BODY_MAX = 1024 * 1024 + 320,       /* bytes of a job: of one of a shared cursor, shared_record.h */
    WF_STORE_BATCH_MAX = 4096,                   /* records of one append */
    WF_STORE_BATCH_BYTES_MAX = 16 * 1024 * 1024, /* bytes of them */
    WF_STORE_LOGS_MAX = 1000 * 1000,             /* logs of one store */
    WF_STORE_KEY_MAX = 255,                      /* bytes of the name of a cursor, and of the key of a job */
    WF_STORE_CURSORS_MAX = 100 * 1000,           /* cursors of one store; a name has one for each topic */
    WF_STORE_QUEUES_MAX = 10 * 1000,             /* queues with jobs, of one store */
    WF_STORE_JOBS_MAX = 1000 * 1000,             /* jobs of one queue, with its dead ones */
    WF_STORE_TAKES_MAX = 32,                     /* jobs that one batch gives, as each may have a megabyte */
    WF_STORE_JOB_KEYS_MAX = 1000 * 1000,         /* keys of jobs that are remembered, of one store */
    WF_STORE_REMINDERS_MAX = 1000 * 1000,        /* reminders of one store */
    WF_STORE_STATES_MAX = 1000 * 1000,           /* states of one store */
    WF_STORE_EVENTS_MAX = 10 * 1000,             /* events of one state since its snapshot */
    WF_STORE_EVENT_BYTES_MAX = 16 * 1024 * 1024, /* bytes of them */
};

struct wf_store_log {
    char topic[WF_STORE_TOPIC_MAX + 1];
    uint64_t epoch;       /* never 0 */
    uint64_t first, last; /* offsets; first is last + 1 if no record is left */
    uint64_t bytes;       /* of the bodies of its records */
};

struct wf_store_record {
    uint64_t offset;
    int64_t time; /* when it was stored: ns since 1970, UTC */
    uint32_t tag;
    const void *data;
    size_t size;
};

/* The limits of a log; 0: no limit. The last record always stays. */
struct wf_store_limits {
    uint64_t count, bytes;
    int64_t age; /* ns */
};

struct wf_store_append {
    const char *topic;
    int64_t time;
    uint32_t tag;
    const void *data;
    size_t size;
    const struct wf_store_limits *limits; /* older records are removed by these; NULL: none are */
    uint64_t as_epoch, as_offset;         /* position of a record copied from another store; 0, 0: the next one */
    uint64_t epoch, offset;               /* the result */
    int error;                            /* the result; the other records of the batch do not depend on it */
    struct wf_store_append *next;         /* for the engine, while it stores the batch */
};

/* A job of a queue. It waits until `due`, then it can be taken. One that was taken has a lease until `due`; from then on
 * it can be taken again. A dead one stays until it is revived. */
struct wf_store_job {
    uint64_t id;            /* 1, 2, 3, ... within the store, in the order in which they were put; never used again */
    uint64_t lease;         /* a random number, another one at each taking; 0: it has no lease */
    int64_t due;            /* ns since 1970, UTC; of a dead job: when it died */
    int64_t time;           /* when it was put: ns since 1970, UTC */
    uint32_t tag, attempts; /* attempts: how often it was taken */
    bool dead;
    size_t size;
};

enum wf_store_change_kind {
    WF_JOB_PUT,  /* adds a job, which is due after `delay` */
    WF_JOB_TAKE, /* gives the job that has been due for the longest time, with a lease that lasts for `delay` */
    WF_JOB_DONE, /* removes a job that was taken; one of a reminder with a period is due again, as if it had never been
                    * taken */
    WF_JOB_RETURN, /* ends the lease: the job is due after `delay`, or dead if it was taken `attempts` times */
    WF_JOB_UNTAKE, /* undoes the taking, also the count of attempts */
    WF_JOB_EXTEND, /* the lease lasts for `delay` from now on */
    WF_JOB_REVIVE, /* a dead job (id 0: a thousand of them at most) is due now, as if it had never been taken */
    WF_JOB_SET,    /* adds a reminder: a job that is due at `at`. The one that has the same key is removed */
    WF_JOB_CANCEL, /* removes the reminder that has the key */
    WF_JOB_SHARE,  /* moves the records behind a shared cursor into its queue, and advances the cursor */
    WF_JOB_DROP,   /* removes a dead job (id 0: a thousand of them at most), and its reminder */
};

/* A change of a queue. */
struct wf_store_change {
    enum wf_store_change_kind kind;
    const char *queue;    /* named as topics are */
    int64_t now;          /* ns since 1970, UTC */
    int64_t delay;        /* ns, from 0 on */
    uint64_t id, lease;   /* done, return, untake, extend: those with which the job was taken; revive: only `id` */
    uint32_t attempts;    /* take, return: a job that was taken this many times and was not done dies; 0: no job
                           * dies */
    uint32_t tag;         /* put, set */
    const void *data;     /* put, set */
    size_t size;          /* put, set */
    const char *key;      /* put; NULL: none. No second job is put with a key that is remembered. Set, cancel: the
                           * reminder's, which is another one than a key of put */
    int64_t key_age;      /* put: for how long the key is remembered */
    int64_t at, period;   /* set: ns since 1970, UTC; ns, 0: once */
    uint64_t jobs_max;    /* put, set: of the queue */
    uint64_t node, actor; /* take: the pid of the worker; 0, 0: it is not known */
    const char *topic;    /* share: the cursor is that of this topic, and its name is that of the queue */
    uint64_t ahead, most; /* share: how many jobs that are not dead the queue may have; how many it gets at most */
    /* The result: */
    int error;
    struct wf_store_job job; /* put, also if it had been put before, and set: `id`; take: all; return: `dead` */
    void *body;              /* take: the caller frees it with free() */
    /* take: the key of the reminder, in the block of `body`; NULL: the job is not of a reminder. If it is, `at` and
     * `period` are those of the reminder */
    const char *reminder;
    uint64_t removed; /* set, cancel: the job that the reminder had; 0: none */
    int64_t next_due; /* take, without a job: when the next job is due; INT64_MAX: no job becomes due. Done, of a
                              * reminder with a period: when it is due again; else 0 */
    uint64_t count;   /* revive, drop: jobs; take: damaged jobs that were skipped; share: new jobs */
    uint64_t died;    /* take: jobs that have died, because their last lease had ended by time */
    uint64_t skipped; /* share: damaged records that were passed over */
    bool more;        /* share: more records are behind the cursor */
};

/* A job that a worker has. */
struct wf_store_lease {
    const char *queue;
    uint64_t id, lease;
    int64_t due;
    uint32_t tag;         /* of the job */
    uint64_t node, actor; /* the worker's pid */
};

/* A job that has a name, by which it can be replaced and removed. */
struct wf_store_reminder {
    char queue[WF_STORE_TOPIC_MAX + 1], key[WF_STORE_KEY_MAX + 1];
    int64_t at;     /* when it is due, or was due if it has not been done since: ns since 1970, UTC */
    int64_t period; /* ns; 0: once */
    struct wf_store_job job;
};

/* How many jobs a queue has. */
struct wf_store_queue {
    char name[WF_STORE_TOPIC_MAX + 1];
    uint64_t ready, delayed, leased, dead;
};

/* The state of an actor: a snapshot, if one was saved, and the events since. */
struct wf_store_state {
    char key[WF_STORE_TOPIC_MAX + 1]; /* named as topics are */
    uint64_t opening;                 /* how often it was opened */
    uint64_t owner;                   /* a random number, another one at each opening */
    uint64_t first, last; /* numbers of the events; first is last + 1 if there is no event since the snapshot */
    uint64_t bytes;       /* of these events */
    bool has_snapshot;
    size_t size; /* of the snapshot */
};

enum wf_store_state_kind {
    WF_STATE_OPEN,   /* takes the state over, and creates it if it does not exist */
    WF_STATE_SAVE,   /* replaces the snapshot, and removes the events */
    WF_STATE_APPEND, /* adds an event */
    WF_STATE_REMOVE,
};

/* A change of a state. */
struct wf_store_state_change {
    enum wf_store_state_kind kind;
    const char *key;
    uint64_t owner;  /* the owner of the last opening; not used by open */
    uint64_t number; /* append: number of the new event; save: number of the last event that is in the snapshot */
    int64_t now;     /* append, save: ns since 1970, UTC */
    uint32_t tag, version;
    const void *data;
    size_t size;
    /* The result: */
    int error;
    struct wf_store_state state; /* as it is now */
};

/* A snapshot or an event. The number of a snapshot is that of the last event that is in it. */
struct wf_store_item {
    bool is_snapshot;
    uint64_t number;
    int64_t time;
    uint32_t tag, version;
    const void *data;
    size_t size;
};

struct wf_store_cursor {
    uint64_t epoch, offset; /* 0, 0: it has not been advanced yet */
};

struct wf_store_advance {
    const char *name, *topic;
    struct wf_store_cursor to; /* 0, 0: the cursor is removed */
    int error;                 /* the result; the other ones of the batch do not depend on it */
};

/* How far a store has got, of an engine that numbers its openings and its commits. */
struct wf_store_mark {
    uint64_t owner;   /* a random number of the last opening that was no reading; 0: the engine has no marks */
    uint64_t commits; /* so many have been acknowledged */
};

/* How a store is opened. */
struct wf_store_opening {
    uint64_t commits; /* so many are known to be acknowledged: a store that lacks some is not opened */
    bool read_only;   /* for tools: does not become the owner, changes nothing, and is not refused while an owner has
                      * it open */
    const char *vfs;  /* for tests: the name of SQLite's VFS */
};

struct wf_store_why {
    char text[256]; /* what happened, with which file, and what to do */
};

struct wf_store; /* begins with a pointer to its engine */

/* Gets one record; its bytes are valid during the call. Returns false to end the reading. */
typedef bool wf_store_each_record(void *arg, const struct wf_store_record *r);
typedef bool wf_store_each_log(void *arg, const struct wf_store_log *log);
/* Gets one fault that check has found: the topic of the log (NULL: the fault is of the store), and the offset of the
 * record (0: it is not of a record). */
typedef void wf_store_each_fault(void *arg, const char *topic, uint64_t offset, const char *text);

typedef bool wf_store_each_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at);
typedef bool wf_store_each_lease(void *arg, const struct wf_store_lease *l);
typedef bool wf_store_each_queue(void *arg, const struct wf_store_queue *q);
/* Gets one job; the bytes of its body are valid during the call. */
typedef bool wf_store_each_job(void *arg, const struct wf_store_job *job, const void *body);

typedef bool wf_store_each_reminder(void *arg, const struct wf_store_reminder *r);

typedef bool wf_store_each_state(void *arg, const struct wf_store_state *state);
/* Gets one item; its bytes are valid during the call. Returns false to end the reading. */
typedef bool wf_store_each_item(void *arg, const struct wf_store_item *item);

struct wf_store_engine {
    const char *scheme; /* of its URLs: "sqlite" */
    const char *usage;  /* what one looks like: "sqlite:FILE" */

    /* What is wrong with the URL `where`, without a look at files or servers: "needs a file". NULL: nothing. */
    const char *(*wrong)(const char *where);
    /* Opens the store; makes it if there is none.
     * Errors: WEFT_EINUSE (another process, or another store of this one, is its owner), WEFT_ENOTSUP (a newer
     * version of weft made it), WEFT_EFORMAT (no store of weft, or damaged), WEFT_ENOTFOUND (no such folder, or
     * nothing there to open read-only), WEFT_EINVAL (the URL), WEFT_ESYSTEM (its server cannot be reached, or lacks
     * commits). */
    int (*open)(struct wf_store **out, const char *where, const struct wf_store_opening *how,
                struct wf_store_why *why);
    void (*close)(struct wf_store *s); /* NULL is allowed */
    /* Writes what messages say of the URL `where`, its scheme included; NULL: they say what the URL is. For URLs that may
     * have a password. */
    void (*show)(const char *where, char *out, size_t size);
    /* Reads the mark of a store beside its owner; NULL: the engine has no marks. Blocks. Errors: those of open; WEFT_ENOTFOUND
     * (no store is there yet). */
    int (*look)(const char *where, struct wf_store_mark *out, struct wf_store_why *why);
    /* The mark of an open store; NULL: the engine has no marks. This and is_lost are called by the thread that stores. */
    void (*mark)(const struct wf_store *s, struct wf_store_mark *out);
    /* Whether the last call that stores has found that it cannot store: the disk has failed, another one is the owner, or
     * the server cannot be reached. So another store, which is opened again, may do better. */
    bool (*is_lost)(const struct wf_store *s);
    /* Asks the database whether this store is its owner, and connects again if it has to; then is_lost says what it has found.
     * Called by the thread that stores. NULL: no server is between. */
    int (*confirm)(struct wf_store *s);
    /* The time of the store's clock: ns since 1970, UTC, perhaps to the millisecond only. */
    int64_t (*clock)(struct wf_store *s);

    /* Appends the records in order, all within one commit, and removes what is over their limits. Returns 0 when that
     * commit is on disk: then each record has its own `error`. Else no record was stored, and each has this error.
     * Errors: WEFT_EINVAL (a malformed topic; no record, or too many), WEFT_ETOOBIG, WEFT_EFULL (too many logs, or
     * records in one log). WEFT_EEXIST (a copied record is not the next one of its log, or of another epoch; a log
     * that it begins gets its epoch). */
    int (*append)(struct wf_store *s, struct wf_store_append *batch, size_t count);
    /* Gives records to `each`, from `from` on, or from the first if that is later: at most `count` of them, and of at
     * most `bytes` bytes if there is more than one. `log` (may be NULL) receives the log as it was then. Returns the
     * number of records.
     * Errors: WEFT_ENOTFOUND (no such log); WEFT_EFORMAT, if the very first record is damaged or missing. Otherwise
     * the reading ends in front of such a record. */
    int (*read)(struct wf_store *s, const char *topic, uint64_t from, size_t count, size_t bytes,
                wf_store_each_record *each, void *arg, struct wf_store_log *log);
    /* Removes what is over the limits at the time `now`. Returns 0. Errors: WEFT_ENOTFOUND. */
    int (*trim)(struct wf_store *s, const char *topic, const struct wf_store_limits *limits, int64_t now);
    int (*find)(struct wf_store *s, const char *topic, struct wf_store_log *out); /* WEFT_ENOTFOUND */
    /* Gives the logs in the order of their topics, those after `after` (NULL: all). Errors: WEFT_ESYSTEM (what was
     * given may be old: another store is the owner, or the server cannot be reached). */
    int (*list)(struct wf_store *s, const char *after, wf_store_each_log *each, void *arg);

    /* A cursor is the position up to which the reader `name` has read a log. It never goes back: advancing it to an
     * earlier offset of the same epoch changes nothing. */
    int (*cursor)(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor *out);
    /* The cursors whose name begins with "$shared." are those of shared cursors (shared_record.h). A name has either
     * such cursors or plain ones.
     *
     * Advances cursors in order, all within one commit. Returns 0 when that commit is on disk: then each has its own
     * `error`. Else nothing was changed, and each has this error.
     * Errors of the batch: WEFT_EINVAL (none, or more than WF_STORE_BATCH_MAX). Of an advance: WEFT_EINVAL (the name,
     * the topic, the position), WEFT_EFULL (too many cursors), WEFT_EFORMAT (the cursor is damaged; it can be
     * removed), WEFT_EEXIST (it would be the first one, and there is a shared one for this name and topic). To remove
     * a plain cursor also removes the shared one of that name and topic. */
    int (*advance)(struct wf_store *s, struct wf_store_advance *batch, size_t count);
    /* Gives the cursors in the order of their names, and those of one name in the order of their topics: those after
     * `name` and `topic` ("", "": all). A damaged cursor is skipped; check finds it. */
    int (*cursors)(struct wf_store *s, const char *name, const char *topic, wf_store_each_cursor *each, void *arg);

    /* Makes the changes in order, all within one commit. Returns 0 when that commit is on disk: then each change has its
     * own `error`. Else nothing was changed, and each has this error.
     * Errors of the batch: WEFT_EINVAL (no change, or too many; more than WF_STORE_TAKES_MAX takes), WEFT_ETOOBIG (more
     * than WF_STORE_BATCH_BYTES_MAX bytes). Of a change: WEFT_EINVAL (the name of a queue, a key), WEFT_ETOOBIG,
     * WEFT_EFULL (too many jobs, queues, keys or reminders). WEFT_ENOTFOUND (take: no job is due; revive: no such dead
     * job; cancel: no such reminder).
     * WEFT_ECLOSED (the job is gone, is dead, or has another lease). WEFT_EFORMAT (the job, the key or the
     * reminder is damaged; cancel removes a damaged reminder, and not its job).
     *
     * Share makes each record behind the cursor a job, whose body is shared_record.h and whose tag is the number of
     * the log. Records that the limits have removed are one job, and so is another epoch. Errors: WEFT_EEXIST
     * (there is a plain cursor of that name), WEFT_EFULL (too many cursors), WEFT_EFORMAT (the cursor is
     * damaged). */
    int (*change)(struct wf_store *s, struct wf_store_change *batch, size_t count);
    /* Gives the queues that have jobs in the order of their names, those after `after` ("": all), as at the time `now`.
     * Its cost grows neither with the number of jobs nor with that of queues that are not given, but of a store that is
     * open read-only. `each` calls nothing of the store. */
    int (*queues)(struct wf_store *s, const char *after, int64_t now, wf_store_each_queue *each, void *arg);
    /* Gives the jobs of a queue, the dead or the others, in the order of `due`. A damaged job is skipped. */
    int (*jobs)(struct wf_store *s, const char *queue, bool dead, wf_store_each_job *each, void *arg);
    /* Gives the reminders in the order of their queues, and those of one queue in the order of their keys: those after
     * `queue` and `key` ("", "": all). A damaged one is skipped. */
    int (*reminders)(struct wf_store *s, const char *queue, const char *key, wf_store_each_reminder *each, void *arg);

    /* Gives the leases that last beyond `now` and whose worker is known. Damaged leases are skipped. */
    int (*leases)(struct wf_store *s, int64_t now, wf_store_each_lease *each, void *arg);
    /* Makes the changes in order, all within one commit. Returns 0 when that commit is on disk: then each change has
     * its own `error`. Else nothing was changed, and each has this error. Errors of the batch: those of append. Of a
     * change: WEFT_EINVAL (the key), WEFT_ETOOBIG, WEFT_EFULL (too many states, or events in one). WEFT_ECLOSED
     * (there is no such state, it was opened again, or `number` is not the one that follows). WEFT_EFORMAT (the row
     * of the state is damaged; or, for a new state, the row of another state, which may be this one). */
    int (*change_states)(struct wf_store *s, struct wf_store_state_change *batch, size_t count);
    /* Gives the states in the order of their keys, those after `after` (NULL: all). A damaged state is skipped. */
    int (*states)(struct wf_store *s, const char *after, wf_store_each_state *each, void *arg);
    /* Gives the snapshot of a state, if `from` is 0 and there is one, and the events from `from` on: at most `count` items,
     * and of at most `bytes` bytes if there is more than one. Returns the number of items.
     * Errors: WEFT_ECLOSED (there is no such state, or it was opened again); WEFT_EFORMAT, if the very first item, or
     * the state, is damaged or missing. Otherwise the reading ends in front of such an item. */
    int (*read_state)(struct wf_store *s, const char *key, uint64_t owner, uint64_t from, size_t count, size_t bytes,
                      wf_store_each_item *each, void *arg);

    /* Reads everything. Returns the number of faults. */
    int (*check)(struct wf_store *s, wf_store_each_fault *each, void *arg);
};

struct wf_store {
    const struct wf_store_engine *engine;
    atomic_bool is_doubted; /* a reader could not reach the server, or saw another owner; cleared before confirm */
    uint64_t secret;        /* drawn when the store was opened: the key of hashes of texts that users choose, such as
                      * topics */
};

/* The number of records that follow the cursor in its log. */
static inline uint64_t wf_store_behind(const struct wf_store_log *log, struct wf_store_cursor at)
{
    uint64_t next = at.epoch == log->epoch && at.offset >= log->first ? at.offset + 1 : log->first;
    return next > log->last ? 0 : log->last + 1 - next;
}

#endif
