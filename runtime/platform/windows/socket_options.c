/* runtime/platform/windows/socket_options.c -- options of sockets, and sockets made by others. */
#include "socket.h"

static int family_of(SOCKET s)
{
    union pf_any_address a;
    int size = sizeof a;
    memset(&a, 0, sizeof a);
    return getsockname(s, &a.head, &size) == 0 ? a.head.sa_family : -1;
}

static bool place_of(SOCKET s, enum pf_option option, int *level, int *name)
{
    return pf_option_place(family_of(s) == AF_INET6, option, level, name);
}

static int set(SOCKET s, int level, int name, const void *value, size_t size)
{
    if (setsockopt(s, level, name, value, (int)size) == 0) return WEFT_OK;
    return WSAGetLastError() == WSAENOPROTOOPT ? WEFT_EINVAL : pf_socket_error();
}

static int get(SOCKET s, int level, int name, void *value, size_t size)
{
    int length = (int)size;
    if (getsockopt(s, level, name, value, &length) == 0) return WEFT_OK;
    return WSAGetLastError() == WSAENOPROTOOPT ? WEFT_EINVAL : pf_socket_error();
}

int pf_set_option(pf_handle h, enum pf_option option, int value)
{
    SOCKET s = (SOCKET)h;
    int level, name;
    if (option == PF_LINGER) {
        struct linger l = {.l_onoff = value >= 0, .l_linger = (u_short)WF_MAX(value, 0)};
        return value > UINT16_MAX ? WEFT_EINVAL : set(s, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    }
    if (value < 0 || !place_of(s, option, &level, &name)) return WEFT_EINVAL;
    if (option == PF_KEEPALIVE) {
        int on = value > 0, rc = set(s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        if (rc < 0 || !on) return rc;
    }
    return set(s, level, name, &value, sizeof value);
}

int pf_get_option(pf_handle h, enum pf_option option, int *value)
{
    SOCKET s = (SOCKET)h;
    int level, name;
    *value = 0; /* some options are one byte */
    if (option == PF_LINGER) {
        struct linger l = {.l_onoff = 0};
        int rc = get(s, SOL_SOCKET, SO_LINGER, &l, sizeof l);
        *value = l.l_onoff != 0 ? l.l_linger : -1;
        return rc;
    }
    if (!place_of(s, option, &level, &name)) return WEFT_EINVAL;
    if (option == PF_KEEPALIVE) {
        int rc = get(s, SOL_SOCKET, SO_KEEPALIVE, value, sizeof *value);
        if (rc < 0 || *value == 0) return rc;
    }
    return get(s, level, name, value, sizeof *value);
}

int pf_adopt(pf_handle h)
{
    int type = 0, rc = get((SOCKET)h, SOL_SOCKET, SO_TYPE, &type, sizeof type);
    struct pf_address peer;
    if (rc < 0) return pf_is_open(h) ? WEFT_EINVAL : rc;
    if (type != SOCK_STREAM || pf_peer_address(h, &peer) != WEFT_OK) return WEFT_EINVAL;
    pf_make_ours((SOCKET)h);
    return WEFT_OK;
}

int pf_send_handle(pf_handle h, pf_handle sent)
{
    (void)h, (void)sent;
    return WEFT_ENOTSUP;
}

int pf_receive_handle(pf_handle h, pf_handle *out)
{
    (void)h;
    *out = PF_NO_HANDLE;
    return WEFT_ENOTSUP;
}
