/* weft/process.h -- child processes: their three streams, their end, signals.
 *
 * A child belongs to the actor that has started it. When that actor ends, however it does, the child is killed and
 * reaped, unless it was started `detached`; nothing is left of it. No handler for SIGCHLD is installed: a program may
 * have its own, but must not wait for children it has not started. */
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
    WEFT_STDIO_INHERIT, /* this process's */
    WEFT_STDIO_NULL,    /* nothing comes, and what goes there is lost */
    WEFT_STDIO_PIPE,    /* a stream to the actor: weft_process_in, weft_process_out, weft_process_err */
    WEFT_STDIO_FD,      /* a descriptor of this process, which stays the caller's; the child gets a copy */
} weft_stdio;

typedef struct {
    weft_stdio kind;
    int fd; /* of WEFT_STDIO_FD */
} weft_process_stdio;

typedef struct {
    const char *const *argv; /* NULL at the end; [0], the program, is searched for in PATH if it has no slash */
    const char *const *env;  /* all of it: "NAME=value", NULL at the end; NULL: this process's */
    const char *directory;   /* to run in; NULL: this process's */
    weft_process_stdio in, out, err;
    bool detached; /* outlives the actor and the node, in a session of its own: a Ctrl-C does not reach it */
} weft_process_options;

typedef struct {
    int code;   /* what it returned; -1: a signal has ended it */
    int signal; /* the signal that has ended it; 0: none */
} weft_process_status;

enum { WEFT_PROCESS_TEXT_MAX = 2 * 1024 * 1024 }; /* bytes of arguments, environment and directory */

/* [A, W] Starts a program and returns when it runs. It inherits the three streams and no other descriptor; signals
 * are as a program expects them. WEFT_ENOTFOUND (the program or the directory), WEFT_EACCESS, WEFT_EFORMAT (it is no
 * program), WEFT_ETOOBIG (arguments), WEFT_ECLOSED (a descriptor is none), WEFT_EINVAL, WEFT_EFULL (out of
 * descriptors or processes), WEFT_ENOTSUP (Linux before 5.3). On failure nothing runs. */
WEFT_API WEFT_CHECKED int weft_process_start(weft_process *out, const weft_process_options *options,
                                             int64_t deadline);
/* [A] This side of a WEFT_STDIO_PIPE: written to, or read from; all zeroes if it is none. Close the first to say that
 * nothing more comes. They are closed when the process is, that is, with the actor at the latest. */
WEFT_API weft_stream weft_process_in(weft_process p);
WEFT_API weft_stream weft_process_out(weft_process p);
WEFT_API weft_stream weft_process_err(weft_process p);
/* [A] The system's number of it; 0 once it has ended. WEFT_ECLOSED. */
WEFT_API int64_t weft_process_id(weft_process p);
/* Ready from its end on. What it wrote before may still be in the streams. */
WEFT_API weft_wait weft_on_process(weft_process p);
/* [A, W] Waits for its end; may be asked again. `status` may be NULL. WEFT_ESYSTEM: how it ended is not known, as
 * something else in this process has waited for it. WEFT_ECLOSED: it was closed, or is another actor's. */
WEFT_API int weft_process_wait(weft_process p, weft_process_status *status, int64_t deadline);
/* [A] Sends it a signal: SIGTERM, SIGKILL, ... of <signal.h>. WEFT_ECLOSED: it has ended; WEFT_EINVAL; where there
 * are no signals, those two end it and others are WEFT_ENOTSUP. */
WEFT_API int weft_process_signal(weft_process p, int number);
/* [A] What the actor's end does: closes the streams, and kills it if it still runs and is not detached.
 * WEFT_ECLOSED. */
WEFT_API int weft_process_close(weft_process p);

WEFT_END
#endif
