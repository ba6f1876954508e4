/* transport/start.c -- starts and stops a node with its network. */
#include "actor.h"
#include "channel.h"
#include "all_features.h"
#include "cluster.h"
#include "control.h"
#include "control_certs.h"
#include "discover.h"
#include "gossip.h"
#include "members.h"
#include "cluster_event.h"
#include "partition.h"
#include "dialers.h"
#include "peers.h"
#include "link_writer.h"
#include "peer_link.h"
#include "table_sync.h"
#include "tls.h"
#include "transport.h"
#include "url.h"
#include "start.h"
#include "ws.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void transport_free(struct wf_transport *t)
{
    if (t == NULL) return;
    wf_link_writers_destroy(t);
    wf_discover_destroy(t);
    if (t->cluster != NULL) {
        wf_dialers_finish(t->cluster);
        wf_partition_finish(&t->cluster->partition);
        wf_swim_free(t->cluster->swim);
        wf_hash_table_finish(&t->cluster->links);
        wf_hash_table_finish(&t->cluster->link_names);
        wf_hash_table_finish(&t->cluster->dialed);
        wf_hash_table_finish(&t->cluster->known);
    }
    wf_tables_finish(t);
    for (int i = 0; i < 2; i++) wf_patterns_finish(&t->patterns[i]);
    pf_cond_destroy(t->changed);
    pf_mutex_destroy(t->lock);
    pf_mutex_destroy(t->patterns_turn);
    pf_mutex_destroy(t->tls_lock);
    wf_tls_free(t->tls);
    free(t->cluster);
    free(t->url);
    free(t->ws_origins);
    free(t);
}

static void free_events(struct wf_transport *t)
{
    for (struct wf_cluster_event *e; (e = wf_cluster_event_take(t)) != NULL;) wf_cluster_event_free(e);
}

static int copy_seeds(struct wf_transport *t, const weft_node_options *o)
{
    t->url = calloc(o->listen_count + 1, sizeof *t->url);
    if (t->url == NULL) return WEFT_ENOMEM;
    for (size_t i = 0; i < o->join_count; i++) {
        char why[WF_REASON_TEXT] = "not a URL";
        if (o->join[i] == NULL || wf_url_check(o->join[i], false, why) < 0) {
            weft_log(WEFT_ERROR, "cannot join %.200s: %s", o->join[i] == NULL ? "(null)" : o->join[i], why);
            return WEFT_EADDRESS;
        }
        int rc = wf_dialers_add_seed(t->cluster, o->join[i]);
        if (rc < 0) return rc;
        t->seed_count++;
    }
    return WEFT_OK;
}

static int copy_origins(struct wf_transport *t, const weft_node_options *o)
{
    size_t size = o->ws_origin_count * sizeof(char *) + 1;
    for (size_t i = 0; i < o->ws_origin_count; i++) {
        if (o->ws_origins[i] == NULL || !wf_ws_is_origin(o->ws_origins[i])) {
            weft_log(WEFT_ERROR, "node option ws_origins: %.200s is not an origin like https://board.example",
                     o->ws_origins[i] == NULL ? "(null)" : o->ws_origins[i]);
            return WEFT_EINVAL;
        }
        size += strlen(o->ws_origins[i]) + 1;
    }
    t->ws_origins = malloc(size);
    if (t->ws_origins == NULL) return WEFT_ENOMEM;
    char *at = (char *)(t->ws_origins + o->ws_origin_count);
    for (size_t i = 0; i < o->ws_origin_count; i++) {
        size_t n = strlen(o->ws_origins[i]) + 1;
        t->ws_origins[i] = memcpy(at, o->ws_origins[i], n);
        at += n;
    }
    return WEFT_OK;
}

static struct wf_carrier *carrier_new(struct wf_world *in, const char *name, const struct wf_carrier_options *options)
{
    if (in != NULL) return in->carrier(in, options);
    return wf_carrier_by_url(options, name != NULL && strcmp(name, "tcp") == 0);
}

static int transport_new(struct wf_transport **out, weft_node *node, const weft_node_options *o, struct wf_world *in)
{
    struct wf_transport *t = calloc(1, sizeof *t);
    if (t == NULL) return WEFT_ENOMEM;
    t->node = node;
    wf_transport_seal(t, &t->seal);
    t->client = o->client;
    t->heartbeat = node->options.heartbeat;
    t->handshake_time = WEFT_SEC(5);
    t->resume_window = node->options.resume_window;
    t->heartbeats_lost = node->options.heartbeats_lost;
    t->wire_version = node->options.wire_version == 0 ? WF_WIRE_NEWEST : (uint64_t)node->options.wire_version;
    t->capabilities = t->wire_version < 2 ? 0 : WF_CAPABILITIES;
    if (t->client) t->capabilities &= ~(uint64_t)WF_CAN_GOSSIP;
    wf_list_init(&t->events);
    for (int i = 0; i < 2; i++) wf_patterns_init(&t->patterns[i], node->secret);
    t->patterns_max = node->options.patterns_max;
    wf_list_init(&t->table_peers);
    wf_list_init(&t->table_past);
    int rc = WEFT_ENOMEM;
    t->cluster = calloc(1, sizeof *t->cluster);
    if (t->cluster != NULL) {
        t->cluster->t = t;
        wf_list_init(&t->cluster->channels);
        wf_list_init(&t->cluster->live_links);
        wf_list_init(&t->cluster->changed);
        wf_list_init(&t->cluster->dialers);
        wf_list_init(&t->cluster->peers);
        wf_list_init(&t->cluster->gone);
        rc = pf_mutex_create(&t->lock);
    }
    if (rc == WEFT_OK) rc = pf_mutex_create(&t->patterns_turn);
    if (rc == WEFT_OK) rc = pf_mutex_create(&t->tls_lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&t->changed);
    if (rc == WEFT_OK) rc = copy_seeds(t, o);
    if (rc == WEFT_OK) rc = copy_origins(t, o);
    if (rc == WEFT_OK) rc = wf_discover_create(t, o);
    if (rc == WEFT_OK) rc = wf_learned_init(&t->cluster->learned, o);
    t->insecure = o->insecure;
    t->open_control = o->insecure || o->loopback_control;
    t->socket_mode = o->socket_mode == 0 ? (int)WF_PRIVATE_SOCKET : (int)(o->socket_mode & 0777);
    t->limits = (struct wf_limits){o->peer_frames, o->peer_bytes, o->peer_spawns};
    if (rc == WEFT_OK) rc = wf_certs_load(t, o);
    if (rc == WEFT_OK) rc = wf_link_writers_create(t);
    struct wf_carrier_options co = {.env = node->workers.env,
                                    .workers = &node->workers,
                                    .user = &wf_channel_carrier_user,
                                    .owner = t,
                                    .tls = t->tls,
                                    .stranger_time = t->handshake_time,
                                    .ws_origins = (const char *const *)t->ws_origins,
                                    .ws_origin_count = o->ws_origin_count};
    if (rc == WEFT_OK && (t->carrier = carrier_new(in, o->carrier, &co)) == NULL) rc = WEFT_ENOMEM;
    if (rc < 0) {
        transport_free(t);
        return rc;
    }
    node->transport = t;
    node->route = &wf_transport_route;
    *out = t;
    return WEFT_OK;
}

/* Whether the options say, instead of a URL, that the node does not listen. */
static bool listens_nowhere(const weft_node_options *o)
{
    return o->listen_count == 1 && o->listen[0] != NULL && strcmp(o->listen[0], "none") == 0;
}

static int socket_mode(const struct wf_transport *t, const char *url)
{
    bool file = url != NULL && wf_url_is_local(url) && strncmp(url, "abstract://", 11) != 0;
    return file ? t->socket_mode : 0;
}

static int listen_on(struct wf_transport *t, const char *url, int mode, char *bound)
{
    char why[WF_REASON_TEXT] = "out of memory";
    int rc = url == NULL ? WEFT_EADDRESS : wf_url_check_listen(url, t->has_tls, t->insecure, why);
    if (rc == WEFT_OK) rc = t->carrier->ops->listen(t->carrier, url, mode, bound, why);
    if (rc == WEFT_OK && wf_url_inherited(url) != NULL) rc = wf_url_check_inherited(bound, t->insecure, why);
    if (rc < 0) weft_log(WEFT_ERROR, "cannot listen on %.200s: %s", url == NULL ? "(null)" : url, why);
    return rc;
}

static int listen_on_all(struct wf_transport *t, const weft_node_options *o)
{
    if (o->listen_count > WF_FRAME_URLS) {
        weft_log(WEFT_ERROR, "node option listen: at most %d URLs", WF_FRAME_URLS);
        return WEFT_EINVAL;
    }
    atomic_store_explicit(&t->listens_by_seed, o->listen_count == 0 && !o->client, memory_order_relaxed);
    if (listens_nowhere(o) && !o->client)
        weft_log(WEFT_INFO, "node %s does not listen (listen: none): it links only with nodes that listen",
                 t->node->name);
    for (size_t i = 0; i < o->listen_count && !listens_nowhere(o); i++) {
        int rc = listen_on(t, o->listen[i], socket_mode(t, o->listen[i]), t->url[i]);
        if (rc < 0) return rc;
        atomic_fetch_add_explicit(&t->url_count, 1, memory_order_release);
    }
    if (o->control == NULL) return WEFT_OK;
    char url[WF_URL_TEXT], bound[WF_URL_TEXT];
    int n = snprintf(url, sizeof url, "ipc://%s", o->control);
    if (n < 0 || (size_t)n >= sizeof url || strlen(o->control) > 100) {
        weft_log(WEFT_ERROR, "the path of the control socket is longer than 100 bytes: %.200s", o->control);
        return WEFT_EADDRESS;
    }
    int rc = pf_private_directory_of(o->control);
    if (rc < 0) {
        weft_log(WEFT_ERROR, "no folder for the control socket %s: %s", o->control, weft_strerror(rc));
        return rc;
    }
    return listen_on(t, url, WF_CONTROL_SOCKET, bound);
}

static int spawn_services(struct wf_transport *t)
{
    pf_mutex_lock(t->lock); /* so that route_service_ended, which takes it, sees t->control and t->service */
    int rc = wf_node_spawn_service(t->node, &t->control, wf_control_main, &t, sizeof t, "$node");
    if (rc == WEFT_OK) rc = wf_node_spawn_service(t->node, &t->service, wf_cluster_main, &t, sizeof t, "$cluster");
    pf_mutex_unlock(t->lock);
    return rc;
}

int wf_node_start(weft_node **out, const weft_node_options *options, struct wf_world *in)
{
    static const weft_node_options defaults;
    if (out == NULL) return WEFT_EINVAL;
    if (options == NULL) options = &defaults;
    weft_node *node;
    struct wf_transport *t = NULL;
    int rc = wf_node_create(&node, options, in == NULL ? NULL : in->env);
    if (rc < 0) return rc;
    rc = transport_new(&t, node, options, in);
    if (rc == WEFT_OK) rc = wf_meta_options(&t->meta, options);
    if (rc == WEFT_OK) rc = listen_on_all(t, options);
    if (rc == WEFT_OK) rc = wf_gossip_create(t);
    if (rc == WEFT_OK) rc = in == NULL ? wf_node_run(node) : in->run(in, node);
    if (rc < 0) goto failed;
    rc = spawn_services(t);
    if (rc == WEFT_OK) rc = wf_discover_start(t);
    if (rc < 0) {
        weft_log(WEFT_ERROR, "node %s does not start: %s", node->name, weft_strerror(rc));
        (void)weft_node_stop(node, WEFT_NOW);
        return rc;
    }
    *out = node;
    return WEFT_OK;
failed:
    if (t != NULL) {
        t->finished = true;
        t->carrier->ops->destroy(t->carrier);
        transport_free(t);
        node->transport = NULL;
    }
    wf_node_destroy(node);
    return rc;
}

int weft_node_start(weft_node **out, const weft_node_options *options)
{
    return wf_node_start(out, options, NULL);
}

static void pass_barrier(struct wf_worker *w, struct wf_call *call)
{
    struct wf_transport *t = wf_transport_of(w);
    free(call);
    pf_mutex_lock(t->lock);
    if (--t->barrier == 0) pf_cond_broadcast(t->changed);
    pf_mutex_unlock(t->lock);
}

/* Waits until every worker has handled what was posted before. */
static void wait_for_workers(struct wf_transport *t)
{
    struct pf_env *env = t->node->workers.env;
    uint32_t count = t->node->workers.count;
    t->barrier = count;
    for (uint32_t i = 0; i < count; i++) {
        struct wf_call *c = calloc(1, sizeof *c);
        if (c != NULL) {
            *c = (struct wf_call){.post.kind = WF_POST_CALL, .call = pass_barrier};
            wf_worker_post(t->node->workers.at[i], &c->post);
            continue;
        }
        pf_mutex_lock(t->lock);
        t->barrier--;
        pf_mutex_unlock(t->lock);
    }
    pf_mutex_lock(t->lock);
    while (t->barrier > 0) (void)env->cond_wait(env, t->changed, t->lock, WEFT_FOREVER);
    pf_mutex_unlock(t->lock);
}

/* $cluster sends BYE and closes all its channels and links, at `stop_by` at the latest; then the carrier closes the
 * rest. $cluster uses the memory that is freed afterwards, so this waits for its end without a deadline. */
static void leave(struct wf_transport *t, int64_t deadline, bool undrained)
{
    struct pf_env *env = t->node->workers.env;
    int64_t by = WF_MIN(WF_MAX(deadline, weft_after(WEFT_MS(200))), weft_after(WF_LEAVE_TIME));
    wf_discover_leave(t, by);
    wait_for_workers(t); /* the last turns of the actors have been flushed */
    pf_mutex_lock(t->lock);
    t->stopping = true;
    t->undrained = undrained;
    t->stop_by = by;
    bool listening = t->listening;
    pf_mutex_unlock(t->lock);
    if (listening) weft_event_set(t->wake);
    pf_mutex_lock(t->lock);
    bool begun = !weft_pid_is_nobody(t->service); /* else the node has failed to start */
    while (begun && !t->finished) (void)env->cond_wait(env, t->changed, t->lock, WEFT_FOREVER);
    t->finished = true;
    pf_mutex_unlock(t->lock);
    free_events(t);
    wait_for_workers(t); /* the workers have let go of all links */
    t->carrier->ops->destroy(t->carrier);
    wait_for_workers(t);
    free_events(t);
}

int weft_node_stop(weft_node *node, int64_t deadline)
{
    if (node == NULL) return WEFT_EINVAL;
    if (wf_here != NULL && wf_node_of(wf_here) == node) return WEFT_EINVAL;
    wf_node_look_at_deadline(node, "weft_node_stop", deadline);
    int rc = wf_node_drain(node, deadline);
    struct wf_transport *t = node->transport;
    leave(t, deadline, rc < 0);
    wf_node_finish_actors(node);
    transport_free(t);
    node->transport = NULL;
    wf_node_destroy(node);
    return rc;
}

const char *weft_node_url(const weft_node *node, size_t i)
{
    const struct wf_transport *t = node->transport;
    return i < wf_transport_urls(t) ? t->url[i] : NULL;
}
