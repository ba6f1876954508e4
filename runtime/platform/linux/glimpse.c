/* runtime/platform/linux/glimpse.c -- finds out what another thread is doing, without stopping it.
 *
 * Design notes.
 * (1) The asking thread sends the realtime signal PF_GLIMPSE_SIGNAL to the other thread alone. The handler notes
 *     where the thread is and unwinds its stack, with the unwinder that fault.c uses, without allocating memory. The
 *     asking thread finds the names afterwards. Only threads that have unblocked the signal are asked, and they do
 *     that after the handler is installed. If the program handles or ignores that signal, a glimpse is never
 *     possible; nor on Valgrind, whose registers are not the kernel's.
 * (2) There is one question at a time in a process, `asked`. The handler takes it, or the caller takes it back: the
 *     thread that changes `state` from ASKED owns it. If a handler has taken it and does not return (because its
 *     thread holds a lock of the unwinder), no thread is asked any more: `broken`.
 * (3) A signal must not change what the program does. The kernel goes on with most calls after a handler
 *     (SA_RESTART), but a sleep, or a poll with a time, would return early with EINTR. So the caller first reads from
 *     /proc in which call the thread is. A call that sleeps and stores its remaining time where we can find it is
 *     restarted with that time: the handler sets the registers back. A thread in any other call with a time limit is
 *     not interrupted: then only the address of the call is known. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "native.h"
#include "sanitizer.h"
#include "thread.h"

#define PF_GLIMPSE_SIGNAL (SIGRTMAX - 3) /* docs/platforms.md */

enum { WAIT_MS = 200, FRAMES = 32 };
enum { IDLE, ASKED, TAKEN, DONE };

/* The system call in which a thread is; `number` < 0: it is in none. */
struct in_call {
    long number;
    unsigned long args[6];
    uintptr_t sp, pc;
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static bool ready, broken; /* under the mutex; `ready` is set once, before any thread unblocks the signal */
static _Atomic int state;
static struct {
    pthread_t thread;
    void (*see)(void *arg);
    void *arg;
    uintptr_t frames[FRAMES]; /* not memory of the caller, which may have stopped waiting */
    int most, count;
    bool again; /* the handler must restart the call */
    struct in_call call;
} asked; /* the thread that owns it may use it */

/* ---- Calls that a signal would end ----------------------------------------------------------------------------- */

enum ending { GOES_ON, AGAIN, AGAIN_WITH_REST, ENDS };

/* What happens to the call after a handler has run: the kernel continues it; or we can restart it, as it is or with
 * argument `rest` in place of argument `time`; or it would end. */
static enum ending ending_of(const struct in_call *c, int *time, int *rest)
{
    switch (c->number) {
    case SYS_nanosleep: *time = 0, *rest = 1; return c->args[1] != 0 ? AGAIN_WITH_REST : ENDS;
    case SYS_clock_nanosleep:
        *time = 2, *rest = 3;
        return c->args[1] == TIMER_ABSTIME ? AGAIN : c->args[3] != 0 ? AGAIN_WITH_REST : ENDS;
#ifdef SYS_poll
    case SYS_poll: return (int)c->args[2] < 0 ? AGAIN : ENDS;
    case SYS_select: return AGAIN; /* the kernel stores the remaining time in their argument; */
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait: return (int)c->args[3] < 0 ? AGAIN : ENDS;
    case SYS_ppoll:
    case SYS_pselect6: return AGAIN; /* in that of these, too */
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait: return c->args[c->number == SYS_semtimedop ? 3 : 2] == 0 ? AGAIN : ENDS;
    case SYS_io_getevents: return c->args[4] == 0 ? AGAIN : ENDS;
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2: return c->args[3] == 0 ? AGAIN : ENDS;
#endif
#ifdef SYS_pause
    case SYS_pause:
#endif
    case SYS_rt_sigsuspend:
    case SYS_restart_syscall: return ENDS;
    default: return GOES_ON;
    }
}

/* False: the call is not known. */
static bool look_at_call(int thread, struct in_call *out)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return false;
    text[n] = '\0';
    *out = (struct in_call){.number = -1};
    if (strncmp(text, "running", 7) == 0) return true;
    char *at = text;
    out->number = strtol(at, &at, 10);
    if (out->number >= 0) {
        for (int i = 0; i < 6; i++) out->args[i] = strtoul(at, &at, 16);
    }
    out->sp = strtoul(at, &at, 16);
    out->pc = strtoul(at, &at, 16);
    return out->pc != 0;
}

/* Called in the handler, which has ended the thread's call before it returned to the program. */
static void begin_anew(ucontext_t *u, const struct in_call *c)
{
    struct in_call again = *c;
    int time = 0, rest = 0;
    if (ending_of(c, &time, &rest) == AGAIN_WITH_REST) again.args[time] = again.args[rest];
#if defined(__x86_64__)
    greg_t *r = u->uc_mcontext.gregs;
    if ((uintptr_t)r[REG_RIP] != c->pc || (uintptr_t)r[REG_RSP] != c->sp || r[REG_RAX] != -EINTR) return;
    r[REG_RDI] = (greg_t)again.args[0];
    r[REG_RDX] = (greg_t)again.args[2];
    r[REG_RAX] = c->number;
    r[REG_RIP] -= 2; /* "syscall" */
#elif defined(__aarch64__)
    mcontext_t *m = &u->uc_mcontext;
    if ((uintptr_t)m->pc != c->pc || (uintptr_t)m->sp != c->sp || (long)m->regs[0] != -EINTR) return;
    m->regs[0] = again.args[0];
    m->regs[2] = again.args[2];
    m->regs[8] = (unsigned long)c->number;
    m->pc -= 4; /* "svc" */
#else
    (void)u, (void)again;
#endif
}

#if defined(__x86_64__) || defined(__aarch64__)
enum { CAN_BEGIN_ANEW = true };
#else
enum { CAN_BEGIN_ANEW = false };
#endif

/* ---- The handler ----------------------------------------------------------------------------------------------- */

static void on_glimpse(int number, siginfo_t *info, void *context)
{
    int before = errno, expected = ASKED;
    (void)number, (void)info;
    /* Acquire makes the question visible. A signal that comes too late, or from another sender, has no effect. */
    if (!atomic_compare_exchange_strong_explicit(&state, &expected, TAKEN, memory_order_acq_rel,
                                                 memory_order_acquire))
        return;
    if (pthread_equal(asked.thread, pthread_self())) {
        struct pf_fault f = {.signal = "glimpse"};
        pf_where(context, &f.pc, &f.sp);
        asked.see(asked.arg);
        asked.count = pf_fault_frames(&f, asked.frames, asked.most);
        if (asked.again) begin_anew(context, &asked.call);
    }
    atomic_store_explicit(&state, DONE, memory_order_release);
    (void)syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = before;
}

/* The caller holds the mutex. The handler stays for the life of the process. */
static bool install(void)
{
    struct sigaction now, ours;
    if (wf_is_on_valgrind()) return false;
    if (sigaction(PF_GLIMPSE_SIGNAL, NULL, &now) != 0) return false;
    if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return false;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_glimpse;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&ours.sa_mask);
    return sigaction(PF_GLIMPSE_SIGNAL, &ours, NULL) == 0;
}

void pf_glimpse_allow(void)
{
    struct pf_thread *self = pf_thread_here;
    sigset_t one;
    pthread_mutex_lock(&one_at_a_time);
    if (!ready) ready = install();
    bool may = ready && self != NULL;
    pthread_mutex_unlock(&one_at_a_time);
    if (!may) return;
    sigemptyset(&one);
    sigaddset(&one, PF_GLIMPSE_SIGNAL);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    atomic_store_explicit(&self->number, (int)gettid(), memory_order_release);
}

/* ---- The asking thread ----------------------------------------------------------------------------------------- */

/* The time is on the monotonic clock. A semaphore's would be on the wall clock: if that was set back meanwhile, the
 * watchdog would wait for as long, and if it was set forward, the answer would be given up at once. */
static void wait_for_answer(void)
{
    int64_t left, until = pf_native_now(NULL) + WEFT_MS(WAIT_MS);
    while ((left = until - pf_native_now(NULL)) > 0) {
        int seen = atomic_load_explicit(&state, memory_order_acquire);
        struct timespec t = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        if (seen == DONE) return;
        (void)syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
    }
}

/* The caller holds the mutex. */
static int ask(const pf_thread *t)
{
    int expected = ASKED;
    atomic_store_explicit(&state, ASKED, memory_order_release);
    if (pthread_kill(t->thread, PF_GLIMPSE_SIGNAL) == 0) wait_for_answer();
    if (atomic_compare_exchange_strong_explicit(&state, &expected, IDLE, memory_order_acq_rel, memory_order_acquire))
        return WEFT_ETIMEDOUT;
    if (expected == TAKEN) {
        wait_for_answer();
        expected = atomic_load_explicit(&state, memory_order_acquire);
    }
    broken = expected == TAKEN;
    if (!broken) atomic_store_explicit(&state, IDLE, memory_order_relaxed);
    return broken ? WEFT_ETIMEDOUT : WEFT_OK;
}

int pf_thread_glimpse(const pf_thread *t, void (*see)(void *arg), void *arg, uintptr_t *out, int most)
{
    int thread = atomic_load_explicit(&t->number, memory_order_acquire), unused;
    struct in_call call;
    if (thread == 0 || !look_at_call(thread, &call)) return WEFT_ENOTSUP;
    enum ending ending = ending_of(&call, &unused, &unused);
    if (ending == ENDS || (ending != GOES_ON && !CAN_BEGIN_ANEW)) {
        out[0] = call.pc - 1; /* inside of the call instruction */
        return 1;
    }
    pthread_mutex_lock(&one_at_a_time);
    int rc = WEFT_ENOTSUP;
    if (ready && !broken) {
        memset(&asked, 0, sizeof asked);
        asked.thread = t->thread;
        asked.see = see;
        asked.arg = arg;
        asked.most = WF_MIN(most, (int)FRAMES);
        asked.again = ending != GOES_ON;
        asked.call = call;
        rc = ask(t);
        if (rc == WEFT_OK) {
            rc = asked.count;
            memcpy(out, asked.frames, (size_t)rc * sizeof *out);
        }
    }
    pthread_mutex_unlock(&one_at_a_time);
    return rc;
}
