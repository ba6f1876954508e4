/* runtime/platform/posix/manager.c -- the protocol of systemd and compatible service managers: one datagram for each
 * message. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "native.h"

/* This races only with setenv, which no program with threads may call. */
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
    if (path[0] == '@') to.sun_path[0] = '\0'; /* an abstract name of Linux, which is in no file system */
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

/* ---- Listeners that are handed over ---------------------------------------------------------------------------- */

enum { HANDED_FIRST = 3, HANDED_MAX = 64 };

/* One bit for each descriptor: it was taken. Relaxed, because no data is published with a descriptor. */
static _Atomic uint64_t taken;

static bool is_taken(int i)
{
    return (atomic_load_explicit(&taken, memory_order_relaxed) >> i & 1) != 0;
}

/* The number of descriptors passed. */
static int handed(void)
{
    const char *whose = variable("LISTEN_PID"), *count = variable("LISTEN_FDS");
    if (whose == NULL || count == NULL || strtoull(whose, NULL, 10) != (unsigned long long)getpid()) return 0;
    unsigned long long n = strtoull(count, NULL, 10);
    return n > HANDED_MAX ? HANDED_MAX : (int)n;
}

/* Whether the i-th part of `names`, between colons, is `name`. A descriptor without a part is called "unknown", as in
 * systemd. */
static bool is_called(const char *names, int i, const char *name)
{
    for (; names != NULL && i > 0; i--) {
        names = strchr(names, ':');
        if (names != NULL) names++;
    }
    if (names == NULL) return strcmp(name, "unknown") == 0;
    size_t size = strcspn(names, ":");
    return strlen(name) == size && memcmp(names, name, size) == 0;
}

/* WEFT_EINVAL: it is not a listening stream socket. */
static int make_listener(int fd)
{
    int type = 0, listens = 0, on = 1, flags = fcntl(fd, F_GETFL);
    socklen_t size = sizeof type;
    if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
        return WEFT_EINVAL;
    size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) return WEFT_EINVAL;
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) return pf_error(errno);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* as pf_listen; fails for Unix sockets */
    return WEFT_OK;
}

int pf_manager_listener(const char *name, pf_handle *out)
{
    const char *names = variable("LISTEN_FDNAMES");
    int count = handed(), rc = WEFT_ENOTFOUND;
    *out = PF_NO_HANDLE;
    /* Marks all of them, because children must not inherit them. */
    for (int i = 0; i < count; i++)
        if (!is_taken(i)) (void)fcntl(HANDED_FIRST + i, F_SETFD, FD_CLOEXEC);
    for (int i = 0; i < count; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if (name != NULL && !is_called(names, i, name)) continue;
        int made = is_taken(i) ? WEFT_EINUSE : make_listener(HANDED_FIRST + i);
        if (made < 0) {
            if (rc == WEFT_ENOTFOUND || made != WEFT_EINUSE) rc = made;
            continue;
        }
        if ((atomic_fetch_or_explicit(&taken, bit, memory_order_relaxed) & bit) == 0) {
            *out = HANDED_FIRST + i;
            return WEFT_OK;
        }
        if (rc == WEFT_ENOTFOUND) rc = WEFT_EINUSE; /* another thread has taken it */
    }
    return rc;
}

/* ---- What this process uses ------------------------------------------------------------------------------------ */

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
