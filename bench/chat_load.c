/* bench/chat_load.c -- many clients of examples/chat: thousands connected, some of them in one room, lines said there
 * at a steady rate. Plain C over epoll, without weft, in a process of its own.
 *
 *     chat [--clients N] [--room N] [--speakers N] [--rate LINES_PER_S] [--seconds N] [--server PROGRAM]
 *          [--address HOST:PORT --pid PID]
 *
 * Without --address it runs ../examples/chat, found beside itself, and ends it again. Each line carries its speaker,
 * number and time; each member of the room checks that it receives all lines of a speaker, once and in order. A
 * latency is the time from the write of a line to when a member has read it, so this program's own share is in it.
 *
 * Design notes. One thread. Lines are due at fixed times from the start, so a slow server meets the lines that it
 * delays (no coordinated omission). Latencies go to a histogram whose buckets are 1/32 of their value wide. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PART_BYTES = 512, READ_BYTES = 256 * 1024, CONNECTING_MAX = 256, EVENTS = 256, BUCKETS = 64 * 32 };
static const int64_t SECOND = 1000000000, PATIENCE = 20 * 1000000000LL;

struct client {
    int fd;
    bool ready;        /* its last request has been answered */
    uint16_t have;     /* bytes of `part` */
    char *part;        /* half a line; allocated while there is one */
    uint32_t *awaited; /* of a member of the room: the next number of each speaker */
};

static struct {
    long clients, room, speakers, rate, seconds;
    const char *address, *server;
    pid_t pid;
} option = {10000, 1000, 10, 1000, 10, NULL, NULL, 0};

static struct client *clients;
static long ready_count, lost, doubled, reordered;
static uint64_t received, buckets[BUCKETS];
static int64_t latency_max;
static int poller;
static char params[128];

static __attribute__((noreturn)) void die(const char *what)
{
    fprintf(stderr, "chat: %s%s%s\n", what, errno == 0 ? "" : ": ", errno == 0 ? "" : strerror(errno));
    if (option.pid > 0 && option.address == NULL) kill(option.pid, SIGTERM);
    exit(1);
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static void report(const char *metric, double value)
{
    printf("chat weft %s %s %.1f\n", params, metric, value);
    fflush(stdout);
}

/* ---- Latencies ------------------------------------------------------------------------------------------------- */

static void note_latency(int64_t ns)
{
    if (ns < 0) ns = 0;
    if (ns > latency_max) latency_max = ns;
    uint64_t v = (uint64_t)ns;
    int shift = v < 64 ? 0 : 58 - __builtin_clzll(v); /* v >> shift is 32 to 63 */
    size_t bucket = (size_t)(v >> shift) + (size_t)shift * 32;
    buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
}

static double percentile_us(double part)
{
    uint64_t rank = (uint64_t)(part * (double)received), seen = 0;
    for (size_t b = 0; b < BUCKETS; b++) {
        seen += buckets[b];
        if (seen <= rank) continue;
        int shift = b < 64 ? 0 : (int)(b / 32) - 1;
        return (double)(((uint64_t)b - (uint64_t)shift * 32) << shift) / 1e3;
    }
    return (double)latency_max / 1e3;
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* "[load] guest1: m SPEAKER NUMBER TIME" */
static void take_said(struct client *c, const char *text, int64_t at)
{
    char *end;
    unsigned long speaker = strtoul(text, &end, 10), number = strtoul(end, &end, 10);
    int64_t sent = strtoll(end, &end, 10);
    if (*end != '\n' || speaker >= (unsigned long)option.speakers) die("a line is garbled");
    uint32_t *awaited = &c->awaited[speaker];
    if (number < *awaited) {
        number + 1 == *awaited ? doubled++ : reordered++;
        return;
    }
    *awaited = (uint32_t)number + 1;
    received++;
    note_latency(at - sent);
}

static void take_line(struct client *c, const char *line, size_t size, int64_t at)
{
    static const char mark[] = ": m ";
    if (line[0] == '*') {
        if (c->ready) die("an unexpected notice");
        c->ready = true;
        ready_count++;
        return;
    }
    const char *text = c->awaited == NULL ? NULL : memmem(line, size, mark, sizeof mark - 1);
    if (text == NULL) die("an unexpected line");
    take_said(c, text + sizeof mark - 1, at);
}

static void take_bytes(struct client *c, char *bytes, size_t size, int64_t at)
{
    char *end;
    if (c->have > 0) {
        end = memchr(bytes, '\n', size);
        size_t piece = end == NULL ? size : (size_t)(end - bytes) + 1;
        if (c->have + piece > PART_BYTES) die("a line is too long");
        memcpy(c->part + c->have, bytes, piece);
        c->have = (uint16_t)(c->have + piece);
        if (end == NULL) return;
        take_line(c, c->part, c->have, at);
        free(c->part);
        c->part = NULL;
        c->have = 0;
        bytes += piece;
        size -= piece;
    }
    while (size > 0 && (end = memchr(bytes, '\n', size)) != NULL) {
        size_t line = (size_t)(end - bytes) + 1;
        take_line(c, bytes, line, at);
        bytes += line;
        size -= line;
    }
    if (size == 0) return;
    if (size > PART_BYTES || (c->part = malloc(PART_BYTES)) == NULL) die("a line is too long");
    memcpy(c->part, bytes, size);
    c->have = (uint16_t)size;
}

/* Reads what has come, waiting at most until `until`. */
static void turn(int64_t until)
{
    static char bytes[READ_BYTES];
    struct epoll_event events[EVENTS];
    int64_t left = until - now();
    struct timespec span = {.tv_sec = left < 0 ? 0 : left / SECOND, .tv_nsec = left < 0 ? 0 : left % SECOND};
    int n = epoll_pwait2(poller, events, EVENTS, &span, NULL);
    if (n < 0 && errno != EINTR) die("epoll");
    for (int i = 0; i < n; i++) {
        struct client *c = &clients[events[i].data.u64];
        ssize_t size = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size == 0) errno = ECONNRESET;
        if (size == 0 || (size < 0 && errno != EAGAIN)) die("the server closed a connection");
        if (size > 0) take_bytes(c, bytes, (size_t)size, now());
    }
}

static void await_ready(long count, const char *what)
{
    for (int64_t until = now() + PATIENCE; ready_count < count; turn(until))
        if (now() > until) {
            errno = ETIMEDOUT;
            die(what);
        }
}

static void say(struct client *c, const char *line, int size)
{
    errno = 0;
    if (send(c->fd, line, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) != size) die("a speaker's line was not taken");
}

/* ---- The server ------------------------------------------------------------------------------------------------ */

/* Runs the example; its first line ends in its address. */
static void run_server(char *address, size_t size)
{
    char beside[4096];
    int out[2];
    ssize_t n = readlink("/proc/self/exe", beside, sizeof beside - 32);
    if (n < 0 || pipe2(out, O_CLOEXEC) < 0) die("cannot run the server");
    beside[n] = 0;
    strcpy(strrchr(beside, '/'), "/../examples/chat");
    if (option.server == NULL) option.server = beside;
    option.pid = fork();
    if (option.pid < 0) die("fork");
    if (option.pid == 0) {
        dup2(out[1], 1);
        execl(option.server, option.server, "--port", "0", "--places", "1000000", (char *)NULL);
        die(option.server);
    }
    close(out[1]);
    FILE *lines = fdopen(out[0], "r");
    char line[256], *space = NULL;
    if (lines == NULL || fgets(line, sizeof line, lines) == NULL || (space = strrchr(line, ' ')) == NULL)
        die("the server did not say where it listens");
    space[strcspn(space, "\n")] = 0;
    snprintf(address, size, "%s", space + 1);
}

static double server_cpu_s(void)
{
    char path[64], text[1024], *at;
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", option.pid);
    FILE *f = option.pid == 0 ? NULL : fopen(path, "r");
    if (f == NULL) return 0;
    if (fgets(text, sizeof text, f) != NULL && (at = strrchr(text, ')')) != NULL)
        (void)sscanf(at + 2, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user, &kernel);
    fclose(f);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static double server_rss(void)
{
    char path[64];
    long whole, pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", option.pid);
    FILE *f = option.pid == 0 ? NULL : fopen(path, "r");
    if (f == NULL) return 0;
    if (fscanf(f, "%ld %ld", &whole, &pages) != 2) pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void end_server(void)
{
    int status = 0;
    kill(option.pid, SIGTERM);
    errno = 0;
    if (waitpid(option.pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die("the server did not end in order");
}

/* ---- The phases ------------------------------------------------------------------------------------------------ */

static void connect_all(const char *address)
{
    char host[64];
    const char *colon = strrchr(address, ':');
    struct sockaddr_in to = {.sin_family = AF_INET};
    snprintf(host, sizeof host, "%.*s", colon == NULL ? 0 : (int)(colon - address), address);
    errno = 0;
    if (colon == NULL || inet_pton(AF_INET, host, &to.sin_addr) != 1) die("the address is not HOST:PORT");
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    double rss = server_rss();
    int64_t start = now();
    for (long i = 0; i < option.clients; i++) {
        struct client *c = &clients[i];
        int one = 1;
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) < 0) die("connect");
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)i};
        if (epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &e) < 0) die("epoll");
        if (i >= CONNECTING_MAX) await_ready(i - CONNECTING_MAX, "no welcome");
    }
    await_ready(option.clients, "no welcome");
    report("connects_per_s", (double)option.clients * 1e9 / (double)(now() - start));
    if (option.pid > 0) report("bytes_per_client", (server_rss() - rss) / (double)option.clients);
}

static void join_room(void)
{
    ready_count = 0;
    for (long i = 0; i < option.room; i++) {
        clients[i].ready = false;
        clients[i].awaited = calloc((size_t)option.speakers, sizeof *clients[i].awaited);
        if (clients[i].awaited == NULL) die("memory");
        say(&clients[i], "/join load\n", 11);
    }
    await_ready(option.room, "no answer to /join");
}

static void speak(void)
{
    uint64_t lines = (uint64_t)(option.rate * option.seconds), said = 0, all = lines * (uint64_t)option.room;
    double cpu = server_cpu_s();
    int64_t start = now(), until = start + option.seconds * SECOND + PATIENCE;
    while (received < all && now() < until) {
        int64_t due = said == lines ? until : start + (int64_t)said * SECOND / option.rate;
        for (; said < lines && due <= now(); due = start + (int64_t)++said * SECOND / option.rate) {
            char line[128];
            uint64_t speaker = said % (uint64_t)option.speakers;
            int size = snprintf(line, sizeof line, "m %" PRIu64 " %" PRIu64 " %" PRId64 "\n", speaker,
                                said / (uint64_t)option.speakers, now());
            say(&clients[speaker], line, size);
        }
        turn(said == lines ? now() + SECOND / 10 : due);
    }
    double s = (double)(now() - start) / 1e9;
    lost = (long)(all - received) - reordered;
    report("deliveries", (double)received);
    report("deliveries_per_s", (double)received / s);
    report("p50_us", percentile_us(0.5));
    report("p99_us", percentile_us(0.99));
    report("max_us", (double)latency_max / 1e3);
    if (option.pid > 0) report("server_cpu_us_per_delivery", (server_cpu_s() - cpu) * 1e6 / (double)received);
    if (option.pid > 0) report("server_cores", (server_cpu_s() - cpu) / s);
    report("lost", (double)lost);
    report("doubled", (double)doubled);
    report("reordered", (double)reordered);
}

static void read_options(int argc, char **argv)
{
    struct {
        const char *name;
        long *number;
        const char **text;
    } known[] = {{"--clients", &option.clients, NULL},   {"--room", &option.room, NULL},
                 {"--speakers", &option.speakers, NULL}, {"--rate", &option.rate, NULL},
                 {"--seconds", &option.seconds, NULL},   {"--server", NULL, &option.server},
                 {"--address", NULL, &option.address}};
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;
        char *end = NULL;
        errno = 0;
        if (i + 1 == argc) die("an option without a value");
        if (strcmp(argv[i], "--pid") == 0) {
            option.pid = atoi(argv[i + 1]);
            continue;
        }
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0) k++;
        if (k == sizeof known / sizeof *known) die("unknown option; see the head of bench/chat_load.c");
        if (known[k].text != NULL) *known[k].text = argv[i + 1];
        else if ((*known[k].number = strtol(argv[i + 1], &end, 10)) <= 0 || *end != 0) die("not a number above 0");
    }
    if (option.room > option.clients) option.room = option.clients;
    if (option.speakers > option.room) option.speakers = option.room;
}

int main(int argc, char **argv)
{
    char address[128];
    struct rlimit files;
    read_options(argc, argv);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    errno = EMFILE;
    if (files.rlim_cur < (rlim_t)option.clients + 64) die("ulimit -Hn is too low for so many clients");
    snprintf(params, sizeof params, "clients=%ld,room=%ld,speakers=%ld,rate=%ld,seconds=%ld", option.clients,
             option.room, option.speakers, option.rate, option.seconds);
    clients = calloc((size_t)option.clients, sizeof *clients);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (clients == NULL || poller < 0) die("memory");
    if (option.address == NULL) run_server(address, sizeof address);
    else snprintf(address, sizeof address, "%s", option.address);
    connect_all(address);
    join_room();
    speak();
    for (long i = 0; i < option.clients; i++) close(clients[i].fd);
    if (option.address == NULL) end_server();
    return lost + doubled + reordered == 0 ? 0 : 1;
}
