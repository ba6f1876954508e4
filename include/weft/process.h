/* weft/process.h -- child processes: their three streams, their end, signals.
 *
 * A child process belongs to the actor that has started it. When that actor ends, for whatever reason, the child is
 * killed and reaped, unless it was started `detached`. No handler for SIGCHLD is installed: a program may have its
 * own, but must not wait for children that it has not started. If SIGCHLD is ignored (SIG_IGN, which a program may also
 * inherit from its parent), the system keeps no exit codes: set it to SIG_DFL to learn them. */
#ifndef WEFT_PROCESS_H
#define WEFT_PROCESS_H

#include <weft/api.h>
#include <weft/event.h>
#include <weft/stream.h>
#include <weft/time.h>
#include <weft/wait.h>
WEFT_BEGIN

typedef struct {
    weft_event ended;
} weft_process;

typedef enum {
    WEFT_STDIO_INHERIT, /* the stream of this process */
    WEFT_STDIO_NULL,    /* reads return the end of the stream, and output is discarded */
    WEFT_STDIO_PIPE,    /* a stream to the actor: weft_process_in, weft_process_out, weft_process_err */
    WEFT_STDIO_FD,      /* a descriptor of this process, which the caller keeps; the child gets a copy */
} weft_stdio;

typedef struct {
    weft_stdio kind;
    int fd; /* the descriptor, with WEFT_STDIO_FD */
} weft_process_stdio;

typedef struct {
    /* arguments, with NULL at the end; [0] is the program, which is searched for in PATH if it has no slash */
    const char *const *argv;
    /* the whole environment: "NAME=value", with NULL at the end; NULL: the environment of this process */
    const char *const *env;
    const char *directory; /* working directory; NULL: the directory of this process */
    weft_process_stdio in, out, err;
    /* true: the child outlives the actor and the node, in a session of its own, so a Ctrl-C does not reach it */
    bool detached;
} weft_process_options;

typedef struct {
    int code;   /* exit code; -1: a signal has ended the process */
    int signal; /* the signal that has ended the process; 0: none */
} weft_process_status;

enum { WEFT_PROCESS_TEXT_MAX = 2 * 1024 * 1024 }; /* bytes of arguments, environment and directory */

/* [A, W] Starts a program and returns when it runs. The program inherits the three streams and no other descriptor;
 * signals have their default handling. On an error nothing runs.
 * Errors: WEFT_ENOTFOUND (the program or the directory), WEFT_EACCESS, WEFT_EFORMAT (the file is not a program),
 * WEFT_ETOOBIG (arguments), WEFT_ECLOSED (a descriptor is not open), WEFT_EINVAL, WEFT_EFULL (out of descriptors or
 * processes), WEFT_ENOTSUP (Linux before 5.3), WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_process_start(weft_process *out, const weft_process_options *options,
                                             int64_t deadline);
/* [A] Returns this side of a WEFT_STDIO_PIPE, to write to (weft_process_in) or to read from (the other two); all
 * zeroes if there is none. Close the first one to end the input of the child. The streams are closed when the process
 * handle is, that is, with the actor at the latest. */
WEFT_API weft_stream weft_process_in(weft_process p);
WEFT_API weft_stream weft_process_out(weft_process p);
WEFT_API weft_stream weft_process_err(weft_process p);
/* [A] Returns the system's process id; 0 once the process has ended. WEFT_ECLOSED. */
WEFT_API int64_t weft_process_id(weft_process p);
/* Ready once the process has ended. Its last output may still be in the streams. */
WEFT_API weft_wait weft_on_process(weft_process p);
/* [A, W] Waits for the end of the process; may be called again afterwards. `status` may be NULL.
 * Errors: WEFT_ESYSTEM (its status is unknown, because other code in this process has waited for it, or because this
 * process ignores SIGCHLD), WEFT_ECLOSED (the handle was closed, or belongs to another actor), WEFT_ETIMEDOUT,
 * WEFT_ECANCELED. */
WEFT_API int weft_process_wait(weft_process p, weft_process_status *status, int64_t deadline);
/* [A] Sends the process a signal of <signal.h>: SIGTERM, SIGKILL, ... On a system without signals, those two end the
 * process and others are WEFT_ENOTSUP. Errors: WEFT_ECLOSED (it has ended), WEFT_EINVAL. */
WEFT_API int weft_process_signal(weft_process p, int number);
/* [A] Does what the actor's end does: closes the streams, and kills the process if it still runs and is not detached.
 * WEFT_ECLOSED: the handle was closed before. */
WEFT_API int weft_process_close(weft_process p);

WEFT_END
#endif
