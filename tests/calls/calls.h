/* tests/calls/calls.h -- makes each system call and allocation of the platform, and each call of NNG, fail once, at
 * one place.
 *
 * Design notes.
 * (1) The linker puts a function of wrapped.c before each call of the list below (-Wl,--wrap): production code is
 *     untouched. A name that meson.build does not wrap does not link. complete_test.py finds calls of the platform
 *     that are neither in the list nor among the calls that cannot fail.
 * (2) A place is a call, its position in the code, the caller of the function that contains it, and the number of
 *     times it was reached. A run without faults finds the places. faults.c lists the faults that fit a call.
 * (3) A fault is one that the kernel could have made: the effect of a call stays (close, an interrupted connect), and
 *     if a call says that it would block although it would not, the poller reports the edge again, as the kernel
 *     would.
 * (4) Several threads may reach the same place at once: the call of one of them fails.
 * (5) An asynchronous operation of NNG (send, receive, dial, accept) does not begin, and its callback gets the fault.
 *     Objects of NNG count as blocks: each has to be freed. */
#ifndef WF_TEST_CALLS_H
#define WF_TEST_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each pass of the formatter would indent it further. */
/* clang-format off */
#define CALLS_EACH(X) \
    X(accept4) X(aligned_alloc) X(bind) X(calloc) X(close) X(connect) X(epoll_create1) X(epoll_ctl) \
    X(epoll_pwait2) X(epoll_wait) X(eventfd) X(fcntl64) X(fdopendir) X(fstat64) X(fsync) X(ftruncate64) \
    X(getaddrinfo) X(getpeername) X(getsockname) X(getsockopt) X(inotify_add_watch) X(inotify_init1) X(listen) \
    X(lstat64) X(madvise) X(malloc) X(mincore) X(mkdir) X(mmap64) X(mprotect) X(munmap) X(open64) X(pipe2) X(poll) \
    X(posix_spawn_file_actions_addclosefrom_np) X(posix_spawn_file_actions_addchdir_np) \
    X(posix_spawn_file_actions_adddup2) X(posix_spawn_file_actions_addopen) X(posix_spawnp) X(pread64) \
    X(preadv64v2) X(pthread_cond_init) X(pthread_create) X(pthread_mutex_init) X(pwrite64) X(pwritev64v2) X(read) \
    X(readdir64) X(realloc) X(recv) X(recvmsg) X(sched_getaffinity) X(send) X(sendmsg) X(sendto) X(setsockopt) \
    X(shutdown) X(socket) X(stat64) X(strdup) X(syscall) X(timerfd_create) X(unlink) X(waitpid) X(write) X(writev)
#define CALLS_EACH_NNG(X) \
    X(nng_aio_alloc) X(nng_stream_dialer_alloc) X(nng_stream_dialer_dial) X(nng_stream_dialer_set_bool) \
    X(nng_stream_dialer_set_ptr) X(nng_stream_dialer_set_string) X(nng_stream_get_addr) X(nng_stream_get_bool) \
    X(nng_stream_listener_accept) \
    X(nng_stream_listener_alloc) X(nng_stream_listener_get_int) X(nng_stream_listener_listen) \
    X(nng_stream_listener_set_bool) X(nng_stream_listener_set_int) X(nng_stream_listener_set_ptr) \
    X(nng_stream_recv) X(nng_stream_send) X(nng_tls_config_alloc) X(nng_tls_config_auth_mode) \
    X(nng_tls_config_ca_chain) X(nng_tls_config_own_cert) X(nng_tls_engine_register)
/* clang-format on */

#define CALLS_ENUM(name) CALL_##name,
enum call { CALLS_EACH(CALLS_ENUM) CALLS_EACH_NNG(CALLS_ENUM) CALL_COUNT };
static inline bool call_is_nng(enum call call)
{
    return call >= CALL_nng_aio_alloc;
}

/* Besides an errno: it does a part of what it was asked for; of pthread_* and posix_spawn* the result itself. */
enum { FAULT_NONE = 0, FAULT_SHORT = -1 };
enum { FAULTS_MAX = 8, PLACES_MAX = 8192 };

/* Where a call stands: return addresses, of the call and of the function it stands in. */
struct place {
    enum call call;
    uintptr_t at, from;
};

/* In memory that processes share, so that the one that counts can tell the others. */
struct places {
    _Atomic uint32_t count;
    struct {
        struct place place; /* written by who took the entry, before `ready` */
        _Atomic int state;  /* 0: free, 1: being written, 2: ready */
        _Atomic long times;
    } entry[PLACES_MAX];
};

/* What fits `call`, FAULT_NONE at the end. */
extern const char *const call_names[CALL_COUNT];
const int *faults_of(enum call call);
const char *fault_name(enum call call, int fault);

/* From now on calls are counted into `into`; the nth time (from 1) that `at` is reached it fails with `fault`. NULL:
 * none does. */
void calls_begin(struct places *into, const struct place *at, long nth, int fault);
/* How many have failed since; calls are what they are again. */
long calls_end(void);
/* So far. */
long calls_failed(void);
/* Whether it was an allocation: then a message may be lost for lack of memory, which is counted and not told. */
bool calls_out_of_memory(void);

/* For the functions that stand before the calls: which fault comes at this place now, FAULT_NONE: none. */
int calls_fault(enum call call, const void *at, const void *from);
#define FAULT(name) calls_fault(CALL_##name, __builtin_return_address(0), __builtin_return_address(1))
/* The error is the result. */
#define WRAPPED_RC(name, parameters, ...)                                \
    int __real_##name parameters;                                        \
    int __wrap_##name parameters;                                        \
    int __wrap_##name parameters                                         \
    {                                                                    \
        int fault = FAULT(name);                                         \
        return fault == FAULT_NONE ? __real_##name(__VA_ARGS__) : fault; \
    }
void calls_count_block(int change);

/* Blocks allocated and not freed, and bytes mapped and not unmapped, by what is linked statically. */
long calls_blocks(void);
long calls_mapped(void);

#endif
