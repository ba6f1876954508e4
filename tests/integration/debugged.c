/* A node for debuggers to look at: actors that wait, each in a way of its own. Prints "ready" when all of them wait.
 * One worker makes that certain: an actor that reports that it begins runs on until it waits. usage: debugged
 * PARK_AFTER_NS [abort] abort: ends by a signal at the first line of input */
#include <weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { BEGINS = 1 };

static int depth_reached;
static weft_pid top;

static void __attribute__((noinline)) deeper(int depth)
{
    volatile int here = depth;
    if (depth < 3) deeper(depth + 1);
    else weft_sleep(WEFT_FOREVER); /* MARK sleeper */
    depth_reached += here;
}

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_send(top, BEGINS, NULL, 0);
    deeper(0);
}

static void receiver(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    (void)weft_send(top, BEGINS, NULL, 0);
    (void)weft_register("mail.box");
    while (weft_recv(&m, WEFT_FOREVER) == 0) /* MARK receiver */
        weft_msg_free(m);
}

static void caller(const void *arg, size_t size)
{
    weft_msg *answer;
    weft_pid who;
    (void)size;
    (void)weft_send(top, BEGINS, NULL, 0);
    memcpy(&who, arg, sizeof who);
    if (weft_call(who, 7, NULL, 0, &answer, WEFT_FOREVER) == 0) /* MARK caller */
        weft_msg_free(answer);
}

static void silent(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    (void)weft_send(top, BEGINS, NULL, 0);
    weft_sleep(WEFT_FOREVER); /* MARK silent */
    weft_msg_free(m);
}

static void counter(void *state, weft_msg *m)
{
    (void)state;
    weft_msg_free(m);
}

static void first(const void *arg, size_t size)
{
    weft_pid quiet, pid;
    weft_msg *m;
    weft_stream in;
    char line[16];
    (void)size;
    top = weft_self();
    weft_require(weft_spawn(&quiet, silent, NULL, 0, &(weft_spawn_options){.kind = "silent"}) == 0);
    weft_require(weft_spawn(&pid, sleeper, NULL, 0, &(weft_spawn_options){.kind = "sleeper"}) == 0);
    weft_require(weft_spawn(&pid, receiver, NULL, 0, &(weft_spawn_options){.kind = "receiver"}) == 0);
    weft_require(weft_spawn(&pid, caller, &quiet, sizeof quiet, &(weft_spawn_options){.kind = "caller"}) == 0);
    weft_require(weft_spawn_handler(&pid, counter, NULL, 0, &(weft_spawn_options){.kind = "counter"}) == 0);
    for (int begun = 0; begun < 4; begun++) {
        weft_require(weft_recv(&m, WEFT_FOREVER) == 0);
        weft_msg_free(m);
    }
    printf("ready\n");
    fflush(stdout);
    weft_require(weft_stdin(&in) == 0);
    (void)weft_read_until(in, line, sizeof line, '\n', WEFT_FOREVER);
    if (*(const bool *)arg) abort();
    exit(0);
}

int main(int argc, char **argv)
{
    bool aborts = argc > 2 && strcmp(argv[2], "abort") == 0;
#ifdef PR_SET_PTRACER
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* any gdb may look */
#endif
    weft_node_options options = {.name = "looked-at", .workers = 1, .park_after = argc > 1 ? atoll(argv[1]) : 0};
    return weft_main(&options, first, &aborts, sizeof aborts);
}
