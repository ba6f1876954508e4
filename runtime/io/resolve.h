/* runtime/io/resolve.h -- names looked up for the calls that take them. */
#ifndef WF_RESOLVE_H
#define WF_RESOLVE_H

#include "platform.h"

enum { WF_HOST_BYTES = 256, WF_SERVICE_BYTES = 32 }; /* of a name, with the NUL */

/* From a task: at most `max` addresses, on a thread for blocking functions. How many, or as weft_resolve. */
int wf_resolve_host(const char *host, const char *service, struct pf_address *out, int max, int64_t deadline);

#endif
