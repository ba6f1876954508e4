/* bench/echo.c -- an echo server, one actor for each connection, under the load of peers/load.h.
 *
 *     bench_echo CONNECTIONS SIZE REQUESTS [embedded]
 *
 * One worker, since libuv's loop is one thread; embedded: in the program's only thread, as there, so that the kernel
 * need not count the users of a descriptor. cpu_requests_per_s: requests for each second of the server's processor
 * time. */
#include "bench.h"
#include "peers/load.h"

static struct load load;

static void client(const void *arg, size_t size)
{
    weft_stream s = *(const weft_stream *)arg;
    char buffer[4096];
    int64_t n;
    (void)size;
    while ((n = weft_read(s, buffer, sizeof buffer, WEFT_FOREVER)) > 0)
        must((int)weft_write(s, buffer, (size_t)n, WEFT_FOREVER), "write");
    weft_close(s);
}

static void server(const void *arg, size_t size)
{
    char address[WEFT_ADDRESS_TEXT];
    weft_listener l;
    weft_stream s;
    (void)arg, (void)size;
    must(weft_listen(&l, "127.0.0.1:0", NULL), "listen");
    must(weft_listener_address(l, address, sizeof address), "address");
    load_go(&load, atoi(strrchr(address, ':') + 1));
    for (int i = 0; i < load.connections; i++) {
        must(weft_accept(l, &s, WEFT_FOREVER), "accept");
        must(weft_spawn(NULL, client, &s, sizeof s, NULL), "spawn");
    }
    weft_listener_close(l);
}

int main(int argc, char **argv)
{
    bool embedded = argc == 5 && strcmp(argv[4], "embedded") == 0;
    if (argc != 4 && !embedded) {
        fprintf(stderr, "usage: %s CONNECTIONS SIZE REQUESTS [embedded]\n", argv[0]);
        return 2;
    }
    load_begin(&load, argv + 1);
    run_node(embedded ? 0 : 1, server, NULL, 0);
    load_end(&load, "weft");
    return 0;
}
