/* tests/calls/wrapped.c -- see calls.h. */
#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FDS_MAX = 1024 };

/* Written while the test has one thread; read by any thread that calls. */
static struct {
    struct places *_Atomic into; /* NULL: off */
    const struct place *at;
    long nth;
    int fault;
    _Atomic long failed, blocks, mapped;
    _Atomic bool counter[FDS_MAX]; /* eventfds: what is asked of them always goes well */
    struct {
        _Atomic int epoll; /* plus 1 */
        struct epoll_event event;
    } polled[FDS_MAX];
} calls;

static bool same(const struct place *a, const struct place *b)
{
    return a->call == b->call && a->at == b->at && a->from == b->from;
}

/* For the how many-th time it is reached. */
static long count(struct places *all, const struct place *p)
{
    size_t i = ((p->at ^ (p->from << 7)) * 0x9E3779B97F4A7C15u >> 40) % PLACES_MAX;
    for (size_t tries = 0; tries < PLACES_MAX; tries++, i = (i + 1) % PLACES_MAX) {
        int state = 0;
        if (atomic_compare_exchange_strong(&all->entry[i].state, &state, 1)) {
            all->entry[i].place = *p;
            atomic_fetch_add(&all->count, 1);
            atomic_store(&all->entry[i].state, 2);
        }
        while (atomic_load(&all->entry[i].state) != 2) sched_yield();
        if (same(&all->entry[i].place, p)) return atomic_fetch_add(&all->entry[i].times, 1) + 1;
    }
    abort(); /* PLACES_MAX is too small */
}

int calls_fault(enum call call, const void *at, const void *from)
{
    struct places *into = calls.into;
    if (into == NULL) return FAULT_NONE;
    struct place p = {call, (uintptr_t)at, (uintptr_t)from};
    int before = errno;
    long n = count(into, &p);
    errno = before;
    if (calls.at == NULL || n != calls.nth || !same(calls.at, &p)) return FAULT_NONE;
    atomic_fetch_add(&calls.failed, 1);
    return calls.fault;
}

/* Every function of the project keeps its frame pointer. */
#pragma GCC diagnostic ignored "-Wframe-address"
/* A fault that does not fit what the call is asked for this time does not come. */
static int only_if(bool fits, int fault)
{
    if (fits || fault == FAULT_NONE) return fault;
    atomic_fetch_sub(&calls.failed, 1);
    return FAULT_NONE;
}

bool calls_out_of_memory(void)
{
    const struct place *at = calls.at;
    if (at == NULL || calls.failed == 0) return false;
    return at->call == CALL_malloc || at->call == CALL_calloc || at->call == CALL_realloc ||
           at->call == CALL_aligned_alloc || at->call == CALL_mmap64;
}

void calls_begin(struct places *into, const struct place *at, long nth, int fault)
{
    calls.at = at;
    calls.nth = nth;
    calls.fault = fault;
    calls.failed = 0;
    calls.into = into;
}

long calls_end(void)
{
    calls.into = NULL;
    return calls.failed;
}

long calls_failed(void)
{
    return calls.failed;
}

long calls_blocks(void)
{
    return calls.blocks;
}

long calls_mapped(void)
{
    return calls.mapped;
}

/* ---- What most of them need ------------------------------------------------------------------------------------ */

#define WRAPPED(type, name, bad, parameters, ...)                   \
    type __real_##name parameters;                                  \
    type __wrap_##name parameters;                                  \
    type __wrap_##name parameters                                   \
    {                                                               \
        int fault = FAULT(name);                                    \
        if (fault == FAULT_NONE) return __real_##name(__VA_ARGS__); \
        errno = fault;                                              \
        return bad;                                                 \
    }

WRAPPED(int, bind, -1, (int fd, const struct sockaddr *a, socklen_t size), fd, a, size)
WRAPPED(int, epoll_create1, -1, (int flags), flags)
WRAPPED(int, epoll_pwait2, -1,
        (int fd, struct epoll_event *e, int max, const struct timespec *t, const sigset_t *mask), fd, e, max, t, mask)
WRAPPED(int, epoll_wait, -1, (int fd, struct epoll_event *e, int max, int span), fd, e, max, span)
WRAPPED(DIR *, fdopendir, NULL, (int fd), fd)
WRAPPED(int, fstat64, -1, (int fd, struct stat *out), fd, out)
WRAPPED(int, fsync, -1, (int fd), fd)
WRAPPED(int, ftruncate64, -1, (int fd, off_t size), fd, size)
WRAPPED(int, getpeername, -1, (int fd, struct sockaddr *a, socklen_t *size), fd, a, size)
WRAPPED(int, getsockname, -1, (int fd, struct sockaddr *a, socklen_t *size), fd, a, size)
WRAPPED(int, getsockopt, -1, (int fd, int level, int name, void *value, socklen_t *size), fd, level, name, value,
        size)
WRAPPED(int, inotify_add_watch, -1, (int fd, const char *path, uint32_t mask), fd, path, mask)
WRAPPED(int, inotify_init1, -1, (int flags), flags)
WRAPPED(int, listen, -1, (int fd, int backlog), fd, backlog)
WRAPPED(int, lstat64, -1, (const char *path, struct stat *out), path, out)
WRAPPED(int, mincore, -1, (void *at, size_t size, unsigned char *out), at, size, out)
WRAPPED(int, mkdir, -1, (const char *path, mode_t mode), path, mode)
WRAPPED(int, mprotect, -1, (void *at, size_t size, int protection), at, size, protection)
WRAPPED(int, pipe2, -1, (int ends[2], int flags), ends, flags)
WRAPPED(int, poll, -1, (struct pollfd * p, nfds_t n, int span), p, n, span)
WRAPPED(struct dirent *, readdir64, NULL, (DIR * d), d)
WRAPPED(int, sched_getaffinity, -1, (pid_t pid, size_t size, cpu_set_t *out), pid, size, out)
WRAPPED(int, setsockopt, -1, (int fd, int level, int name, const void *value, socklen_t size), fd, level, name, value,
        size)
WRAPPED(int, shutdown, -1, (int fd, int how), fd, how)
WRAPPED(int, socket, -1, (int family, int type, int protocol), family, type, protocol)
WRAPPED(int, stat64, -1, (const char *path, struct stat *out), path, out)
WRAPPED(int, timerfd_create, -1, (int clock, int flags), clock, flags)
WRAPPED(int, unlink, -1, (const char *path), path)
WRAPPED(pid_t, waitpid, -1, (pid_t pid, int *status, int options), pid, status, options)

WRAPPED_RC(getaddrinfo, (const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **out),
           host, service, hints, out)
WRAPPED_RC(posix_spawn_file_actions_addclosefrom_np, (posix_spawn_file_actions_t * a, int from), a, from)
WRAPPED_RC(posix_spawn_file_actions_addchdir_np, (posix_spawn_file_actions_t * a, const char *path), a, path)
WRAPPED_RC(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * a, int from, int to), a, from, to)
WRAPPED_RC(posix_spawn_file_actions_addopen,
           (posix_spawn_file_actions_t * a, int fd, const char *path, int flags, mode_t mode), a, fd, path, flags,
           mode)
WRAPPED_RC(posix_spawnp,
           (pid_t * pid, const char *file, const posix_spawn_file_actions_t *a, const posix_spawnattr_t *attributes,
            char *const argv[], char *const env[]),
           pid, file, a, attributes, argv, env)
WRAPPED_RC(pthread_cond_init, (pthread_cond_t * c, const pthread_condattr_t *a), c, a)
WRAPPED_RC(pthread_create, (pthread_t * t, const pthread_attr_t *a, void *(*run)(void *), void *arg), t, a, run, arg)
WRAPPED_RC(pthread_mutex_init, (pthread_mutex_t * m, const pthread_mutexattr_t *a), m, a)

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

void calls_count_block(int change)
{
    atomic_fetch_add_explicit(&calls.blocks, change, memory_order_relaxed);
}

static void *counted(void *block)
{
    if (block != NULL) calls_count_block(1);
    return block;
}

#define WRAPPED_ALLOC(name, parameters, ...)                                       \
    void *__real_##name parameters;                                                \
    void *__wrap_##name parameters;                                                \
    void *__wrap_##name parameters                                                 \
    {                                                                              \
        if (FAULT(name) == FAULT_NONE) return counted(__real_##name(__VA_ARGS__)); \
        errno = ENOMEM;                                                            \
        return NULL;                                                               \
    }

WRAPPED_ALLOC(malloc, (size_t size), size)
WRAPPED_ALLOC(calloc, (size_t n, size_t size), n, size)
WRAPPED_ALLOC(aligned_alloc, (size_t align, size_t size), align, size)

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return FAULT(strdup) == FAULT_NONE ? counted(__real_strdup(text)) : NULL;
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
    if (FAULT(realloc) != FAULT_NONE) return NULL;
    void *moved = __real_realloc(block, size);
    return block == NULL ? counted(moved) : moved;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (block != NULL) calls_count_block(-1);
    __real_free(block);
}

void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    int fault = FAULT(mmap64);
    void *mapped = fault == FAULT_NONE ? __real_mmap64(at, size, protection, flags, fd, offset) : MAP_FAILED;
    if (fault != FAULT_NONE) errno = fault;
    if (mapped != MAP_FAILED) atomic_fetch_add_explicit(&calls.mapped, (long)size, memory_order_relaxed);
    return mapped;
}

/* One that fails leaves what it was told to take away: no memory of the process's own to split a mapping. */
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size)
{
    int fault = FAULT(munmap);
    int rc = fault == FAULT_NONE ? __real_munmap(at, size) : -1;
    if (fault != FAULT_NONE) errno = fault;
    atomic_fetch_sub_explicit(&calls.mapped, (long)size, memory_order_relaxed);
    return rc;
}

/* Emptying takes no memory. What is locked is not emptied, and older kernels know no guards. */
int __real_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice);
int __wrap_madvise(void *at, size_t size, int advice)
{
    enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103 };
    int fault = FAULT(madvise);
    if (fault == ENOMEM) fault = only_if(advice == GUARD_INSTALL, fault);
    if (fault == EINVAL) fault = only_if(advice != GUARD_REMOVE, fault);
    if (fault == FAULT_NONE) return __real_madvise(at, size, advice);
    errno = fault;
    return -1;
}

/* ---- Descriptors ----------------------------------------------------------------------------------------------- */

static bool known(int fd)
{
    return fd >= 0 && fd < FDS_MAX;
}

/* What the kernel does when there is again what it said there was not. */
static void report_again(int fd)
{
    int before = errno, epoll = known(fd) ? atomic_load(&calls.polled[fd].epoll) - 1 : -1;
    struct epoll_event e;
    if (epoll < 0) return;
    e = calls.polled[fd].event;
    extern int __real_epoll_ctl(int, int, int, struct epoll_event *);
    (void)__real_epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &e);
    errno = before;
}

int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *e)
{
    /* What is registered can be taken off. */
    int fault = operation == EPOLL_CTL_DEL ? FAULT_NONE : FAULT(epoll_ctl);
    if (fault != FAULT_NONE) {
        errno = fault;
        return -1;
    }
    int rc = __real_epoll_ctl(epoll, operation, fd, e);
    if (!known(fd)) return rc;
    if (operation == EPOLL_CTL_ADD && rc == 0) {
        calls.polled[fd].event = *e;
        atomic_store(&calls.polled[fd].epoll, epoll + 1);
    } else if (operation == EPOLL_CTL_DEL) {
        atomic_store(&calls.polled[fd].epoll, 0);
    }
    return rc;
}

int __real_eventfd(unsigned from, int flags);
int __wrap_eventfd(unsigned from, int flags);
int __wrap_eventfd(unsigned from, int flags)
{
    int fault = FAULT(eventfd);
    int fd = fault == FAULT_NONE ? __real_eventfd(from, flags) : -1;
    if (fault != FAULT_NONE) errno = fault;
    if (known(fd)) atomic_store(&calls.counter[fd], true);
    return fd;
}

/* The descriptor is gone, whatever it says. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int fault = FAULT(close);
    if (known(fd)) {
        atomic_store(&calls.counter[fd], false);
        atomic_store(&calls.polled[fd].epoll, 0);
    }
    int rc = __real_close(fd);
    if (fault == FAULT_NONE) return rc;
    errno = fault;
    return -1;
}

int __real_accept4(int fd, struct sockaddr *a, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *a, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *a, socklen_t *size, int flags)
{
    int fault = FAULT(accept4);
    if (fault == FAULT_NONE) return __real_accept4(fd, a, size, flags);
    if (fault == EAGAIN) report_again(fd);
    errno = fault;
    return -1;
}

/* Interrupted it goes on by itself. */
int __real_connect(int fd, const struct sockaddr *a, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *a, socklen_t size)
{
    int fault = FAULT(connect);
    if (fault == FAULT_NONE) return __real_connect(fd, a, size);
    if (fault == EINTR && __real_connect(fd, a, size) != 0 && errno != EINPROGRESS) return -1;
    errno = fault;
    return -1;
}

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
    int fault = FAULT(open64);
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (fault == FAULT_NONE) return __real_open64(path, flags, mode);
    errno = fault;
    return -1;
}

/* A flag of an open descriptor can always be read or set; a new one there may not be. */
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
    int fault = command == F_DUPFD_CLOEXEC ? FAULT(fcntl64) : FAULT_NONE;
    va_list more;
    va_start(more, command);
    long value = va_arg(more, long);
    va_end(more);
    if (fault == FAULT_NONE) return __real_fcntl64(fd, command, value);
    errno = fault;
    return -1;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    int fault = FAULT(syscall);
    long a[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(more, long);
    va_end(more);
    /* Where the kernel knows the call it knows it always; only process_madvise is broken off. */
    if (fault == ENOSYS || fault == EINTR) fault = only_if(number == SYS_process_madvise, fault);
    if (fault == FAULT_NONE) return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    errno = fault;
    return -1;
}

/* ---- Bytes ----------------------------------------------------------------------------------------------------- */

static bool is_kind(int fd, mode_t kind)
{
    struct stat s;
    return __real_fstat64(fd, &s) == 0 && (s.st_mode & S_IFMT) == kind;
}

/* What a file's disk says no pipe says, and no socket's peer is a file's. EAGAIN: from files only those calls say it
 * that are told not to wait; of others the poller has to know, which reports them again. */
static int of_bytes(int fd, enum call call, int fault)
{
    switch (fault) {
    case EIO:
    case ENOSPC:
    case EDQUOT: return only_if(is_kind(fd, S_IFREG), fault);
    case ECONNRESET:
    case ENOBUFS:
    case ENOMEM: return only_if(is_kind(fd, S_IFSOCK) || call == CALL_pread64, fault);
    case EAGAIN:
        if (call == CALL_preadv64v2 || call == CALL_pwritev64v2) return fault;
        return only_if(known(fd) && atomic_load(&calls.polled[fd].epoll) > 0, fault);
    default: return fault;
    }
}

/* One byte is the shortest part there is. */
#define WRAPPED_BYTES(name, parameters, whole, part)                                                      \
    ssize_t __real_##name parameters;                                                                     \
    ssize_t __wrap_##name parameters;                                                                     \
    ssize_t __wrap_##name parameters                                                                      \
    {                                                                                                     \
        int fault = known(fd) && calls.counter[fd] ? FAULT_NONE : of_bytes(fd, CALL_##name, FAULT(name)); \
        if (fault == FAULT_NONE) return __real_##name whole;                                              \
        if (fault == EAGAIN || fault == FAULT_SHORT) report_again(fd);                                    \
        if (fault == FAULT_SHORT) return __real_##name part;                                              \
        errno = fault;                                                                                    \
        return -1;                                                                                        \
    }

static size_t little(size_t size)
{
    return size > 1 ? 1 : size;
}

/* Of an array of buffers: the first that is not empty, one byte of it. */
static struct iovec first_of(const struct iovec *parts, size_t n)
{
    struct iovec one = {0};
    for (size_t i = 0; i < n && one.iov_len == 0; i++)
        one = (struct iovec){parts[i].iov_base, little(parts[i].iov_len)};
    return one;
}

static struct msghdr shorter(const struct msghdr *m, struct iovec *one)
{
    struct msghdr less = *m;
    *one = first_of(m->msg_iov, m->msg_iovlen);
    less.msg_iov = one;
    less.msg_iovlen = 1;
    return less;
}

WRAPPED_BYTES(read, (int fd, void *out, size_t size), (fd, out, size), (fd, out, little(size)))
WRAPPED_BYTES(write, (int fd, const void *data, size_t size), (fd, data, size), (fd, data, little(size)))
WRAPPED_BYTES(recv, (int fd, void *out, size_t size, int flags), (fd, out, size, flags),
              (fd, out, little(size), flags))
WRAPPED_BYTES(send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags),
              (fd, data, little(size), flags))
WRAPPED_BYTES(pread64, (int fd, void *out, size_t size, off_t at), (fd, out, size, at), (fd, out, little(size), at))
WRAPPED_BYTES(pwrite64, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at),
              (fd, data, little(size), at))
WRAPPED_BYTES(preadv64v2, (int fd, const struct iovec *parts, int n, off_t at, int flags), (fd, parts, n, at, flags),
              (fd, &(struct iovec){parts->iov_base, little(parts->iov_len)}, 1, at, flags))
WRAPPED_BYTES(pwritev64v2, (int fd, const struct iovec *parts, int n, off_t at, int flags), (fd, parts, n, at, flags),
              (fd, &(struct iovec){parts->iov_base, little(parts->iov_len)}, 1, at, flags))
WRAPPED_BYTES(writev, (int fd, const struct iovec *parts, int n), (fd, parts, n),
              (fd, &(struct iovec){first_of(parts, (size_t)n).iov_base, first_of(parts, (size_t)n).iov_len}, 1))
WRAPPED_BYTES(sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags),
              (fd, (struct msghdr[]){shorter(m, (struct iovec[1]){{0}})}, flags))
WRAPPED_BYTES(recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), (fd, m, flags))
WRAPPED_BYTES(sendto,
              (int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t to_size),
              (fd, data, size, flags, to, to_size), (fd, data, size, flags, to, to_size))
