/* offload.c -- blocking and long-running functions on separate threads, while actors continue.
 *
 *     $ weft run offload.c          or: cc offload.c $(pkg-config --cflags --libs weft) && ./a.out
 *     primes below 1000: 168
 *     primes below 100000: 9592
 *     still answering: ping
 *     slow: deadline passed
 */
#include <stdio.h>
#include <time.h>
#include <weft.h>

struct search {
    int below, found;
};

/* The function knows nothing of actors: it works on the job's own copy of the block. */
static void count_primes(void *block)
{
    struct search *s = block;
    for (int n = 2; n < s->below; n++) {
        int d = 2;
        while (d * d <= n && n % d != 0) d++;
        if (d * d > n) s->found++;
    }
}

static void sleep_a_while(void *block)
{
    nanosleep(block, NULL);
}

static void asker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct search small = {.below = 1000}, large = {.below = 100000};
    if (weft_offload(count_primes, &small, sizeof small, WEFT_FOREVER) < 0) return;
    printf("primes below %d: %d\n", small.below, small.found);
    weft_job job; /* the same without waiting: the handle is a source to wait for */
    if (weft_offload_start(&job, count_primes, NULL, &large, sizeof large, WEFT_FOREVER) < 0) return;
    if (weft_send(weft_self(), 1, "ping", 4) < 0) return;
    const weft_wait sources[] = {weft_on_offload(job), weft_on_mailbox()};
    if (weft_wait_all(sources, 2, WEFT_FOREVER) < 0) return;
    if (weft_offload_take(job, &large, sizeof large, WEFT_NOW) < 0) return;
    printf("primes below %d: %d\n", large.below, large.found);
    weft_msg *m;
    if (weft_recv(&m, WEFT_NOW) == 0)
        printf("still answering: %.*s\n", (int)weft_size(m), (const char *)weft_data(m));

    struct timespec slow = {.tv_nsec = 300000000}; /* it runs to its end; only the node waits for it */
    int rc = weft_offload(sleep_a_while, &slow, sizeof slow, weft_after(WEFT_MS(20)));
    printf("slow: %s\n", weft_strerror(rc));
}

WEFT_MODULE(asker) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, asker, NULL, 0);
}
