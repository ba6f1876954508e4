/* actors/pools/worker_pool.h -- what the rest of the actor layer knows of pools (include/weft/pool.h) and their
 * members. */
#ifndef WF_WORKER_POOL_H
#define WF_WORKER_POOL_H

#include <weft/message.h>

/* In a pool's system lane; never sent by anybody else. */
#define WF_TAG_POOL_CONTROL (WEFT_TAG_SYSTEM + 0xF0) /* a request of weft_pool_*, by WF_MSG_CONTROL */
#define WF_TAG_POOL_SPACE (WEFT_TAG_SYSTEM + 0xF1)   /* a member has let go of as much as was asked for */

#endif
