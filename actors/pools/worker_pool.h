/* actors/pools/worker_pool.h -- the part of pools (include/weft/pool.h) and their members that the rest of the actor
 * layer knows. */
#ifndef WF_WORKER_POOL_H
#define WF_WORKER_POOL_H

#include <weft/message.h>

/* Tags of weft's own in a pool's system lane. */
#define WF_TAG_POOL_CONTROL (WEFT_TAG_SYSTEM + 0xF0) /* a request of weft_pool_*, by WF_MSG_CONTROL */
#define WF_TAG_POOL_SPACE (WEFT_TAG_SYSTEM + 0xF1)   /* a member has as much space as the pool asked for */

#endif
