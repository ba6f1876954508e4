/* runtime/platform/posix/output.c -- standard error. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
        } else if (errno == EAGAIN) { /* other code has made it non-blocking */
            struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (poll(&p, 1, 1000) <= 0) break;
        } else if (errno != EINTR) {
            break; /* the text cannot be written */
        }
    }
    errno = before;
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

void pf_flush_stdout(void)
{
    if (ftrylockfile(stdout) != 0) return;
    (void)fflush(stdout);
    funlockfile(stdout);
}
