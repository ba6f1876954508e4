/* runtime/platform/windows/socket.h -- between the files that make socket calls. */
#ifndef PF_WINDOWS_SOCKET_H
#define PF_WINDOWS_SOCKET_H

#include "socket_shared.h"

/* What is no socket was closed: that other handles come here is prevented where they come in. */
static inline int pf_socket_error(void)
{
    return WSAGetLastError() == WSAENOTSOCK ? WEFT_ECLOSED : pf_error(WSAGetLastError());
}

/* Whether any handle has this number. */
static inline bool pf_is_open(pf_handle h)
{
    DWORD flags;
    return h != PF_NO_HANDLE && GetHandleInformation((HANDLE)h, &flags);
}

/* Before it is closed, in case it is a standard stream's. */
void pf_standard_closes(pf_handle h);

/* Non-blocking, and not inherited by children. */
void pf_make_ours(SOCKET s);

#endif
