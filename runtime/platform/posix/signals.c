/* runtime/platform/posix/signals.c -- delivers signals as calls on a thread of their own.
 *
 * Design notes.
 * (1) The handler only writes the number into a pipe. A thread that waits for the pipe makes the call, outside of any
 *     handler, where locks may be taken.
 * (2) All threads of the runtime block signals, and perhaps all threads of the user do. So the thread of this file
 *     unblocks the caught signals: one thread always takes them. The pipe also carries the request to unblock a
 *     signal.
 * (3) The pipe is never closed, because a handler may still run when no signal is caught any more. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

_Static_assert(SIGINT == PF_SIGINT && SIGKILL == PF_SIGKILL && SIGTERM == PF_SIGTERM, "as everywhere");

enum { NUMBERS = 65, UNBLOCK = 128, QUIT = 0 };

static struct {
    pthread_mutex_t lock;
    int count; /* caught signals */
    bool caught[NUMBERS];
    struct sigaction before[NUMBERS];
    pthread_t thread;
    int pipe[2]; /* -1: not made yet */
    /* Relaxed, because all signals have the same function. */
    _Atomic(void (*)(int number)) on;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .pipe = {-1, -1}};

static void tell(int what)
{
    unsigned char byte = (unsigned char)what;
    for (;;) {
        ssize_t n = write(all.pipe[1], &byte, 1);
        if (n == 1 || (errno != EINTR && errno != EAGAIN)) return;
        bool full = errno == EAGAIN;
        if (full && what != QUIT && what < UNBLOCK) return; /* the pipe is full of signals, so this one may be lost */
        struct pollfd space = {.fd = all.pipe[1], .events = POLLOUT};
        if (full) (void)poll(&space, 1, -1);
    }
}

static void handler(int number)
{
    int before = errno;
    tell(number);
    errno = before;
}

static void *signals_main(void *arg)
{
    (void)arg;
    for (;;) {
        unsigned char byte;
        struct pollfd more = {.fd = all.pipe[0], .events = POLLIN};
        (void)poll(&more, 1, -1); /* not read, during which ThreadSanitizer delivers no signals */
        ssize_t n = read(all.pipe[0], &byte, 1);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        WF_ASSERT(n == 1);
        if (byte == QUIT) return NULL;
        if (byte >= UNBLOCK) {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, byte - UNBLOCK);
            pthread_sigmask(SIG_UNBLOCK, &one, NULL);
        } else {
            atomic_load_explicit(&all.on, memory_order_relaxed)(byte);
        }
    }
}

static int make_pipe(void)
{
    pf_handle reading, writing;
    if (all.pipe[0] >= 0) return WEFT_OK;
    int rc = pf_pipe(&reading, &writing, true, true);
    if (rc < 0) return rc;
    all.pipe[0] = (int)reading;
    all.pipe[1] = (int)writing;
    return WEFT_OK;
}

static int start_thread(void)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int rc = pthread_create(&all.thread, NULL, signals_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 ? WEFT_OK : WEFT_ENOMEM;
}

/* Signals of the program's own faults must be handled on the thread that raised them; SIGKILL and SIGSTOP cannot be
 * caught. */
static bool may_be_caught(int number)
{
    static const int never[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    for (size_t i = 0; i < WF_COUNT(never); i++) {
        if (number == never[i]) return false;
    }
    return number > 0 && number < NUMBERS;
}

static int catch_one(int number)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, &all.before[number]) != 0) return WEFT_EINVAL;
    all.caught[number] = true;
    all.count++;
    tell(UNBLOCK + number);
    return WEFT_OK;
}

int pf_signal_catch(int number, void (*on)(int number))
{
    if (!may_be_caught(number)) return WEFT_EINVAL;
    pthread_mutex_lock(&all.lock);
    int rc = all.caught[number] ? WEFT_EEXIST : make_pipe();
    if (rc == WEFT_OK && all.count == 0) {
        atomic_store_explicit(&all.on, on, memory_order_relaxed);
        rc = start_thread();
    }
    if (rc == WEFT_OK) {
        rc = catch_one(number);
        if (rc < 0 && all.count == 0) {
            tell(QUIT);
            (void)pthread_join(all.thread, NULL);
        }
    }
    pthread_mutex_unlock(&all.lock);
    return rc;
}

void pf_signal_release(int number)
{
    pthread_mutex_lock(&all.lock);
    WF_ASSERT(all.caught[number]);
    (void)sigaction(number, &all.before[number], NULL);
    all.caught[number] = false;
    if (--all.count == 0) {
        tell(QUIT);
        (void)pthread_join(all.thread, NULL);
    }
    pthread_mutex_unlock(&all.lock);
}

/* ---- Signals of writes ----------------------------------------------------------------------------------------- */

static const int of_writes[] = {SIGPIPE, SIGXFSZ};

static _Thread_local struct pf_held_off *held_off; /* the innermost one of this thread; NULL: there is none */

void pf_signals_hold_off(struct pf_held_off *out)
{
    *out = (struct pf_held_off){.outer = held_off};
    held_off = out;
}

static void block(struct pf_held_off *h)
{
    sigset_t both, before, pending;
    sigemptyset(&both);
    sigemptyset(&pending);
    for (size_t i = 0; i < WF_COUNT(of_writes); i++) sigaddset(&both, of_writes[i]);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    for (size_t i = 0; i < WF_COUNT(of_writes); i++) {
        if (sigismember(&before, of_writes[i]) == 0) h->unblock |= 1U << i;
    }
    /* A signal that was not blocked was not pending either. */
    if (h->unblock != (1U << WF_COUNT(of_writes)) - 1) (void)sigpending(&pending);
    for (size_t i = 0; i < WF_COUNT(of_writes); i++) {
        if ((h->unblock & 1U << i) != 0 || sigismember(&pending, of_writes[i]) == 0) h->take |= 1U << i;
    }
    h->are_blocked = true;
}

void pf_signals_before_write(void)
{
    if (held_off != NULL && !held_off->are_blocked) block(held_off);
}

/* Discards the pending signals of the set. */
static void take_pending(const sigset_t *set)
{
#if defined(__APPLE__) || defined(__OpenBSD__) /* they lack the call below */
    sigset_t pending;
    for (size_t i = 0; i < WF_COUNT(of_writes); i++) {
        sigset_t one;
        int number;
        sigemptyset(&one);
        sigaddset(&one, of_writes[i]);
        if (sigismember(set, of_writes[i]) == 0 || sigpending(&pending) != 0) continue;
        if (sigismember(&pending, of_writes[i]) == 1) (void)sigwait(&one, &number);
    }
#else
    static const struct timespec at_once = {0};
    int rc;
    do rc = sigtimedwait(set, NULL, &at_once);
    while (rc > 0 || (rc < 0 && errno == EINTR));
#endif
}

void pf_signals_let_go(const struct pf_held_off *h)
{
    sigset_t taken, unblocked;
    WF_ASSERT(held_off == h);
    held_off = h->outer;
    if (!h->are_blocked) return;
    sigemptyset(&taken);
    sigemptyset(&unblocked);
    for (size_t i = 0; i < WF_COUNT(of_writes); i++) {
        if ((h->take & 1U << i) != 0) sigaddset(&taken, of_writes[i]);
        if ((h->unblock & 1U << i) != 0) sigaddset(&unblocked, of_writes[i]);
    }
    if (h->take != 0) take_pending(&taken);
    pthread_sigmask(SIG_UNBLOCK, &unblocked, NULL);
}
