/* runtime/platform/posix/socket.h -- shared by the files about sockets. */
#ifndef PF_POSIX_SOCKET_H
#define PF_POSIX_SOCKET_H

#include "handle.h"
#include "native.h"
#include "socket_shared.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS: the sockets have SO_NOSIGPIPE instead */
#endif
#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0 /* macOS */
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0 /* other systems report the end of the other side as readiness to read */
#endif

#endif
