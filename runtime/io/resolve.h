/* runtime/io/resolve.h -- looks up names for functions that take addresses as text. */
#ifndef WF_RESOLVE_H
#define WF_RESOLVE_H

#include "platform.h"

enum { WF_HOST_BYTES = 256, WF_SERVICE_BYTES = 32 }; /* of a name, with the NUL */

/* Only a task may call it. Looks up at most `max` addresses, on a thread for blocking functions. Returns their
 * number, or an error as weft_resolve does. */
int wf_resolve_host(const char *host, const char *service, struct pf_address *out, int max, int64_t deadline);

#endif
