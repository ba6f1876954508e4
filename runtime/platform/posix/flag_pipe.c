/* runtime/platform/posix/flag_pipe.c -- flags for other loops, made of a pipe, for systems without eventfd. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "native.h"

static bool configure(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

int pf_flag_open(struct pf_flag *f)
{
    int ends[2];
    if (pipe(ends) < 0) return pf_error(errno);
    *f = (struct pf_flag){.reading = ends[0], .writing = ends[1]};
    if (configure(ends[0]) && configure(ends[1])) return WEFT_OK;
    int rc = pf_error(errno);
    pf_flag_close(f);
    return rc;
}

void pf_flag_close(struct pf_flag *f)
{
    close((int)f->reading);
    close((int)f->writing);
}

void pf_flag_raise(const struct pf_flag *f)
{
    int before = errno;                        /* kept, because signal handlers call this */
    ssize_t n = write((int)f->writing, "", 1); /* EAGAIN: the pipe is full, so the flag is up */
    WF_ASSERT(n == 1 || errno == EAGAIN);
    errno = before;
}

void pf_flag_lower(const struct pf_flag *f)
{
    int before = errno;
    char bytes[256];
    ssize_t n;
    while ((n = read((int)f->reading, bytes, sizeof bytes)) == sizeof bytes) {}
    WF_ASSERT(n > 0 || errno == EAGAIN);
    errno = before;
}
