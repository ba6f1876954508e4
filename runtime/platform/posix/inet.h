/* runtime/platform/posix/inet.h -- what this system calls the headers of socket addresses; windows/ has its own. */
#ifndef PF_INET_H
#define PF_INET_H

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#endif
