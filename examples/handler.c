/* handler.c -- a hundred thousand counters, each of them an actor without a stack of its own.
 *
 *     $ weft run handler.c
 *     100000 counters, each counted to 3: 300000
 */
#include <stdio.h>
#include <weft.h>

enum { COUNTERS = 100000, ADD = 1, READ = 2 };

/* Called once for each message. `state` belongs to this actor; the message is freed when the function returns. */
static void counter(void *state, weft_msg *m)
{
    long *count = state;
    if (weft_tag(m) == ADD) ++*count;
    else if (weft_tag(m) == READ) weft_reply(m, READ, count, sizeof *count);
}

static weft_pid all[COUNTERS];

static void first(const void *arg, size_t size)
{
    (void)arg, (void)size;
    long sum = 0, zero = 0;
    for (int i = 0; i < COUNTERS; i++) {
        int rc = weft_spawn_handler(&all[i], counter, &zero, sizeof zero, NULL);
        if (rc < 0) weft_fail(rc, "counter %d: %s", i, weft_strerror(rc));
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNTERS; i++)
            if (weft_send(all[i], ADD, NULL, 0) < 0) return;
    }
    for (int i = 0; i < COUNTERS; i++) {
        weft_msg *answer;
        int rc = weft_call(all[i], READ, NULL, 0, &answer, weft_after(WEFT_SEC(10)));
        if (rc < 0) weft_fail(rc, "counter %d: %s", i, weft_strerror(rc));
        sum += *(const long *)weft_data(answer);
        weft_msg_free(answer);
        weft_stop(all[i]);
    }
    printf("%d counters, each counted to 3: %ld\n", COUNTERS, sum);
}

WEFT_MODULE(first)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
