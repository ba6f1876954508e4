/* weft/store.h -- stored topics: a publication is on disk before weft acknowledges it, and can be read again from any
 * position.
 *
 * This is a library of its own, libweft-store: link with `pkg-config --libs weft-store`. weft.h does not include this
 * header. docs/store.md has examples.
 *
 * One node of a cluster runs the store (weft_store_open, or `weft run --store sqlite:FILE --stored 'room.>'`).
 * Actors on any node publish to it and read from it. It keeps one log for each topic. Each record has an offset
 * within its log: 1, 2, 3, ..., without a hole. Each log has an epoch, a random number that was drawn when the log
 * began. A position is an epoch and an offset. The log of the same topic in another file has another epoch, so no two
 * records have the same position.
 *
 *     struct weft_position at;
 *     int rc = weft_publish_stored("room.tea", SAY, text, size, &at, weft_after(WEFT_SEC(5)));
 *     ... rc == 0: it is on disk
 *
 *     weft_stored_subscription s;
 *     rc = weft_subscribe_from("room.tea", WEFT_FROM_START, &s, weft_after(WEFT_SEC(5)));
 *     ... then messages arrive with the tag WEFT_STORED:
 *     struct weft_stored got;
 *     if (weft_stored_read(m, &got) == 0 && got.kind == WEFT_STORED_RECORD) ... got.at, got.data, got.size */
#ifndef WEFT_STORE_H
#define WEFT_STORE_H

#include <stdbool.h>

#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* The global name of the store's actor. A program that starts before its store waits with weft_await_name. */
#define WEFT_STORE_NAME "weft.store"

enum {
    WEFT_STORE_RECORD_MAX = 1024 * 1024, /* bytes of one stored message */
    WEFT_STORE_PATTERNS_MAX = 256,       /* the patterns of one store */
    WEFT_CURSOR_NAME_MAX = 64,           /* bytes of the name of a cursor */
    WEFT_CURSORS_MAX = 100 * 1000,       /* the cursors of one store; a name counts once for each topic */
    WEFT_SHARED_BOUND_MAX = 1000,        /* the records that a member of a shared cursor has at a time */
    WEFT_SHARED_MAX = 1000,              /* the shared cursors of one store that have members */
};

/* ---- The store ------------------------------------------------------------------------------------------------- */

/* Topics that a store takes, and what it keeps of each; 0: no limit. The last record of a topic always stays. Records
 * older than `age` (ns) are removed when a record is stored under their topic, and when the store is opened. */
struct weft_stored_topics {
    const char *pattern;
    uint64_t count, bytes;
    int64_t age;
};

/* Queues that a store takes: see weft/queue.h. */
struct weft_stored_queues {
    const char *pattern;
    int64_t lease;     /* ns that a worker has for a job; 0: 60 seconds */
    uint32_t attempts; /* a job that was taken this many times and was not done is dead; 0: no job dies */
    uint64_t jobs;     /* the jobs of each queue, with the dead ones; 0: a million, which is also the most */
};

/* States of actors that a store takes: see weft/persist.h. */
struct weft_stored_states {
    const char *pattern; /* the pattern of their keys */
};

typedef struct {
    const char *url; /* "sqlite:FILE" or "postgres:URL" (docs/store.md); it is created if it does not exist */
    /* The first pattern that matches a topic counts. A topic that matches no pattern is not stored. */
    const struct weft_stored_topics *topics;
    size_t topic_count; /* up to WEFT_STORE_PATTERNS_MAX; 0 if there are queues or states */
    /* The first pattern that matches a queue counts. Jobs of a queue that matches no pattern are refused. */
    const struct weft_stored_queues *queues;
    size_t queue_count; /* up to WEFT_STORE_PATTERNS_MAX */
    /* A state whose key matches no pattern is refused. */
    const struct weft_stored_states *states;
    size_t state_count; /* up to WEFT_STORE_PATTERNS_MAX */
    /* Several nodes of a cluster open the same store: one serves it, and the others stand by. When the store that
     * serves ends, is lost with its node, or cannot reach its database any more, one of the others takes over by
     * itself (docs/store.md, "Standbys"). Give all of them the same options. */
    bool standby;
} weft_store_options;

/* [A, W] Opens a store and starts its actor, which has the global name WEFT_STORE_NAME. `out` (may be NULL) receives
 * the actor's pid. weft_stop ends the actor, which first stores and acknowledges the requests that it has accepted. If
 * another actor takes the global name, as after a partition of the network, the store ends. The log explains errors.
 *
 * With `standby` it also returns 0 when this node stands by. The pid is then that of an actor that lives as long as
 * this node stands by or serves the store. weft_stop of this actor also ends the store, if this node serves it by then.
 *
 * Errors: WEFT_EINVAL (the URL, a pattern, a limit). WEFT_EEXIST (the cluster has a store; with `standby`: a store
 * with other data). WEFT_EINUSE (another process, or another node of this one, has the file open; not with `standby`).
 * WEFT_ENOTSUP (a newer version of weft made the file). WEFT_EFORMAT (the file is damaged, or no store of weft: see
 * `weft store check`). WEFT_EACCESS (it is read-only). WEFT_ENOTFOUND (its folder does not exist). WEFT_ENOSPC,
 * WEFT_ESYSTEM, WEFT_ENOMEM, WEFT_ETIMEDOUT, WEFT_ECANCELED; those of weft_register_global. */
WEFT_API WEFT_CHECKED int weft_store_open(const weft_store_options *options, weft_pid *out, int64_t deadline);

/* ---- Publishing ------------------------------------------------------------------------------------------------ */

/* Where a record is. */
struct weft_position {
    uint64_t epoch;  /* the epoch of the log; never 0 in a position that weft gives */
    uint64_t offset; /* in the log; the first one is 1 */
};

/* [A, W] Stores a copy of `size` bytes under the topic, waits until they are on disk, and publishes them to the
 * present subscribers of the topic as weft_publish does. `out` (may be NULL) receives the position. Publications of
 * one actor have the order in which it published them.
 *
 * With these errors nothing was stored, and nothing was published:
 *     WEFT_EINVAL, WEFT_ETOOBIG (more than WEFT_STORE_RECORD_MAX)
 *     WEFT_ENOACTOR   no store is known in the cluster
 *     WEFT_EACCESS    the store does not take this topic
 *     WEFT_ENOSPC     the disk is full
 *     WEFT_EFULL      the store has a million topics, or the log 2^40 records; or those of weft_send
 *     WEFT_EFORMAT    the file is damaged
 *     WEFT_ENOMEM
 * With these it is not known whether it was stored; if it is published again, it may be there twice:
 *     WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENONODE (the store's node is lost), WEFT_ENOREPLY (the store has ended)
 *     WEFT_ESYSTEM    the disk failed. The store takes nothing more until it is opened again. Or the connection to
 *                     its database was lost: it may be stored, and the store connects again */
WEFT_API WEFT_CHECKED int weft_publish_stored(const char *topic, uint32_t tag, const void *data, size_t size,
                                              struct weft_position *out, int64_t deadline);

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* The tag of the messages that a subscription from a position brings. */
#define WEFT_STORED UINT32_C(0xFFFFFE01)

/* Positions to begin at: with all that is stored, or with what is stored from now on. To continue after a record that
 * was read, begin at weft_position_after(its position). */
#define WEFT_FROM_START weft_position_of(0, 0)
#define WEFT_FROM_NOW weft_position_of(0, UINT64_MAX)
static inline struct weft_position weft_position_of(uint64_t epoch, uint64_t offset)
{
    struct weft_position at;
    at.epoch = epoch;
    at.offset = offset;
    return at;
}
static inline struct weft_position weft_position_after(struct weft_position at)
{
    at.offset++;
    return at;
}

typedef struct {
    weft_pid reader; /* weft's own */
} weft_stored_subscription;

/* [A, W] From now on the calling actor gets the records of that topic from the position on: first those that are
 * stored already, then each later one when it is stored. They come in order, none is missing, and none comes twice.
 * Each record is a message with the tag WEFT_STORED. If the epoch in `from` is 0, the epoch of the log does not
 * matter.
 *
 * With a pattern ("room.*", "room.>"), the caller gets the records of all topics that match. Of a topic that begins
 * later it gets all records. `from` must then be WEFT_FROM_START or WEFT_FROM_NOW, because each topic has positions
 * of its own. The records of one topic come in order. Each topic costs an actor.
 *
 * An actor of weft's own on this node fetches pages from the store and sends the records to the caller. It waits
 * while the caller's mailbox is full, so a slow reader slows down only itself. This holds with the mailbox policy
 * WEFT_FULL_SUSPEND, which is the default. Another policy may drop records; then offsets are missing. While the store
 * is not reachable, weft's actor waits; then it continues with the next record.
 *
 * The subscription ends with the caller, by weft_unsubscribe_stored, or with a WEFT_STORED_ENDED message. `out` may
 * be NULL.
 * Errors: WEFT_EINVAL. WEFT_ENOACTOR (no store is known in the cluster), WEFT_EACCESS (it does not take this topic),
 * WEFT_ENONODE, WEFT_ENOREPLY, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_EFULL, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_subscribe_from(const char *topic, struct weft_position from,
                                              weft_stored_subscription *out, int64_t deadline);
/* [A] Ends such a subscription. Messages that are in the mailbox already stay there, and one that is on its way may
 * still arrive. WEFT_ECLOSED: the subscription has ended already. */
WEFT_API int weft_unsubscribe_stored(weft_stored_subscription s);

typedef enum {
    WEFT_STORED_RECORD = 0,
    /* Records that the subscription should have brought are not stored any more: `missing` of them, before `at`. */
    WEFT_STORED_GAP = 1,
    /* The position belongs to another log than the one that the topic has now. `at.epoch` is the epoch of the present
     * log. The records of that log follow, from its first one on. */
    WEFT_STORED_EPOCH = 2,
    /* The subscription has ended. `error` says why: WEFT_EFORMAT (the record at `at` is damaged; a new
     * subscription from weft_position_after(at) brings the records after it), WEFT_ENOTFOUND (the log ends before `at`:
     * an older copy of the file was put back), WEFT_EACCESS (the store does not take this topic any more), WEFT_EEXIST
     * (see weft_subscribe_cursor and weft_subscribe_shared), WEFT_ENOMEM. */
    WEFT_STORED_ENDED = 3,
} weft_stored_kind;

/* The content of a WEFT_STORED message. */
struct weft_stored {
    weft_stored_kind kind;
    int error; /* the error of WEFT_STORED_ENDED; else 0 */
    char topic[256];
    struct weft_position at;
    uint64_t missing; /* the missing records of WEFT_STORED_GAP; else 0 */
    /* of a record: */
    int64_t time;     /* when it was stored: ns since 1970, UTC, by the clock of the store's node */
    uint32_t tag;     /* the tag with which it was published */
    const void *data; /* valid as long as the message; not aligned. A typed message is read with weft_typed_read */
    size_t size;
    /* of a shared cursor (see below): */
    char shared[WEFT_CURSOR_NAME_MAX + 1]; /* its name; "": this is no shared cursor */
    uint32_t attempts;                     /* how often it was delivered, this time included: 1, 2, ... */
    uint64_t id, lease;                    /* the record's job in the queue; lease: for weft only */
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API WEFT_CHECKED int weft_stored_read(const weft_msg *m, struct weft_stored *out);

/* ---- Cursors --------------------------------------------------------------------------------------------------- */

/* A cursor is the position up to which the reader `name` has handled a topic. The store keeps it on disk. So a reader
 * that was killed continues there, also on another node, and need not keep a position itself:
 *
 *     rc = weft_subscribe_cursor("billing", "orders.>", NULL, weft_after(WEFT_SEC(5)));
 *     ... for each WEFT_STORED message of a record, after it was handled:
 *     rc = weft_cursor_advance("billing", got.topic, got.at, weft_after(WEFT_SEC(5)));
 *
 * Each record is delivered at least once: records that were handled but not acknowledged when the reader ended are
 * delivered again. A name has one cursor for each topic. It consists of 1 to WEFT_CURSOR_NAME_MAX letters, digits, '_',
 * '-' and '.'. Two subscriptions with the same cursor both get all records: members of a shared cursor (see below)
 * share them. */

/* [A, W] As weft_subscribe_from, for a topic or a pattern, but each topic begins after the position of its cursor, or
 * with its first stored record if there is no cursor. Only weft_cursor_advance moves the cursor. If the log of the
 * topic has another epoch than the cursor, WEFT_STORED_EPOCH comes, and then the new log from its start. If records
 * after the cursor were removed meanwhile, WEFT_STORED_GAP has their number.
 *
 * `name` and `topic` are copied. `out` may be NULL. Errors: those of weft_subscribe_from; WEFT_EINVAL also for the
 * name. WEFT_EFORMAT (the cursor is damaged on disk: weft_cursor_remove, or weft_subscribe_from with a position).
 * WEFT_EEXIST (a shared cursor has this name). WEFT_ENOTSUP (the store is of an older version, which has no cursors).
 * With a pattern, these three come as a WEFT_STORED_ENDED of the topic. */
WEFT_API WEFT_CHECKED int weft_subscribe_cursor(const char *name, const char *topic, weft_stored_subscription *out,
                                                int64_t deadline);

/* [A, W] Acknowledges all records of the topic up to this position, and the record at it. Returns 0 when the new
 * position is on disk. `topic` is the topic of the message, not a pattern. A reader may acknowledge each record, or
 * several with the position of the last one, which costs less. Any actor on any node may call this. Advances that
 * arrive while others are being stored are stored together, in one commit. A cursor never goes back: a call with an
 * earlier position of the same log changes nothing, and returns 0. The first advance creates the cursor.
 *
 * With these errors the cursor is where it was:
 *     WEFT_EINVAL     the name or the topic is not valid, or no record can have the position
 *     WEFT_ENOTFOUND  the store's log of that topic has no such record: it is another log (the file was replaced), or
 *                     it ends before the position (an older copy of the file was put back)
 *     WEFT_EFULL      the store has WEFT_CURSORS_MAX cursors; or those of weft_send
 *     WEFT_EFORMAT    the cursor is damaged on disk: weft_cursor_remove
 *     WEFT_EEXIST     a shared cursor has this name: weft_shared_done
 *     WEFT_ENOSPC, WEFT_ENOMEM, WEFT_ENOACTOR (no store is known in the cluster)
 *     WEFT_ENOTSUP    the store is of an older version
 * With these it is not known whether it was advanced; the call can be repeated:
 *     WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENONODE, WEFT_ENOREPLY
 *     WEFT_ESYSTEM    the disk failed. The store takes nothing more until it is opened again. Or the connection to
 *                     its database was lost: it may be stored, and the store connects again */
WEFT_API WEFT_CHECKED int weft_cursor_advance(const char *name, const char *topic, struct weft_position upto,
                                              int64_t deadline);

/* [A, W] Removes the cursor of that name and topic, be it shared or not. Returns 0 when that is on disk, also if
 * there was none. Present subscriptions continue. Later ones begin with the first stored record, until the cursor is
 * advanced again. Members of a shared cursor first get the records that were delivered and not acknowledged, and then
 * all stored records again.
 * Errors: those of weft_cursor_advance, without WEFT_ENOTFOUND and WEFT_EFULL. */
WEFT_API WEFT_CHECKED int weft_cursor_remove(const char *name, const char *topic, int64_t deadline);

struct weft_cursor {
    char name[WEFT_CURSOR_NAME_MAX + 1];
    char topic[256];
    /* The position of the last record that was acknowledged; for a shared cursor, of the last one that was moved into
     * its queue. */
    struct weft_position at;
    uint64_t behind; /* how many records are stored after it */
    bool shared;
};
/* [A, W] Asks the store for the cursors after `after` (NULL: the first ones), in the order of their names, and those of
 * one name in the order of their topics. Writes at most `max` to `out`, which the caller owns. Returns their number,
 * which is 0 after the last.
 * Errors: those of weft_stored_logs. */
WEFT_API WEFT_CHECKED int weft_cursors(const struct weft_cursor *after, struct weft_cursor *out, size_t max,
                                       int64_t deadline);

/* ---- Shared cursors -------------------------------------------------------------------------------------------- */

/* The members of a shared cursor share the records of a topic or a pattern: each record is delivered to one member.
 * The members may run on one node or on several.
 *
 *     rc = weft_subscribe_shared("billing", "orders.>", NULL, NULL, weft_after(WEFT_SEC(5)));
 *     ... for each WEFT_STORED message, which may also be a gap:
 *     if (weft_stored_read(m, &got) == 0) { ...; rc = weft_shared_done(&got, weft_after(WEFT_SEC(5))); }
 *
 * When a member asks for a record, the store copies the record into a job of the queue "$shared.billing"
 * (weft/queue.h), and advances the cursor in the same commit. Because of this copy, the limits of the topic do not
 * remove a record that was delivered and not acknowledged. The member has a lease of 60 seconds for the record, and
 * the number of attempts is not limited. weft_store_options.queues can set other values for a queue of that name:
 *
 *     {.pattern = "$shared.>", .lease = WEFT_SEC(30), .attempts = 5}
 *
 * or `weft run --queues '$shared.>:lease=30:attempts=5'`. Another member gets the record when the first member ends
 * or gives it back, or when the lease ends by time. If the node of the first member is lost, the lease ends by its
 * time only. So each record comes at least once, even if the store is killed. A record that was acknowledged never
 * comes again. After the last attempt a record is dead: see weft_queue_counts, weft_queue_retry, weft_queue_drop and
 * `weft store dead` for the queue "$shared.billing".
 *
 * A member gets the records of a topic in their order. Records that are delivered again come later, and so do those
 * that were on their way to a member that has ended. Members work at the same time, so they may finish in another
 * order. */

typedef struct {
    /* The largest number of records that the member has and has not acknowledged. At this number it gets no record
     * until it acknowledges one, or the lease of one ends by time. 1: one record at a time. 0: 32. At most
     * WEFT_SHARED_BOUND_MAX. */
    uint32_t bound;
} weft_shared_options;

/* [A, W] Makes the calling actor a member of the shared cursor `name`. The actor gets records as messages with the
 * tag WEFT_STORED, reads them with weft_stored_read, and ends its work on each with one of the functions below. A
 * message of the kind WEFT_STORED_GAP or WEFT_STORED_EPOCH goes to one member, which has to acknowledge it like a
 * record.
 *
 * A new cursor begins with the first stored record. All members have the same pattern. `name` follows the rules for
 * names of cursors; besides, each dot stands between two words, of which there are at most 15. A name has either plain
 * cursors or a shared one. A member asks for records when it has space, so a slow member slows down only itself. While
 * the store is not reachable, the member gets no records and keeps its membership.
 *
 * The membership ends with the caller, by weft_unsubscribe_stored, or with a WEFT_STORED_ENDED message: then other
 * members get at once the records that it has not acknowledged. The arguments are copied. `options` and `out` may be
 * NULL.
 * Errors: those of weft_subscribe_from; WEFT_EINVAL also for the name and the bound. WEFT_EEXIST (members with
 * another pattern are there, or a plain cursor has this name; with a pattern the latter comes as WEFT_STORED_ENDED).
 * WEFT_ENOTSUP (the store is of an older version). */
WEFT_API WEFT_CHECKED int weft_subscribe_shared(const char *name, const char *topic,
                                                const weft_shared_options *options, weft_stored_subscription *out,
                                                int64_t deadline);
/* [A, W] Acknowledges the record. When this returns 0, the record is never delivered again. Any actor on any node may
 * call this: `got` may be copied, and its message may be freed before.
 * Errors: WEFT_EINVAL (`got` is not of a shared cursor). WEFT_ECLOSED: the lease is over: another member has the
 * record or has acknowledged it, or it was given back or is dead. After an error that leaves open what has happened
 * (see weft_cursor_advance) the call can be repeated; WEFT_ECLOSED then also means that the first call has succeeded.
 * The other errors are those of weft_cursor_advance without WEFT_ENOTFOUND and WEFT_EEXIST; the member keeps the
 * record. */
WEFT_API WEFT_CHECKED int weft_shared_done(const struct weft_stored *got, int64_t deadline);
/* [A, W] Acknowledges this record, and all earlier records of its topic that its member got before it, in one commit
 * or a few. It skips records whose lease is over, and records that were delivered before the store was opened again:
 * acknowledge these one by one, or they come again. Do not use it if the policy of the member's mailbox drops
 * messages. An error other than WEFT_ECLOSED may concern one of the records only; others may be acknowledged then. */
WEFT_API WEFT_CHECKED int weft_shared_done_upto(const struct weft_stored *got, int64_t deadline);
/* [A, W] Gives the record back: another member, or this one, gets it after `delay` ns (0: at once;
 * WEFT_QUEUE_BACKOFF of weft/queue.h: a time that grows with each attempt). If this was its last attempt, the record is
 * dead instead. Errors: those of weft_shared_done; WEFT_EINVAL also: another negative delay. */
WEFT_API WEFT_CHECKED int weft_shared_return(const struct weft_stored *got, int64_t delay, int64_t deadline);
/* [A, W] Extends the lease: it lasts for `time` ns from now on; 0: for the time that the queue's options give.
 * Errors: those of weft_shared_done; WEFT_EINVAL also: a negative time. */
WEFT_API WEFT_CHECKED int weft_shared_extend(const struct weft_stored *got, int64_t time, int64_t deadline);

/* ---- Logs ------------------------------------------------------------------------------------------------------ */

/* The log of one topic. */
struct weft_stored_log {
    char topic[256];
    uint64_t epoch;
    uint64_t first, last; /* offsets; first is last + 1 if no record is left */
    uint64_t bytes;
};
/* [A, W] Asks the store for the logs of the topics after `after` (NULL: the first ones), in the order of their topics.
 * Writes at most `max` to `out`. Returns their number, which is 0 after the last.
 * Errors: those of weft_subscribe_from. */
WEFT_API WEFT_CHECKED int weft_stored_logs(const char *after, struct weft_stored_log *out, size_t max,
                                           int64_t deadline);

WEFT_END
#endif
