/* runtime/platform/posix/error.c -- converts errno to WEFT_E*. */
#include <errno.h>
#include <string.h>

#include "native.h"

_Atomic(pf_unknown_error_fn *) pf_on_unknown_error;

int pf_unknown_error(const char *where, int system_error)
{
    /* Pairs with the store of the thread that registers. */
    pf_unknown_error_fn *tell = atomic_load_explicit(&pf_on_unknown_error, memory_order_acquire);
    if (tell == NULL) return WEFT_ESYSTEM;
    int before = errno;
    char space[128];
#if defined(__GLIBC__)
    const char *text = strerror_r(system_error, space, sizeof space);
#else
    const char *text = strerror_r(system_error, space, sizeof space) == 0 ? space : "unknown error";
#endif
    tell(where, system_error, text);
    errno = before;
    return WEFT_ESYSTEM;
}

int pf_error_of(const char *where, int system_error)
{
    switch (system_error) {
    case 0: return WEFT_OK;
    case EAGAIN: return PF_AGAIN;
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP: return WEFT_EINVAL;
    case ENOMEM:
    case ENOBUFS: return WEFT_ENOMEM;
    case EMFILE:
    case ENFILE:
    case ENOSPC: return WEFT_EFULL;
    case EBADF: return WEFT_ECLOSED;
    case EEXIST: return WEFT_EEXIST;
    case EADDRINUSE: return WEFT_EINUSE;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case ENOTDIR:
    case ENAMETOOLONG: return WEFT_EADDRESS;
    case EACCES:
    case EPERM:
    case EROFS: return WEFT_EACCESS;
    case ECONNREFUSED:
    case ENOENT: return WEFT_EREFUSED;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN: return WEFT_ERESET;
    case ETIMEDOUT: return WEFT_ETIMEDOUT;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN: return WEFT_ENONODE;
    case EMSGSIZE: return WEFT_ETOOBIG;
    default: return pf_unknown_error(where, system_error);
    }
}
