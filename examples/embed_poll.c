/* embed_poll.c -- a node inside a plain poll() loop, which also reads lines from standard input.
 *
 *     $ printf 'one\ntwo\n' | ./embed_poll
 *     tick 1
 *     an actor says: ONE
 *     ...
 *
 * One thread, no lock, no wake-up while nothing happens. */
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weft.h>

enum { LINE = 1, TICKS = 3 };
static int ticked, lines; /* used by the loop and by the actors, all in one thread */

static void ticker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t at = weft_now();
    while (ticked < TICKS) {
        if (weft_sleep(at += WEFT_MS(20)) < 0) return;
        printf("tick %d\n", ++ticked);
    }
}

static void shouter(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    for (; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        const char *text = weft_data(m);
        printf("an actor says: ");
        for (size_t i = 0; i < weft_size(m); i++) putchar(toupper((unsigned char)text[i]));
        putchar('\n');
        lines++;
    }
}

/* Sends the whole lines that were read to the actor. Returns false at the end. */
static bool read_input(weft_node *node, weft_pid to)
{
    static char buffer[4096];
    static size_t filled;
    ssize_t n = read(STDIN_FILENO, buffer + filled, sizeof buffer - filled);
    if (n <= 0) return false;
    filled += (size_t)n;
    for (char *end; (end = memchr(buffer, '\n', filled)) != NULL;) {
        size_t size = (size_t)(end - buffer);
        if (weft_node_send(node, to, LINE, buffer, size) < 0) fprintf(stderr, "a line is lost\n");
        filled -= size + 1;
        memmove(buffer, end + 1, filled);
    }
    return filled < sizeof buffer;
}

int main(void)
{
    weft_node *node;
    weft_pid who;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (weft_node_start(&node, &(weft_node_options){.name = "inside", .embedded = true}) < 0) return 1;
    if (weft_node_spawn(node, &who, shouter, NULL, 0, NULL) < 0 ||
        weft_node_spawn(node, NULL, ticker, NULL, 0, NULL) < 0)
        return 1;

    struct pollfd p[] = {{.fd = weft_node_fd(node), .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    while (ticked < TICKS || p[1].fd >= 0) {
        if (poll(p, 2, -1) < 0) continue;
        if (p[1].revents != 0 && !read_input(node, who)) p[1].fd = -1;
        if (p[0].revents != 0) (void)weft_node_turn(node, WEFT_NOW);
    }
    while (weft_node_turn(node, WEFT_NOW) == WEFT_NOW) {} /* the last message has been sent */
    int rc = weft_node_stop(node, weft_after(WEFT_SEC(5)));
    printf("%d lines, %s\n", lines, rc == 0 ? "stopped" : weft_strerror(rc));
    return rc != 0;
}
