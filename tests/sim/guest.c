/* tests/sim/guest.c -- the guest's side of guest.h, compiled with the headers of its own version. It is a world in
 * which the clock, the carrier and the order of steps are the host's.
 *
 * Older trees have no such file, so today's is compiled with their headers, too: tests/versions/guest.sh, which defines
 * GUEST_OLD_CARRIER if on_message of that version always takes the whole message. */
#include "guest.h"
#include "scene.h"

/* Of an older version: the header that declares struct wf_world, and that of tasks. */
#ifndef GUEST_WORLD
#define GUEST_WORLD "start.h"
#define GUEST_TASKS "task.h"
#endif

#include "actor.h"
#include "sim/sim.h"
#include GUEST_WORLD
#include GUEST_TASKS

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/log.h>

enum { HOSTS = 16, PICK_AMONG = 64 };

struct guest_carrier {
    struct wf_carrier base;
    struct wf_carrier_options options;
    unsigned host;
};

struct guest_conn {
    struct wf_conn base;
    void *there; /* its name in the host */
    unsigned refs;
};

static struct {
    const struct guest_world *world;
    struct pf_sim sim;
    struct wf_world base;
    struct {
        weft_node *node;
        struct wf_worker *worker;
        struct guest_carrier *carrier;
    } host[HOSTS];
    unsigned starting;
    uint32_t begin; /* the generations of the node that is starting */
} all;

static void look_at_clock(unsigned host)
{
    atomic_store_explicit(&all.sim.now, all.world->now(), memory_order_relaxed);
    all.sim.wall_ahead = all.world->wall_ahead(host);
}

/* From now on the code of that node runs, until `leave`. */
static void enter(unsigned host)
{
    WF_ASSERT(wf_here == NULL);
    look_at_clock(host);
    wf_here_set(all.host[host].worker);
    wf_here->now = all.world->now();
}

static void leave(void)
{
    wf_here_set(NULL);
}

/* ---- The carrier: what the node says ---------------------------------------------------------------------------- */

static unsigned host_of(struct wf_carrier *base)
{
    return ((struct guest_carrier *)base)->host;
}

static void *there(struct wf_conn *base)
{
    return ((struct guest_conn *)base)->there;
}

static int carrier_listen(struct wf_carrier *k, const char *url, int mode, char *bound, char *why)
{
    char where[GUEST_TEXT] = "", words[GUEST_TEXT] = "";
    (void)mode;
    int rc = all.world->listen(host_of(k), url, where, words);
    snprintf(bound, WF_URL_TEXT, "%s", where);
    snprintf(why, WF_REASON_TEXT, "%s", words);
    return rc;
}

static void carrier_accept(struct wf_carrier *k)
{
    all.world->accept(host_of(k));
}

static int carrier_dial(struct wf_carrier *k, const char *url, void *tag, char *why)
{
    char words[GUEST_TEXT] = "";
    int rc = all.world->dial(host_of(k), url, tag, words);
    snprintf(why, WF_REASON_TEXT, "%s", words);
    return rc;
}

/* GUEST_SPOILED is a kind of frame: this guest gives it another number, as if its version knew it by that. */
#ifndef GUEST_SPOILED
#define GUEST_SPOILED 0
#endif
enum { OTHER_KIND = 126 };

static void spoil(uint8_t *bytes, size_t size)
{
    weft_reader frame = weft_reader_on(bytes, size);
    while (frame.at < frame.end && frame.error == 0) {
        weft_reader r = frame;
        uint32_t values = weft_get_array(&r);
        uint8_t *kind = bytes + (r.at - r.start);
        if (values > 0 && r.error == 0 && *kind == GUEST_SPOILED) *kind = OTHER_KIND;
        weft_skip(&frame);
    }
}

static int send_spoiled(struct wf_conn *base, const struct guest_slice *slices, unsigned count)
{
    struct guest_slice one = {NULL, 0};
    for (unsigned i = 0; i < count; i++) one.size += slices[i].size;
    uint8_t *bytes = malloc(one.size), *at = bytes;
    WF_ASSERT(bytes != NULL);
    for (unsigned i = 0; i < count; at += slices[i++].size) memcpy(at, slices[i].data, slices[i].size);
    spoil(bytes, one.size);
    one.data = bytes;
    int became = all.world->send(there(base), &one, 1);
    free(bytes);
    return became;
}

static enum wf_send conn_send(struct wf_conn *base, const struct pf_slice *slices, unsigned count)
{
    struct guest_slice s[WF_CARRIER_SLICES];
    for (unsigned i = 0; i < count; i++) s[i] = (struct guest_slice){slices[i].data, slices[i].size};
    int became = GUEST_SPOILED == 0 ? all.world->send(there(base), s, count) : send_spoiled(base, s, count);
    switch (became) {
    case GUEST_SENT: return WF_SEND_DONE;
    case GUEST_SENT_LATER: ((struct guest_conn *)base)->refs++; return WF_SEND_LATER;
    default: return WF_SEND_FAILED;
    }
}

static void conn_resume(struct wf_conn *base)
{
    all.world->resume(there(base));
}

static void conn_trust(struct wf_conn *base, size_t message_max)
{
    all.world->trust(there(base), message_max);
}

static void conn_close(struct wf_conn *base, const char *reason)
{
    all.world->close(there(base), reason);
}

static void drop(struct guest_conn *c)
{
    if (--c->refs == 0) free(c);
}

static void conn_release(struct wf_conn *base)
{
    all.world->release(there(base));
    drop((struct guest_conn *)base);
}

static void carrier_unlisten(struct wf_carrier *k)
{
    all.world->unlisten(host_of(k));
}

static void carrier_destroy(struct wf_carrier *base)
{
    if (base == NULL) return;
    all.world->destroy_carrier(host_of(base));
    all.host[host_of(base)].carrier = NULL;
    free(base);
}

static const struct wf_carrier_ops ops = {.listen = carrier_listen,
                                          .accept = carrier_accept,
                                          .dial = carrier_dial,
                                          .send = conn_send,
                                          .resume = conn_resume,
                                          .trust = conn_trust,
                                          .close = conn_close,
                                          .release = conn_release,
                                          .unlisten = carrier_unlisten,
                                          .destroy = carrier_destroy};

static struct wf_carrier *make_carrier(struct wf_world *in, const struct wf_carrier_options *options)
{
    struct guest_carrier *k = calloc(1, sizeof *k);
    (void)in;
    if (k == NULL) return NULL;
    k->base.ops = &ops;
    k->options = *options;
    k->host = all.starting;
    if (all.world->make_carrier(k->host, wf_stranger_time(options)) < 0) {
        free(k);
        return NULL;
    }
    all.host[k->host].carrier = k;
    return &k->base;
}

/* ---- The carrier: what the node is told -------------------------------------------------------------------------- */

static const struct wf_carrier_options *options_of(struct guest_conn *c)
{
    return &((struct guest_carrier *)c->base.carrier)->options;
}

static void fill(struct guest_conn *c, unsigned host, void *dial_tag, const char *remote)
{
    c->base.carrier = &all.host[host].carrier->base;
    c->base.dial_tag = dial_tag;
    c->base.worker = all.host[host].carrier->options.workers->at[0];
#ifndef GUEST_OLD_CARRIER
    c->base.form = "guest";
#endif
    snprintf(c->base.remote, sizeof c->base.remote, "%s", remote);
}

static void *on_up(unsigned host, void *its, void *dial_tag, const char *remote)
{
    struct guest_conn *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    fill(c, host, dial_tag, remote);
    c->there = its;
    c->refs = 2; /* the owner's, and one until on_down */
    enter(host);
    options_of(c)->user->on_up(options_of(c)->owner, &c->base);
    leave();
    return c;
}

static int to_guest(enum wf_receive r)
{
    return r == WF_RECEIVE_ON ? GUEST_GOES_ON : r == WF_RECEIVE_PAUSE ? GUEST_PAUSES : GUEST_ENDS;
}

static int on_message(void *at, const uint8_t *data, size_t size, size_t *left)
{
    struct guest_conn *c = at;
    const struct wf_carrier_options *o = options_of(c);
    enter(host_of(c->base.carrier));
#ifdef GUEST_OLD_CARRIER
    enum wf_receive r = o->user->on_message(o->owner, &c->base, data, size);
    (void)left;
#else
    enum wf_receive r = o->user->on_message(o->owner, &c->base, data, size, left);
#endif
    leave();
    return to_guest(r);
}

static int on_chunk(void *at)
{
    struct guest_conn *c = at;
    enter(host_of(c->base.carrier));
    enum wf_receive r = options_of(c)->user->on_chunk(options_of(c)->owner, &c->base);
    leave();
    return to_guest(r);
}

static void on_sent(void *at, bool ok)
{
    struct guest_conn *c = at;
    enter(host_of(c->base.carrier));
    options_of(c)->user->on_sent(options_of(c)->owner, &c->base, ok);
    leave();
    drop(c);
}

static void on_down(unsigned host, void *at, const char *reason)
{
    struct guest_conn never_up = {.refs = 2}, *c = at == NULL ? &never_up : at;
    if (at == NULL) fill(c, host, NULL, "");
    enter(host);
    options_of(c)->user->on_down(options_of(c)->owner, &c->base, reason);
    leave();
    if (at != NULL) drop(c);
}

static void on_dial_failed(unsigned host, void *dial_tag, const char *reason)
{
    const struct wf_carrier_options *o = &all.host[host].carrier->options;
    enter(host);
    o->user->on_dial_failed(o->owner, dial_tag, reason);
    leave();
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------ */

static bool go_on(struct pf_sim *s, int64_t deadline)
{
    const int64_t ahead = s->wall_ahead;
    WF_ASSERT(wf_here == NULL);
    bool on = all.world->go_on(deadline);
    atomic_store_explicit(&s->now, all.world->now(), memory_order_relaxed);
    s->wall_ahead = ahead;
    return on;
}

static int run_node(struct wf_world *in, weft_node *node)
{
    (void)in;
    node->workers.turn_budget = 1;
    all.host[all.starting].worker = node->workers.at[0];
    wf_actors_of(node->workers.at[0])->slab.begin = all.begin; /* no actor has existed on this node yet */
    return WEFT_OK;
}

static void begin(const struct guest_world *world, uint64_t seed, struct scene *scene, int log)
{
    all.world = world;
    pf_sim_init(&all.sim, seed);
    all.sim.go_on = go_on;
    all.base.env = pf_sim_env(&all.sim);
    all.base.carrier = make_carrier;
    all.base.run = run_node;
    wf_env_here = all.base.env;
    weft_log_set((weft_log_level)log, false);
    scene_begin(scene);
}

static int start(const struct guest_node *n)
{
    const char *listen[] = {n->listen};
    weft_node_options o = {.name = n->name,
                           .listen = listen,
                           .listen_count = 1,
                           .join = (const char *const *)n->join,
                           .join_count = n->join_count,
                           .workers = 1,
                           .park_after = WEFT_FOREVER};
    weft_spawn_options main = {.kind = "main"};
    weft_node *node;
    all.starting = n->host;
    all.begin = n->begin;
    all.host[n->host].worker = NULL;
    look_at_clock(n->host);
    int rc = wf_node_start(&node, &o, &all.base);
    if (rc < 0) return rc;
    all.host[n->host].node = node;
    return weft_node_spawn(node, NULL, scene_first, NULL, 0, &main);
}

static int stop(unsigned host, int64_t deadline)
{
    look_at_clock(host);
    int rc = weft_node_stop(all.host[host].node, deadline);
    all.host[host].node = NULL;
    all.host[host].worker = NULL;
    return rc;
}

static bool is_at_rest(unsigned host)
{
    return all.host[host].worker == NULL || wf_worker_is_at_rest(all.host[host].worker);
}

static int64_t next_timer(unsigned host)
{
    if (all.host[host].worker == NULL) return INT64_MAX;
    const struct wf_timer *first = wf_heap_first(&all.host[host].worker->timers);
    return first == NULL ? INT64_MAX : first->deadline;
}

static uint32_t ready(unsigned host)
{
    return all.host[host].worker == NULL ? 0 : all.host[host].worker->ready_count;
}

static void turn(unsigned host, uint32_t prefer)
{
    struct wf_worker *worker = all.host[host].worker;
    if (worker == NULL) return;
    enter(host);
    wf_coro_adopt_thread(&worker->loop);
    if (worker->ready_count > 1) wf_task_prefer(worker, prefer % WF_MIN(worker->ready_count, (uint32_t)PICK_AMONG));
    wf_worker_turn(worker, all.world->now());
    wf_coro_release_thread(&worker->loop);
    leave();
}

static const struct guest self = {.border = GUEST_BORDER,
                                  .begin = begin,
                                  .start = start,
                                  .stop = stop,
                                  .is_at_rest = is_at_rest,
                                  .next_timer = next_timer,
                                  .ready = ready,
                                  .turn = turn,
                                  .on_up = on_up,
                                  .on_message = on_message,
                                  .on_chunk = on_chunk,
                                  .on_sent = on_sent,
                                  .on_down = on_down,
                                  .on_dial_failed = on_dial_failed};

__attribute__((visibility("default"))) guest_entry weft_sim_guest;

const struct guest *weft_sim_guest(void)
{
    return &self;
}
