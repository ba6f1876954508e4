/* weft/record.h -- the flight recorder: each worker of a node keeps its latest events
 * (weft_node_options.record_events). It costs a few nanoseconds per event, and is on unless it is turned off.
 *
 * When the process ends because of a fault or a broken invariant, the last events of the worker on which it happened
 * go to standard error. `weft inspect --record` gets the events of a running node. */
#ifndef WEFT_RECORD_H
#define WEFT_RECORD_H

#include <weft/api.h>
#include <weft/pid.h>
WEFT_BEGIN

typedef struct weft_node weft_node;

typedef enum {
    WEFT_RECORD_SPAWN = 1, /* `actor` started `other` */
    /* `actor` sent `value` (a tag) to `other`; for a publication `other` is nobody. Sends to an actor of the same
     * worker are recorded only with weft_node_options.record_sends, because RECEIVE shows them already. */
    WEFT_RECORD_SEND,
    /* `actor` received a message from `other` with the tag `value`, or got a reply. A message that was published to
     * several subscribers of the worker is not recorded here; its publication is recorded as a SEND. */
    WEFT_RECORD_RECEIVE,
    WEFT_RECORD_WAIT, /* `actor` waits for `what`; waits for messages and replies are not recorded */
    WEFT_RECORD_WAKE, /* `actor` resumes: `value` is 0, or a WEFT_E* code (WEFT_ETIMEDOUT: its deadline passed) */
    WEFT_RECORD_EXIT, /* `actor` ended with the reason `value` */
} weft_record_kind;

struct weft_record {
    int64_t at; /* ns, weft_now() at the start of the iteration of the worker's loop in which it happened */
    weft_pid actor, other;
    const char *what; /* static text; "" unless kind is WAIT */
    int64_t value;
    weft_record_kind kind;
    int worker;
    uint64_t number; /* number among the worker's events, from 0; a missing number was overwritten */
};

/* [T] Returns all recorded events of all workers, oldest first. Free `*out` with free(). In a pid of another node the
 * node is 0, because the recorder does not keep it. The result is the number of events. WEFT_ENOMEM. */
WEFT_API int64_t weft_record_read(weft_node *node, struct weft_record **out);

enum { WEFT_RECORD_TEXT = 160 }; /* bytes that weft_record_format needs at most */
/* [S] Writes an event as text, "0.17.1 sends 12 to 0.18.1", NUL-terminated, into `out`, which has WEFT_RECORD_TEXT
 * bytes. Returns `out`. */
WEFT_API char *weft_record_format(const struct weft_record *r, char *out);

WEFT_END
#endif
