/* tests/unit/actors/run/handlers.h -- a handler that counts, and functions to ask it. */
#ifndef WF_HANDLERS_H
#define WF_HANDLERS_H

#include "../node_harness.h"

enum { DATA = 1, ASK, GO, KEEP, GIVE, OWN_REASON = 77 };

struct counter {
    weft_pid parent, other;
    int64_t sum, calls;
};

__attribute__((unused)) static void count_up(void *state, weft_msg *m)
{
    struct counter *c = state;
    want(((uintptr_t)state & 15) == 0);
    c->calls++;
    if (weft_tag(m) == ASK) {
        want_int(weft_reply(m, ASK, &c->sum, sizeof c->sum), 0);
        return;
    }
    c->sum = (int64_t)((uint64_t)c->sum * 3 + (uint64_t)value_of(m)); /* says in what order they came */
    if (c->calls % 2 == 0) weft_msg_free(m);
}

__attribute__((unused)) static weft_pid handler_with(weft_handler *handle, struct counter c, int worker)
{
    weft_pid out;
    c.parent = weft_self();
    want_int(weft_spawn_handler(&out, handle, &c, sizeof c, &(weft_spawn_options){.worker = worker}), 0);
    return out;
}

__attribute__((unused)) static int64_t ask_with(weft_pid to, int64_t n)
{
    weft_msg *m;
    want_int(weft_call(to, ASK, &n, sizeof n, &m, WEFT_FOREVER), 0);
    int64_t value = value_of(m);
    weft_msg_free(m);
    return value;
}

__attribute__((unused)) static int64_t ask(weft_pid to)
{
    return ask_with(to, 0);
}

#endif
