/* runtime/platform/windows/system.h -- the system's headers, in the order that they need, and functions that the
 * files of this folder share. */
#ifndef PF_WINDOWS_SYSTEM_H
#define PF_WINDOWS_SYSTEM_H

#include <winsock2.h>
/* after winsock2.h */
#include <ws2tcpip.h>
/* after both */
#include <windows.h>
#undef interface /* a macro of these headers; weft uses the word */

#include "native.h"

/* Loads the library of sockets, once, for the life of the process. */
void pf_sockets_load(void);

/* Milliseconds until `deadline`, rounded up: never early. INFINITE for WEFT_FOREVER. */
DWORD pf_milliseconds_until(int64_t deadline);

/* Converts the UTF-8 `text`, with its NUL, and returns the number of UTF-16 units. WEFT_EINVAL: it is not UTF-8;
 * WEFT_ETOOBIG. */
enum { PF_PATH_WIDE = 1024 }; /* units of the longest path */
int pf_wide(const char *text, wchar_t *out, size_t space);

/* Reserves space on the stack of the calling thread, and on those of the coroutines that it runs, for the report of
 * an overflow. */
void pf_report_space(void);

#endif
