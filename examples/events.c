/* events.c -- events, semaphores and latches: set by actors, by threads of your own and by signal handlers.
 *
 *     $ weft run events.c          or: cc events.c $(pkg-config --cflags --libs weft) -lpthread && ./a.out
 *     set already: no wait
 *     nobody has set it again: deadline passed
 *     set by a thread
 *     set by a signal handler
 *     an automatic event lets go 1 of 3
 *     a manual event lets go 3 of 3
 *     a semaphore of 2: at most 2 at a time, all 6 were served
 *     a latch of 6: all are done
 *     closed while it is waited for: handle is closed
 *     another loop was told 3 times
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <weft.h>

/* Shared by several actors; handles are values and may be copied anywhere. */
struct shared {
    weft_event go;
    weft_latch passed;
    weft_semaphore permits;
};
static weft_event from_outside;
static _Atomic int inside, most; /* in the section that the semaphore guards */

static void *other_thread(void *arg)
{
    (void)arg;
    (void)weft_event_set(from_outside);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    (void)weft_event_set(from_outside); /* neither locks nor allocates */
}

static void one_waiter(void)
{
    pthread_t thread;
    if (weft_event_open(&from_outside) < 0) return;
    (void)weft_event_set(from_outside);
    if (weft_event_await(from_outside, WEFT_NOW) == 0) printf("set already: no wait\n");
    int rc = weft_event_await(from_outside, weft_after(WEFT_MS(20)));
    printf("nobody has set it again: %s\n", weft_strerror(rc));
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0) return;
    if (weft_event_await(from_outside, WEFT_FOREVER) == 0) printf("set by a thread\n");
    (void)pthread_join(thread, NULL);
    (void)signal(SIGUSR1, on_signal);
    (void)raise(SIGUSR1);
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    (void)pthread_sigmask(SIG_UNBLOCK, &mine, NULL); /* weft's threads leave signals to others, so it arrives now */
    if (weft_event_await(from_outside, WEFT_FOREVER) == 0) printf("set by a signal handler\n");
}

static void wait_for_go(const void *arg, size_t size)
{
    const struct shared *s = arg;
    (void)size;
    if (weft_event_await(s->go, WEFT_FOREVER) == 0) (void)weft_semaphore_post(s->permits, 1);
}

/* Three actors wait; the kind of the event decides how many of them one set wakes. */
static int let_go(bool manual)
{
    struct shared s;
    if ((manual ? weft_event_open_manual(&s.go) : weft_event_open(&s.go)) < 0) return -1;
    if (weft_semaphore_open(&s.permits, 0) < 0) return -1;
    for (int i = 0; i < 3; i++)
        if (weft_spawn(NULL, wait_for_go, &s, sizeof s, NULL) < 0) return -1;
    weft_yield(); /* they all wait now */
    (void)weft_event_set(s.go);
    int passed = 0, expected = manual ? 3 : 1;
    while (passed < expected && weft_semaphore_await(s.permits, WEFT_FOREVER) == 0) passed++;
    while (weft_semaphore_await(s.permits, weft_after(WEFT_MS(20))) == 0) passed++; /* no other actor is woken */
    (void)weft_event_close(s.go); /* actors that still wait get WEFT_ECLOSED */
    return passed;
}

static void work_with_permit(const void *arg, size_t size)
{
    const struct shared *s = arg;
    (void)size;
    if (weft_semaphore_await(s->permits, WEFT_FOREVER) < 0) return;
    int now = ++inside;
    if (now > most) most = now;
    (void)weft_sleep(weft_after(WEFT_MS(5)));
    inside--;
    (void)weft_semaphore_post(s->permits, 1);
    (void)weft_latch_count_down(s->passed, 1);
}

static void permits_and_latch(void)
{
    struct shared s;
    enum { WORKERS = 6 };
    if (weft_semaphore_open(&s.permits, 2) < 0 || weft_latch_open(&s.passed, WORKERS) < 0) return;
    for (int i = 0; i < WORKERS; i++)
        if (weft_spawn(NULL, work_with_permit, &s, sizeof s, NULL) < 0) return;
    if (weft_latch_await(s.passed, WEFT_FOREVER) < 0) return;
    printf("a semaphore of 2: at most %d at a time, all %d were served\n", most <= 2 ? 2 : (int)most, WORKERS);
    printf("a latch of %d: all are done\n", WORKERS);
}

static void close_soon(const void *arg, size_t size)
{
    (void)size;
    (void)weft_event_close(*(const weft_event *)arg);
}

static void closing(void)
{
    weft_event e;
    if (weft_event_open(&e) < 0 || weft_spawn(NULL, close_soon, &e, sizeof e, NULL) < 0) return;
    printf("closed while it is waited for: %s\n", weft_strerror(weft_event_await(e, WEFT_FOREVER)));
}

struct foreign {
    weft_semaphore things;
    weft_event heard;
};

/* A loop that knows nothing of weft except a descriptor. */
static void *foreign_loop(void *arg)
{
    const struct foreign *f = arg;
    struct pollfd p = {.events = POLLIN};
    if (weft_semaphore_fd(f->things, &p.fd) < 0) return NULL;
    for (int told = 0; told < 3;) {
        if (poll(&p, 1, -1) < 1) continue;
        if (weft_semaphore_take(f->things) == 1) told++;
    }
    printf("another loop was told 3 times\n");
    (void)weft_event_set(f->heard);
    return NULL;
}

static void tell_another_loop(void)
{
    struct foreign f;
    pthread_t thread;
    if (weft_semaphore_open(&f.things, 0) < 0 || weft_event_open(&f.heard) < 0) return;
    if (pthread_create(&thread, NULL, foreign_loop, &f) != 0) return;
    for (int i = 0; i < 3; i++) (void)weft_semaphore_post(f.things, 1);
    weft_ignore(weft_event_await(f.heard, WEFT_FOREVER)); /* asked to stop: the thread is joined nevertheless */
    (void)pthread_join(thread, NULL);
}

static void show(const void *arg, size_t size)
{
    (void)arg, (void)size;
    one_waiter();
    printf("an automatic event lets go %d of 3\n", let_go(false));
    printf("a manual event lets go %d of 3\n", let_go(true));
    permits_and_latch();
    closing();
    tell_another_loop();
}

WEFT_MODULE(show) /* for `weft run` */

int main(void)
{
    return weft_main(&(weft_node_options){.workers = 1}, show, NULL, 0);
}
