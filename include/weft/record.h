/* weft/record.h -- the flight recorder: each worker of a node keeps the last things that happened on it
 * (weft_node_options.record_events), at a cost of a few nanoseconds each. It is on unless it is turned off.
 *
 * When the process ends by a fault or a broken invariant, the last events of the worker it happened on go to standard
 * error. `weft inspect --record` asks a running node for them. */
#ifndef WEFT_RECORD_H
#define WEFT_RECORD_H

#include <weft/api.h>
#include <weft/pid.h>
WEFT_BEGIN

typedef struct weft_node weft_node;

typedef enum {
    WEFT_RECORD_SPAWN = 1, /* `actor` started `other` */
    /* `actor` sent `value` (a tag) to `other`; a publication has none. To an actor of the same worker only with
     * weft_node_options.record_sends: RECEIVE tells of those. */
    WEFT_RECORD_SEND,
    /* `actor` took a message of `other` with the tag `value` out of its mailbox, or got an answer. Not what was
     * published to several subscribers of the worker: the publication is recorded. */
    WEFT_RECORD_RECEIVE,
    WEFT_RECORD_WAIT, /* `actor` waits for `what`; not for mail or an answer */
    WEFT_RECORD_WAKE, /* and goes on: `value` is 0, or a WEFT_E* (WEFT_ETIMEDOUT: its deadline) */
    WEFT_RECORD_EXIT, /* `actor` ended for the reason `value` */
} weft_record_kind;

struct weft_record {
    int64_t at; /* ns, weft_now() of the turn of the worker's loop it happened in */
    weft_pid actor, other;
    const char *what; /* static text; "" unless kind is WAIT */
    int64_t value;
    weft_record_kind kind;
    int worker;
    uint64_t number; /* of the worker's events, from 0: one that is missing was overwritten */
};

/* [T] All events that are there, of all workers, oldest first: `*out` is to be freed with free(). A pid of another
 * node has 0 as its node: which one is not kept. Returns how many. WEFT_ENOMEM. */
WEFT_API int64_t weft_record_read(weft_node *node, struct weft_record **out);

enum { WEFT_RECORD_TEXT = 160 }; /* bytes that weft_record_format needs at most */
/* [S] "0.17.1 sends 12 to 0.18.1", NUL-terminated, into `out`, which has WEFT_RECORD_TEXT bytes. Returns `out`. */
WEFT_API char *weft_record_format(const struct weft_record *r, char *out);

WEFT_END
#endif
