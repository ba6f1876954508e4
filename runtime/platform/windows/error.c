/* runtime/platform/windows/error.c -- converts the system's error codes, also those of sockets, to WEFT_E*; and UTF-8
 * to UTF-16. */
#include "system.h"

#include <stdio.h>
#include <string.h>

_Atomic(pf_unknown_error_fn *) pf_on_unknown_error;

int pf_unknown_error(const char *where, int system_error)
{
    /* Pairs with the store of the thread that registers. */
    pf_unknown_error_fn *tell = atomic_load_explicit(&pf_on_unknown_error, memory_order_acquire);
    if (tell == NULL) return WEFT_ESYSTEM;
    DWORD before = GetLastError();
    char text[256];
    DWORD n = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, (DWORD)system_error, 0,
                             text, sizeof text, NULL);
    if (n == 0) snprintf(text, sizeof text, "unknown error");
    text[strcspn(text, "\r\n")] = '\0';
    tell(where, system_error, text);
    SetLastError(before);
    return WEFT_ESYSTEM;
}

int pf_wide(const char *text, wchar_t *out, size_t space)
{
    int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out,
                                   (int)WF_MIN(space, (size_t)INT32_MAX));
    return size > 0 ? size : GetLastError() == ERROR_INSUFFICIENT_BUFFER ? WEFT_ETOOBIG : WEFT_EINVAL;
}

int pf_error_of(const char *where, int system_error)
{
    switch (system_error) {
    case ERROR_SUCCESS: return WEFT_OK;
    case WSAEWOULDBLOCK: return PF_AGAIN;
    case ERROR_INVALID_PARAMETER:
    case WSAEINVAL:
    case WSAENOTSOCK:
    case WSAEOPNOTSUPP: return WEFT_EINVAL;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NO_SYSTEM_RESOURCES:
    case WSAENOBUFS: return WEFT_ENOMEM;
    case ERROR_TOO_MANY_OPEN_FILES:
    case ERROR_DISK_FULL:
    case WSAEMFILE: return WEFT_EFULL;
    case ERROR_INVALID_HANDLE:
    case WSAEBADF: return WEFT_ECLOSED;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return WEFT_EEXIST;
    case WSAEADDRINUSE: return WEFT_EINUSE;
    case WSAEADDRNOTAVAIL:
    case WSAEAFNOSUPPORT:
    case WSAESOCKTNOSUPPORT:
    case WSAEPROTONOSUPPORT:
    case ERROR_INVALID_NAME:
    case ERROR_FILENAME_EXCED_RANGE:
    case ERROR_DIRECTORY: return WEFT_EADDRESS;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_WRITE_PROTECT:
    case ERROR_PRIVILEGE_NOT_HELD:
    case WSAEACCES: return WEFT_EACCESS;
    case WSAECONNREFUSED:
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return WEFT_EREFUSED;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
    case ERROR_NETNAME_DELETED:
    case WSAECONNRESET:
    case WSAECONNABORTED:
    case WSAESHUTDOWN:
    case WSAENETRESET:
    case WSAENOTCONN: return WEFT_ERESET;
    case WAIT_TIMEOUT:
    case WSAETIMEDOUT: return WEFT_ETIMEDOUT;
    case WSAENETUNREACH:
    case WSAEHOSTUNREACH:
    case WSAENETDOWN: return WEFT_ENONODE;
    case WSAEMSGSIZE: return WEFT_ETOOBIG;
    default: return pf_unknown_error(where, system_error);
    }
}
