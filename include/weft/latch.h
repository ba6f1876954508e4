/* weft/latch.h -- a gate that opens when so many have said that they are done, and stays open. */
#ifndef WEFT_LATCH_H
#define WEFT_LATCH_H

#include <weft/api.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

enum { WEFT_LATCH_MAX = 16777215 };

/* Good while its node lives. */
typedef struct {
    weft_node *node;
    uint64_t id;
} weft_latch;

/* [A] With 0 it is open at once. Closed by weft_latch_close or when the actor that opened it ends. Any actor of the
 * node may wait for it. WEFT_ENOMEM, WEFT_EINVAL (count > WEFT_LATCH_MAX). */
WEFT_API WEFT_CHECKED int weft_latch_open(weft_latch *out, uint32_t count);
/* [S] Takes `n` off its count, at most all; at 0 it opens. From any thread. WEFT_ECLOSED. Neither allocates nor
 * locks. */
WEFT_API int weft_latch_count_down(weft_latch l, uint32_t n);
/* [S] What is left; 0: it is open. WEFT_ECLOSED. */
WEFT_API int64_t weft_latch_count(weft_latch l);
/* [A, W] Waits until it is open. 0, WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED, WEFT_EINVAL (of another node). */
WEFT_API WEFT_CHECKED int weft_latch_await(weft_latch l, int64_t deadline);
/* [A] Ends its life: waiters wake with WEFT_ECLOSED, also if it was open. */
WEFT_API int weft_latch_close(weft_latch l);
/* [T] As weft_event_fd: readable once it is open; weft_latch_count is 0 then. */
WEFT_API int weft_latch_fd(weft_latch l, int *fd);
/* Ready once it is open. */
WEFT_API weft_wait weft_on_latch(weft_latch l);

WEFT_END
#endif
