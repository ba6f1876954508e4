/* runtime/platform/linux/find_stream.c -- finds the descriptor of a socket that a library does not show.
 *
 * Design notes.
 * (1) /proc lists the descriptors of this process. A TCP socket is the only one with its two addresses. Many Unix
 *     sockets have the same addresses: so a Unix socket must have a single descriptor in this process (a socket that
 *     was found before has two), and its peer must not have closed it. If two sockets match, none is found.
 * (2) A peer may close its end at any moment. So the wrong Unix socket may be found in place of one whose peer has
 *     just closed it. The owner notices it at the first write, which fails. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "native.h"
#include "socket_shared.h"

struct found {
    int fd;
    ino_t inode;
};

/* The descriptors of sockets with the two addresses. */
struct matches {
    struct found *at;
    size_t count, capacity;
};

static bool same(const union pf_any_address *a, const struct pf_address *wanted)
{
    union pf_any_address b;
    pf_load(&b, wanted);
    if (a->head.sa_family != b.head.sa_family) return false;
    if (b.head.sa_family == AF_UNIX)
        return strncmp(a->unix_path.sun_path, b.unix_path.sun_path, sizeof a->unix_path.sun_path) == 0;
    struct sockaddr_in v4[2];
    struct sockaddr_in6 v6[2];
    memcpy(&v4[0], a, sizeof v4[0]), memcpy(&v4[1], &b, sizeof v4[1]);
    memcpy(&v6[0], a, sizeof v6[0]), memcpy(&v6[1], &b, sizeof v6[1]);
    if (b.head.sa_family == AF_INET)
        return v4[0].sin_port == v4[1].sin_port && v4[0].sin_addr.s_addr == v4[1].sin_addr.s_addr;
    return v6[0].sin6_port == v6[1].sin6_port &&
           memcmp(&v6[0].sin6_addr, &v6[1].sin6_addr, sizeof v6[0].sin6_addr) == 0;
}

static bool matches(int fd, const struct pf_address *local, const struct pf_address *remote)
{
    union pf_any_address a;
    socklen_t size = sizeof a;
    memset(&a, 0, sizeof a);
    if (getsockname(fd, &a.head, &size) != 0 || (local != NULL && !same(&a, local))) return false;
    size = sizeof a;
    memset(&a, 0, sizeof a);
    return getpeername(fd, &a.head, &size) == 0 && (remote == NULL || same(&a, remote));
}

static bool note(struct matches *m, int fd)
{
    struct stat s;
    if (fstat(fd, &s) != 0) return true; /* it was closed meanwhile */
    if (m->count == m->capacity) {
        size_t capacity = m->capacity == 0 ? 8 : 2 * m->capacity;
        struct found *more = realloc(m->at, capacity * sizeof *more);
        if (more == NULL) return false;
        m->at = more;
        m->capacity = capacity;
    }
    m->at[m->count++] = (struct found){fd, s.st_ino};
    return true;
}

/* Collects all matches; it stops at the first TCP socket. */
static bool look(DIR *dir, const struct pf_address *local, const struct pf_address *remote, struct matches *out)
{
    bool one = !pf_address_is_unix(local != NULL ? local : remote);
    const struct dirent *e;
    /* No other thread uses this listing. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    while ((e = readdir(dir)) != NULL) {
        int fd = (int)strtol(e->d_name, NULL, 10);
        if (e->d_name[0] == '.' || !matches(fd, local, remote)) continue;
        if (!note(out, fd)) return false;
        if (one) break;
    }
    return true;
}

static bool is_left(int fd)
{
    struct pollfd p = {.fd = fd};
    return poll(&p, 1, 0) > 0; /* poll always reports POLLHUP and POLLERR */
}

static int only_one(const struct matches *m)
{
    int only = -1;
    for (size_t i = 0; i < m->count; i++) {
        unsigned times = 0;
        for (size_t k = 0; k < m->count; k++) times += m->at[k].inode == m->at[i].inode;
        if (times > 1 || is_left(m->at[i].fd)) continue;
        if (only >= 0) return -1;
        only = m->at[i].fd;
    }
    return only;
}

int pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out)
{
    struct matches all = {0};
    *out = PF_NO_HANDLE;
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0) close(fd);
        return WEFT_ENOTFOUND;
    }
    int found = look(dir, local, remote, &all) ? only_one(&all) : -1;
    (void)closedir(dir);
    free(all.at);
    if (found >= 0) *out = fcntl(found, F_DUPFD_CLOEXEC, 0);
    return *out < 0 ? WEFT_ENOTFOUND : WEFT_OK;
}
