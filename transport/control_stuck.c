/* transport/control_stuck.c -- STUCK of control.h: who holds workers up. Nobody has to answer for that: stuck.h. */
#include "control.h"

#include "snapshot.h"
#include "stuck.h"

static void put_text(weft_writer *w, const char *key, const char *value)
{
    weft_put_str(w, weft_cstr(key));
    weft_put_str(w, weft_cstr(value));
}

static void put_one(weft_writer *w, const struct wf_transport *t, const struct wf_stuck *s)
{
    char pid[WEFT_PID_TEXT], where[WF_STUCK_TEXT];
    weft_pid who = {.node = t->node->incarnation, .actor = s->actor};
    wf_stuck_where(s, where);
    weft_put_map(w, 6);
    weft_put_str(w, weft_cstr("worker"));
    weft_put_uint(w, s->worker);
    put_text(w, "pid", s->actor == 0 ? "" : weft_pid_format(who, pid));
    put_text(w, "kind", s->kind);
    put_text(w, "name", s->name);
    weft_put_str(w, weft_cstr("ns"));
    weft_put_uint(w, (uint64_t)(s->now - s->began));
    put_text(w, "where", where[0] == '\0' ? "" : where + sizeof " in " - 1);
}

void wf_put_stuck(weft_writer *w, const struct wf_transport *t, const void *data)
{
    struct wf_workers *set = &t->node->workers;
    struct wf_stuck s;
    uint64_t held_up = 0;
    (void)data;
    for (uint32_t i = 0; i < set->users; i++) held_up |= (uint64_t)wf_stuck_at(set, i, NULL) << i;
    weft_put_array(w, (uint32_t)__builtin_popcountll(held_up));
    for (uint32_t i = 0; i < set->users; i++) {
        if ((held_up >> i & 1) == 0) continue;
        if (!wf_stuck_at(set, i, &s)) s = (struct wf_stuck){.worker = i}; /* it has just gone on */
        put_one(w, t, &s);
    }
}
