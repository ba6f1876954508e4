/* runtime/platform/posix/output.c -- standard error. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "native.h"

void pf_stderr(const char *data, size_t size)
{
    int before = errno;
    while (size > 0) {
        ssize_t n = write(STDERR_FILENO, data, size);
        if (n >= 0) {
            data += n;
            size -= (size_t)n;
        } else if (errno == EAGAIN) { /* somebody made it non-blocking */
            struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (poll(&p, 1, 1000) <= 0) break;
        } else if (errno != EINTR) {
            break; /* nobody is left to tell */
        }
    }
    errno = before;
}

void pf_flush_stdout(void)
{
    if (ftrylockfile(stdout) != 0) return;
    (void)fflush(stdout);
    funlockfile(stdout);
}
