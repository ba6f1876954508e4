/* singleton.c -- one clock ticks in the whole cluster; when its node ends, the clock of another node continues.
 *
 *   etcd &
 *   weft run examples/singleton.c --name a --listen tcp://127.0.0.1:4001 --discover etcd:http://127.0.0.1:2379 &
 *   weft run examples/singleton.c --name b --listen tcp://127.0.0.1:4002 --discover etcd:http://127.0.0.1:2379 &
 *   kill -9 %2      # within ten seconds, the time of the lease, b ticks
 *
 * A receiver of ticks refuses a tick whose token is lower than one it has seen: it comes from a clock that was
 * stopped for a while and has not noticed yet that another one runs now. */
#include <inttypes.h>
#include <stdio.h>
#include <weft.h>

static void clock_main(const void *arg, size_t size)
{
    weft_exclusive mine;
    (void)arg, (void)size;
    weft_require(weft_exclusive_find("clock", &mine) == WEFT_OK);
    for (int tick = 1; weft_exclusive_until(mine) > weft_now(); tick++) {
        printf("tick %d of %s, token %" PRIu64 "\n", tick, weft_node_name(weft_here()), mine.token);
        fflush(stdout);
        if (weft_sleep(weft_after(WEFT_SEC(1))) < 0) return;
    }
    weft_fail(WEFT_EXIT_FAILED, "the name is lost");
}

static void first_main(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    int rc = weft_singleton(NULL, "clock", clock_main, NULL, 0, NULL);
    if (rc < 0) weft_fail(rc, "no singleton: %s", weft_strerror(rc));
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

WEFT_MODULE(first_main)

int main(int argc, char **argv)
{
    const char *etcd = argc > 1 ? argv[1] : "etcd:http://127.0.0.1:2379";
    const weft_node_options options = {.discover = &etcd, .discover_count = 1};
    return weft_main(&options, first_main, NULL, 0);
}
