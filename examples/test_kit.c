/* test_kit.c -- an actor and its test, which covers an hour and a half of virtual time: nothing here sleeps.
 *
 *     $ cc test_kit.c $(pkg-config --cflags --libs weft) && ./a.out
 *     a session ends half an hour after its last request
 */
#include <stdio.h>
#include <weft.h>
#include <weft/test.h>

enum { HIT = 1, SAVE = 2 };

/* Counts hits. Half an hour after the last one it sends the count to the actor named "store", and ends. */
static void session(const void *arg, size_t size)
{
    int64_t hits = 0;
    weft_msg *m, *answer;
    int rc;
    (void)arg, (void)size;
    while ((rc = weft_recv(&m, weft_after(WEFT_SEC(1800)))) == 0) {
        hits++;
        weft_msg_free(m);
    }
    if (rc == WEFT_ETIMEDOUT && weft_call_name("store", SAVE, &hits, sizeof hits, &answer, WEFT_FOREVER) == 0)
        weft_msg_free(answer);
}

static void ends_after_half_an_hour(const void *arg, size_t size)
{
    weft_pid who;
    weft_probe store; /* stands in for the real store */
    weft_msg *ask;
    (void)arg, (void)size;
    weft_require(weft_probe_open(&store, "store") == 0);
    weft_require(weft_spawn(&who, session, NULL, 0, NULL) == 0 && weft_monitor(who, NULL) == 0);
    for (int i = 0; i < 3; i++) {
        weft_require(weft_send(who, HIT, NULL, 0) == 0);
        weft_probe_expect_nothing(store, WEFT_SEC(1799));
    }
    weft_probe_expect(store, SAVE, WEFT_SEC(1), &ask);
    weft_require(*(const int64_t *)weft_data(ask) == 3);
    weft_reply(ask, SAVE, NULL, 0);
    weft_msg_free(ask);
    weft_expect_down(who, WEFT_EXIT_NORMAL, 0);
}

int main(void)
{
    for (uint64_t seed = 0; seed < 100; seed++) { /* in 100 different orders */
        weft_test_options options = {.seed = seed};
        if (weft_test_run(ends_after_half_an_hour, NULL, 0, &options) != 0) return 1;
    }
    puts("a session ends half an hour after its last request");
    return 0;
}
