/* runtime/platform/windows/inet.h -- includes the headers of socket addresses; posix/ has its own file. */
#ifndef PF_INET_H
#define PF_INET_H

#include "system.h"

#include <afunix.h>
#include <iphlpapi.h>

typedef ADDRESS_FAMILY sa_family_t;

#ifndef TCP_KEEPIDLE /* Windows 10; not in each compiler's headers */
enum { TCP_KEEPIDLE = 3, TCP_KEEPCNT = 16, TCP_KEEPINTVL = 17 };
#endif
enum { PF_TCP_IDLE = TCP_KEEPIDLE, PF_TCP_NOT_SENT = 0 }; /* 0: this system has no such option */
enum { PF_EAI_SYSTEM = EAI_FAIL };

#endif
