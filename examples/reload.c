/* reload.c -- a tally whose code is replaced while it counts: docs/reload.md.
 *
 *     $ weft run reload.c --name a &
 *     $ weft call tally '[]' --tag 2
 *     {"version": 1, "count": 4131, "missed": 0}
 *     $ CFLAGS=-DVERSION=2 weft reload reload.c
 *     0.1.1 tally: runs the new code
 *     $ weft call tally '[]' --tag 2
 *     {"version": 2, "count": 16200, "missed": 0, "largest": 16200}
 */
#include <stdio.h>
#include <weft.h>

#ifndef VERSION
#define VERSION 1
#endif

enum { NUMBER = 1, READ = 2, ENOUGH = 3 };

/* The state that is passed from one version to the next; version 1 has no `largest`. */
struct tally {
    uint64_t count, missed, last, largest;
};

static void answer(const weft_msg *ask, const struct tally *t)
{
    char body[128];
    weft_writer w = weft_writer_on(body, sizeof body);
    weft_put_map(&w, VERSION > 1 ? 4 : 3);
    weft_put_str(&w, weft_cstr("version"));
    weft_put_uint(&w, VERSION);
    weft_put_str(&w, weft_cstr("count"));
    weft_put_uint(&w, t->count);
    weft_put_str(&w, weft_cstr("missed"));
    weft_put_uint(&w, t->missed);
    if (VERSION > 1) weft_put_str(&w, weft_cstr("largest"));
    if (VERSION > 1) weft_put_uint(&w, t->largest);
    weft_reply(ask, READ, body, w.size);
}

static void note(struct tally *t, const weft_msg *m)
{
    uint64_t n = *(const uint64_t *)weft_data(m);
    t->missed += n != t->last + 1;
    t->last = n;
    t->count++;
    if (VERSION > 1 && n > t->largest) t->largest = n;
}

static void tally(struct tally *t)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_tag(m) == WEFT_TAG_RELOAD) {
            if (weft_hand_over(m, VERSION, t, sizeof *t) == WEFT_OK) return; /* the new code continues */
            continue;                                                        /* it refused: the old code continues */
        }
        if (weft_tag(m) == READ) answer(m, t);
        else if (weft_size(m) == sizeof(uint64_t)) note(t, m);
        weft_msg_free(m);
    }
}

/* Continues a tally of an earlier version. */
static void go_on(const void *arg, size_t size)
{
    struct tally t = *(const struct tally *)arg;
    (void)size;
    tally(&t);
}

static int migrate(struct weft_handover *h)
{
    if (h->version > VERSION) {
        snprintf(h->why, sizeof h->why, "there is no way back from version %u to %d", (unsigned)h->version, VERSION);
        return WEFT_EINVAL;
    }
    struct tally t = *(const struct tally *)h->state;
    if (h->version == 1) t.largest = t.last;
    h->body = go_on;
    return weft_handover_state(h, &t, sizeof t);
}

/* Sends 1, 2, 3, ... until it is asked how many it has sent. It does not trap reloads, so it keeps its code. */
static void source(const void *arg, size_t size)
{
    weft_pid to = *(const weft_pid *)arg;
    weft_msg *ask;
    (void)size;
    if (weft_register("source") < 0) return;
    for (uint64_t n = 1; weft_send(to, NUMBER, &n, sizeof n) == WEFT_OK; n++) {
        if (n % 64 > 0 || weft_recv(&ask, weft_after(WEFT_MS(1))) < 0) continue;
        char body[16];
        weft_writer w = weft_writer_on(body, sizeof body);
        weft_put_uint(&w, n);
        if (weft_tag(ask) == ENOUGH) {
            (void)weft_reply(ask, ENOUGH, body, w.size);
            return;
        }
        weft_msg_free(ask);
    }
}

static void first(const void *arg, size_t size)
{
    struct tally t = {0};
    weft_pid self = weft_self();
    (void)arg, (void)size;
    weft_require(weft_register("tally") == WEFT_OK && weft_trap_reload(true) == WEFT_OK);
    weft_require(weft_spawn(NULL, source, &self, sizeof self, NULL) == WEFT_OK);
    tally(&t);
}

WEFT_MODULE(first)
WEFT_MIGRATE(migrate)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
