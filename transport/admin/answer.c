/* transport/admin/answer.c -- helpers for the answers of $node to the command line. */
#include "answer.h"
#include "actor_list.h"
#include "drops.h"
#include "control.h"
#include "deliver.h"
#include "snapshot.h"
#include "transport.h"

#include <weft/local.h>

#include <stdio.h>
#include <string.h>

void wf_put_pid(weft_writer *w, weft_pid pid)
{
    char text[WEFT_PID_TEXT];
    wf_put_text(w, pid.actor == 0 ? "" : weft_pid_format(pid, text));
}

void wf_transport_drops(const struct wf_transport *t, struct wf_drop_count all[WF_ALL_DROPS])
{
    const struct wf_drop_count frames[] = {
        {"send-queue-full", atomic_load_explicit(&t->dropped_full, memory_order_relaxed)},
        {"link-lost", atomic_load_explicit(&t->dropped_lost, memory_order_relaxed)},
        {"refused", atomic_load_explicit(&t->dropped_refused, memory_order_relaxed)},
        {"unbelieved", atomic_load_explicit(&t->dropped_unbelieved, memory_order_relaxed)},
        {"retained-full", atomic_load_explicit(&t->dropped_quota, memory_order_relaxed)}};
    uint64_t messages[WF_DROP_REASONS];
    wf_node_drops(t->node, messages);
    for (int i = 0; i < WF_DROP_REASONS; i++) all[i] = (struct wf_drop_count){wf_drop_names[i], messages[i]};
    memcpy(all + WF_DROP_REASONS, frames, sizeof frames);
}

void wf_put_drops(weft_writer *w, const struct wf_transport *t)
{
    struct wf_drop_count all[WF_ALL_DROPS];
    wf_transport_drops(t, all);
    weft_put_array(w, WF_ALL_DROPS);
    for (int i = 0; i < WF_ALL_DROPS; i++) {
        weft_put_array(w, 2);
        wf_put_text(w, all[i].reason);
        weft_put_uint(w, all[i].count);
    }
}

const char *wf_control_answer(const weft_msg *ask,
                              void (*put)(weft_writer *w, const struct wf_transport *t, const void *data),
                              const struct wf_transport *t, const void *data)
{
    for (int tries = 0; tries < 5; tries++) {
        weft_writer measure = weft_writer_on(NULL, 0);
        put(&measure, t, data);
        size_t capacity = measure.size + 4096;
        uint8_t *buffer = weft_alloc(capacity); /* `put` may end the turn, and the actor be killed there */
        if (buffer == NULL) return "out of memory";
        weft_writer w = weft_writer_on(buffer, capacity);
        put(&w, t, data);
        if (w.error == 0) (void)weft_reply(ask, weft_tag(ask), buffer, w.size);
        (void)weft_release(buffer);
        if (w.error == 0) return NULL;
        if (w.error == WEFT_ENOMEM) return "out of memory";
    }
    return "the list changes faster than it can be written; ask again";
}

static bool read_pid(weft_text text, weft_pid *out)
{
    char copy[WEFT_PID_TEXT + 1], rest;
    unsigned worker, slot, generation;
    if (text.size >= sizeof copy) return false;
    if (text.size > 0) memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (weft_pid_parse(copy, out) == WEFT_OK) return true;
    if (sscanf(copy, "%3u.%8u.%10u%c", &worker, &slot, &generation, &rest) != 3) return false;
    *out = (weft_pid){.node = weft_self().node, .actor = (uint64_t)generation << 32 | (uint64_t)worker << 24 | slot};
    return worker < 256 && slot < 1 << 24;
}

bool wf_read_actor(weft_text who, weft_pid *out)
{
    char name[128];
    if (read_pid(who, out)) return true;
    if (who.size == 0 || who.size >= sizeof name) return false;
    memcpy(name, who.data, who.size);
    name[who.size] = '\0';
    return weft_whereis(name, out) == WEFT_OK;
}
