/* transport/store/engine.h -- the interface between the store and what keeps its data on disk.
 *
 * An engine keeps logs, snapshots and cursors. A log belongs to one topic. Its records have the offsets 1, 2, 3, ...
 * without a hole; old records are removed from the front only. A log has an epoch: a random number that was drawn
 * when the log began. So the same topic in another file has another epoch, and a position (epoch, offset) never
 * means two different records.
 *
 * What every engine promises (tests/unit/transport/store/conformance.h checks it):
 *     - append returns 0 only when all records are on disk: they survive a crash of the process and of the machine;
 *     - after any crash each log holds its acknowledged records, in order, without a hole. Records whose append was
 *       not acknowledged may be there, too, after these;
 *     - each record has a checksum (CRC-32C, crc32c.h) over its epoch, offset, time, tag and bytes. A record that is
 *       damaged or missing is never served: WEFT_EFORMAT;
 *     - append, trim, save and advance are called from one thread at a time; read, find and list from any thread,
 *       also meanwhile. Readers do not wait for the writer.
 *
 * Errors, besides those that each function names:
 *     WEFT_ENOSPC   the disk is full; nothing was stored, and the store can be used again when there is space
 *     WEFT_ESYSTEM  the disk failed. After a failed sync nothing is appended until the store is opened again, because
 *                   nobody knows what of the written bytes is on disk
 *     WEFT_EFORMAT  what is on disk is damaged
 *     WEFT_EACCESS  the file, or the store, is read-only
 *     WEFT_ENOMEM */
#ifndef WF_STORE_ENGINE_H
#define WF_STORE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/error.h>

#define WF_STORE_OFFSET_MAX ((UINT64_C(1) << 40) - 1) /* records of one log, also removed ones */
enum {
    WF_STORE_TOPIC_MAX = 255,                    /* bytes */
    WF_STORE_RECORD_MAX = 1024 * 1024,           /* bytes */
    WF_STORE_BATCH_MAX = 4096,                   /* records of one append */
    WF_STORE_BATCH_BYTES_MAX = 16 * 1024 * 1024, /* bytes of them */
    WF_STORE_LOGS_MAX = 1000 * 1000,             /* logs of one store */
    WF_STORE_KEY_MAX = 255,                      /* bytes of the key of a snapshot, and of a cursor's name */
    WF_STORE_SNAPSHOT_MAX = 16 * 1024 * 1024,    /* bytes */
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

/* What a log keeps; 0: no limit. The last record always stays. */
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
    uint64_t epoch, offset;               /* the result */
    int error;                            /* the result; the other records of the batch do not depend on it */
};

struct wf_store_cursor {
    uint64_t epoch, offset; /* 0, 0: it has not been advanced yet */
};

/* How a store is opened. */
struct wf_store_opening {
    bool read_only;  /* for tools: not its owner, changes nothing, and is not refused while an owner has it open */
    const char *vfs; /* for tests: the name of SQLite's VFS */
};

struct wf_store_why {
    char text[256]; /* what happened, with which file, and what to do */
};

struct wf_store; /* begins with a pointer to its engine */

/* Gets one record; its bytes are valid during the call. Returns false to end the reading. */
typedef bool wf_store_each_record(void *arg, const struct wf_store_record *r);
typedef bool wf_store_each_log(void *arg, const struct wf_store_log *log);
/* Gets one fault that check has found: of which log (NULL: of the store), at which offset (0: not of a record). */
typedef void wf_store_each_fault(void *arg, const char *topic, uint64_t offset, const char *text);

struct wf_store_engine {
    const char *scheme; /* of its URLs: "sqlite" */

    /* Opens the store; makes it if there is none.
     * Errors: WEFT_EINUSE (another process, or another store of this one, is its owner), WEFT_ENOTSUP (a newer
     * version of weft made it), WEFT_EFORMAT (no store of weft, or damaged), WEFT_ENOTFOUND (no such folder, or
     * nothing there to open read-only). */
    int (*open)(struct wf_store **out, const char *where, const struct wf_store_opening *how,
                struct wf_store_why *why);
    void (*close)(struct wf_store *s); /* NULL is allowed */
    /* What the clock of the store says: ns since 1970, UTC, perhaps to the millisecond only. */
    int64_t (*clock)(struct wf_store *s);

    /* Appends the records in order, all within one commit, and removes what is over their limits. Returns 0 when that
     * commit is on disk: then each record has its own `error`. Else nothing was stored, and each has this error.
     * Errors: WEFT_EINVAL (a malformed topic; no record, or too many), WEFT_ETOOBIG, WEFT_EFULL (too many logs, or
     * records in one log). */
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
    /* Gives the logs in the order of their topics, those after `after` (NULL: all). */
    int (*list)(struct wf_store *s, const char *after, wf_store_each_log *each, void *arg);

    /* A snapshot replaces the one with the same key. Loading copies it into `*out`, for free(). WEFT_ENOTFOUND:
     * there is none; WEFT_ETOOBIG, WEFT_EINVAL (a key that is empty or too long). */
    int (*save)(struct wf_store *s, const char *key, const void *data, size_t size);
    int (*load)(struct wf_store *s, const char *key, void **out, size_t *size);

    /* A cursor is where the reader `name` of a log has got to. It never goes back: advancing it to an earlier offset
     * of the same epoch changes nothing. */
    int (*cursor)(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor *out);
    int (*advance)(struct wf_store *s, const char *name, const char *topic, struct wf_store_cursor to);

    /* Reads everything. Returns the number of faults. */
    int (*check)(struct wf_store *s, wf_store_each_fault *each, void *arg);
};

struct wf_store {
    const struct wf_store_engine *engine;
    uint64_t secret; /* drawn when it was opened: for hashes of what others choose, such as topics */
};

#endif
