/* runtime/platform/posix/error.c -- converts errno to WEFT_E*. */
#include <errno.h>

#include "native.h"

int pf_error(int system_error)
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
    default: return WEFT_ESYSTEM;
    }
}
