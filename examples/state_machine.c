/* state_machine.c -- a turnstile: a state is a function that waits for its messages and returns the next state.
 *     $ weft run state_machine.c
 *     locked after 0 / pushed in vain / a coin / somebody passes / locked after 1 / a coin / nobody came / ...
 */
#include <stdio.h>
#include <weft.h>

enum { COIN = 1, PUSH = 2 };

struct state {
    struct state (*run)(int *passed); /* NULL: the end */
};

/* Returns the tag of the next message, or an error. */
static int64_t next_event(int64_t deadline)
{
    weft_msg *m;
    int rc = weft_recv(&m, deadline);
    if (rc < 0) return rc;
    uint32_t tag = weft_tag(m);
    weft_msg_free(m);
    return tag;
}

static struct state locked(int *passed);

static struct state unlocked(int *passed)
{
    int64_t until = weft_after(WEFT_MS(50)), event; /* a state that ends by itself has a deadline */
    printf("a coin / ");
    while ((event = next_event(until)) == COIN) printf("thank you / ");
    if (event == PUSH) ++*passed;
    printf(event == PUSH ? "somebody passes / " : "nobody came / ");
    return (struct state){event == WEFT_ECANCELED ? NULL : locked}; /* NULL: asked to stop */
}

static struct state locked(int *passed)
{
    int64_t until = weft_after(WEFT_MS(300)), event;
    printf("locked after %d / ", *passed);
    while ((event = next_event(until)) == PUSH) printf("pushed in vain / ");
    return (struct state){event == COIN ? unlocked : NULL}; /* time to close, or asked to stop */
}

static void turnstile(const void *arg, size_t size)
{
    int passed = 0;
    (void)arg, (void)size;
    for (int i = 0; i < 4; i++) /* the events of a day, 10 ms apart; real events come from other actors */
        if (weft_send_after(weft_after(WEFT_MS(10 * i + 10)), weft_self(), i % 2 == 0 ? PUSH : COIN, NULL, 0, NULL) <
            0)
            return;
    for (struct state s = {locked}; s.run != NULL;) s = s.run(&passed);
    printf("closed\n");
}

WEFT_MODULE(turnstile)

int main(void)
{
    return weft_main(NULL, turnstile, NULL, 0);
}
