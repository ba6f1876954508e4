/* tests/calls/faults.c -- the faults that fit each call: the errors that its manual page names and that a correct
 * program can get. */
#include "calls.h"

#include <errno.h>
#include <netdb.h>
#include <nng/nng.h>
#include <string.h>

#define CALLS_NAME(name) #name,
const char *const call_names[CALL_COUNT] = {CALLS_EACH(CALLS_NAME) CALLS_EACH_NNG(CALLS_NAME)};

/* [0] of those that have none is FAULT_NONE: they are counted only. */
static const int table[CALL_COUNT][FAULTS_MAX] = {
    [CALL_accept4] = {EINTR, EAGAIN, ECONNABORTED, EMFILE, ENFILE, ENOMEM},
    [CALL_aligned_alloc] = {ENOMEM},
    [CALL_bind] = {EADDRINUSE, EACCES, ENOMEM},
    [CALL_calloc] = {ENOMEM},
    [CALL_close] = {EINTR, EIO},
    [CALL_connect] = {EINTR, ECONNREFUSED, ENETUNREACH, EADDRNOTAVAIL, EAGAIN},
    [CALL_epoll_create1] = {EMFILE, ENFILE, ENOMEM},
    [CALL_epoll_ctl] = {ENOMEM, ENOSPC},
    [CALL_epoll_pwait2] = {EINTR, ENOSYS, EPERM},
    [CALL_epoll_wait] = {EINTR},
    [CALL_eventfd] = {EMFILE, ENFILE, ENOMEM},
    [CALL_fcntl64] = {EMFILE, ENOMEM},
    [CALL_fdopendir] = {ENOMEM},
    [CALL_fstat64] = {ENOMEM, EIO},
    [CALL_fsync] = {EINTR, EIO, ENOSPC, EINVAL},
    [CALL_ftruncate64] = {EINTR, EIO, EFBIG},
    [CALL_getaddrinfo] = {EAI_AGAIN, EAI_MEMORY, EAI_SYSTEM, EAI_NONAME},
    [CALL_getpeername] = {ENOBUFS},
    [CALL_getsockname] = {ENOBUFS},
    [CALL_getsockopt] = {ENOBUFS},
    [CALL_inotify_add_watch] = {ENOSPC, ENOMEM},
    [CALL_inotify_init1] = {EMFILE, ENOMEM},
    [CALL_listen] = {EADDRINUSE},
    [CALL_lstat64] = {ENOMEM, EIO},
    [CALL_madvise] = {EAGAIN, EINVAL, ENOMEM},
    [CALL_malloc] = {ENOMEM},
    [CALL_mincore] = {EAGAIN, ENOMEM},
    [CALL_mkdir] = {ENOSPC, EACCES, EEXIST},
    [CALL_mmap64] = {ENOMEM},
    [CALL_mprotect] = {ENOMEM},
    [CALL_munmap] = {ENOMEM},
    [CALL_open64] = {EINTR, EMFILE, ENFILE, ENOMEM, ENOSPC, EACCES},
    [CALL_pipe2] = {EMFILE, ENFILE},
    [CALL_poll] = {EINTR, ENOMEM},
    [CALL_posix_spawn_file_actions_addclosefrom_np] = {ENOMEM},
    [CALL_posix_spawn_file_actions_addchdir_np] = {ENOMEM},
    [CALL_posix_spawn_file_actions_adddup2] = {ENOMEM},
    [CALL_posix_spawn_file_actions_addopen] = {ENOMEM},
    [CALL_posix_spawnp] = {EAGAIN, ENOMEM, EACCES},
    [CALL_pread64] = {EINTR, EIO, ENOMEM, FAULT_SHORT},
    [CALL_preadv64v2] = {EINTR, EAGAIN, EOPNOTSUPP, ENOSYS, FAULT_SHORT},
    [CALL_pthread_cond_init] = {ENOMEM},
    [CALL_pthread_create] = {EAGAIN},
    [CALL_pthread_mutex_init] = {ENOMEM},
    [CALL_pwrite64] = {EINTR, EIO, ENOSPC, EDQUOT, FAULT_SHORT},
    [CALL_pwritev64v2] = {EINTR, EAGAIN, EOPNOTSUPP, ENOSYS, FAULT_SHORT},
    [CALL_read] = {EINTR, EAGAIN, EIO, FAULT_SHORT},
    [CALL_readdir64] = {EIO},
    [CALL_realloc] = {ENOMEM},
    [CALL_recv] = {EINTR, EAGAIN, ECONNRESET, ENOMEM, FAULT_SHORT},
    [CALL_recvmsg] = {EINTR, EAGAIN, ENOMEM, ECONNREFUSED},
    [CALL_sched_getaffinity] = {EINVAL},
    [CALL_send] = {EINTR, EAGAIN, ECONNRESET, EPIPE, ENOBUFS, FAULT_SHORT},
    [CALL_sendmsg] = {EINTR, EAGAIN, ECONNRESET, EPIPE, ENOMEM, FAULT_SHORT},
    [CALL_sendto] = {EINTR, EAGAIN, ENOBUFS, ECONNREFUSED, EPERM},
    [CALL_setsockopt] = {ENOMEM, ENOPROTOOPT},
    [CALL_shutdown] = {ENOTCONN},
    [CALL_socket] = {EMFILE, ENFILE, ENOBUFS},
    [CALL_stat64] = {ENOMEM, EIO},
    [CALL_strdup] = {ENOMEM},
    [CALL_syscall] = {EMFILE, ENOMEM, EINTR, ENOSYS},
    [CALL_timerfd_create] = {EMFILE, ENOMEM},
    [CALL_unlink] = {EIO},
    [CALL_waitpid] = {EINTR},
    [CALL_write] = {EINTR, EAGAIN, ENOSPC, EIO, FAULT_SHORT},
    [CALL_writev] = {EINTR, EAGAIN, EPIPE, FAULT_SHORT},
    [CALL_nng_aio_alloc] = {NNG_ENOMEM},
    [CALL_nng_stream_dialer_alloc] = {NNG_ENOMEM, NNG_EADDRINVAL, NNG_ENOTSUP},
    [CALL_nng_stream_dialer_dial] = {NNG_ENOMEM, NNG_ECONNREFUSED, NNG_ETIMEDOUT, NNG_EUNREACHABLE, NNG_ECLOSED},
    [CALL_nng_stream_dialer_set_bool] = {NNG_ENOTSUP},
    [CALL_nng_stream_dialer_set_ptr] = {NNG_ENOMEM, NNG_ENOTSUP},
    [CALL_nng_stream_dialer_set_string] = {NNG_ENOMEM},
    [CALL_nng_stream_get_addr] = {NNG_ECLOSED},
    [CALL_nng_stream_get_bool] = {NNG_ECLOSED},
    [CALL_nng_stream_listener_accept] = {NNG_ENOMEM, NNG_ENOFILES, NNG_ECONNABORTED, NNG_ETIMEDOUT},
    [CALL_nng_stream_listener_alloc] = {NNG_ENOMEM, NNG_EADDRINVAL, NNG_ENOTSUP},
    [CALL_nng_stream_listener_get_int] = {NNG_ECLOSED},
    [CALL_nng_stream_listener_listen] = {NNG_ENOMEM, NNG_EADDRINUSE, NNG_EPERM, NNG_ENOFILES},
    [CALL_nng_stream_listener_set_bool] = {NNG_ENOTSUP},
    [CALL_nng_stream_listener_set_int] = {NNG_ENOMEM},
    [CALL_nng_stream_listener_set_ptr] = {NNG_ENOMEM, NNG_ENOTSUP},
    [CALL_nng_stream_recv] = {NNG_ENOMEM, NNG_ECLOSED, NNG_ECONNRESET, NNG_ECONNSHUT, NNG_ETIMEDOUT},
    [CALL_nng_stream_send] = {NNG_ENOMEM, NNG_ECLOSED, NNG_ECONNRESET, NNG_ETIMEDOUT},
    [CALL_nng_tls_config_alloc] = {NNG_ENOMEM, NNG_ENOTSUP},
    [CALL_nng_tls_config_auth_mode] = {NNG_EBUSY},
    [CALL_nng_tls_config_ca_chain] = {NNG_ENOMEM, NNG_ECRYPTO},
    [CALL_nng_tls_config_own_cert] = {NNG_ENOMEM, NNG_ECRYPTO},
    [CALL_nng_tls_engine_register] = {NNG_ENOTSUP},
};

const int *faults_of(enum call call)
{
    return table[call];
}

const char *fault_name(enum call call, int fault)
{
    if (call_is_nng(call)) return nng_strerror(fault);
    switch (fault) {
    case FAULT_SHORT: return "a part only";
    case EAI_AGAIN: return "EAI_AGAIN";
    case EAI_MEMORY: return "EAI_MEMORY";
    case EAI_SYSTEM: return "EAI_SYSTEM";
    case EAI_NONAME: return "EAI_NONAME";
    default: return strerrorname_np(fault);
    }
}
