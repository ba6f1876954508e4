/* wire SEED NAMESPACE...: a network between network namespaces that loses, delays and reorders packets on command.
 *
 * Each namespace has a TUN device "weft0"; the N-th one has the address 10.77.0.N. Packets are forwarded unchanged,
 * or as these lines on standard input say. Each line is answered by "ok":
 *     loss PERCENT        so many are lost, each by itself
 *     delay MS JITTER     each is as late, plus or minus the jitter; so they overtake each other
 *     reorder PERCENT     so many of them are not delayed
 *     cut A B, heal A B   from A to B (from 0) nothing passes; again all does
 *     sound               as at first
 *     count               answered by two numbers: of all packets, and of those that were lost
 * At the end of standard input it ends and removes the devices. tc netem does this as well, but not every kernel has
 * it; here a seed decides, and the direction from A to B differs from that from B to A. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PORTS = 32, PACKET = 2048, LATE_MAX = 4096 };

struct late {
    int64_t due;
    uint64_t order; /* what is due at once goes in the order it came */
    int to;
    size_t size;
    uint8_t bytes[PACKET];
};

static int port[PORTS], ports;
static bool cut[PORTS][PORTS];
static double loss, reorder; /* 0 to 1 */
static int64_t delay, jitter;
static struct late *heap[LATE_MAX];
static size_t late;
static uint64_t order, seed;
static unsigned long long packets, lost;

static double chance(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool sooner(const struct late *a, const struct late *b)
{
    return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void put_late(struct late *l)
{
    size_t i = late++;
    for (; i > 0 && sooner(l, heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = l;
}

static struct late *take_late(void)
{
    struct late *first = heap[0], *last = heap[--late];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < late; i = child) {
        if (child + 1 < late && sooner(heap[child + 1], heap[child])) child++;
        if (!sooner(heap[child], last)) break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

static void pass(int to, const uint8_t *bytes, size_t size)
{
    if (write(port[to], bytes, size) < 0 && errno != EINVAL && errno != EIO && errno != EAGAIN) perror("wire: write");
}

static void take_packet(int from)
{
    uint8_t bytes[PACKET];
    ssize_t n = read(port[from], bytes, sizeof bytes);
    if (n < 20 || bytes[0] >> 4 != 4) return;
    int to = bytes[19] - 1;
    if (to < 0 || to >= ports || to == from) return;
    packets++;
    if (cut[from][to] || chance() < loss) {
        lost++;
        return;
    }
    if (delay == 0 || chance() < reorder) {
        pass(to, bytes, (size_t)n);
        return;
    }
    struct late *l = late < LATE_MAX ? malloc(sizeof *l) : NULL;
    if (l == NULL) {
        lost++;
        return;
    }
    l->due = now() + delay + (int64_t)((2 * chance() - 1) * (double)jitter);
    l->order = order++;
    l->to = to;
    l->size = (size_t)n;
    memcpy(l->bytes, bytes, (size_t)n);
    put_late(l);
}

static bool obey(const char *line)
{
    double x, y;
    int a, b;
    if (sscanf(line, "loss %lf", &x) == 1) loss = x / 100;
    else if (sscanf(line, "delay %lf %lf", &x, &y) == 2) delay = (int64_t)(x * 1e6), jitter = (int64_t)(y * 1e6);
    else if (sscanf(line, "reorder %lf", &x) == 1) reorder = x / 100;
    else if (sscanf(line, "cut %d %d", &a, &b) == 2 && a >= 0 && a < ports && b >= 0 && b < ports) cut[a][b] = true;
    else if (sscanf(line, "heal %d %d", &a, &b) == 2 && a >= 0 && a < ports && b >= 0 && b < ports) cut[a][b] = false;
    else if (strcmp(line, "sound\n") == 0) {
        loss = reorder = 0;
        delay = jitter = 0;
        memset(cut, 0, sizeof cut);
    } else return false;
    return true;
}

/* False at the end of standard input. */
static bool take_lines(void)
{
    static char text[4096];
    static size_t size;
    ssize_t n = read(STDIN_FILENO, text + size, sizeof text - 1 - size);
    if (n <= 0) return false;
    size += (size_t)n;
    text[size] = '\0';
    for (char *end; (end = strchr(text, '\n')) != NULL;) {
        size_t length = (size_t)(end + 1 - text);
        char line[sizeof text];
        memcpy(line, text, length);
        line[length] = '\0';
        if (strcmp(line, "count\n") == 0) printf("%llu %llu\n", packets, lost);
        else puts(obey(line) ? "ok" : "unknown");
        fflush(stdout);
        size -= length;
        memmove(text, end + 1, size + 1);
    }
    return size < sizeof text - 1;
}

static int open_port(const char *name)
{
    char path[256];
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(path, sizeof path, "/run/netns/%s", name);
    memcpy(r.ifr_name, "weft0", 6);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) < 0) return -1;
    close(space);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 || ioctl(fd, TUNSETIFF, &r) < 0 ? -1 : fd;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc - 2 > PORTS) return 2;
    seed = strtoull(argv[1], NULL, 10) * 2 + 88172645463325253u;
    for (; ports < argc - 2; ports++) {
        port[ports] = open_port(argv[2 + ports]);
        if (port[ports] < 0) {
            fprintf(stderr, "wire: %s: %s\n", argv[2 + ports], strerror(errno));
            return 1;
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd f[PORTS + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        for (int i = 0; i < ports; i++) f[1 + i] = (struct pollfd){.fd = port[i], .events = POLLIN};
        int64_t left = late > 0 ? heap[0]->due - now() : 0;
        if (left < 0) left = 0;
        struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (ppoll(f, (nfds_t)(ports + 1), late > 0 ? &wait : NULL, NULL) < 0 && errno != EINTR) return 1;
        if (f[0].revents != 0 && !take_lines()) return 0;
        for (int i = 0; i < ports; i++)
            if (f[1 + i].revents & POLLIN) take_packet(i);
        for (int64_t t = late > 0 ? now() : 0; late > 0 && heap[0]->due <= t;) {
            struct late *l = take_late();
            pass(l->to, l->bytes, l->size);
            free(l);
        }
    }
}
