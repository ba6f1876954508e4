/* runtime/platform/windows/system.h -- the system's headers, in the order they need, and what its files share. */
#ifndef PF_WINDOWS_SYSTEM_H
#define PF_WINDOWS_SYSTEM_H

#include <winsock2.h>
/* after winsock2.h */
#include <ws2tcpip.h>
/* after both */
#include <windows.h>
#undef interface /* a word of its own in C */

#include "native.h"

/* The library of sockets is loaded when it is first needed, for the life of the process. */
void pf_sockets_load(void);

/* Milliseconds until `deadline`, rounded up: never early. INFINITE for WEFT_FOREVER. */
DWORD pf_milliseconds_until(int64_t deadline);

/* `text`, which is UTF-8, with its NUL: how many units that are. WEFT_EINVAL: it is none; WEFT_ETOOBIG. */
enum { PF_PATH_WIDE = 1024 }; /* space for a path */
int pf_wide(const char *text, wchar_t *out, size_t space);

/* Keeps space on the calling thread's stack, and on the coroutines' it runs, for the report of its overflow. */
void pf_report_space(void);

#endif
