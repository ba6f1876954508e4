/* actors/run/node_life.c -- a node without its network: options, workers, the count of actors, arrivals from
 * elsewhere, and the orderly end. */
#include "node_life.h"

#include "actor_life.h"
#include "busy.h"
#include "deliver.h"
#include "describe.h"
#include "end.h"
#include "log.h"
#include "offload.h"
#include "parts.h"
#include "sanitizer.h"
#include "stopping.h"
#include "text.h"
#include "typed.h"
#include "typed_tags.h"

#include <weft/embed.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Birth and death ------------------------------------------------------------------------------------------- */

static void take_message(struct wf_worker *w, struct wf_post *p)
{
    wf_deliver(w, WF_CONTAINER(p, weft_msg, post));
}

static void take_heavy_message(struct wf_worker *w, struct wf_post *p)
{
    weft_msg *m = WF_CONTAINER(p, weft_msg, post);
    wf_msg_unweigh(w, m);
    wf_deliver(w, m);
}

static void drop_post(struct wf_worker *w, struct wf_post *p)
{
    weft_msg *m = WF_CONTAINER(p, weft_msg, post);
    if (p->kind == WF_POST_CALL) return;
    if (wf_message_row(w, m)->discard != NULL) wf_message_row(w, m)->discard(m);
    wf_msg_free(NULL, m);
}

static void end_turn(struct wf_worker *w)
{
    const struct wf_route *route = wf_node_of(w)->route;
    if (route != NULL) route->flush(w);
    wf_owed_settle(w);
    wf_mail_timer_turn(&wf_actors_of(w)->timer, w->now);
}

static void name_of(struct wf_workers *set, uint64_t id, char *out, size_t size)
{
    weft_node *n = (weft_node *)set;
    out[0] = '\0';
    if (n->naming != NULL) n->naming->of_id(n, id, out, size);
}

static const struct wf_hooks hooks = {
    .worker_bytes = sizeof(struct wf_actors), /* whose last members have a cache line of their own */
    .task_id_at = (ptrdiff_t)offsetof(struct wf_actor, id) - (ptrdiff_t)offsetof(struct wf_actor, task),
    .task_kind_at = (ptrdiff_t)offsetof(struct wf_actor, kind) - (ptrdiff_t)offsetof(struct wf_actor, task),
    .task_name = name_of,
    .task_main = wf_actor_turn,
    .task_done = wf_actor_done,
    .task_killed = wf_actor_killed,
    .task_latest = wf_actor_latest,
    .task_unstarted = wf_actor_unstarted,
    .wrong_time = wf_actor_wrong_time,
    .task_describe = wf_actor_describe,
    .task_woken = wf_actor_woken,
    .task_stack_used = wf_actor_stack_used,
    .parked_describe = wf_actor_describe_parked,
    .on_post = {[WF_POST_MESSAGE] = take_message,
                [WF_POST_WORK] = take_message,
                [WF_POST_HEAVY_MESSAGE] = take_heavy_message,
                [WF_POST_HEAVY_WORK] = take_heavy_message},
    .drop_post = drop_post,
    .flush = end_turn,
};

static int refuse_option(const char *option, const char *why)
{
    weft_log(WEFT_ERROR, "node option %s: %s", option, why);
    return WEFT_EINVAL;
}

static int check_options(const weft_node_options *o)
{
    if (o->name != NULL && !wf_is_name(o->name))
        return refuse_option("name", "1 to 64 letters, digits, '_', '-', '.'");
    if (o->cluster != NULL && !wf_is_name(o->cluster))
        return refuse_option("cluster", "1 to 64 letters, digits, '_', '-', '.'");
    if (o->workers < 0 || o->workers > WF_USER_WORKERS_MAX) return refuse_option("workers", "1 to 63");
    if (o->embedded && o->workers > 1) return refuse_option("workers", "an embedded node has one");
    if (o->carrier != NULL && strcmp(o->carrier, "tcp") != 0 && strcmp(o->carrier, "nng") != 0)
        return refuse_option("carrier", "tcp or nng");
    if (o->stack_bytes > WF_STACK_BYTES_MAX) return refuse_option("stack_bytes", "at most 8 MiB");
    if (o->actors_max > WF_SLAB_MAX) return refuse_option("actors_max", "at most 16,777,215");
    if (o->offload_threads < 0 || o->offload_threads > WF_OFFLOAD_THREADS_MAX)
        return refuse_option("offload_threads", "1 to 256");
    if (o->record_events > WF_RECORD_EVENTS_MAX) return refuse_option("record_events", "at most 1048576");
    if (o->offload_queue < 0) return refuse_option("offload_queue", "not negative");
    if (o->send_timeout < 0 || o->grace < 0 || o->heartbeat < 0 || o->park_after < 0 || o->resume_window < 0 ||
        o->stuck_after < 0)
        return refuse_option("send_timeout, grace, heartbeat, park_after, resume_window, stuck_after",
                             "not negative");
    const int64_t spans[] = {o->send_timeout,  o->grace,        o->heartbeat,  o->park_after,
                             o->resume_window, o->probe_period, o->stuck_after};
    for (size_t i = 0; i < WF_COUNT(spans); i++)
        if (wf_is_point(spans[i]))
            return refuse_option("send_timeout, grace, heartbeat, park_after, resume_window, probe_period, "
                                 "stuck_after",
                                 "a span such as WEFT_SEC(5), not a point in time");
    if (o->heartbeats_lost < 0 || o->heartbeats_lost > 1000) return refuse_option("heartbeats_lost", "1 to 1000");
    if (o->partition > WEFT_PARTITION_QUORUM || (o->partition == WEFT_PARTITION_QUORUM) != (o->quorum > 0))
        return refuse_option("partition, quorum", "a policy; a quorum with WEFT_PARTITION_QUORUM, and only then");
    if (o->probe_period < 0 || o->suspicion < 0 || o->suspicion > 1000)
        return refuse_option("probe_period, suspicion", "not negative; suspicion at most 1000");
    if (o->wire_version < 0 || o->wire_version > 2) return refuse_option("wire_version", "1 or 2");
    return WEFT_OK;
}

#define STUCK_AFTER_MAX WEFT_SEC(7 * 24 * 3600) /* a longer span is cut to this */

/* `own_worker`: one worker more, for weft's own actors. An embedded or simulated node has one thread for everything;
 * a tool runs no user actors that could block weft's own. */
static void fill_in(weft_node *n, const weft_node_options *o, bool own_worker)
{
    n->options = *o;
    if (n->options.actors_max == 0) n->options.actors_max = WF_SLAB_MAX;
    if (n->options.mailbox_bytes_max == 0) n->options.mailbox_bytes_max = (size_t)1 << 30;
    if (n->options.send_timeout == 0) n->options.send_timeout = WEFT_SEC(5);
    if (n->options.grace == 0) n->options.grace = WEFT_SEC(5);
    if (n->options.retained_max == 0) n->options.retained_max = 65536;
    if (n->options.patterns_max == 0) n->options.patterns_max = 1000000;
    if (n->options.subscriptions_max == 0) n->options.subscriptions_max = 100000;
    if (n->options.retained_bytes_max == 0) n->options.retained_bytes_max = (size_t)64 << 20;
    if (n->options.retained_keep <= 0) n->options.retained_keep = WEFT_SEC(24 * 3600);
    if (n->options.remote_actors_max == 0) n->options.remote_actors_max = 65536;
    if (n->options.heartbeat == 0) n->options.heartbeat = WEFT_SEC(1);
    if (n->options.probe_period == 0) n->options.probe_period = n->options.heartbeat;
    if (n->options.heartbeats_lost == 0) n->options.heartbeats_lost = 5;
    if (n->options.resume_window == 0) n->options.resume_window = WEFT_SEC(10);
    if (n->options.suspicion == 0) {
        int64_t periods = n->options.resume_window / n->options.probe_period + 1;
        n->options.suspicion = (int)WF_MAX(WF_MIN(periods, 1000000), 4);
    }
    if (n->options.park_after == 0) n->options.park_after = WEFT_SEC(1);
    if (n->options.stuck_after == 0) n->options.stuck_after = WEFT_SEC(1);
    n->workers.stuck_after = n->options.stuck_after == WEFT_FOREVER ? WEFT_FOREVER
                                                                    : WF_MIN(n->options.stuck_after, STUCK_AFTER_MAX);
    do n->workers.env->random(n->workers.env, &n->incarnation, sizeof n->incarnation);
    while (n->incarnation == 0);
    n->workers.env->random(n->workers.env, &n->secret, sizeof n->secret);
    if (o->name != NULL) snprintf(n->name, sizeof n->name, "%s", o->name);
    else snprintf(n->name, sizeof n->name, "weft-%08x", (unsigned)(n->incarnation >> 32));
    snprintf(n->cluster, sizeof n->cluster, "%s", o->cluster == NULL ? "weft" : o->cluster);
    n->hooks = hooks;
    n->hooks.wait_kinds = n->features.wait_kinds;
    n->workers.hooks = &n->hooks;
    n->workers.parts = wf_runtime_parts;
    uint32_t users = (uint32_t)(o->workers > 0 ? o->workers : WF_MIN(pf_cpu_count(), WF_USER_WORKERS_MAX));
    if (o->embedded) users = 1;
    n->workers.users = users;
    n->workers.count = own_worker ? users + 1 : users;
    n->workers.blocking_threads = (uint32_t)o->offload_threads;
    n->workers.blocking_queue = (uint32_t)o->offload_queue;
    n->workers.identity = n->incarnation;
    n->workers.nowhere = n->secret;
    n->workers.record_sends = o->record_sends;
    n->workers.record_events = o->record_events < 0    ? 0
                               : o->record_events == 0 ? WF_RECORD_EVENTS
                                                       : (uint32_t)o->record_events;
    n->workers.stack_bytes = o->stack_bytes == 0 ? WF_STACK_BYTES : o->stack_bytes;
}

/* Fields of a log line: the node, the actor, and the time; in a simulation, the time of the node's own clock. */
static int64_t log_context(char *out, size_t size, int64_t *wall)
{
    const struct wf_worker *w = wf_here;
    struct pf_env *env = w != NULL ? w->set->env : wf_env_here, *native = pf_env_native();
    if (w != NULL) {
        const struct wf_actor *self = wf_actor_self();
        const struct wf_tracing *tracing = wf_node_of(w)->tracing;
        char trace[8 + WEFT_TRACE_TEXT] = "";
        if (tracing != NULL) tracing->text(trace, sizeof trace);
        if (self == NULL) snprintf(out, size, "node=%s", wf_node_of(w)->name);
        else
            snprintf(out, size, "node=%s actor=%u.%u.%u%s", wf_node_of(w)->name, w->index, wf_id_slot(self->id),
                     wf_id_generation(self->id), trace);
    }
    if (env == NULL || env == native) return native->now(native);
    *wall = env->wall(env);
    return 0;
}

static int init_features(weft_node *n)
{
    WF_FEATURES_EACH(f, n)
    {
        int rc = (*f)->node_init == NULL ? WEFT_OK : (*f)->node_init(n);
        if (rc < 0) return rc;
    }
    return WEFT_OK;
}

int wf_node_make(weft_node **out, const weft_node_options *options, struct pf_env *env,
                 const struct wf_feature *const *features)
{
    WF_ASSERT(out != NULL && features != NULL);
    static const weft_node_options defaults;
    if (options == NULL) options = &defaults;
    int rc = check_options(options);
    if (rc < 0) return rc;
    if (options->embedded && env != NULL) return refuse_option("embedded", "not in a simulation");
    weft_node *n = calloc(1, sizeof *n);
    if (n == NULL) return WEFT_ENOMEM;
    atomic_store_explicit(&wf_log_context, log_context, memory_order_release);
    wf_typed_say_conflicts();
    wf_list_init(&n->taps);
    n->workers.env = env == NULL ? pf_env_native() : env;
    atomic_init(&n->clock_ahead, WF_CLOCK_UNKNOWN);
    wf_features_init(&n->features, features);
    if (options->embedded) wf_embed_init(&n->embed, &n->workers);
    fill_in(n, options, env == NULL && !options->embedded && !options->client);
    if ((rc = pf_mutex_create(&n->lock)) < 0 || (rc = pf_cond_create(&n->ended)) < 0 ||
        (rc = pf_mutex_create(&n->tables_lock)) < 0 || (rc = pf_mutex_create(&n->taps_lock)) < 0)
        goto failed;
    if ((rc = init_features(n)) < 0 || (rc = wf_workers_init(&n->workers)) < 0) goto failed;
    for (uint32_t i = 0; i < n->workers.count; i++) {
        if ((rc = wf_actors_init(n, n->workers.at[i])) < 0) goto failed;
    }
    *out = n;
    return WEFT_OK;
failed:
    weft_log(WEFT_ERROR, "node %s does not start: %s", n->name, weft_strerror(rc));
    wf_node_destroy(n);
    return rc;
}

int wf_node_run(weft_node *node)
{
    if (!node->options.embedded) return wf_workers_start(&node->workers);
    int rc = wf_embed_start(&node->workers);
    if (rc < 0) weft_log(WEFT_ERROR, "node %s cannot be embedded: %s", node->name, weft_strerror(rc));
    return rc;
}

void wf_node_destroy(weft_node *n)
{
    if (n == NULL) return;
    for (uint32_t i = 0; i < n->workers.count; i++) {
        if (n->workers.at[i] != NULL) wf_actors_finish(n->workers.at[i]);
    }
    wf_workers_finish(&n->workers);
    WF_FEATURES_EACH(f, n)
    {
        if ((*f)->node_finish != NULL) (*f)->node_finish(n);
    }
    pf_cond_destroy(n->ended);
    pf_mutex_destroy(n->tables_lock);
    pf_mutex_destroy(n->taps_lock);
    pf_mutex_destroy(n->lock);
    free(n);
}

/* ---- Who is alive ---------------------------------------------------------------------------------------------- */

int weft_node_wait(weft_node *node, int64_t deadline)
{
    if (node == NULL || (wf_here != NULL && wf_node_of(wf_here) == node)) return WEFT_EINVAL;
    wf_node_look_at_deadline(node, "weft_node_wait", deadline);
    return wf_node_wait_idle(node, false, deadline);
}

/* A function that runs once on each worker, while the caller, which is no actor, waits. */
struct round {
    void (*act)(struct wf_worker *w, int argument);
    int argument;
    pf_mutex *lock;
    pf_cond *done;
    uint32_t left;
    struct round_call {
        struct wf_call call;
        struct round *round;
    } calls[WF_WORKERS_MAX];
};

static void round_here(struct wf_worker *w, struct wf_call *c)
{
    struct round *r = WF_CONTAINER(c, struct round_call, call)->round;
    r->act(w, r->argument);
    pf_mutex_lock(r->lock);
    WF_ASSERT(r->left > 0);
    r->left--;
    pf_cond_broadcast(r->done);
    pf_mutex_unlock(r->lock);
}

static void on_each_worker(weft_node *node, void (*act)(struct wf_worker *w, int argument), int argument)
{
    WF_ASSERT(wf_here == NULL || wf_node_of(wf_here) != node); /* a worker would wait for itself */
    struct round r = {
        .act = act, .argument = argument, .lock = node->lock, .done = node->ended, .left = node->workers.count};
    for (uint32_t i = 0; i < node->workers.count; i++) {
        r.calls[i] = (struct round_call){{{.kind = WF_POST_CALL}, round_here}, &r};
        wf_worker_post(node->workers.at[i], &r.calls[i].call.post);
    }
    struct pf_env *env = node->workers.env;
    pf_mutex_lock(node->lock);
    while (r.left > 0) (void)env->cond_wait(env, node->ended, node->lock, WEFT_FOREVER);
    pf_mutex_unlock(node->lock);
}

enum { CANCEL = 1, KILL = 2, SERVICES = 4 };

static bool is_stopped_by_other(const struct wf_actor *a)
{
    WF_FEATURES_EACH(f, wf_node_of(a->task.worker))
    {
        if ((*f)->actor_is_stopped_by_other != NULL && (*f)->actor_is_stopped_by_other(a)) return true;
    }
    return false;
}

static void end_actors_here(struct wf_worker *w, int how)
{
    WF_ASSERT(w == wf_here);
    WF_ACTORS_EACH(a, wf_actors_of(w))
    {
        if (a->service != ((how & SERVICES) != 0)) continue;
        /* A supervisor stops its children, in the right order. */
        if ((how & KILL) == 0 && is_stopped_by_other(a)) continue;
        if ((how & KILL) == 0) wf_actor_cancel(a, WEFT_EXIT_STOPPED, NULL);
        else wf_actor_kill(a);
    }
}

int wf_node_drain(weft_node *node, int64_t deadline)
{
    atomic_store_explicit(&node->stopping, true, memory_order_relaxed);
    on_each_worker(node, end_actors_here, CANCEL);
    int rc = wf_node_wait_idle(node, false, deadline);
    if (rc == WEFT_OK) return wf_offload_drain(node->workers.offload, deadline);
    weft_log(WEFT_WARN, "node %s: actors have not ended in time, killing them", node->name);
    on_each_worker(node, end_actors_here, KILL);
    /* The clean-ups have the grace period, and may be late by as much: wf_actor_latest. */
    const int64_t grace = node->options.grace;
    const int64_t most = grace < WF_CLOCK_BEGIN / 2 ? 2 * grace + WEFT_SEC(1) : WEFT_FOREVER;
    (void)wf_node_wait_idle(node, false, weft_after(most));
    (void)wf_offload_drain(node->workers.offload, deadline); /* logs which functions still run */
    return WEFT_ETIMEDOUT;
}

static void stop_timers(struct wf_worker *w)
{
    WF_ASSERT(w->thread == NULL); /* its thread has ended */
    wf_timer_disarm(w, &wf_actors_of(w)->sweep.timer);
    WF_FEATURES_EACH(f, wf_node_of(w))
    {
        if ((*f)->worker_stop != NULL) (*f)->worker_stop(w);
    }
}

void wf_node_finish_actors(weft_node *node)
{
    on_each_worker(node, end_actors_here, CANCEL | SERVICES);
    if (wf_node_wait_idle(node, true, weft_after(node->options.grace)) < 0) {
        on_each_worker(node, end_actors_here, KILL | SERVICES);
        (void)wf_node_wait_idle(node, true, weft_after(node->options.grace));
    }
    wf_workers_stop(&node->workers);
    for (uint32_t i = 0; i < node->workers.count; i++) stop_timers(node->workers.at[i]);
}

/* ---- From threads that run no actor ---------------------------------------------------------------------------- */

int weft_node_spawn(weft_node *node, weft_pid *out, weft_actor *body, const void *arg, size_t size,
                    const weft_spawn_options *options)
{
    if (node == NULL) return WEFT_EINVAL;
    struct wf_worker *from = wf_here != NULL && wf_node_of(wf_here) == node ? wf_here : NULL;
    return wf_actor_spawn(node, from, out, body, arg, size, options, false);
}

int wf_node_spawn_service(weft_node *node, weft_pid *out, weft_actor *body, const void *arg, size_t size,
                          const char *kind)
{
    WF_ASSERT(body != NULL && kind != NULL);
    weft_spawn_options options = {.kind = kind};
    struct wf_birth b = {.body = body, .arg = arg, .size = size, .options = &options, .service = true, .lasts = true};
    return wf_actor_birth(node, NULL, out, &b);
}

int weft_node_send(weft_node *node, weft_pid to, uint32_t tag, const void *data, size_t size)
{
    if (node == NULL || tag >= WEFT_TAG_SYSTEM || (data == NULL && size > 0)) return WEFT_EINVAL;
    if (size > WEFT_MESSAGE_MAX) return WEFT_ETOOBIG;
    if (weft_pid_is_nobody(to)) return WEFT_ENOBODY;
    if (to.node != node->incarnation) return WEFT_ENONODE; /* a foreign thread has no link: see weft/node.h */
    uint32_t index = wf_id_worker(to.actor);
    if (index >= node->workers.count) return WEFT_ENOACTOR;
    struct wf_worker *target = node->workers.at[index];
    struct wf_actor *a = wf_slab_find(&wf_actors_of(target)->slab, to.actor);
    if (a == NULL) return WEFT_ENOACTOR;
    if (wf_worker_is_congested(target) || wf_actor_is_full(a)) return WEFT_EFULL;
    weft_msg *m = wf_msg_new(NULL, tag, size);
    if (m == NULL) return WEFT_ENOMEM;
    if (size > 0) memcpy(m + 1, data, size);
    m->to_actor = to.actor;
    wf_msg_post_to(target, m);
    return WEFT_OK;
}

/* ---- In a loop that is not ours -------------------------------------------------------------------------------- */

int weft_node_fd(weft_node *node)
{
    if (node == NULL || !node->options.embedded) return WEFT_EINVAL;
    return (int)node->workers.env->poller_handle(node->workers.at[0]->poller);
}

int64_t weft_node_turn(weft_node *node, int64_t deadline)
{
    if (node == NULL || !node->options.embedded || wf_here == node->workers.at[0]) return WEFT_EINVAL;
    wf_node_look_at_deadline(node, "weft_node_turn", deadline);
    return wf_embed_turn(&node->workers, deadline);
}

const char *weft_node_name(const weft_node *node)
{
    return node->name;
}

uint64_t weft_node_incarnation(const weft_node *node)
{
    return node->incarnation;
}
