/* actors/run/busy.h -- how many workers of a node have actors, and the wait until none has. */
#ifndef WF_BUSY_H
#define WF_BUSY_H

#include <weft/node.h>

/* Any thread: one more or less that keeps the node busy with actors of users, or with weft's own (`services`). Wakes
 * the threads that wait for none. */
void wf_node_busy(weft_node *node, bool services, int change);
/* A thread that runs no actor waits until nothing of that sort keeps the node busy. WEFT_OK, WEFT_ETIMEDOUT. */
int wf_node_wait_idle(weft_node *node, bool services, int64_t deadline);

#endif
