/* tests/sim/guests.c -- see guests.h. A guest's node has a carrier of this world (carrier_memory.c), like all others;
 * what the carrier says to its owner is passed to the guest. */
#include "guests.h"

#include "carrier_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)WF_URL_TEXT <= (int)GUEST_TEXT && (int)WF_REASON_TEXT <= (int)GUEST_TEXT, "texts fit");

struct guests {
    struct wf_sim_guest base;
    const struct guest *ops;
    const weft_node_options *starting;
    bool begun;
};

static struct wf_sim_world *world;

/* The owner of the carrier of a host. */
static struct owner {
    unsigned host;
    const struct guest *guest;
    struct wf_carrier *carrier;
} owners[WF_SIM_HOSTS];

/* ---- To the guest ------------------------------------------------------------------------------------------------ */

static void on_up(void *owner, struct wf_conn *c)
{
    struct owner *o = owner;
    c->user = o->guest->on_up(o->host, c, c->dial_tag, c->remote);
    if (c->user != NULL) return;
    wf_conn_close(c, "out of memory");
    wf_conn_release(c);
}

static enum wf_receive to_host(int said)
{
    return said == GUEST_GOES_ON ? WF_RECEIVE_ON : said == GUEST_PAUSES ? WF_RECEIVE_PAUSE : WF_RECEIVE_END;
}

static enum wf_receive on_message(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left)
{
    return to_host(((struct owner *)owner)->guest->on_message(c->user, data, size, left));
}

static enum wf_receive on_chunk(void *owner, struct wf_conn *c)
{
    return to_host(((struct owner *)owner)->guest->on_chunk(c->user));
}

static void on_sent(void *owner, struct wf_conn *c, bool ok)
{
    ((struct owner *)owner)->guest->on_sent(c->user, ok);
}

static void on_down(void *owner, struct wf_conn *c, const char *reason)
{
    struct owner *o = owner;
    o->guest->on_down(o->host, c->user, reason);
}

static void on_dial_failed(void *owner, void *dial_tag, const char *reason)
{
    struct owner *o = owner;
    o->guest->on_dial_failed(o->host, dial_tag, reason);
}

static const struct wf_carrier_user user = {on_up, on_message, on_chunk, on_sent, on_down, on_dial_failed};

/* ---- From the guest ---------------------------------------------------------------------------------------------- */

static int64_t now(void)
{
    return wf_sim_now(world);
}

static int64_t wall_ahead(unsigned host)
{
    return world->host[host].wall_ahead;
}

static bool go_on(int64_t deadline)
{
    return world->sim.go_on(&world->sim, deadline);
}

static int make_carrier(unsigned host, int64_t stranger_time)
{
    struct owner *o = &owners[host];
    const struct wf_carrier_options options = {
        .env = pf_sim_env(&world->sim), .user = &user, .owner = o, .stranger_time = stranger_time};
    o->carrier = wf_carrier_memory(world, host, &options);
    world->host[host].carrier = (struct wf_memory_carrier *)o->carrier;
    return o->carrier == NULL ? WEFT_ENOMEM : WEFT_OK;
}

static int listen_there(unsigned host, const char *url, char *bound, char *why)
{
    return owners[host].carrier->ops->listen(owners[host].carrier, url, 0, bound, why);
}

static void accept_there(unsigned host)
{
    owners[host].carrier->ops->accept(owners[host].carrier);
}

static int dial(unsigned host, const char *url, void *tag, char *why)
{
    return owners[host].carrier->ops->dial(owners[host].carrier, url, tag, why);
}

static int send_there(void *c, const struct guest_slice *slices, unsigned count)
{
    struct pf_slice s[WF_CARRIER_SLICES];
    WF_ASSERT(count <= WF_CARRIER_SLICES);
    for (unsigned i = 0; i < count; i++) s[i] = (struct pf_slice){slices[i].data, slices[i].size};
    switch (wf_conn_send(c, s, count)) {
    case WF_SEND_DONE: return GUEST_SENT;
    case WF_SEND_LATER: return GUEST_SENT_LATER;
    case WF_SEND_FAILED: break;
    }
    return GUEST_NOT_SENT;
}

static void resume(void *c)
{
    wf_conn_resume(c);
}

static void trust(void *c, size_t message_max)
{
    wf_conn_trust(c, message_max);
}

static void close_there(void *c, const char *reason)
{
    wf_conn_close(c, reason);
}

static void release(void *c)
{
    wf_conn_release(c);
}

static void unlisten(unsigned host)
{
    owners[host].carrier->ops->unlisten(owners[host].carrier);
}

static void destroy_carrier(unsigned host)
{
    owners[host].carrier->ops->destroy(owners[host].carrier);
    owners[host].carrier = NULL;
}

static const struct guest_world for_guests = {now,          wall_ahead, go_on,      make_carrier,   listen_there,
                                              accept_there, dial,       send_there, resume,         trust,
                                              close_there,  release,    unlisten,   destroy_carrier};

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

static struct guests *guests_of(const struct wf_sim_guest *g)
{
    return (struct guests *)g;
}

static int start(struct wf_sim_guest *base, unsigned host, uint32_t begin)
{
    struct guests *g = guests_of(base);
    const weft_node_options *o = g->starting;
    struct guest_node n = {.host = host, .begin = begin, .name = o->name, .listen = o->listen[0]};
    for (; n.join_count < o->join_count && n.join_count < GUEST_JOIN; n.join_count++)
        n.join[n.join_count] = o->join[n.join_count];
    owners[host] = (struct owner){.host = host, .guest = g->ops};
    return g->ops->start(&n);
}

static int stop(struct wf_sim_guest *g, unsigned host, int64_t deadline)
{
    return guests_of(g)->ops->stop(host, deadline);
}

static bool is_at_rest(const struct wf_sim_guest *g, unsigned host)
{
    return guests_of(g)->ops->is_at_rest(host);
}

static int64_t next_timer(const struct wf_sim_guest *g, unsigned host)
{
    int64_t at = guests_of(g)->ops->next_timer(host);
    return at == INT64_MAX ? WEFT_FOREVER : at;
}

static uint32_t ready(const struct wf_sim_guest *g, unsigned host)
{
    return guests_of(g)->ops->ready(host);
}

static void turn(struct wf_sim_guest *g, unsigned host, uint32_t prefer)
{
    guests_of(g)->ops->turn(host, prefer);
}

struct guests *guests_load(const char *path, char *why)
{
    guest_entry *entry = NULL;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) *(void **)&entry = dlsym(handle, GUEST_ENTRY);
    if (entry == NULL) {
        snprintf(why, GUEST_TEXT, "%s", dlerror());
        return NULL;
    }
    const struct guest *ops = entry();
    if (ops->border != GUEST_BORDER) {
        snprintf(why, GUEST_TEXT, "%s has border %u, this program has %d", path, ops->border, GUEST_BORDER);
        return NULL;
    }
    struct guests *g = calloc(1, sizeof *g);
    if (g == NULL) {
        snprintf(why, GUEST_TEXT, "out of memory");
        return NULL;
    }
    g->base = (struct wf_sim_guest){start, stop, is_at_rest, next_timer, ready, turn};
    g->ops = ops;
    return g;
}

const void *guests_code(const struct guests *g)
{
    return g->ops;
}

int guests_start(struct guests *g, struct wf_sim_world *w, unsigned host, const weft_node_options *o,
                 const struct guests_options *first)
{
    world = w;
    if (!g->begun) g->ops->begin(&for_guests, first->seed, first->scene, (int)first->log);
    g->begun = true;
    g->starting = o;
    return wf_sim_start_guest(w, host, &g->base);
}
