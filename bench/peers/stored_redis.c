/* bench/peers/stored_redis.c -- bench/stored.c with a stream of Redis: XADD with `appendfsync always`, and XRANGE.
 *
 *     [BENCH_DISK=FOLDER] stored_redis append PUBLISHERS SIZE MILLISECONDS | replay SIZE N
 *
 * Starts redis-server on a free port of 127.0.0.1, with its file in BENCH_DISK, and ends it. One connection has a
 * command of each publisher on its way: fewer system calls than with a connection for each. A page of XRANGE has
 * 1,000 records: of 100, 1,000 and 10,000 this is the fastest. */
#include "stored.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PAGE = 1000, IN_MAX = 1024 * 1024, OUT_MAX = STORED_MANY * (STORED_SIZE_MAX / 16) };

static pid_t server;
static struct sockaddr_in address = {.sin_family = AF_INET};
static char folder[PATH_MAX];
static int fd;
static char in[IN_MAX], out[OUT_MAX];
static size_t in_at, in_end, out_size;

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

static void dial(void)
{
    int one = 1;
    for (int tries = 0; tries < 500; tries++) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0)
            return;
        close(fd);
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
    fail("cannot connect");
}

/* ---- Its protocol ---------------------------------------------------------------------------------------------- */

static void flush_out(void)
{
    for (size_t at = 0; at < out_size;) {
        ssize_t n = write(fd, out + at, out_size - at);
        if (n < 0) fail("write");
        at += (size_t)n;
    }
    out_size = 0;
}

/* Waits until there are so many bytes at in_at. */
static void need(size_t size)
{
    if (in_at + size > IN_MAX) {
        memmove(in, in + in_at, in_end - in_at);
        in_end -= in_at;
        in_at = 0;
    }
    while (in_end - in_at < size) {
        ssize_t n = read(fd, in + in_end, IN_MAX - in_end);
        if (n <= 0) fail("read");
        in_end += (size_t)n;
    }
}

/* The number of a line such as "*2\r\n". */
static long header(char kind)
{
    size_t size = 1;
    for (need(1); in[in_at + size - 1] != '\n'; size++) need(size + 1);
    if (in[in_at] != kind) fail("a wrong answer");
    long number = strtol(in + in_at + 1, NULL, 10);
    in_at += size;
    return number;
}

static const char *bulk(size_t *size)
{
    *size = (size_t)header('$');
    need(*size + 2);
    const char *data = in + in_at;
    in_at += *size + 2;
    return data;
}

/* ---- The workloads --------------------------------------------------------------------------------------------- */

static void add_command(void)
{
    if (out_size + (size_t)stored.size + 128 > OUT_MAX) flush_out();
    out_size += (size_t)sprintf(out + out_size, "*5\r\n$4\r\nXADD\r\n$5\r\nbench\r\n$1\r\n*\r\n$1\r\nb\r\n$%ld\r\n",
                                stored.size);
    memcpy(out + out_size, stored.body, (size_t)stored.size);
    out_size += (size_t)stored.size;
    memcpy(out + out_size, "\r\n", 2);
    out_size += 2;
}

static void publish_all(void)
{
    size_t size;
    stored_begin();
    for (;;) {
        while (stored_next()) add_command();
        flush_out();
        if (!stored_waits()) return;
        do {
            (void)bulk(&size);
            stored_acknowledge();
        } while (in_at < in_end);
    }
}

static void read_all(void)
{
    char last[64] = "-";
    size_t size;
    for (uint64_t number = 0; number < stored.acknowledged;) {
        out_size = (size_t)sprintf(
            out, "*6\r\n$6\r\nXRANGE\r\n$5\r\nbench\r\n$%zu\r\n%s\r\n$1\r\n+\r\n$5\r\nCOUNT\r\n$4\r\n%d\r\n",
            strlen(last), last, PAGE);
        flush_out();
        long count = header('*');
        if (count == 0) fail("records are missing");
        for (long i = 0; i < count; i++) {
            if (header('*') != 2) fail("a wrong answer");
            const char *id = bulk(&size);
            snprintf(last, sizeof last, "(%.*s", (int)size, id);
            if (header('*') != 2) fail("a wrong answer");
            (void)bulk(&size);
            const char *data = bulk(&size);
            stored_check(number++, data, size);
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
    dial();
    publish_all();
    if (stored.appends) stored_report_appends("redis");
    int64_t start = stored_now();
    read_all();
    if (!stored.appends) stored_report_replay("redis", start);
    return 0;
}
