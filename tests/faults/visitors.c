/* Visitors of a chat, for tests/faults/soak.py:
 *     weft run faults_visitors.so -- FILE ADDRESS COUNT SEED
 * COUNT actors connect, take a nick, join a room, say numbered lines and check that each of their lines comes back
 * once and in order. Then they quit or just close the connection, and connect again. Their counts are in FILE, which
 * is mapped. */
#include "shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOMS = 3, LINE = 600, LINES_MOST = 20 };
#define PATIENCE WEFT_SEC(60)

/* Written by the actors of this process, and `pause` by the test: relaxed. soak.py knows the order. */
static struct {
    _Atomic uint64_t pause;  /* nobody comes any more */
    _Atomic uint64_t inside; /* how many are there now */
    _Atomic uint64_t visits, said, heard;
    _Atomic uint64_t broken; /* visits that the server has ended, or did not begin */
    _Atomic uint64_t wrong;  /* lines that should not have come then */
} * counts;

#define ADD(field, n) atomic_fetch_add_explicit(&counts->field, (n), memory_order_relaxed)
#define GET(field) atomic_load_explicit(&counts->field, memory_order_relaxed)

struct visitor {
    const char *address;
    const char *host; /* makes nicks differ from those of other processes */
    int number;
    unsigned seed;
    weft_stream stream;
};

static int any(struct visitor *v, int below)
{
    return rand_r(&v->seed) % below;
}

/* The next line that is for this visitor alone, or his own; lines of others are counted, those said while another one
 * with his nick was away, too. Negative: it is over. */
static int64_t hear(struct visitor *v, const char *own, char line[LINE])
{
    for (;;) {
        int64_t n = weft_read_until(v->stream, line, LINE - 1, '\n', weft_after(PATIENCE));
        if (n <= 0) return n < 0 ? n : WEFT_ECLOSED;
        line[n] = 0;
        if (strstr(line, "while you were away") == NULL && (line[0] == '*' || strncmp(line, own, strlen(own)) == 0))
            return n;
        ADD(heard, 1);
    }
}

/* The next line must begin with `wanted`. */
static int64_t expect(struct visitor *v, const char *own, const char *wanted)
{
    char line[LINE];
    int64_t n = hear(v, own, line);
    if (n < 0 || strncmp(line, wanted, strlen(wanted)) == 0) return n;
    if (strncmp(line, "* the server stops", 18) == 0) return WEFT_ECLOSED;
    weft_log(WEFT_ERROR, "%s came, not %s", line, wanted);
    ADD(wrong, 1);
    return WEFT_EFORMAT;
}

static int64_t ask(struct visitor *v, const char *own, const char *wanted, const char *line)
{
    int64_t n = weft_printf(v->stream, weft_after(PATIENCE), "%s\n", line);
    return n < 0 ? n : expect(v, own, wanted);
}

static int64_t talk(struct visitor *v, const char *own)
{
    char text[40], wanted[160];
    int64_t rc = 0;
    int lines = any(v, LINES_MOST);
    for (int i = 0; i < lines && rc >= 0; i++) {
        snprintf(text, sizeof text, "%d of %d", i, lines);
        snprintf(wanted, sizeof wanted, "%s%s\n", own, text);
        rc = ask(v, own, wanted, text);
        if (rc >= 0) ADD(said, 1);
    }
    return rc;
}

/* Negative: the server has ended it. */
static int64_t visit(struct visitor *v)
{
    char nick[40], line[80], own[100], wanted[100];
    int room = any(v, ROOMS);
    snprintf(nick, sizeof nick, "v%.10s-%d-%d", v->host, v->number, any(v, 1000));
    int64_t rc = expect(v, "*", "* welcome to ");
    snprintf(line, sizeof line, "/nick %s", nick);
    snprintf(wanted, sizeof wanted, "* you are %s\n", nick);
    if (rc >= 0) rc = ask(v, "*", wanted, line);
    snprintf(line, sizeof line, "/join r%d", room);
    snprintf(wanted, sizeof wanted, "* you are in r%d\n", room);
    if (rc >= 0) rc = ask(v, "*", wanted, line);
    snprintf(own, sizeof own, "[r%d] %s: ", room, nick);
    if (rc >= 0) rc = talk(v, own);
    snprintf(wanted, sizeof wanted, "* r%d: ", room);
    if (rc >= 0 && any(v, 4) == 0) rc = ask(v, "*", wanted, "/who");
    if (rc >= 0 && any(v, 2) == 0) rc = ask(v, "*", "* bye", "/quit");
    return rc;
}

static void visitor(const void *arg, size_t size)
{
    struct visitor v;
    memcpy(&v, arg, size);
    while (weft_sleep(weft_after(WEFT_MS(1 + any(&v, 50)))) == 0) {
        if (GET(pause)) continue;
        ADD(inside, 1);
        int64_t rc = weft_connect(&v.stream, v.address, weft_after(PATIENCE));
        if (rc == 0) {
            rc = visit(&v);
            weft_close(v.stream);
        }
        ADD(inside, (uint64_t)-1);
        if (rc == WEFT_ECANCELED) return;
        if (rc < 0) ADD(broken, 1);
        else ADD(visits, 1);
    }
}

static void first(const void *arg, size_t size)
{
    (void)size;
    const struct weft_args *a = arg;
    weft_require(a->argc == 5);
    counts = map_shared(a->argv[1], sizeof *counts);
    for (int i = 0; i < atoi(a->argv[3]); i++) {
        struct visitor v = {
            .address = a->argv[2], .host = a->argv[4], .number = i, .seed = (unsigned)(atoi(a->argv[4]) * 1000 + i)};
        weft_require(weft_spawn(NULL, visitor, &v, sizeof v, NULL) == WEFT_OK);
    }
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

WEFT_MODULE(first)
