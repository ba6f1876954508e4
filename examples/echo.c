/* echo.c -- a TCP server: a loop that accepts, one actor for each client, code that reads as if it blocked.
 *
 *     $ weft run echo.c -- --port 4000     or: cc echo.c $(pkg-config --cflags --libs weft) && ./a.out --port 4000
 *     echo on 127.0.0.1:4000
 *
 * and elsewhere
 *
 *     $ echo hello | nc -N 127.0.0.1 4000
 *     hello
 *
 * Port 0 takes any free one. The program ends at Ctrl-C. */
#include <stdio.h>
#include <string.h>
#include <weft.h>

/* If a client does not read its bytes within this time, its actor ends instead of waiting forever. */
#define PATIENCE WEFT_SEC(10)

static void client(const void *arg, size_t size)
{
    weft_stream s = *(const weft_stream *)arg;
    char buffer[4096];
    int64_t n;
    (void)size;
    weft_defer_close(s);
    while ((n = weft_read(s, buffer, sizeof buffer, WEFT_FOREVER)) > 0)
        if (weft_write(s, buffer, (size_t)n, weft_after(PATIENCE)) < 0) return;
}

static void server(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    char address[WEFT_ADDRESS_TEXT] = "127.0.0.1:4000";
    weft_listener l;
    weft_stream s;
    int rc;
    (void)size;
    if (args->argc == 3 && strcmp(args->argv[1], "--port") == 0)
        snprintf(address, sizeof address, "127.0.0.1:%s", args->argv[2]);
    else if (args->argc != 1) {
        fprintf(stderr, "usage: echo [--port PORT]\n");
        weft_exit(WEFT_EINVAL);
    }
    if ((rc = weft_listen(&l, address, NULL)) < 0) {
        fprintf(stderr, "echo: cannot listen on %s: %s\n", address, weft_strerror(rc));
        weft_exit(rc);
    }
    /* Clients at a time, a quarter of them from one address: a client that only connects leaves places to others. */
    if ((rc = weft_listener_places(l, 8192, 0)) < 0) weft_exit(rc);
    weft_listener_address(l, address, sizeof address);
    printf("echo on %s\n", address);
    fflush(stdout);
    const weft_spawn_options options = {.kind = "client", .worker = WEFT_SPREAD};
    /* WEFT_EFULL: out of descriptors; weft_accept has waited a little for clients to leave. */
    while ((rc = weft_accept(l, &s, WEFT_FOREVER)) == 0 || rc == WEFT_EFULL)
        if (rc == 0 && weft_spawn(NULL, client, &s, sizeof s, &options) < 0) weft_close(s);
    weft_listener_close(l);
}

WEFT_MODULE(server) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, server, &args, sizeof args);
}
