/* runtime/platform/posix/manager.c -- systemd, and what else speaks as it does: one datagram for each message. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "native.h"

/* Races with setenv only, which no program with threads may call. */
static const char *variable(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

void pf_manager_notify(const char *lines)
{
    const char *path = variable("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = path == NULL ? 0 : strlen(path);
    if (size < 2 || size >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@')) return;
    memcpy(to.sun_path, path, size);
    if (path[0] == '@') to.sun_path[0] = '\0'; /* a name of Linux's that is in no file system */
    int before = errno, s = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (s >= 0) {
        (void)fcntl(s, F_SETFD, FD_CLOEXEC);
        (void)sendto(s, lines, strlen(lines), MSG_DONTWAIT, (const struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
        (void)close(s);
    }
    errno = before;
}

int64_t pf_manager_watchdog(void)
{
    const char *span = variable("WATCHDOG_USEC"), *whose = variable("WATCHDOG_PID");
    if (span == NULL || variable("NOTIFY_SOCKET") == NULL) return 0;
    if (whose != NULL && strtoull(whose, NULL, 10) != (unsigned long long)getpid()) return 0;
    unsigned long long us = strtoull(span, NULL, 10);
    return us > INT64_MAX / 1000 ? 0 : (int64_t)us * 1000;
}

/* "size resident ...", in pages. */
static uint64_t resident(void)
{
    char text[128];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t n = read(file, text, sizeof text - 1);
    (void)close(file);
    if (n <= 0) return 0;
    text[n] = '\0';
    const char *second = strchr(text, ' ');
    return second == NULL ? 0 : strtoull(second + 1, NULL, 10) * pf_page_size();
}

static int64_t nanoseconds(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

void pf_usage(struct pf_usage *out)
{
    struct rusage used;
    *out = (struct pf_usage){.resident = resident()};
    if (getrusage(RUSAGE_SELF, &used) == 0) out->processor = nanoseconds(used.ru_utime) + nanoseconds(used.ru_stime);
}
