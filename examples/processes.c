/* processes.c -- child processes: writing to them, reading from them, waiting for them, with a deadline.
 *
 *     $ weft run processes.c        or: cc processes.c $(pkg-config --cflags --libs weft) && ./a.out
 *     apple
 *     banana
 *     cherry
 *     sort has returned 0
 *     sleep took too long: ended by signal 15
 *     no-such-program: file or entry point not found
 */
#include <signal.h>
#include <stdio.h>
#include <weft.h>

/* Two actors, because a program may write before it has read everything: one writes to it, one reads from it. */
static void feed(const void *arg, size_t size)
{
    static const char text[] = "cherry\nbanana\napple\nbanana\n";
    weft_stream in = *(const weft_stream *)arg;
    (void)size;
    weft_ignore(weft_write(in, text, sizeof text - 1, WEFT_FOREVER)); /* it may end without reading everything */
    (void)weft_close(in);                                             /* the end of its input */
}

static int sort_lines(void)
{
    const char *const argv[] = {"sort", "-u", NULL};
    weft_process sort;
    weft_process_options options = {.argv = argv, .in = {.kind = WEFT_STDIO_PIPE}, .out = {.kind = WEFT_STDIO_PIPE}};
    int rc = weft_process_start(&sort, &options, weft_after(WEFT_SEC(10)));
    if (rc < 0) return rc;
    weft_stream in = weft_process_in(sort);
    rc = weft_spawn(NULL, feed, &in, sizeof in, NULL);
    if (rc < 0) return rc;
    char line[64];
    int64_t n;
    while ((n = weft_read_until(weft_process_out(sort), line, sizeof line, '\n', WEFT_FOREVER)) > 0)
        printf("%.*s", (int)n, line);
    weft_process_status status;
    rc = weft_process_wait(sort, &status, WEFT_FOREVER);
    if (rc == 0) printf("sort has returned %d\n", status.code);
    return rc;
}

/* The actor could also simply return: a child ends with its actor. */
static int sleep_too_long(void)
{
    const char *const argv[] = {"sleep", "1000", NULL};
    weft_process sleeper;
    weft_process_status status;
    int rc = weft_process_start(&sleeper, &(weft_process_options){.argv = argv}, weft_after(WEFT_SEC(10)));
    if (rc < 0) return rc;
    if (weft_process_wait(sleeper, &status, weft_after(WEFT_MS(20))) != WEFT_ETIMEDOUT) return WEFT_ESYSTEM;
    rc = weft_process_signal(sleeper, SIGTERM);
    if (rc == 0) rc = weft_process_wait(sleeper, &status, WEFT_FOREVER);
    if (rc == 0) printf("sleep took too long: ended by signal %d\n", status.signal);
    return rc;
}

static void run(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_process none;
    const char *const argv[] = {"no-such-program", NULL};
    if (sort_lines() < 0 || sleep_too_long() < 0) return;
    int rc = weft_process_start(&none, &(weft_process_options){.argv = argv}, WEFT_FOREVER);
    printf("no-such-program: %s\n", weft_strerror(rc));
}

WEFT_MODULE(run) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, run, NULL, 0);
}
