/* weft/later.h -- messages that are sent at a point in time, once or repeatedly.
 *
 * The message is copied when it is scheduled. It comes from the actor that scheduled it, whatever that actor does
 * meanwhile, and no actor waits for it. It is delivered like any other message but never waits for space: if the
 * receiver's mailbox is full, its policy decides what is dropped and counted (WEFT_FULL_SUSPEND: this message). The
 * scheduled messages of an actor end with it. */
#ifndef WEFT_LATER_H
#define WEFT_LATER_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct {
    uint64_t id;
} weft_later;

/* [A, Y] Sends a copy of `size` bytes to `to` (which may be the caller) at `when`, a point in time; in the next
 * iteration of the worker's loop if that has passed; never at WEFT_FOREVER. `out` may be NULL. Whether the receiver
 * exists is checked only when the message is sent; if it does not exist, the message is dropped and counted.
 * Errors: WEFT_EINVAL, WEFT_ENOBODY, WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_send_after(int64_t when, weft_pid to, uint32_t tag, const void *data, size_t size,
                                          weft_later *out);

/* [A, Y] As weft_send_after, at `first` and then every `period` nanoseconds (> 0): at first + n * period, each time
 * computed from `first`, so it does not drift. A slow receiver gets no backlog: a firing is skipped while the
 * receiver has not freed the previous message (for another node: while the link is full). The repetition ends when
 * the receiver no longer exists. */
WEFT_API WEFT_CHECKED int weft_send_every(int64_t first, int64_t period, weft_pid to, uint32_t tag, const void *data,
                                          size_t size, weft_later *out);

/* [A] Cancels a scheduled message. Returns 0 if it was pending: nothing more is sent. Messages that were sent before
 * may still be in the receiver's mailbox. WEFT_ECLOSED: the message was sent already, its repetition has ended, it
 * was cancelled before, or another actor has scheduled it. */
WEFT_API int weft_later_cancel(weft_later l);

WEFT_END
#endif
