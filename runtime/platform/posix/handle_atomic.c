/* runtime/platform/posix/handle_atomic.c -- makes descriptors that are closed on exec from the beginning. */
#include "handle.h"

#include <stddef.h>
#include <sys/socket.h>

int pf_handle_socket(int family, int type)
{
    return socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int pf_handle_accept(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
