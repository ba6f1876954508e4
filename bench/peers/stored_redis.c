/* bench/peers/stored_redis.c -- bench/stored.c with a stream of Redis: XADD with `appendfsync always`, and XRANGE.
 *
 *     [BENCH_DISK=FOLDER] stored_redis append PUBLISHERS SIZE MILLISECONDS | replay SIZE N
 *
 * Starts redis-server on a free port of 127.0.0.1, with its file in BENCH_DISK, and ends it. The server
 * reads 16 KiB of a connection before it syncs, so there are as many connections as the commands on their way need, 64 at
 * most: with fewer its batches stay small, and with more there are only more system calls. A page of XRANGE has
 * 1,000 records: of 100, 1,000 and 10,000 this is the fastest. */
#include "stored.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PAGE = 1000, IN_MAX = 1024 * 1024, OUT_MAX = 1024 * 1024, CONNECTIONS = 64, READ_AT_ONCE = 16 * 1024 };

static pid_t server;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char folder[PATH_MAX];

struct connection {
    int fd;
    char in[IN_MAX], out[OUT_MAX];
    size_t in_at, in_end, out_size;
    uint64_t number[STORED_MANY]; /* of the publications on their way, a ring */
    uint64_t sent, acknowledged, last;
};
static struct connection *all[CONNECTIONS];
static long connections;
static uint8_t *of; /* the connection of each number */

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static void end_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void fail(const char *what)
{
    fprintf(stderr, "redis: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void start_server(void)
{
    socklen_t length = sizeof address;
    char port[16];
    const char *disk = getenv("BENCH_DISK");
    snprintf(folder, sizeof folder, "%s/redis-XXXXXX", disk == NULL ? "." : disk);
    if (mkdtemp(folder) == NULL) fail("cannot make a folder in BENCH_DISK");
    (void)atexit(end_server);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (s < 0 || bind(s, (struct sockaddr *)&address, length) < 0 ||
        getsockname(s, (struct sockaddr *)&address, &length) < 0)
        fail("no port");
    close(s);
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    server = fork();
    if (server != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen("/dev/null", "w", stdout) == NULL) _exit(1);
    execlp("redis-server", "redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", folder, "--save", "",
           "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0", (char *)NULL);
    _exit(127);
}

static struct connection *dial(void)
{
    struct connection *c = calloc(1, sizeof *c);
    int one = 1;
    for (int tries = 0; c != NULL && tries < 500; tries++) {
        c->fd = socket(AF_INET, SOCK_STREAM, 0);
        if (c->fd >= 0 && connect(c->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
            setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0)
            return c;
        close(c->fd);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    fail("cannot connect");
    return NULL;
}

/* ---- Its protocol ---------------------------------------------------------------------------------------------- */

static void flush_out(struct connection *c)
{
    for (size_t at = 0; at < c->out_size;) {
        ssize_t n = write(c->fd, c->out + at, c->out_size - at);
        if (n < 0) fail("write");
        at += (size_t)n;
    }
    c->out_size = 0;
}

/* Waits until there are so many bytes at in_at. */
static void need(struct connection *c, size_t size)
{
    if (c->in_at + size > IN_MAX) {
        memmove(c->in, c->in + c->in_at, c->in_end - c->in_at);
        c->in_end -= c->in_at;
        c->in_at = 0;
    }
    while (c->in_end - c->in_at < size) {
        ssize_t n = read(c->fd, c->in + c->in_end, IN_MAX - c->in_end);
        if (n <= 0) fail("read");
        c->in_end += (size_t)n;
    }
}

/* The number of a line such as "*2\r\n". */
static long header(struct connection *c, char kind)
{
    size_t size = 1;
    for (need(c, 1); c->in[c->in_at + size - 1] != '\n'; size++) need(c, size + 1);
    if (c->in[c->in_at] != kind) fail("a wrong answer");
    long number = strtol(c->in + c->in_at + 1, NULL, 10);
    c->in_at += size;
    return number;
}

static const char *bulk(struct connection *c, size_t *size)
{
    *size = (size_t)header(c, '$');
    need(c, *size + 2);
    const char *data = c->in + c->in_at;
    c->in_at += *size + 2;
    return data;
}

/* ---- The workloads --------------------------------------------------------------------------------------------- */

static void add_command(struct connection *c, uint8_t which)
{
    if (c->out_size + (size_t)stored.size + 128 > OUT_MAX) flush_out(c);
    c->out_size += (size_t)sprintf(c->out + c->out_size,
                                   "*5\r\n$4\r\nXADD\r\n$5\r\nbench\r\n$1\r\n*\r\n$1\r\nb\r\n$%ld\r\n", stored.size);
    memcpy(c->out + c->out_size, stored.body, (size_t)stored.size);
    c->out_size += (size_t)stored.size;
    memcpy(c->out + c->out_size, "\r\n", 2);
    c->out_size += 2;
    uint64_t number = stored.sent - 1;
    of[number] = which;
    c->number[c->sent++ % STORED_MANY] = number;
}

static void take_answers(struct connection *c)
{
    size_t size;
    do {
        (void)bulk(c, &size);
        stored_acknowledge(c->number[c->acknowledged++ % STORED_MANY]);
    } while (c->in_at < c->in_end);
}

static void send_more(void)
{
    uint64_t each = (uint64_t)((stored.publishers + connections - 1) / connections);
    for (long i = 0; i < connections; i++) {
        while (all[i]->sent - all[i]->acknowledged < each && stored_next()) add_command(all[i], (uint8_t)i);
        flush_out(all[i]);
    }
}

static void publish_all(void)
{
    struct pollfd on[CONNECTIONS];
    for (long i = 0; i < connections; i++) on[i] = (struct pollfd){.fd = all[i]->fd, .events = POLLIN};
    stored_begin();
    for (send_more(); stored_waits(); send_more()) {
        if (poll(on, (nfds_t)connections, -1) < 0) fail("poll");
        for (long i = 0; i < connections; i++)
            if (on[i].revents != 0) take_answers(all[i]);
    }
}

/* Each number comes once, and those of a connection in their order. */
static void check_next(const char *data, size_t size)
{
    uint64_t number;
    memcpy(&number, data, sizeof number);
    if (number >= stored.sent || number + 1 <= all[of[number]]->last)
        fail("a record came twice, or in another order");
    all[of[number]]->last = number + 1;
    stored_check(number, data, size);
}

static void read_all(void)
{
    char last[64] = "-";
    size_t size;
    struct connection *c = all[0];
    for (uint64_t done = 0; done < stored.acknowledged;) {
        c->out_size = (size_t)sprintf(
            c->out, "*6\r\n$6\r\nXRANGE\r\n$5\r\nbench\r\n$%zu\r\n%s\r\n$1\r\n+\r\n$5\r\nCOUNT\r\n$4\r\n%d\r\n",
            strlen(last), last, PAGE);
        flush_out(c);
        long count = header(c, '*');
        if (count == 0) fail("records are missing");
        for (long i = 0; i < count; i++) {
            if (header(c, '*') != 2) fail("a wrong answer");
            const char *id = bulk(c, &size);
            snprintf(last, sizeof last, "(%.*s", (int)size, id);
            if (header(c, '*') != 2) fail("a wrong answer");
            (void)bulk(c, &size);
            const char *data = bulk(c, &size);
            check_next(data, size);
            done++;
        }
    }
}

int main(int argc, char **argv)
{
    if (!stored_arguments(argc - 1, argv + 1)) {
        fprintf(stderr, "usage: %s append PUBLISHERS SIZE MILLISECONDS | replay SIZE N\n", argv[0]);
        return 2;
    }
    start_server();
    connections = 1 + stored.publishers * (stored.size + 80) / READ_AT_ONCE;
    if (connections > CONNECTIONS) connections = CONNECTIONS;
    if (connections > stored.publishers) connections = stored.publishers;
    for (long i = 0; i < connections; i++) all[i] = dial();
    if ((of = calloc(stored.took_max, 1)) == NULL) fail("no memory");
    publish_all();
    if (stored.appends) stored_report_appends("redis");
    int64_t start = stored_now();
    read_all();
    if (!stored.appends) stored_report_replay("redis", start);
    return 0;
}
