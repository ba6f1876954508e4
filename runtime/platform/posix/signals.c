/* runtime/platform/posix/signals.c -- signals as calls on a thread of their own.
 *
 * Design notes.
 * (1) The handler does nothing but write the number into a pipe; a thread that sleeps until there is one makes the
 *     call, outside of any handler, where locks may be taken.
 * (2) All threads of the runtime block signals, and perhaps all of the user's do. So the thread here unblocks those
 *     that are caught: somebody is always there to take them. It is told to by the pipe, too.
 * (3) The pipe stays for the process's life: a handler may still run when nothing is caught any more. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "native.h"

_Static_assert(SIGINT == PF_SIGINT && SIGKILL == PF_SIGKILL && SIGTERM == PF_SIGTERM, "as everywhere");

enum { NUMBERS = 65, UNBLOCK = 128, QUIT = 0 };

static struct {
    pthread_mutex_t lock;
    int count; /* of numbers caught */
    bool caught[NUMBERS];
    struct sigaction before[NUMBERS];
    pthread_t thread;
    int pipe[2]; /* -1: not made yet */
    /* Relaxed: it is the same function for all. */
    _Atomic(void (*)(int number)) on;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .pipe = {-1, -1}};

static void tell(int what)
{
    unsigned char byte = (unsigned char)what;
    for (;;) {
        ssize_t n = write(all.pipe[1], &byte, 1);
        if (n == 1 || (errno != EINTR && errno != EAGAIN)) return;
        bool full = errno == EAGAIN;
        if (full && what != QUIT && what < UNBLOCK) return; /* so many signals that one less does not matter */
        struct pollfd room = {.fd = all.pipe[1], .events = POLLOUT};
        if (full) (void)poll(&room, 1, -1);
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
        (void)poll(&more, 1, -1); /* not read, in which ThreadSanitizer delivers no signals */
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

/* Faults of the program itself have to be handled where they are; the other two cannot be. */
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
