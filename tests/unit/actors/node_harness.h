/* tests/unit/actors/node_harness.h -- a node without network, actors that run test functions, and a check that
 * nothing is left when they have ended. Actors use `want` and `want_int`, as in tests/unit/runtime/harness.h. */
#ifndef WF_NODE_HARNESS_H
#define WF_NODE_HARNESS_H

#include "trace.h"
#include "ties.h"
#include "send_after.h"
#include "connecting.h"
#include "actor_list.h"
#include "deliver.h"
#include "all_features.h"
#include "inbound.h"
#include "../runtime/harness.h"
#include "actor.h"
#include "names.h"
#include "groups_count.h"

#include <weft.h>
#include <weft/test.h>

/* A deadline that passes, but not before another worker has seen what it was sent. */
__attribute__((unused)) static int64_t soon(void)
{
    return weft_after(under_tools() ? WEFT_SEC(1) : WEFT_MS(100));
}

/* A grace period that passes, but not before an actor that was stopped has had its turn, also on a busy machine. */
__attribute__((unused)) static int64_t short_grace(void)
{
    return under_tools() ? WEFT_SEC(2) : WEFT_MS(200);
}

#define RUN_OPTIONS(...) (&(weft_node_options){__VA_ARGS__})

__attribute__((unused)) static weft_node *node_start(const weft_node_options *options)
{
    weft_node *n = NULL;
    want_int(wf_node_create(&n, options, NULL), 0);
    want_int(wf_node_run(n), 0);
    return n;
}

__attribute__((unused)) static weft_node *node_of(int workers)
{
    return node_start(RUN_OPTIONS(.workers = workers));
}

__attribute__((unused)) static uint64_t drops(const weft_node *n, enum wf_drop why)
{
    uint64_t all[WF_DROP_REASONS];
    wf_node_drops(n, all);
    return all[why];
}

/* For a feature whose slot begins with a slab: returns how many items are in use. */
__attribute__((unused)) static uint32_t slot_used(const struct wf_actors *wa, uint32_t slot)
{
    const struct wf_slab *s = wa->slots[slot];
    return s == NULL ? 0 : s->used; /* NULL: the node has not got it */
}

/* Ends the workers, then looks: nothing that an actor may own has outlived it. */
__attribute__((unused)) static void node_finish(weft_node *n)
{
    wf_node_finish_actors(n);
    want_int(wf_names_count(wf_names_of(n)), 0);
    want_int(wf_names_waits(wf_names_of(n)), 0);
    want_int(groups_count(n), 0);
    for (uint32_t i = 0; i < n->workers.count; i++) {
        struct wf_worker *w = n->workers.at[i];
        struct wf_actors *wa = wf_actors_of(w);
        want_int(wa->slab.used - wa->spare.count, 0);
        want_int(wa->subscription_slab.used, 0);
        want_int(slot_used(wa, WF_TIES_SLOT), 0);
        want_int(slot_used(wa, WF_SEND_AFTER_SLOT), 0);
        want_int(slot_used(wa, WF_CONNECTING_SLOT), 0);
        want_int(wa->topics.subscribers, 0);
        want_int(atomic_load(&wa->subscriptions) + atomic_load(&wa->awaited) + atomic_load(&wa->full_awaited), 0);
        want_int(wa->owing.used[0] | wa->owing.used[1] | wa->owing.used[2] | wa->owing.used[3], 0);
        want_int(wf_all_mail_bytes(wa), 0);
        want_int(wa->alive[0] + wa->alive[1], 0);
        want_int(w->events.used, 0);
        want_int(w->user_timers.used, 0);
        want_int(w->streams.used, 0);
        want_int(w->listeners.used, 0);
        want_int(w->datagrams.used, 0);
        want_int(w->tickets.used, 0);
        want(wf_heap_first(&w->timers) == NULL);
        want(wf_tracing_of(wa) == NULL || wf_tracing_of(wa)->traced == 0);
    }
}

/* Waits until every actor has ended by itself. */
__attribute__((unused)) static void node_end(weft_node *n)
{
    want_int(weft_node_wait(n, WEFT_FOREVER), 0);
    node_finish(n);
    wf_node_destroy(n);
}

__attribute__((unused)) static weft_pid node_spawn(weft_node *n, int worker, weft_actor *body)
{
    weft_pid pid;
    want_int(weft_node_spawn(n, &pid, body, NULL, 0, &(weft_spawn_options){.worker = worker}), 0);
    return pid;
}

/* Runs one actor on worker 1, and the actors that it spawns, from beginning to end. */
__attribute__((unused)) static void run_on(int workers, weft_actor *body)
{
    weft_node *n = node_of(workers);
    node_spawn(n, 1, body);
    node_end(n);
}

/* ---- In actors ------------------------------------------------------------------------------------------------- */

/* The argument of children. */
struct kid {
    weft_pid parent, other;
    int64_t n;
};

__attribute__((unused)) static weft_pid kid_with(weft_actor *body, struct kid k, const weft_spawn_options *options)
{
    weft_pid pid;
    k.parent = weft_self();
    want_int(weft_spawn(&pid, body, &k, sizeof k, options), 0);
    return pid;
}

__attribute__((unused)) static weft_pid kid_on(int worker, weft_actor *body, int64_t n)
{
    return kid_with(body, (struct kid){.n = n}, &(weft_spawn_options){.worker = worker});
}

__attribute__((unused)) static int try_say(weft_pid to, uint32_t tag, int64_t value)
{
    return weft_try_send(to, tag, &value, sizeof value);
}

__attribute__((unused)) static int say(weft_pid to, uint32_t tag, int64_t value)
{
    return weft_send(to, tag, &value, sizeof value);
}

__attribute__((unused)) static int64_t value_of(const weft_msg *m)
{
    int64_t value;
    want_int(weft_size(m), sizeof value);
    memcpy(&value, weft_data(m), sizeof value);
    return value;
}

/* The value of the next message, which has this tag. */
__attribute__((unused)) static int64_t hear(uint32_t tag)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_tag(m), tag);
    int64_t value = value_of(m);
    weft_msg_free(m);
    return value;
}

/* The value of the oldest message with this tag; others stay. */
__attribute__((unused)) static int64_t hear_only(uint32_t tag)
{
    weft_msg *m;
    want_int(weft_recv_tag(&m, tag, WEFT_FOREVER), 0);
    int64_t value = value_of(m);
    weft_msg_free(m);
    return value;
}

__attribute__((unused)) static bool is_alive(weft_pid p)
{
    weft_node *n = wf_node_of(wf_here);
    return wf_slab_find(&wf_actors_of(n->workers.at[wf_id_worker(p.actor)])->slab, p.actor) != NULL;
}

__attribute__((unused)) static void await_end(weft_pid p)
{
    until(!is_alive(p));
}

/* An actor of this worker, from within another one. */
__attribute__((unused)) static struct wf_actor *peek(weft_pid p)
{
    struct wf_actor *a = wf_actor_find(wf_here, p.actor);
    want(a != NULL);
    return a;
}

/* Waits until an actor of this worker waits for that. */
__attribute__((unused)) static void await_wait(weft_pid p, const char *what)
{
    until(strcmp(wf_task_waits_for(&peek(p)->task), what) == 0);
}

/* DOWN has come, or comes before anything else happens. */
__attribute__((unused)) static struct weft_down down_now(void)
{
    weft_msg *m;
    struct weft_down down;
    weft_expect(WEFT_TAG_DOWN, 0, &m);
    want_int(weft_down_read(m, &down), 0);
    weft_msg_free(m);
    return down;
}

/* System messages tell an actor to begin whose mailbox is full. */
__attribute__((unused)) static void await_news(void)
{
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_NODE_UP, WEFT_FOREVER), 0);
    weft_msg_free(m);
}

__attribute__((unused)) static void tell_news(weft_pid to)
{
    wf_node_tell(weft_here(), to, WEFT_TAG_NODE_UP, &(struct weft_node_news){.incarnation = 1});
}

#endif
