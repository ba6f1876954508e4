/* timers.c -- one-shot, periodic and absolute timers, cancelled and set again; thousands at once; and several timers
 * in one wait with the mailbox, in code that reads from top to bottom.
 *
 *     $ weft run timers.c          or: cc timers.c $(pkg-config --cflags --libs weft) && ./a.out
 *     one shot: fired, once
 *     set anew each time: fired 5 times
 *     an absolute deadline: work in between does not put it off
 *     cancelled: not fired
 *     periodic: no drift
 *     2000 actors with 10 timers each: all 20000 fired
 *     tick 1
 *     tick 2
 *     another actor says: half time
 *     tick 3
 *     tick 4
 *     time is up
 */
#include <stdio.h>
#include <weft.h>

enum { HALF_TIME = 1, ALL_FIRED, ACTORS = 2000, TIMERS = 10 };

static int one_shot(void)
{
    weft_timer t;
    if (weft_timer_open(&t, weft_after(WEFT_MS(20)), 0) < 0) return -1;
    if (weft_timer_await(t, WEFT_FOREVER) < 0) return -1; /* asked to stop */
    if (weft_timer_await(t, weft_after(WEFT_MS(20))) == WEFT_ETIMEDOUT) printf("one shot: fired, once\n");

    int fired = 0;
    for (int i = 0; i < 5; i++) {
        (void)weft_timer_set(t, weft_after(WEFT_MS(10)), 0);
        if (weft_timer_await(t, WEFT_FOREVER) == 1) fired++;
    }
    printf("set anew each time: fired %d times\n", fired);

    int64_t deadline = weft_after(WEFT_MS(50));
    (void)weft_sleep(weft_after(WEFT_MS(30)));
    (void)weft_timer_set(t, deadline, 0); /* 50 ms from then, not from now */
    if (weft_timer_next(t) == deadline && weft_timer_await(t, WEFT_FOREVER) == 1)
        printf("an absolute deadline: work in between does not put it off\n");

    (void)weft_timer_set(t, weft_after(WEFT_MS(10)), 0);
    (void)weft_timer_set(t, WEFT_FOREVER, 0);
    if (weft_timer_await(t, weft_after(WEFT_MS(20))) == WEFT_ETIMEDOUT) printf("cancelled: not fired\n");
    return weft_timer_close(t);
}

/* Now and then the actor is late; the deadlines do not move. */
static int periodic(void)
{
    const int64_t period = WEFT_MS(5), first = weft_after(period);
    int64_t count = 0;
    weft_timer t;
    if (weft_timer_open(&t, first, period) < 0) return -1;
    while (count < 30) {
        if (count % 10 == 3) (void)weft_sleep(weft_after(WEFT_MS(12)));
        int64_t n = weft_timer_await(t, WEFT_FOREVER);
        if (n < 0) return -1;
        count += n; /* more than 1 if the actor is late; no firing is lost */
    }
    printf("periodic: %s\n", weft_timer_next(t) == first + count * period ? "no drift" : "drifts");
    return weft_timer_close(t);
}

/* Sets all its timers at once, the latest first. They cost the kernel nothing: it knows only a worker's next one. */
static void one_of_many(const void *arg, size_t size)
{
    const weft_pid *parent = arg;
    int64_t start = weft_now();
    weft_timer t[TIMERS];
    (void)size;
    for (int i = 0; i < TIMERS; i++) {
        if (weft_timer_open(&t[i], start + WEFT_MS(10 * (TIMERS - i)), 0) < 0) return;
    }
    for (int i = 0; i < TIMERS; i++) {
        if (weft_timer_await(t[i], WEFT_FOREVER) < 0) return;
    }
    weft_ignore(weft_send(*parent, ALL_FIRED, NULL, 0)); /* if the receiver has ended, the message is not needed */
}

static int thousands(void)
{
    weft_pid self = weft_self();
    int fired = 0;
    for (int i = 0; i < ACTORS; i++) {
        if (weft_spawn(NULL, one_of_many, &self, sizeof self, NULL) < 0) return -1;
    }
    for (int i = 0; i < ACTORS; i++) {
        weft_msg *m;
        if (weft_recv(&m, WEFT_FOREVER) < 0) return -1;
        fired += TIMERS;
        weft_msg_free(m);
    }
    printf("%d actors with %d timers each: all %d fired\n", ACTORS, TIMERS, fired);
    return 0;
}

static void friend_of(const void *arg, size_t size)
{
    const weft_pid *who = arg;
    (void)size;
    if (weft_sleep(weft_after(WEFT_MS(250))) < 0) return;
    weft_ignore(weft_send(*who, HALF_TIME, "half time", 9)); /* not needed if the game is over */
}

static void ticks_and_mail(void)
{
    weft_timer ticks, up;
    weft_pid self = weft_self();
    int64_t now = weft_now();
    int count = 0;
    if (weft_timer_open(&ticks, now + WEFT_MS(100), WEFT_MS(100)) < 0) return; /* at 100, 200, 300, ... ms */
    if (weft_timer_open(&up, now + WEFT_MS(450), 0) < 0) return;               /* once, at 450 ms */
    if (weft_spawn(NULL, friend_of, &self, sizeof self, NULL) < 0) return;

    const weft_wait sources[] = {weft_on_mailbox(), weft_on_timer(ticks), weft_on_timer(up)};
    for (;;) {
        int which = weft_wait_any(sources, 3, WEFT_FOREVER);
        if (which < 0) return; /* asked to stop */
        if (which == 0) {
            weft_msg *m;
            if (weft_recv(&m, WEFT_NOW) < 0) continue;
            printf("another actor says: %.*s\n", (int)weft_size(m), (const char *)weft_data(m));
            weft_msg_free(m);
        } else if (which == 1) {
            /* Several periods may have passed since the last take; none is lost. */
            for (int64_t n = weft_timer_take(ticks); n > 0; n--) printf("tick %d\n", ++count);
        } else {
            printf("time is up\n");
            return; /* timers that an actor has opened end with it */
        }
    }
}

static void clock_actor(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (one_shot() < 0 || periodic() < 0 || thousands() < 0) return;
    ticks_and_mail();
}

WEFT_MODULE(clock_actor) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, clock_actor, NULL, 0);
}
