/* runtime/platform/windows/socket.h -- between the files that make socket calls. */
#ifndef PF_WINDOWS_SOCKET_H
#define PF_WINDOWS_SOCKET_H

#include <string.h>

#include "inet.h"

/* A sockaddr with room and alignment for each kind. */
union pf_any_address {
    struct sockaddr head;
    struct sockaddr_un unix_path;
    struct sockaddr_storage room;
};

static inline void pf_load(union pf_any_address *out, const struct pf_address *from)
{
    memset(out, 0, sizeof *out);
    memcpy(out, from->bytes, WF_MIN((size_t)from->size, sizeof from->bytes));
}

static inline void pf_store(struct pf_address *out, const union pf_any_address *from, int size)
{
    memset(out, 0, sizeof *out);
    out->size = (uint32_t)WF_MIN((size_t)size, sizeof out->bytes);
    memcpy(out->bytes, from, out->size);
}

static inline bool pf_is_internet(const union pf_any_address *a)
{
    return a->head.sa_family == AF_INET || a->head.sa_family == AF_INET6;
}

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
