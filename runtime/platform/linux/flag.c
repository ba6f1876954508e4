/* runtime/platform/linux/flag.c -- flags for other loops: an eventfd. */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "native.h"

int pf_flag_open(struct pf_flag *f)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return pf_error(errno);
    *f = (struct pf_flag){.reading = fd, .writing = fd};
    return WEFT_OK;
}

void pf_flag_close(struct pf_flag *f)
{
    close((int)f->reading);
}

void pf_flag_raise(const struct pf_flag *f)
{
    int before = errno; /* kept, because signal handlers call this */
    uint64_t one = 1;
    ssize_t n = write((int)f->writing, &one, sizeof one); /* EAGAIN: its count is at the maximum, so the flag is up */
    WF_ASSERT(n == sizeof one || errno == EAGAIN);
    errno = before;
}

void pf_flag_lower(const struct pf_flag *f)
{
    int before = errno;
    uint64_t count;
    ssize_t n = read((int)f->reading, &count, sizeof count); /* EAGAIN: it was down */
    WF_ASSERT(n == sizeof count || errno == EAGAIN);
    errno = before;
}
