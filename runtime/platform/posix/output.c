/* runtime/platform/posix/output.c -- standard error. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include "native.h"

enum { PART = 4096, STEP = 5 }; /* PART: a pipe that is ready has space for it; ms */

_Atomic size_t pf_stderr_queued;
static _Atomic int patience = 1000; /* ms that last words still wait */

static bool is_ready(int ms)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&p, 1, ms) != 0; /* an error is told by write */
}

bool pf_stderr_is_ready(void)
{
    int before = errno;
    bool is = is_ready(0);
    errno = before;
    return is;
}

/* Writes the first bytes, or all. Returns false if the text cannot be written. */
static bool write_part(const char **data, size_t *size, size_t most)
{
    pf_signals_before_write();
    ssize_t n = write(STDERR_FILENO, *data, WF_MIN(*size, most));
    if (n < 0) return errno == EINTR || errno == EAGAIN; /* EAGAIN: other code has made it non-blocking */
    *data += n;
    *size -= (size_t)n;
    return true;
}

void pf_stderr_patiently(const char *data, size_t size)
{
    int before = errno;
    while (size > 0 && write_part(&data, &size, size))
        if (size > 0) (void)is_ready(1000);
    errno = before;
}

void pf_stderr(const char *data, size_t size)
{
    int before = errno;
    while (atomic_load_explicit(&pf_stderr_queued, memory_order_relaxed) > 0 &&
           atomic_fetch_sub_explicit(&patience, STEP, memory_order_relaxed) > 0)
        (void)poll(NULL, 0, STEP);
    while (size > 0) {
        if (is_ready(0)) {
            if (!write_part(&data, &size, PART)) break;
        } else if (atomic_fetch_sub_explicit(&patience, STEP, memory_order_relaxed) <= 0) {
            break; /* nobody reads */
        } else {
            (void)is_ready(STEP);
        }
    }
    errno = before;
}

bool pf_is_remote(pf_handle h)
{
    struct statfs s;
    if (fstatfs(h == PF_NO_HANDLE ? STDERR_FILENO : (int)h, &s) != 0) return false;
#ifdef __linux__
    static const uint32_t remote[] = {0x6969 /* NFS */,
                                      0xFF534D42 /* CIFS */,
                                      0xFE534D42 /* SMB 2 */,
                                      0x517B /* SMB */,
                                      0x65735546 /* FUSE */,
                                      0x01021997 /* 9P */,
                                      0x00C36400 /* Ceph */,
                                      0x5346414F /* AFS */,
                                      0x0BD00BD0 /* Lustre */,
                                      0x73757245 /* Coda */,
                                      0x01161970 /* GFS2 */,
                                      0x7461636F /* OCFS2 */,
                                      0x786F4256 /* a folder of VirtualBox */};
    for (size_t i = 0; i < sizeof remote / sizeof *remote; i++)
        if ((uint32_t)s.f_type == remote[i]) return true;
    return false;
#else
    return (s.f_flags & MNT_LOCAL) == 0;
#endif
}

/* Children inherit the variable, also if their standard error is another file. So it names the file for which it is
 * valid. */
bool pf_stderr_is_journal(void)
{
    /* This races only with setenv, which no program with threads may call. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat s;
    char is[64];
    if (stream == NULL || fstat(STDERR_FILENO, &s) != 0) return false;
    snprintf(is, sizeof is, "%ju:%ju", (uintmax_t)s.st_dev, (uintmax_t)s.st_ino);
    return strcmp(stream, is) == 0;
}

void pf_standard_hold(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) { /* open returns the lowest one that is free */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* children have the same */
    }
}

void pf_flush_stdout(void)
{
    if (ftrylockfile(stdout) != 0) return;
    pf_signals_before_write();
    (void)fflush(stdout);
    funlockfile(stdout);
}
