/* weft/later.h -- messages that are sent at a point in time, once or again and again.
 *
 * The message is copied when it is armed and comes from the arming actor, whatever that does meanwhile; nothing waits
 * for it. It goes the way of every other message, but never waits for room: at the receiver's bound it is dropped and
 * counted, by the policy of its mailbox (WEFT_FULL_SUSPEND: dropped). What an actor has armed ends with it. */
#ifndef WEFT_LATER_H
#define WEFT_LATER_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_later;

/* [A] Sends a copy of `size` bytes to `to` (perhaps the caller) at `when`; at once (in the worker's next turn) if
 * that is past; never at WEFT_FOREVER. `out` may be NULL. Whether the receiver is there is seen at that time; if not,
 * the message is counted. WEFT_EINVAL, WEFT_ENOBODY, WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_send_after(int64_t when, weft_pid to, uint32_t tag, const void *data, size_t size,
                                          weft_later *out);

/* [A] The same at `first` and then every `period` nanoseconds (> 0): at first + n * period, computed from `first`, so
 * that it does not drift. A receiver that does not keep up gets no backlog: while it has not freed the last one (on
 * another node: while the link is full), firings are left out. It ends when the receiver is found gone. */
WEFT_API WEFT_CHECKED int weft_send_every(int64_t first, int64_t period, weft_pid to, uint32_t tag, const void *data,
                                          size_t size, weft_later *out);

/* [A] 0: it was pending, and nothing is sent any more. WEFT_ECLOSED: it was sent already, has ended or was cancelled,
 * or another actor armed it. What was sent before may still be in the receiver's mailbox. */
WEFT_API int weft_later_cancel(weft_later l);

WEFT_END
#endif
