/* timers.c -- a periodic timer, a one-shot timer and the mailbox in one wait.
 *
 *     $ weft run timers.c          or: cc timers.c $(pkg-config --cflags --libs weft) && ./a.out
 *     tick 1
 *     tick 2
 *     another actor says: half time
 *     tick 3
 *     tick 4
 *     time is up
 */
#include <stdio.h>
#include <weft.h>

enum { HALF_TIME = 1 };

static void friend_of(const void *arg, size_t size)
{
    const weft_pid *who = arg;
    (void)size;
    if (weft_sleep(weft_after(WEFT_MS(250))) == 0) weft_send(*who, HALF_TIME, "half time", 9);
}

static void clock_actor(const void *arg, size_t size)
{
    weft_timer ticks, up;
    weft_pid self = weft_self();
    int64_t now = weft_now();
    int count = 0;
    (void)arg, (void)size;
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
            /* Several periods may have passed since the last look; none is lost. */
            for (int64_t n = weft_timer_take(ticks); n > 0; n--) printf("tick %d\n", ++count);
        } else {
            printf("time is up\n");
            return; /* what an actor has opened ends with it */
        }
    }
}

WEFT_MODULE(clock_actor) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, clock_actor, NULL, 0);
}
