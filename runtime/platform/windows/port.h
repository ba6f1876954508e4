/* runtime/platform/windows/port.h -- what comes out of a poller's completion port, between the files that put it
 * in. */
#ifndef PF_WINDOWS_PORT_H
#define PF_WINDOWS_PORT_H

#include "system.h"

enum { PF_KEY_WAKE = 1, PF_KEY_POLL, PF_KEY_FILE, PF_KEY_PROCESS };

HANDLE pf_poller_port(struct pf_poller *p);
/* The entry for an operation on a file. */
struct pf_ready pf_file_done(OVERLAPPED *o);

#endif
