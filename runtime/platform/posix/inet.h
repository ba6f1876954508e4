/* runtime/platform/posix/inet.h -- includes the headers of socket addresses; windows/ has its own file. */
#ifndef PF_INET_H
#define PF_INET_H

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#ifdef TCP_KEEPIDLE
enum { PF_TCP_IDLE = TCP_KEEPIDLE };
#else
enum { PF_TCP_IDLE = TCP_KEEPALIVE }; /* macOS */
#endif
enum { PF_TCP_NOT_SENT = TCP_NOTSENT_LOWAT, PF_EAI_SYSTEM = EAI_SYSTEM };

/* Windows loads its library of sockets when it is first needed. */
static inline void pf_sockets_load(void)
{
}

#endif
