/* runtime/platform/windows/port.h -- the packets of a poller's completion port, for the files that send them. */
#ifndef PF_WINDOWS_PORT_H
#define PF_WINDOWS_PORT_H

#include "system.h"

enum { PF_KEY_WAKE = 1, PF_KEY_POLL, PF_KEY_FILE, PF_KEY_PROCESS };

HANDLE pf_poller_port(struct pf_poller *p);
/* Makes the entry of a finished file operation. */
struct pf_ready pf_file_done(OVERLAPPED *o);

#endif
