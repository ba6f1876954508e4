/* runtime/platform/posix/pipe.c -- pipes, and this process's standard streams. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native.h"

static int set_flags(int fd, bool ours)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return pf_error(errno);
    return !ours || fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? WEFT_OK : pf_error(errno);
}

int pf_pipe(pf_handle *reading, pf_handle *writing, bool reading_is_ours, bool writing_is_ours)
{
    int ends[2];
#if defined(__APPLE__) /* it lacks the call below */
    if (pipe(ends) != 0) return pf_error(errno);
#else
    if (pipe2(ends, O_CLOEXEC) != 0) return pf_error(errno);
#endif
    int rc = set_flags(ends[0], reading_is_ours);
    if (rc == WEFT_OK) rc = set_flags(ends[1], writing_is_ours);
    if (rc < 0) {
        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    *reading = ends[0];
    *writing = ends[1];
    return WEFT_OK;
}

int pf_duplicate(pf_handle h, pf_handle *out)
{
    int fd = fcntl((int)h, F_DUPFD_CLOEXEC, 3); /* 3: never a standard one, even if these are closed */
    if (fd < 0) return pf_error(errno);
    *out = fd;
    return WEFT_OK;
}

/* O_NONBLOCK is a property of the open file, and a terminal's open file is shared with the shell: so we open it
 * again. */
static int open_again(int which)
{
    char path[64];
    struct stat info;
    if (fstat(which, &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) return -1;
    int mode = fcntl(which, F_GETFL) & O_ACCMODE;
#if defined(__linux__)
    snprintf(path, sizeof path, "/proc/self/fd/%d", which);
#else
    /* On other systems /dev/fd makes a duplicate, or ignores the flags; but a terminal has a name of its own. */
    if (ttyname_r(which, path, sizeof path) != 0) return -1;
#endif
    return open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int pf_standard(pf_handle *out, int which)
{
    int flags = fcntl(which, F_GETFL);
    if (flags < 0) return WEFT_ECLOSED;
    int fd = open_again(which);
    if (fd < 0) { /* a socket, or a terminal of another user, or there is no /proc */
        fd = fcntl(which, F_DUPFD_CLOEXEC, 3);
        if (fd < 0) return pf_error(errno);
        if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
            int rc = pf_error(errno); /* before close() changes errno */
            close(fd);
            return rc;
        }
    }
    *out = fd;
    return WEFT_OK;
}

void pf_standard_drain(void)
{
    /* pf_write writes to the stream itself, so nothing has to be waited for. */
}
