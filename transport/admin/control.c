/* transport/admin/control.c -- the actor $node answers the command line. */
#include "actor.h"
#include "actor_list.h"
#include "control.h"
#include "answer.h"
#include "snapshot.h"
#include "typed_tags.h"

#include "cluster.h"
#include "control_certs.h"
#include "control_inspect.h"
#include "control_list.h"
#include "control_reload.h"
#include "control_top.h"
#include "control_trace.h"
#include "control_who.h"
#include "log_levels.h"
#include "members.h"
#include "peers.h"
#include "record_merge.h"
#include "relay.h"
#include "tool_actors.h"
#include "peer_link.h"
#include "transport.h"
#include "typed.h"

#include <weft/cluster.h>
#include <weft/local.h>

#include <stdio.h>
#include <string.h>

enum { EVENTS_MAX = 100000 }; /* of the flight recorder: as many as fit into one message */

/* The data of some answers, besides the transport. */
struct listed {
    const struct weft_record *records;
    size_t record_count, records_older;
    uint64_t actor_count;
};

static void put_urls(weft_writer *w, const char (*url)[WF_URL_TEXT], uint32_t count)
{
    weft_put_array(w, count);
    for (uint32_t i = 0; i < count; i++) wf_put_text(w, url[i]);
}

/* The actor has merged or written one more event. The answer to RECORD is millions of steps, which no turn can have at
 * once. */
static void count_event(uint32_t *events)
{
    enum { AT_ONCE = 256, WORK_OF_ONE = 32 };
    if (++*events % AT_ONCE != 0) return;
    wf_task_charge_work(&wf_actor_self()->task, AT_ONCE * WORK_OF_ONE);
    weft_ignore(weft_yield());
}

/* `older`: how many events there are before it, if they are left out. */
static void put_event(weft_writer *w, const struct weft_record *r, size_t older)
{
    bool message = r->kind == WEFT_RECORD_SEND || r->kind == WEFT_RECORD_RECEIVE;
    const char *tag = message ? wf_tag_name((uint32_t)r->value) : NULL;
    weft_put_array(w, older > 0 ? 10 : 9);
    weft_put_int(w, r->at);
    weft_put_int(w, r->worker);
    weft_put_uint(w, r->number);
    weft_put_uint(w, r->kind);
    wf_put_pid(w, r->actor);
    wf_put_pid(w, r->other);
    weft_put_int(w, r->value);
    wf_put_text(w, r->what);
    wf_put_text(w, tag == NULL ? "" : tag);
    if (older > 0) weft_put_uint(w, older);
}

static void put_record(weft_writer *w, const struct wf_transport *t, const void *data)
{
    const struct listed *l = data;
    uint32_t events = 0;
    (void)t;
    weft_put_array(w, (uint32_t)l->record_count);
    for (size_t i = 0; i < l->record_count; i++, count_event(&events))
        put_event(w, &l->records[i], i == 0 ? l->records_older : 0);
}

static void put_counter(weft_writer *w, const _Atomic uint64_t *counter)
{
    weft_put_uint(w, counter == NULL ? 0 : atomic_load_explicit(counter, memory_order_relaxed));
}

static void put_meta(weft_writer *w, struct wf_swim_record r)
{
    weft_put_map(w, r.meta_count);
    for (uint32_t i = 0; i < r.meta_count; i++) {
        weft_put_str(w, r.key[i]);
        weft_put_str(w, r.value[i]);
    }
}

/* On all links with that node. */
static uint64_t frames_lost(const struct wf_peer *p)
{
    uint64_t n = p->frames_lost;
    if (p->link != NULL) n += atomic_load_explicit(&p->link->frames_lost, memory_order_relaxed);
    if (p->ended != NULL) n += atomic_load_explicit(&p->ended->frames_lost, memory_order_relaxed);
    return n;
}

static void put_peer(weft_writer *w, const struct wf_peer *p, int64_t now)
{
    const struct wf_link *l = p->link;
    weft_put_array(w, 18);
    wf_put_text(w, p->name);
    weft_put_uint(w, p->incarnation);
    wf_put_text(w, wf_peer_state_text(p));
    wf_put_text(w, p->reason);
    put_urls(w, (const char(*)[WF_URL_TEXT])p->url, p->url_count);
    weft_put_int(w, l == NULL ? 0 : atomic_load_explicit(&l->rtt, memory_order_relaxed));
    put_counter(w, l == NULL ? NULL : &l->bytes_in);
    put_counter(w, l == NULL ? NULL : &l->bytes_out);
    put_counter(w, l == NULL ? NULL : &l->frames_in);
    put_counter(w, l == NULL ? NULL : &l->frames_out);
    weft_put_uint(w, frames_lost(p));
    weft_put_int(w, (now - p->since) / WEFT_SEC(1));
    weft_put_int(w, l == NULL ? 0 : atomic_load_explicit(&l->usage.slowed, memory_order_relaxed));
    put_counter(w, l == NULL ? NULL : &l->refused);
    put_counter(w, l == NULL ? NULL : &l->resumes);
    weft_put_uint(w, l == NULL ? 0 : wf_link_unacked(p->link));
    put_meta(w, wf_peer_record(p));
    wf_put_text(w, l == NULL ? "" : wf_link_carrier(p->link));
}

static void put_nodes(weft_writer *w, const struct wf_transport *t, const void *data)
{
    (void)data;
    struct wf_cluster *c = t->cluster;
    int64_t now = wf_transport_now(t);
    pf_mutex_lock(t->lock);
    weft_put_array(w, c->peer_count + 1);
    weft_put_array(w, 18);
    wf_put_text(w, t->node->name);
    weft_put_uint(w, t->node->incarnation);
    wf_put_text(w, "self");
    wf_put_text(w, c->partition.text);
    put_urls(w, (const char(*)[WF_URL_TEXT])t->url, wf_transport_urls(t));
    for (int i = 0; i < 11; i++) weft_put_uint(w, 0);
    put_meta(w, wf_meta_record(&t->meta));
    wf_put_text(w, "");
    WF_LIST_EACH(k, &c->peers) put_peer(w, WF_CONTAINER(k, struct wf_peer, in_cluster), now);
    pf_mutex_unlock(t->lock);
}

static void put_info(weft_writer *w, const struct wf_transport *t, const void *data)
{
    const struct listed *l = data;
    weft_put_array(w, 7);
    wf_put_text(w, t->node->name);
    weft_put_uint(w, t->node->incarnation);
    wf_put_text(w, t->node->cluster);
    weft_put_uint(w, t->node->workers.users);
    weft_put_uint(w, l->actor_count);
    put_urls(w, (const char(*)[WF_URL_TEXT])t->url, wf_transport_urls(t));
    wf_put_drops(w, t);
}

/* ---- Requests -------------------------------------------------------------------------------------------------- */

static void send_nothing(const weft_msg *ask)
{
    uint8_t nil[1];
    weft_writer w = weft_writer_on(nil, sizeof nil);
    weft_put_nil(&w);
    (void)weft_reply(ask, weft_tag(ask), nil, w.size);
}

#define WF_DRAIN_MAX WEFT_SEC(7 * 24 * 3600) /* a longer span is cut to this */

static const char *on_stop(struct wf_transport *t, const weft_msg *ask)
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    int64_t ms = weft_get_int(&r);
    if (r.error < 0 || ms < 0) return "the time for draining is missing";
    ms = WF_MIN(ms, WF_DRAIN_MAX / WEFT_MS(1));
    pf_mutex_lock(t->lock);
    void (*notify)(void *, int, const char *) = t->notify;
    void *arg = t->notify_arg;
    pf_mutex_unlock(t->lock);
    if (notify == NULL) return "this node cannot be stopped from outside";
    send_nothing(ask);
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)ms);
    notify(arg, WF_NOTIFY_STOP, text);
    return NULL;
}

/* Nothing is sent if messages will follow; otherwise `why` has the error. */
static const char *on_subscribe(const weft_msg *ask, const char *why)
{
    if (why == NULL) send_nothing(ask);
    return why;
}

/* Log levels belong to the process; the log says which tool has changed them. */
static const char *on_log(const weft_msg *ask)
{
    char words[WF_LOG_WORDS_MAX], set[WF_LOG_WORDS_MAX], from[WEFT_PID_TEXT];
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    weft_text text = weft_get_str(&r);
    if (r.error < 0 || text.size >= sizeof words) return "the levels are malformed, or too long";
    memcpy(words, text.data, text.size);
    words[text.size] = '\0';
    if (words[0] != '\0') {
        int rc = weft_log_adjust(words, NULL);
        if (rc < 0) return rc == WEFT_EFULL ? "there are levels of 16 modules already" : weft_strerror(rc);
    }
    weft_log_words(set, sizeof set);
    if (words[0] != '\0')
        weft_log(WEFT_INFO, "levels of the log changed to %s, as %s asked", set,
                 weft_pid_format(weft_from(ask), from));
    uint8_t answer[WF_LOG_WORDS_MAX + 8];
    weft_writer w = weft_writer_on(answer, sizeof answer);
    wf_put_text(&w, set);
    (void)weft_reply(ask, WF_CONTROL_LOG, answer, w.size);
    return NULL;
}

static const char *on_drain(struct wf_transport *t, const weft_msg *ask)
{
    weft_reader r = weft_reader_on(weft_data(ask), weft_size(ask));
    bool on = weft_get_bool(&r);
    int rc = r.error < 0 ? WEFT_EFORMAT : weft_drain(t->node, on);
    if (rc < 0) return weft_strerror(rc);
    send_nothing(ask);
    return NULL;
}

static const char *on_reload(struct wf_transport *t, weft_msg *ask, bool *handed)
{
    pf_mutex_lock(t->lock);
    wf_load_module *load = t->load;
    pf_mutex_unlock(t->lock);
    return wf_reload_begin(load, ask, handed);
}

/* It sends the newest ones, and how many older ones there are. */
static const char *on_record(const struct wf_transport *t, const weft_msg *ask)
{
    struct wf_record_merge *merge = weft_alloc(sizeof *merge);
    if (merge == NULL) return weft_strerror(WEFT_ENOMEM);
    wf_record_merge_init(merge, t->node);
    const size_t most = WF_MIN(wf_record_merge_left(merge), (size_t)EVENTS_MAX);
    struct weft_record *at = weft_alloc(most * sizeof *at); /* filled from its end */
    const char *why = weft_strerror(WEFT_ENOMEM);
    if (at != NULL) {
        size_t first = most;
        uint32_t events = 0;
        for (; first > 0 && wf_record_merge_next(merge, &at[first - 1]); first--) count_event(&events);
        const struct listed l = {
            .records = at + first, .record_count = most - first, .records_older = wf_record_merge_left(merge)};
        why = wf_control_answer(ask, put_record, t, &l);
    }
    (void)weft_release(at);
    (void)weft_release(merge);
    return why;
}

static const char *on_info(const struct wf_transport *t, const weft_msg *ask)
{
    struct listed l = {.actor_count = 0};
    int rc = wf_node_count_actors(t->node, &l.actor_count, WEFT_SEC(2));
    return rc < 0 ? weft_strerror(rc) : wf_control_answer(ask, put_info, t, &l);
}

/* Whether another actor has taken `ask`. */
static bool handle(struct wf_transport *t, weft_msg *ask)
{
    bool handed = false;
    const char *why;
    switch (weft_tag(ask)) {
    case WF_CONTROL_PS:
    case WF_CONTROL_NAMES:
    case WF_CONTROL_GROUPS: why = wf_list_all(t, ask); break;
    case WF_CONTROL_PAGE: why = wf_list_page(t, ask); break;
    case WF_CONTROL_INFO: why = on_info(t, ask); break;
    case WF_CONTROL_RECORD: why = on_record(t, ask); break;
    case WF_CONTROL_NODES: why = wf_control_answer(ask, put_nodes, t, NULL); break;
    case WF_CONTROL_STOP: why = on_stop(t, ask); break;
    case WF_CONTROL_PUBLISH: why = wf_relay_publish(ask, &handed); break;
    case WF_CONTROL_LOG: why = on_log(ask); break;
    case WF_CONTROL_DRAIN: why = on_drain(t, ask); break;
    case WF_CONTROL_CERTS: why = wf_certs_begin(t, ask, &handed); break;
    case WF_CONTROL_RELOAD: why = on_reload(t, ask, &handed); break;
    case WF_CONTROL_SUBSCRIBE: why = on_subscribe(ask, wf_relay_subscribe(ask)); break;
    case WF_CONTROL_TRACE_BODIES:
    case WF_CONTROL_TRACE: why = on_subscribe(ask, wf_trace_begin(ask)); break;
    case WF_CONTROL_TOP: why = wf_top_begin(t, ask, &handed); break;
    case WF_CONTROL_STUCK: why = wf_control_answer(ask, wf_put_stuck, t, NULL); break;
    case WF_CONTROL_WHO: why = wf_who_begin(t, ask, &handed); break;
    case WF_CONTROL_INSPECT:
    case WF_CONTROL_WAITS:
    case WF_CONTROL_DROPS: why = wf_control_inspect(t, ask); break;
    default: why = WF_CONTROL_UNKNOWN; break;
    }
    if (why != NULL) (void)weft_reply(ask, WF_CONTROL_ERROR, why, strlen(why));
    return handed;
}

void wf_control_main(const void *arg, size_t size)
{
    (void)size;
    struct wf_transport *t = *(struct wf_transport *const *)arg;
    int rc = weft_register("$node");
    if (rc < 0) weft_log(WEFT_ERROR, "the command line will not reach this node: %s", weft_strerror(rc));
    weft_msg *m;
    while (rc == WEFT_OK && (rc = weft_recv(&m, WEFT_FOREVER)) == WEFT_OK) {
        if (weft_tag(m) == WEFT_TAG_DOWN) wf_tool_actor_ended(m);
        if (!weft_wants_reply(m) || !handle(t, m)) weft_msg_free(m);
    }
}

/* ---- For the program around the node --------------------------------------------------------------------------- */

void wf_transport_watch(weft_node *node, void (*notify)(void *arg, int what, const char *why), void *arg)
{
    struct wf_transport *t = node->transport;
    pf_mutex_lock(t->lock);
    t->notify = notify;
    t->notify_arg = arg;
    bool fatal = t->fatal[0] != '\0';
    pf_mutex_unlock(t->lock);
    if (fatal && notify != NULL) notify(arg, WF_NOTIFY_FATAL, t->fatal);
}

void wf_transport_set_loader(weft_node *node, wf_load_module *load)
{
    struct wf_transport *t = node->transport;
    pf_mutex_lock(t->lock);
    t->load = load;
    pf_mutex_unlock(t->lock);
}

static const struct wf_peer *first_up(const struct wf_cluster *c)
{
    WF_LIST_EACH(k, &c->peers) {
        struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
        if (p->state == WF_PEER_UP) return p;
    }
    return NULL;
}

void wf_client_lost(weft_node *node, char *why, size_t why_size)
{
    struct wf_transport *t = node->transport;
    why[0] = '\0';
    pf_mutex_lock(t->lock);
    WF_LIST_EACH(k, &t->cluster->peers) {
        const struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
        if (p->state == WF_PEER_DOWN) snprintf(why, why_size, "%s", p->reason);
    }
    pf_mutex_unlock(t->lock);
}

int wf_client_wait_up(weft_node *node, uint64_t *peer, char *name, int64_t deadline, char *why, size_t why_size)
{
    struct wf_transport *t = node->transport;
    int rc = WEFT_OK;
    const struct wf_peer *p;
    pf_mutex_lock(t->lock);
    while ((p = first_up(t->cluster)) == NULL && rc == WEFT_OK) {
        if (t->dials_failed >= t->seed_count) rc = WEFT_ENONODE;
        else rc = pf_cond_wait(t->changed, t->lock, deadline);
    }
    if (p != NULL) {
        rc = WEFT_OK;
        if (peer != NULL) *peer = p->incarnation;
        if (name != NULL) memcpy(name, p->name, sizeof p->name);
    } else if (why != NULL && why_size > 0) {
        snprintf(why, why_size, "%s", t->dial_reason);
    }
    pf_mutex_unlock(t->lock);
    return rc;
}
