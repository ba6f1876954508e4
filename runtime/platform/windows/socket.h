/* runtime/platform/windows/socket.h -- shared by the files that call socket functions. */
#ifndef PF_WINDOWS_SOCKET_H
#define PF_WINDOWS_SOCKET_H

#include "socket_shared.h"

/* WSAENOTSOCK means that the socket was closed, because pf_adopt and others refuse handles that are not sockets. */
#define pf_socket_error() (WSAGetLastError() == WSAENOTSOCK ? WEFT_ECLOSED : pf_error(WSAGetLastError()))

/* Whether a handle with this number is open. */
static inline bool pf_is_open(pf_handle h)
{
    DWORD flags;
    return h != PF_NO_HANDLE && GetHandleInformation((HANDLE)h, &flags);
}

/* Called before a handle is closed, because it may be that of a standard stream. */
void pf_standard_closes(pf_handle h);

/* Makes the socket non-blocking, and not inherited by children. */
void pf_make_ours(SOCKET s);

#endif
