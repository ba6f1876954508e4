/* runtime/platform/windows/inet.h -- what this system calls the headers of socket addresses; posix/ has its own. */
#ifndef PF_INET_H
#define PF_INET_H

#include "system.h"

#include <afunix.h>
#include <iphlpapi.h>

typedef ADDRESS_FAMILY sa_family_t;

#endif
