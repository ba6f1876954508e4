/* weft/latch.h -- a gate that opens when its count has reached 0, and stays open. */
#ifndef WEFT_LATCH_H
#define WEFT_LATCH_H

#include <weft/api.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

enum { WEFT_LATCH_MAX = 16777215 };

/* A handle. It is valid while its node lives. */
typedef struct {
    weft_node *node;
    uint64_t id;
} weft_latch;

/* [A] Makes a latch with that count; with 0 it is open at once. It is closed by weft_latch_close or when the actor
 * that made it ends. Any actor of the node may wait for it. Errors: WEFT_ENOMEM, WEFT_EINVAL (count >
 * WEFT_LATCH_MAX). */
WEFT_API WEFT_CHECKED int weft_latch_open(weft_latch *out, uint32_t count);
/* [S] Subtracts `n` from the count, which stops at 0; at 0 the latch opens. Any thread may call it. It neither
 * allocates nor locks. WEFT_ECLOSED. */
WEFT_API int weft_latch_count_down(weft_latch l, uint32_t n);
/* [S] Returns the count; 0: the latch is open. WEFT_ECLOSED. */
WEFT_API int64_t weft_latch_count(weft_latch l);
/* [A, W] Waits until the latch is open. Returns 0.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ECLOSED, WEFT_EINVAL (a latch of another node). */
WEFT_API WEFT_CHECKED int weft_latch_await(weft_latch l, int64_t deadline);
/* [A] Closes the handle; waiters wake with WEFT_ECLOSED. Any actor of the node may close it. WEFT_ECLOSED: it was
 * closed before. */
WEFT_API int weft_latch_close(weft_latch l);
/* [T] As weft_event_fd: the descriptor is readable once the latch is open; weft_latch_count is 0 then. */
WEFT_API int weft_latch_fd(weft_latch l, int *fd);
/* Ready once the latch is open. */
WEFT_API weft_wait weft_on_latch(weft_latch l);

WEFT_END
#endif
