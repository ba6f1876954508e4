/* transport/watchdog.h -- the service manager is told that a node lives. */
#ifndef WF_WATCHDOG_H
#define WF_WATCHDOG_H

#include <weft/node.h>

/* If the service manager wants to be told. */
void wf_watchdog_start(weft_node *node);

#endif
