/* transport/admin/control_inspect.c -- the answers of $node about one actor, about all pending calls, and about dropped
 * messages. */
#include "control_inspect.h"
#include "answer.h"
#include "control.h"

#include "deliver.h"
#include "inspect_worker.h"
#include "typed.h"
#include "stuck.h"
#include "transport.h"
#include "typed_tags.h"

#include <weft/local.h>

#include <stdio.h>
#include <string.h>

#define LOOK_WITHIN WEFT_SEC(2)

/* ---- One actor ------------------------------------------------------------------------------------------------- */

static void put_pids(weft_writer *w, const char *key, const struct wf_pids *p)
{
    uint32_t shown = WF_MIN(p->count, WF_TIES_SHOWN);
    wf_put_text(w, key);
    weft_put_array(w, shown);
    for (uint32_t i = 0; i < shown; i++) wf_put_pid(w, p->of[i]);
}

static bool is_cut(const struct wf_pids *p)
{
    return p->count > WF_TIES_SHOWN;
}

static void put_more(weft_writer *w, const char *key, const struct wf_pids *p)
{
    if (is_cut(p)) wf_put_number_of(w, key, p->count - WF_TIES_SHOWN);
}

static bool is_of(uintptr_t address, const void *base)
{
    struct pf_code code;
    return pf_code_at(address, &code) && code.base == base;
}

/* Those of the program around weft: weft's own, with which every stack begins and ends, are left out, unless all are
 * of one file. Addresses after unknown code are not callers. */
static void put_callers(weft_writer *w, const struct wf_actor_detail *d)
{
    struct pf_code code = {.base = NULL};
    weft_actor *own = wf_control_main;
    uintptr_t address;
    memcpy(&address, &own, sizeof address);
    (void)pf_code_at(address, &code);
    const void *base = code.base;
    uint32_t known = 0, first = 0;
    while (known < d->caller_count && pf_code_at(d->callers[known], &code)) known++;
    uint32_t end = known;
    while (first < end && is_of(d->callers[first], base)) first++;
    while (first < end && is_of(d->callers[end - 1], base)) end--;
    if (first == end) {
        first = 0;
        end = known;
    }
    wf_put_text(w, "callers");
    weft_put_array(w, end - first);
    for (; first < end; first++) {
        (void)pf_code_at(d->callers[first] - 1, &code); /* in the call, not behind it */
        weft_put_array(w, 4);
        wf_put_text(w, code.file);
        weft_put_uint(w, code.offset);
        wf_put_text(w, code.symbol);
        weft_put_uint(w, code.symbol_offset);
    }
}

static void put_actor(weft_writer *w, const struct wf_transport *t, const void *data)
{
    const struct wf_actor_detail *d = data;
    char pid[WEFT_PID_TEXT];
    (void)t;
    bool timed = d->mailbox_p50 >= 0;
    uint32_t more = (uint32_t)is_cut(&d->links) + is_cut(&d->monitors) + is_cut(&d->watchers);
    weft_put_map(w, (timed ? 23 : 21) + more);
    wf_put_text_of(w, "pid", weft_pid_format(d->info.pid, pid));
    wf_put_text_of(w, "kind", d->info.kind);
    wf_put_text_of(w, "name", d->info.name);
    wf_put_text_of(w, "state", d->info.state);
    wf_put_text_of(w, "waits_for", d->info.waits_for);
    wf_put_number_of(w, "waits_ns", (uint64_t)d->waits_ns);
    wf_put_number_of(w, "mailbox", d->info.mailbox);
    wf_put_number_of(w, "mailbox_max", d->info.mailbox_max);
    if (timed) wf_put_number_of(w, "mailbox_p50_ns", (uint64_t)d->mailbox_p50);
    if (timed) wf_put_number_of(w, "mailbox_p99_ns", (uint64_t)d->mailbox_p99);
    wf_put_number_of(w, "received", d->info.received);
    wf_put_number_of(w, "dropped", d->info.dropped);
    wf_put_number_of(w, "stack_most", d->info.stack_most);
    wf_put_number_of(w, "held", d->info.held);
    wf_put_number_of(w, "held_bytes", d->info.memory.held);
    wf_put_number_of(w, "mailbox_bytes", d->info.memory.mailbox);
    wf_put_number_of(w, "stack_bytes", d->info.memory.stack);
    wf_put_number_of(w, "heap_bytes", d->info.memory.heap);
    put_pids(w, "asks", &d->asks);
    put_pids(w, "links", &d->links);
    put_more(w, "links_more", &d->links);
    put_pids(w, "monitors", &d->monitors);
    put_more(w, "monitors_more", &d->monitors);
    put_pids(w, "watchers", &d->watchers);
    put_more(w, "watchers_more", &d->watchers);
    put_callers(w, d);
}

/* 0: it is no actor of this node. */
static uint64_t find(const weft_node *node, weft_text who)
{
    weft_pid pid;
    return wf_read_actor(who, &pid) && pid.node == node->incarnation ? pid.actor : 0;
}

static const char nobody[] = "there is no such actor; 'weft ps' lists the actors of the node";

/* The actor's worker does not answer. If the actor itself blocks it, the answer has what is known from outside. */
static const char *inspect_stuck(const struct wf_transport *t, const weft_msg *ask, struct wf_actor_detail *d,
                                 uint32_t worker)
{
    static _Thread_local char why[256];
    struct wf_stuck s;
    char who[160];
    if (!wf_stuck_at(&t->node->workers, worker, &s)) return weft_strerror(WEFT_ETIMEDOUT);
    if (s.actor != d->id) {
        wf_stuck_who(&s, who, sizeof who);
        snprintf(why, sizeof why, "worker %u, where it is, is held up by %s for %.1f s", (unsigned)worker, who,
                 (double)(s.now - s.began) / 1e9);
        return why;
    }
    d->info.pid = (weft_pid){.node = t->node->incarnation, .actor = d->id};
    snprintf(d->info.kind, sizeof d->info.kind, "%s", s.kind);
    snprintf(d->info.name, sizeof d->info.name, "%s", s.name);
    snprintf(d->info.state, sizeof d->info.state, "running");
    d->waits_ns = 0;
    d->mailbox_p50 = d->mailbox_p99 = -1;
    for (int i = 0; i < s.calls && i < WF_CALLERS_SHOWN; i++) d->callers[d->caller_count++] = s.call[i] + 1;
    return wf_control_answer(ask, put_actor, t, d);
}

static const char *inspect(const struct wf_transport *t, const weft_msg *ask)
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    weft_text who = weft_get_str(&r);
    struct wf_actor_detail d = {.id = r.error < 0 ? 0 : find(t->node, who)};
    uint32_t worker = wf_id_worker(d.id);
    if (d.id == 0 || worker >= t->node->workers.count) return nobody;
    int rc = wf_worker_inspect(t->node, worker, wf_inspect_actor, &d, sizeof d, weft_after(LOOK_WITHIN));
    if (rc == WEFT_ETIMEDOUT) return inspect_stuck(t, ask, &d, worker);
    if (rc < 0) return weft_strerror(rc);
    return d.found ? wf_control_answer(ask, put_actor, t, &d) : nobody;
}

/* ---- All workers ----------------------------------------------------------------------------------------------- */

/* The results of all workers, one behind the other. They are the actor's memory, as it may be killed while it waits for a
 * worker. NULL: `*why` has the reason. */
static void *look_at_all(weft_node *node, bool (*look)(struct wf_worker *w, void *data), size_t size,
                         const char **why)
{
    char *all = weft_alloc(node->workers.count * size);
    int rc = all == NULL ? WEFT_ENOMEM : WEFT_OK;
    for (uint32_t i = 0; i < node->workers.count && rc == WEFT_OK; i++) {
        rc = wf_worker_inspect(node, i, look, all + i * size, size, weft_after(LOOK_WITHIN));
        if (rc == WEFT_ETIMEDOUT && wf_stuck_at(&node->workers, i, NULL)) rc = WEFT_OK; /* STUCK tells of it */
    }
    if (rc == WEFT_OK) return all;
    *why = weft_strerror(rc);
    (void)weft_release(all);
    return NULL;
}

static void put_waits(weft_writer *w, const struct wf_transport *t, const void *data)
{
    const struct wf_waits *all = data;
    uint32_t count = 0, in_all = 0;
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        count += all[i].shown;
        in_all += all[i].count;
    }
    weft_put_array(w, count);
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        for (uint32_t k = 0; k < all[i].shown; k++) {
            weft_put_array(w, in_all > 0 ? 4 : 3);
            wf_put_pid(w, all[i].of[k].who);
            wf_put_pid(w, all[i].of[k].whom);
            weft_put_int(w, all[i].of[k].ns);
            if (in_all > 0) weft_put_uint(w, in_all - count);
            in_all = 0; /* it is in the first row */
        }
    }
}

static void put_drop(weft_writer *w, const struct wf_transport *t, const struct wf_dropped *d, int64_t now)
{
    /* Messages to weft's own actors have their own tags, which have no names here. */
    const char *tag = d->kind != NULL && d->kind[0] == '$' ? NULL : wf_tag_name(d->tag);
    weft_put_array(w, 8);
    weft_put_int(w, now - d->at);
    wf_put_text(w, wf_drop_names[d->why]);
    wf_put_pid(w, (weft_pid){.node = t->node->incarnation, .actor = d->to});
    wf_put_pid(w, d->from);
    weft_put_uint(w, d->tag);
    wf_put_text(w, d->kind == NULL ? "" : d->kind);
    wf_put_text(w, d->name);
    wf_put_text(w, tag == NULL ? "" : tag);
}

static void put_drops(weft_writer *w, const struct wf_transport *t, const void *data)
{
    const struct wf_drops_seen *all = data;
    uint32_t count = 0;
    weft_put_array(w, 2);
    wf_put_drops(w, t);
    for (uint32_t i = 0; i < t->node->workers.count; i++) count += (uint32_t)WF_MIN(all[i].log.count, WF_DROPS_KEPT);
    weft_put_array(w, count);
    for (uint32_t i = 0; i < t->node->workers.count; i++) {
        uint64_t n = all[i].log.count;
        for (uint64_t k = 1; k <= WF_MIN(n, WF_DROPS_KEPT); k++)
            put_drop(w, t, &all[i].log.last[(n - k) % WF_DROPS_KEPT], all[i].now);
    }
}

const char *wf_control_inspect(const struct wf_transport *t, const weft_msg *ask)
{
    const char *why = NULL;
    if (weft_tag(ask) == WF_CONTROL_INSPECT) return inspect(t, ask);
    bool waits = weft_tag(ask) == WF_CONTROL_WAITS;
    void *all = waits ? look_at_all(t->node, wf_inspect_waits, sizeof(struct wf_waits), &why)
                      : look_at_all(t->node, wf_inspect_drops, sizeof(struct wf_drops_seen), &why);
    if (all != NULL) why = wf_control_answer(ask, waits ? put_waits : put_drops, t, all);
    (void)weft_release(all);
    return why;
}
