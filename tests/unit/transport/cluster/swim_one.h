/* One member, and a test that plays all the others. */
#ifndef SWIM_ONE_H
#define SWIM_ONE_H

#include "swim.h"
#include "swim_table.h"
#include "typed.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ME = 1, SENT_MAX = 64, CHANGES_MAX = 64 };

static struct wf_swim *s;
static int64_t now;
static struct {
    uint64_t to;
    struct wf_swim_message m;
    uint8_t frame[2048];
} sent[SENT_MAX];
static uint32_t sent_count;
static struct {
    uint64_t node;
    enum wf_swim_state state, before;
} changes[CHANGES_MAX];
static uint32_t change_count;
static uint64_t unreachable; /* there is no way to that one */

static inline bool on_send(void *arg, uint64_t to, const void *frame, size_t size)
{
    (void)arg;
    if (to == unreachable) return false;
    if (sent_count == SENT_MAX || size > sizeof sent[0].frame) return true;
    memcpy(sent[sent_count].frame, frame, size);
    sent[sent_count].to = to;
    ck_assert_int_eq(wf_swim_read_frame(sent[sent_count].frame, size, &sent[sent_count].m), 0);
    sent_count++;
    return true;
}

static inline void on_changed(void *arg, const struct wf_swim_member *m, enum wf_swim_state before)
{
    (void)arg;
    if (change_count == CHANGES_MAX) return;
    changes[change_count].node = m->node;
    changes[change_count].state = m->state;
    changes[change_count++].before = before;
}

static uint64_t silent; /* nothing comes from that one; 0: nobody knows who is heard of */

static inline bool hears(void *arg, uint64_t node)
{
    (void)arg;
    return silent != 0 && node != silent;
}

static uint64_t number_most; /* that is believed */

static inline uint64_t most(void *arg)
{
    (void)arg;
    return number_most;
}

static uint64_t shown; /* that member has shown that its name is "shown"; 0: none has */

static inline bool may_be_named(void *arg, uint64_t node, weft_text name)
{
    (void)arg;
    return node != shown || wf_text_equal(name, weft_cstr("shown"));
}

static const struct wf_swim_user user = {
    .send = on_send, .changed = on_changed, .heard = hears, .number_max = most, .may_be_named = may_be_named};

/* A record of that name with one entry of metadata. Valid until the next but three. */
static inline weft_text record(const char *name, const char *color)
{
    static uint8_t bytes[4][128];
    static unsigned turn;
    uint8_t *out = bytes[turn++ % 4];
    struct wf_swim_record r = {.name = weft_cstr(name),
                               .url = {weft_cstr("tcp://127.0.0.1:1")},
                               .url_count = 1,
                               .key = {weft_cstr("color")},
                               .value = {weft_cstr(color)},
                               .meta_count = 1};
    weft_writer w = weft_writer_on(out, sizeof bytes[0]);
    wf_put_swim_record(&w, &r);
    ck_assert_int_eq(w.error, 0);
    return (weft_text){(const char *)out, w.size};
}

static inline struct wf_swim_update update(uint64_t node, enum wf_swim_state state, uint64_t number, uint64_t by)
{
    char name[16];
    snprintf(name, sizeof name, "m%u", (unsigned)node);
    struct wf_swim_update u = {.node = node, .state = state, .number = number, .by = by};
    if (state <= WF_SWIM_SUSPECT) u.record = record(name, "red");
    return u;
}

static inline void tick(void)
{
    (void)wf_swim_tick(s, now);
}

static inline void hear(uint64_t from, struct wf_swim_message m, const struct wf_swim_update *updates, uint32_t count)
{
    uint8_t frame[4096];
    m.count = count;
    weft_writer w = weft_writer_on(frame, sizeof frame);
    wf_put_swim(&w, &m);
    for (uint32_t i = 0; i < count; i++) wf_put_swim_update(&w, &updates[i]);
    ck_assert_int_eq(w.error, 0);
    ck_assert_int_eq(wf_swim_receive(s, from, frame, w.size, now), 0);
    tick();
}

/* Said by `from`, in an ACK that nobody has asked for. */
static inline void told(uint64_t from, struct wf_swim_update u)
{
    hear(from, (struct wf_swim_message){.kind = WF_SWIM_ACK, .sequence = 9999, .flags = 1, .digest = s->digest}, &u,
         1);
}

static inline enum wf_swim_state state_of(uint64_t node)
{
    const struct wf_swim_member *m = wf_swim_find(s, node);
    ck_assert_ptr_nonnull(m);
    return m->state;
}

static inline void forget_sent(void)
{
    sent_count = change_count = 0;
}

/* The next that was sent, of that kind, from `at` on; -1. */
static inline int find_sent(uint32_t kind, int at)
{
    for (uint32_t i = (uint32_t)at; i < sent_count; i++)
        if (sent[i].m.kind == kind) return (int)i;
    return -1;
}

/* Whether a sent message says that of the node. */
static inline bool says(uint32_t i, uint64_t node, enum wf_swim_state state, uint64_t number)
{
    weft_reader r = sent[i].m.items;
    for (uint32_t k = 0; k < sent[i].m.count; k++) {
        struct wf_swim_update u;
        wf_swim_read_update(&r, &u);
        if (u.node == node && u.state == state && u.number == number) return true;
    }
    return false;
}

/* No member answers for that long. */
static inline void let_pass(int64_t span)
{
    for (int64_t end = now + span;;) {
        int64_t at = wf_swim_tick(s, now);
        if (at > end) {
            now = end;
            return;
        }
        now = WF_MAX(at, now);
    }
}

/* The target of each PING that was sent answers it, except `but`. */
static inline void answer_pings(uint64_t but)
{
    uint32_t count = sent_count;
    for (uint32_t i = 0; i < count; i++)
        if (sent[i].m.kind == WF_SWIM_PING && sent[i].to != but)
            hear(sent[i].to,
                 (struct wf_swim_message){
                     .kind = WF_SWIM_ACK, .sequence = sent[i].m.sequence, .flags = 1, .digest = s->digest},
                 NULL, 0);
    forget_sent();
}

/* `but` answers nothing, all others do; until it is held for `state`. Returns how long that took. */
static inline int64_t run_until(uint64_t but, enum wf_swim_state state, int64_t limit)
{
    int64_t start = now;
    while (state_of(but) != state && now - start < limit) {
        answer_pings(but);
        int64_t at = wf_swim_tick(s, now);
        if (sent_count == 0 && state_of(but) != state) now = WF_MIN(WF_MAX(at, now), start + limit);
    }
    return now - start;
}

static inline void setup_with(struct wf_swim_options o, uint32_t others)
{
    now = WEFT_SEC(10);
    number_most = WF_SWIM_NUMBER_MAX - 2;
    o.seed = 42;
    s = wf_swim_new(&o, &user, NULL, ME, record("m1", "red"), now);
    ck_assert_ptr_nonnull(s);
    for (uint32_t i = 0; i < others; i++) {
        struct wf_swim_update u = update(2 + i, WF_SWIM_ALIVE, 0, 0);
        wf_swim_learn(s, &u, now);
    }
    unreachable = silent = shown = 0;
    forget_sent();
    tick();
}

static inline void setup(void)
{
    setup_with((struct wf_swim_options){0}, 4);
}

static inline void teardown(void)
{
    wf_swim_free(s);
}

#endif
