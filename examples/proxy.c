/* proxy.c -- a TCP proxy: it passes bytes between a client and a server, in code that reads from top to bottom.
 *
 *     $ weft run echo.c -- --port 4000 &
 *     $ weft run proxy.c -- --port 4200 --to 127.0.0.1:4000
 *     proxy on 127.0.0.1:4200
 *
 * and elsewhere
 *
 *     $ echo hello | nc -N 127.0.0.1 4200
 *     hello
 *
 * Options: --port PORT (0: any free one; default 4200), --host ADDRESS (default 127.0.0.1), --to ADDRESS (also
 * unix:/path/to/socket), --idle SECONDS (a connection without traffic is closed after so long; default 60).
 *
 * Each direction is an actor: it reads, writes, and begins again. If one side does not read, the proxy stops reading
 * from the other side in that direction only, and the kernel slows the sender. The end of one direction is passed on,
 * and the other direction continues. A reset, or a server that does not answer, is passed on as a reset. While the
 * proxy connects it also reads from the client, and closes the connection of a client that leaves. Both actors are on
 * one worker (WEFT_BESIDE), so they never run at the same time and share the connection's record without a lock; the
 * clean-up of the last one closes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { CLIENT, SERVER, BLOCK = 16384 };

struct options {
    const char *to;
    int64_t idle;
};

/* A connection; its actors share it. */
struct pair {
    weft_stream side[2];
    int users;     /* actors */
    int64_t moved; /* when bytes were last passed in either direction */
    int64_t idle;
};

static void leave(void *arg)
{
    struct pair *p = arg;
    if (--p->users > 0) return;
    weft_close(p->side[CLIENT]);
    weft_close(p->side[SERVER]);
    free(p);
}

/* Ends both directions: the actor that waits for the other one wakes with WEFT_ECLOSED. If the connection was broken
 * off, the other side reads WEFT_ERESET and not the end of a stream. */
static void give_up(struct pair *p, int from, int64_t why)
{
    weft_log(WEFT_DEBUG, "from %s: %s", from == CLIENT ? "client" : "server", weft_strerror((int)why));
    for (int side = CLIENT; side <= SERVER; side++) {
        if (why == WEFT_ERESET) weft_stream_set(p->side[side], WEFT_LINGER, 0);
        weft_close(p->side[side]);
    }
}

/* As weft_read, but the deadline is extended while the other direction has traffic. */
static int64_t read_side(struct pair *p, int from, void *buffer, size_t size)
{
    int64_t n;
    do {
        n = weft_read(p->side[from], buffer, size, p->moved + p->idle);
    } while (n == WEFT_ETIMEDOUT && p->moved + p->idle > weft_now());
    return n;
}

/* Passes on `n` bytes that are in `buffer` already, and then all later bytes. `n` is 0 at the end. */
static void copy(struct pair *p, int from, char *buffer, int64_t n)
{
    while (n > 0) {
        p->moved = weft_now();
        n = weft_write(p->side[!from], buffer, (size_t)n, weft_after(p->idle));
        if (n < 0) break;
        p->moved = weft_now();
        n = read_side(p, from, buffer, BLOCK);
    }
    if (n == 0) n = weft_shutdown(p->side[!from]);
    if (n < 0) give_up(p, from, n);
}

static void back(const void *arg, size_t size)
{
    struct pair *p = *(struct pair *const *)arg;
    char buffer[BLOCK];
    (void)size;
    if (weft_defer(leave, p) == 0) copy(p, SERVER, buffer, read_side(p, SERVER, buffer, BLOCK));
}

/* Connects, and reads what the client sends meanwhile. Returns the number of these bytes, or an error if there is no
 * connection; *ended is set if the client sends no more. A client that ends without having sent a byte has left. */
static int64_t connect_server(struct pair *p, const char *to, char *buffer, bool *ended)
{
    weft_connecting c;
    size_t have = 0;
    int rc = weft_connect_start(&c, to, weft_after(p->idle));
    if (rc < 0) return rc;
    const weft_wait sources[] = {weft_on_connect(c), weft_on_readable(p->side[CLIENT])};
    while ((rc = weft_wait_any(sources, have < BLOCK && !*ended ? 2 : 1, WEFT_FOREVER)) == 1) {
        int64_t n = weft_read(p->side[CLIENT], buffer + have, BLOCK - have, WEFT_NOW);
        if (n == WEFT_ETIMEDOUT) continue; /* there was nothing to read after all */
        *ended = n == 0;
        if (n < 0 || (n == 0 && have == 0)) {
            weft_connect_drop(c);
            return n < 0 ? n : WEFT_ECLOSED;
        }
        have += (size_t)n;
    }
    if (rc == 0) rc = weft_connect_take(c, &p->side[SERVER]);
    if (rc == 0) return (int64_t)have;
    weft_log(WEFT_WARN, "no connection to %s: %s", to, weft_strerror(rc));
    return WEFT_ERESET;
}

struct request {
    weft_stream client;
    struct options options;
};

static void forth(const void *arg, size_t size)
{
    const struct request *r = arg;
    struct pair *p = calloc(1, sizeof *p);
    (void)size;
    if (p == NULL) {
        weft_close(r->client);
        return;
    }
    *p = (struct pair){.side = {r->client}, .users = 1, .moved = weft_now(), .idle = r->options.idle};
    if (weft_defer(leave, p) < 0) return;
    char buffer[BLOCK];
    bool ended = false;
    int64_t n = connect_server(p, r->options.to, buffer, &ended);
    if (n < 0) {
        give_up(p, CLIENT, n);
        return;
    }
    const weft_spawn_options options = {.kind = "back", .worker = WEFT_BESIDE};
    p->users++;
    p->moved = weft_now();
    if (weft_spawn(NULL, back, &p, sizeof p, &options) < 0) {
        p->users--;
        return;
    }
    if (n > 0 && ended) {
        n = weft_write(p->side[SERVER], buffer, (size_t)n, weft_after(p->idle));
        if (n < 0) give_up(p, CLIENT, n);
        else copy(p, CLIENT, buffer, 0);
    } else {
        copy(p, CLIENT, buffer, n > 0 ? n : read_side(p, CLIENT, buffer, BLOCK));
    }
}

/* ---- The server ------------------------------------------------------------------------------------------------ */

WEFT_NORETURN static void usage(void)
{
    fprintf(stderr, "usage: proxy --to ADDRESS [--port PORT] [--host ADDRESS] [--idle SECONDS]\n");
    weft_exit(WEFT_EINVAL);
}

static void server(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    const char *port = "4200", *host = "127.0.0.1";
    struct request request = {.options = {.idle = WEFT_SEC(60)}};
    char address[WEFT_ADDRESS_TEXT];
    weft_listener l;
    (void)size;
    for (int i = 1; i < args->argc; i += 2) {
        const char *value = i + 1 < args->argc ? args->argv[i + 1] : NULL;
        if (value == NULL) usage();
        if (strcmp(args->argv[i], "--port") == 0) port = value;
        else if (strcmp(args->argv[i], "--host") == 0) host = value;
        else if (strcmp(args->argv[i], "--to") == 0) request.options.to = value;
        else if (strcmp(args->argv[i], "--idle") == 0 && atoi(value) > 0)
            request.options.idle = WEFT_SEC(atoi(value));
        else usage();
    }
    if (request.options.to == NULL) usage();
    snprintf(address, sizeof address, "%s:%s", host, port);
    int rc = weft_listen(&l, address, NULL);
    if (rc < 0) {
        fprintf(stderr, "proxy: cannot listen on %s: %s\n", address, weft_strerror(rc));
        weft_exit(rc);
    }
    weft_listener_address(l, address, sizeof address);
    printf("proxy on %s\n", address);
    fflush(stdout);

    const weft_spawn_options options = {.kind = "forth", .worker = WEFT_SPREAD};
    /* WEFT_EFULL: out of descriptors; weft_accept has waited a little for connections to end. */
    while ((rc = weft_accept(l, &request.client, WEFT_FOREVER)) == 0 || rc == WEFT_EFULL)
        if (rc == 0 && weft_spawn(NULL, forth, &request, sizeof request, &options) < 0) weft_close(request.client);
    weft_listener_close(l);
}

WEFT_MODULE(server) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, server, &args, sizeof args);
}
