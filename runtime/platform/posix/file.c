/* runtime/platform/posix/file.c -- files: positioned reads and writes that may block. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native.h"

int pf_file_error_of(const char *where, int system_error)
{
    switch (system_error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP: return WEFT_ENOTFOUND;
    case EISDIR: return WEFT_EISDIR;
    case ENOSPC:
    case EDQUOT: return WEFT_ENOSPC;
    case EFBIG:
    case EOVERFLOW: return WEFT_ETOOBIG;
    case EBADF: return WEFT_EACCESS; /* the file was not opened for this operation */
    case ETXTBSY:
    case EBUSY: return WEFT_EBUSY;
    case ENXIO:
    case ENODEV:
    case ESPIPE:
    case ENAMETOOLONG: return WEFT_EINVAL;
    case EAGAIN: return pf_unknown_error(where, system_error); /* a file is always ready */
    default: return pf_error_of(where, system_error);
    }
}

static int system_flags(unsigned flags)
{
    int system = (flags & PF_FILE_WRITE) == 0 ? O_RDONLY : (flags & PF_FILE_READ) == 0 ? O_WRONLY : O_RDWR;
    if ((flags & PF_FILE_CREATE) != 0) system |= O_CREAT;
    if ((flags & PF_FILE_EXCLUSIVE) != 0) system |= O_EXCL;
    if ((flags & PF_FILE_TRUNCATE) != 0) system |= O_TRUNC;
    if ((flags & PF_FILE_APPEND) != 0) system |= O_APPEND;
    return system | O_CLOEXEC | O_NOCTTY;
}

/* Clears O_NONBLOCK, because pf_file_read must wait for a slow device. */
static int check_kind(int fd, int flags)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return pf_file_error(errno);
    if (S_ISDIR(info.st_mode)) return WEFT_EISDIR;
    if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) return WEFT_EINVAL;
    return fcntl(fd, F_SETFL, flags & O_APPEND) == 0 ? WEFT_OK : pf_file_error(errno);
}

int pf_file_open(pf_handle *out, const char *path, unsigned flags, unsigned mode)
{
    int fd, system = system_flags(flags);
    /* O_NONBLOCK: opening a named pipe whose other end is not open must fail, not wait. */
    do fd = open(path, system | O_NONBLOCK, (mode_t)mode);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) return pf_file_error(errno);
    int rc = check_kind(fd, system);
    if (rc < 0) close(fd);
    else *out = fd;
    return rc;
}

void pf_file_close(pf_handle h)
{
    (void)close((int)h);
}

int64_t pf_file_read(pf_handle h, void *data, size_t size, int64_t offset)
{
    ssize_t n;
    do n = pread((int)h, data, size, offset);
    while (n < 0 && errno == EINTR);
    return n < 0 ? pf_file_error(errno) : n;
}

int64_t pf_file_write(pf_handle h, const void *data, size_t size, int64_t offset)
{
    ssize_t n;
    pf_signals_before_write();
    do n = offset == PF_FILE_END ? write((int)h, data, size) : pwrite((int)h, data, size, offset);
    while (n < 0 && errno == EINTR);
    return n < 0 ? pf_file_error(errno) : n;
}

int64_t pf_file_size(pf_handle h)
{
    struct stat info;
    return fstat((int)h, &info) == 0 ? info.st_size : pf_file_error(errno);
}

int pf_file_sync(pf_handle h)
{
    int rc;
    do rc = fsync((int)h);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 || errno == EINVAL || errno == EROFS) return WEFT_OK; /* a file that is not on a disk */
    return pf_file_error(errno);
}

int pf_file_truncate(pf_handle h, int64_t size)
{
    int rc;
    pf_signals_before_write(); /* this one may be beyond the limit, too */
    do rc = ftruncate((int)h, size);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? WEFT_OK : pf_file_error(errno);
}
