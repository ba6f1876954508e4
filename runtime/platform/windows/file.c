/* runtime/platform/windows/file.c -- files: overlapped reads and writes at positions.
 *
 * Design notes.
 * (1) Every handle is opened for overlapped use. It is bound to the completion port of the poller that first uses it;
 *     a handle cannot be bound to another port later.
 * (2) The system may finish an operation at once (for cached data; always at the end of the file). Then it sends no
 *     packet, because we tell it not to. It is not known before whether it will, so `at_once` always returns
 *     PF_BLOCKING.
 * (3) A blocking call waits for an event of its own; the lowest bit of the event's handle tells the system not to
 *     send a packet to the port. */
#include <string.h>

#include "port.h"
/* after windows.h */
#include <winternl.h>

_Static_assert(sizeof(OVERLAPPED) <= sizeof(((struct pf_file_op *)0)->platform), "it fits");

int pf_file_error_of(const char *where, int system_error)
{
    switch (system_error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_PATHNAME:
    case ERROR_DIRECTORY: return WEFT_ENOTFOUND;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return WEFT_ENOSPC;
    case ERROR_FILE_TOO_LARGE: return WEFT_ETOOBIG;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: return WEFT_EBUSY;
    case ERROR_NEGATIVE_SEEK:
    case ERROR_FILENAME_EXCED_RANGE: return WEFT_EINVAL;
    default: return pf_error_of(where, system_error);
    }
}

/* It is a macro, as the error is told with the name of the function that met it. */
#define last_error() pf_file_error((int)GetLastError())

static int check_kind(HANDLE file, unsigned flags)
{
    DWORD kind = GetFileType(file);
    if (kind == FILE_TYPE_PIPE || kind == FILE_TYPE_UNKNOWN) return WEFT_EINVAL;
    if ((flags & PF_FILE_TRUNCATE) != 0 && !SetEndOfFile(file)) return last_error();
    if (!SetFileCompletionNotificationModes(file,
                                            FILE_SKIP_COMPLETION_PORT_ON_SUCCESS | FILE_SKIP_SET_EVENT_ON_HANDLE))
        return last_error();
    return WEFT_OK;
}

int pf_file_open(pf_handle *out, const char *path, unsigned flags, unsigned mode)
{
    wchar_t wide[PF_PATH_WIDE];
    if (pf_wide(path, wide, PF_PATH_WIDE) < 0) return WEFT_EINVAL;
    DWORD access = ((flags & PF_FILE_READ) != 0 ? GENERIC_READ : 0) |
                   ((flags & PF_FILE_WRITE) != 0 ? GENERIC_WRITE : 0);
    DWORD how = (flags & PF_FILE_CREATE) == 0      ? OPEN_EXISTING
                : (flags & PF_FILE_EXCLUSIVE) != 0 ? CREATE_NEW
                                                   : OPEN_ALWAYS;
    DWORD attributes = (mode & 0222) == 0 ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL;
    HANDLE file = CreateFileW(wide, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, how,
                              attributes | FILE_FLAG_OVERLAPPED, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        int rc = last_error();
        DWORD there = rc == WEFT_EACCESS ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
        bool folder = there != INVALID_FILE_ATTRIBUTES && (there & FILE_ATTRIBUTE_DIRECTORY) != 0;
        return folder ? WEFT_EISDIR : rc;
    }
    int rc = check_kind(file, flags);
    if (rc < 0) CloseHandle(file);
    else *out = (pf_handle)file;
    return rc;
}

void pf_file_close(pf_handle h)
{
    CloseHandle((HANDLE)h);
}

/* PF_FILE_END is the value that the system itself uses for "at the end". */
static OVERLAPPED at(int64_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
}

static bool begin(HANDLE file, void *data, size_t size, bool write, OVERLAPPED *o)
{
    DWORD part = (DWORD)WF_MIN(size, (size_t)1 << 30);
    return write ? WriteFile(file, data, part, NULL, o) : ReadFile(file, data, part, NULL, o);
}

static int64_t result_of(const OVERLAPPED *o, DWORD error)
{
    if (error == ERROR_HANDLE_EOF) return 0;
    return error == ERROR_SUCCESS ? (int64_t)o->InternalHigh : pf_file_error((int)error);
}

static int64_t transfer(pf_handle h, void *data, size_t size, int64_t offset, bool write)
{
    if (offset < 0 && !(write && offset == PF_FILE_END)) return WEFT_EINVAL;
    HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (event == NULL) return last_error();
    OVERLAPPED o = at(offset);
    o.hEvent = (HANDLE)((uintptr_t)event | 1);
    DWORD count, error = begin((HANDLE)h, data, size, write, &o) ? ERROR_SUCCESS : GetLastError();
    if (error == ERROR_IO_PENDING)
        error = GetOverlappedResult((HANDLE)h, &o, &count, TRUE) ? ERROR_SUCCESS : GetLastError();
    CloseHandle(event);
    return result_of(&o, error);
}

int64_t pf_file_read(pf_handle h, void *data, size_t size, int64_t offset)
{
    return transfer(h, data, size, offset, false);
}

int64_t pf_file_write(pf_handle h, const void *data, size_t size, int64_t offset)
{
    return transfer(h, (void *)(uintptr_t)data, size, offset, true);
}

int64_t pf_file_size(pf_handle h)
{
    LARGE_INTEGER size;
    return GetFileSizeEx((HANDLE)h, &size) ? size.QuadPart : last_error();
}

int pf_file_sync(pf_handle h)
{
    /* A file that was not opened for writing has no data that must go to the disk. */
    return FlushFileBuffers((HANDLE)h) || GetLastError() == ERROR_ACCESS_DENIED ? WEFT_OK : last_error();
}

int pf_file_truncate(pf_handle h, int64_t size)
{
    if (size < 0) return WEFT_EINVAL;
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = size};
    return SetFileInformationByHandle((HANDLE)h, FileEndOfFileInfo, &end, sizeof end) ? WEFT_OK : last_error();
}

/* ---- With a poller --------------------------------------------------------------------------------------------- */

int pf_native_file_submit(struct pf_poller *p, struct pf_file_op *op)
{
    if (op->at_once) return PF_BLOCKING;
    if (op->offset < 0 && !(op->write && op->offset == PF_FILE_END)) return WEFT_EINVAL;
    /* This fails if the handle is bound to a port already. */
    (void)CreateIoCompletionPort((HANDLE)op->file, pf_poller_port(p), PF_KEY_FILE, 0);
    OVERLAPPED *o = (OVERLAPPED *)(void *)op->platform;
    *o = at(op->offset);
    DWORD error = begin((HANDLE)op->file, op->data, op->size, op->write, o) ? ERROR_SUCCESS : GetLastError();
    if (error == ERROR_IO_PENDING) return PF_AGAIN;
    op->result = result_of(o, error);
    return op->result >= 0 ? WEFT_OK : (int)op->result;
}

void pf_native_file_cancel(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    (void)CancelIoEx((HANDLE)op->file, (OVERLAPPED *)(void *)op->platform); /* fails if it is done */
}

struct pf_ready pf_file_done(OVERLAPPED *o)
{
    struct pf_file_op *op = WF_CONTAINER(o, struct pf_file_op, platform);
    op->result = result_of(o, RtlNtStatusToDosError((NTSTATUS)o->Internal));
    return (struct pf_ready){.tag = op->tag, .done = true};
}
