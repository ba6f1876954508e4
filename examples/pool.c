/* pool.c -- several actors that do the same work, behind one pid.
 *
 *     $ weft run pool.c          or: cc pool.c $(pkg-config --cflags --libs weft) && ./a.out
 *     12 squared is 144
 *     13: the request was freed without a reply
 *     14 squared is 196
 *     3 members, 0 requests outstanding
 *     1000 jobs done when the pool had ended
 */
#include <stdatomic.h>
#include <stdio.h>
#include <weft.h>

enum { SQUARE = 1, JOB };
static _Atomic int jobs;

/* A member is an actor like any other; it replies to the caller, and does not need to know of the pool. */
static void worker(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_tag(m) == SQUARE) {
            int n = *(const int *)weft_data(m), answer = n * n;
            if (n == 13) weft_fail(WEFT_EXIT_FAILED, "unlucky"); /* ends this member; another one takes its place */
            weft_reply(m, SQUARE, &answer, sizeof answer);
        } else {
            jobs++;
        }
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    weft_pid pool;
    weft_msg *answer;
    weft_pool_options options = {.count = 3, .policy = WEFT_POOL_LEAST_LOADED, .outstanding_max = 16};
    (void)arg, (void)size;
    if (weft_spawn_pool(&pool, worker, NULL, 0, &options) < 0) return;
    for (int n = 12; n <= 14; n++) {
        int rc = weft_call(pool, SQUARE, &n, sizeof n, &answer, weft_after(WEFT_SEC(5)));
        if (rc == 0) printf("%d squared is %d\n", n, *(const int *)weft_data(answer));
        else printf("%d: %s\n", n, weft_strerror(rc));
        if (rc == 0) weft_msg_free(answer);
    }
    struct weft_pool_info info;
    if (weft_pool_inspect(pool, &info, NULL, 0, weft_after(WEFT_SEC(5))) < 0) return;
    printf("%u members, %u requests outstanding\n", info.count, info.outstanding);
    for (int i = 0; i < 1000; i++)
        if (weft_send(pool, JOB, NULL, 0) < 0) return;
    if (weft_pool_stop(pool, weft_after(WEFT_SEC(5))) == 0) printf("%d jobs done when the pool had ended\n", jobs);
}

WEFT_MODULE(first) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
