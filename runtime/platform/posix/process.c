/* runtime/platform/posix/process.c -- child processes.
 *
 * Design notes.
 * (1) posix_spawn: the child shares this process's memory until it is another program, and runs none of our code;
 *     libraries with threads of their own, which do not survive a fork, never see one.
 * (2) A child inherits the three streams only. Every descriptor of the runtime is close-on-exec. Descriptors that
 *     other code opened are closed as well, if the C library can do that, or /proc lists them.
 * (3) We wait for a child by its number, which the system keeps until the child is reaped: no other code may reap
 *     it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"

#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron()) /* libraries have this instead of the variable */
#else
extern char **environ;
#endif

static int spawn_error(int system_error)
{
    switch (system_error) {
#if defined(ELIBBAD)
    case ELIBBAD:
#endif
    case ENOEXEC: return WEFT_EFORMAT;
    case E2BIG: return WEFT_ETOOBIG;
    case EAGAIN: return WEFT_EFULL; /* too many processes */
    case EBADF: return WEFT_ECLOSED;
    default: return pf_file_error_of("posix_spawn", system_error);
    }
}

/* Copies the caller's handles to numbers above the standard ones: otherwise giving the first to the child could
 * overwrite the second. */
static int copy_handles(const struct pf_process_options *o, pf_handle copy[3])
{
    for (int i = 0; i < 3; i++) {
        int rc = o->stdio[i] == PF_STDIO_HANDLE ? pf_duplicate(o->handle[i], &copy[i]) : WEFT_OK;
        if (rc < 0) return rc;
    }
    return WEFT_OK;
}

static int add_stream(posix_spawn_file_actions_t *a, const struct pf_process_options *o, int which, pf_handle copy)
{
    switch (o->stdio[which]) {
    case PF_STDIO_HANDLE: return posix_spawn_file_actions_adddup2(a, (int)copy, which);
    case PF_STDIO_NULL:
        return posix_spawn_file_actions_addopen(a, which, "/dev/null", which == 0 ? O_RDONLY : O_WRONLY, 0);
    default:
#if defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
        if (fcntl(which, F_GETFD) >= 0) return posix_spawn_file_actions_addinherit_np(a, which);
#endif
        return 0; /* whether it is open or not */
    }
}

/* Closes all descriptors except the standard ones in the child. */
static int add_closing(posix_spawn_file_actions_t *a)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    return posix_spawn_file_actions_addclosefrom_np(a, 3);
#elif defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
    (void)a;
    return 0; /* an attribute does it on this system */
#else
    pf_listing *open_ones;
    struct pf_entry e;
    int rc = 0;
    if (pf_listing_open(&open_ones, "/proc/self/fd") < 0) return 0;
    while (rc == 0 && pf_listing_next(open_ones, &e) == 1) {
        int fd = atoi(e.name), flags = fcntl(fd, F_GETFD);
        if (fd > 2 && flags >= 0 && (flags & FD_CLOEXEC) == 0) rc = posix_spawn_file_actions_addclose(a, fd);
    }
    pf_listing_close(open_ones);
    return rc;
#endif
}

static int add_actions(posix_spawn_file_actions_t *a, const struct pf_process_options *o, const pf_handle copy[3])
{
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) rc = add_stream(a, o, i, copy[i]);
    if (rc == 0) rc = add_closing(a);
    if (rc == 0 && o->directory != NULL) rc = posix_spawn_file_actions_addchdir_np(a, o->directory);
    return rc;
}

/* Our threads block signals, and this process may ignore some: SIGPIPE, or those that its own parent ignored, such as
 * SIGINT in the background of a shell. A child must block and ignore none. */
static int add_attributes(posix_spawnattr_t *attributes, const struct pf_process_options *o)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL); /* some systems refuse to set these two */
    sigdelset(&all, SIGSTOP);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (o->detached ? POSIX_SPAWN_SETSID : 0);
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0) rc = posix_spawnattr_setsigdefault(attributes, &all);
#if defined(POSIX_SPAWN_CLOEXEC_DEFAULT)
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    return rc == 0 ? posix_spawnattr_setflags(attributes, (short)flags) : rc;
}

/* Whether it is a variable of sd_listen_fds(3), which describes descriptors that a child does not have. */
static bool is_ours_alone(const char *variable)
{
    static const char *const names[] = {"LISTEN_PID=", "LISTEN_PIDFDID=", "LISTEN_FDS=", "LISTEN_FDNAMES="};
    for (size_t i = 0; i < WF_COUNT(names); i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* The environment of a child: `environ` itself, or a list to be freed. NULL: no memory. */
static char **environment(void)
{
    size_t count = 0, kept = 0, at = 0;
    for (; environ != NULL && environ[count] != NULL; count++) kept += !is_ours_alone(environ[count]);
    if (kept == count) return environ;
    char **list = malloc((kept + 1) * sizeof *list);
    if (list == NULL) return NULL;
    for (size_t i = 0; i < count && at < kept; i++)
        if (!is_ours_alone(environ[i])) list[at++] = environ[i];
    list[at] = NULL;
    return list;
}

static int spawn(struct pf_process *out, const struct pf_process_options *o, const pf_handle copy[3],
                 char *const *env)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0) return spawn_error(rc);
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = add_actions(&actions, o, copy);
        if (rc == 0) rc = add_attributes(&attributes, o);
        /* posix_spawn does not write to them, though its prototype has no const. */
        char *const *argv = (char *const *)(uintptr_t)o->argv;
        if (rc == 0) rc = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, env);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) return spawn_error(rc);
    out->id = pid;
    return WEFT_OK;
}

int pf_process_start(struct pf_process *out, const struct pf_process_options *o)
{
    pf_handle copy[3] = {PF_NO_HANDLE, PF_NO_HANDLE, PF_NO_HANDLE};
    if (o->argv == NULL || o->argv[0] == NULL || o->argv[0][0] == '\0') return WEFT_EINVAL;
    int rc = pf_native_process_possible();
    if (rc == WEFT_OK) rc = copy_handles(o, copy);
    char **ours = o->env != NULL || rc < 0 ? environ : environment();
    if (rc == WEFT_OK && ours == NULL && environ != NULL) rc = WEFT_ENOMEM;
    if (rc == WEFT_OK) rc = spawn(out, o, copy, o->env == NULL ? ours : (char *const *)(uintptr_t)o->env);
    if (ours != environ) free(ours);
    for (int i = 0; i < 3; i++) pf_close(copy[i]);
    if (rc < 0) return rc;
    rc = pf_native_process_open(out);
    if (rc < 0) { /* the end of the child could not be reported */
        struct pf_exit unused;
        /* A child that may not be killed is inherited by init when this process ends. */
        if (kill((pid_t)out->id, SIGKILL) == 0) (void)pf_process_wait(out, &unused);
    }
    return rc;
}

static int reap(struct pf_process *c, struct pf_exit *out, int options)
{
    int status;
    pid_t pid;
    do pid = waitpid((pid_t)c->id, &status, options);
    while (pid < 0 && errno == EINTR);
    if (pid == 0) return PF_AGAIN;
    *out = (struct pf_exit){.code = -1};
    c->id = 0; /* from here on the number may belong to another process */
    if (pid < 0) return pf_unknown_error("waitpid", errno);
    if (WIFEXITED(status)) out->code = WEXITSTATUS(status);
    else out->signal = WTERMSIG(status);
    return WEFT_OK;
}

int pf_process_reap(struct pf_process *c, struct pf_exit *out)
{
    return reap(c, out, WNOHANG);
}

int pf_process_wait(struct pf_process *c, struct pf_exit *out)
{
    return reap(c, out, 0);
}

int pf_process_signal(struct pf_process *c, int number)
{
    if (c->id == 0) return WEFT_ECLOSED;
    if (number <= 0 || pf_native_process_signal(c, number) == 0) return number <= 0 ? WEFT_EINVAL : WEFT_OK;
    return errno == ESRCH ? WEFT_ECLOSED : pf_error(errno);
}

void pf_process_free(struct pf_process *c)
{
    pf_close(c->handle);
    c->handle = PF_NO_HANDLE;
}
