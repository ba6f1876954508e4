/* transport/cluster/members.c -- the list of members, metadata and draining: include/weft/cluster.h. */
#include "members.h"
#include "cluster.h"
#include "cluster_event.h"
#include "peers.h"
#include "transport.h"
#include "typed.h"

#include <weft/cluster.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)WEFT_META_MAX == WF_SWIM_META_MAX && (int)WEFT_META_KEY_MAX == WF_SWIM_META_KEY &&
                   (int)WEFT_META_VALUE_MAX == WF_SWIM_META_VALUE && (int)WEFT_META_BYTES_MAX == WF_SWIM_META_BYTES,
               "the limits of the frames are those of the API");
_Static_assert((int)WEFT_MEMBER_CONNECTING == WF_PEER_CONNECTING && (int)WEFT_MEMBER_UP == WF_PEER_UP &&
                   (int)WEFT_MEMBER_DOWN == WF_PEER_DOWN && (int)WEFT_MEMBER_SUSPECT == WF_PEER_SUSPECT,
               "states are those of the table");

/* ---- This node's metadata -------------------------------------------------------------------------------------- */

struct wf_swim_record wf_meta_record(const struct wf_meta *m)
{
    struct wf_swim_record r = {.meta_count = m->count};
    for (uint32_t i = 0; i < m->count; i++) {
        r.key[i] = weft_cstr(m->at[i].key);
        r.value[i] = weft_cstr(m->at[i].value);
    }
    return r;
}

/* `value` NULL: removes it. */
static int set(struct wf_meta *m, weft_text key, const char *value)
{
    if (key.size == 0) return WEFT_EINVAL;
    if (key.size > WF_SWIM_META_KEY || (value != NULL && strlen(value) > WF_SWIM_META_VALUE)) return WEFT_ETOOBIG;
    struct wf_meta changed = *m;
    uint32_t i = 0;
    while (i < changed.count && !wf_text_equal(weft_cstr(changed.at[i].key), key)) i++;
    if (value == NULL) {
        if (i < changed.count) changed.at[i] = changed.at[--changed.count];
    } else {
        if (i == WF_SWIM_META_MAX) return WEFT_ETOOBIG;
        if (i == changed.count) changed.count++;
        snprintf(changed.at[i].key, sizeof changed.at[i].key, "%.*s", WEFT_STR(key));
        snprintf(changed.at[i].value, sizeof changed.at[i].value, "%s", value);
    }
    struct wf_swim_record r = wf_meta_record(&changed);
    int rc = wf_swim_meta_check(&r);
    if (rc == WEFT_OK) *m = changed;
    return rc;
}

/* NULL, or what is wrong. */
static const char *add(struct wf_meta *m, const char *entry, int *rc)
{
    const char *equals = entry == NULL ? NULL : strchr(entry, '=');
    *rc = equals == NULL ? WEFT_EINVAL : set(m, weft_str(entry, (size_t)(equals - entry)), equals + 1);
    if (*rc == WEFT_OK) return NULL;
    if (equals == NULL) return "not KEY=VALUE";
    return "at most 16 entries, keys of 1 to 32 and values of up to 128 bytes, 512 together, no control characters";
}

const char *wf_meta_check(const char *entry)
{
    struct wf_meta m = {0};
    int rc;
    return add(&m, entry, &rc);
}

int wf_meta_options(struct wf_meta *m, const weft_node_options *o)
{
    for (size_t i = 0; i < o->meta_count; i++) {
        int rc;
        const char *wrong = add(m, o->meta[i], &rc);
        if (wrong == NULL) continue;
        weft_log(WEFT_ERROR, "node option meta: %.200s: %s", o->meta[i] == NULL ? "(null)" : o->meta[i], wrong);
        return rc;
    }
    return WEFT_OK;
}

int weft_set_meta(weft_node *node, const char *key, const char *value)
{
    if (node == NULL || node->transport == NULL || key == NULL) return WEFT_EINVAL;
    struct wf_transport *t = node->transport;
    struct wf_cluster_event *e = wf_cluster_event_new(WF_CLUSTER_EVENT_META, NULL, NULL, 0);
    if (e == NULL) return WEFT_ENOMEM;
    pf_mutex_lock(t->lock);
    int rc = set(&t->meta, weft_cstr(key), value);
    pf_mutex_unlock(t->lock);
    if (rc == WEFT_OK) wf_cluster_event_post(t, e);
    else wf_cluster_event_free(e);
    return rc;
}

/* ---- Draining -------------------------------------------------------------------------------------------------- */

int weft_drain(weft_node *node, bool on)
{
    if (node == NULL || node->transport == NULL) return WEFT_EINVAL;
    struct wf_transport *t = node->transport;
    struct wf_cluster_event *e = wf_cluster_event_new(WF_CLUSTER_EVENT_DRAIN, NULL, NULL, 0);
    if (e == NULL) return WEFT_ENOMEM;
    pf_mutex_lock(t->lock);
    int rc = set(&t->meta, weft_cstr(WEFT_META_DRAINING), on ? "true" : NULL);
    /* Relaxed: a thread that sees it a little late might as well have read it earlier. */
    if (rc == WEFT_OK) atomic_store_explicit(&node->draining, on, memory_order_relaxed);
    pf_mutex_unlock(t->lock);
    if (rc == WEFT_OK) wf_cluster_event_post(t, e);
    else wf_cluster_event_free(e);
    return rc;
}

bool weft_is_draining(const weft_node *node)
{
    return node != NULL && wf_node_is_draining(node);
}

/* ---- The list -------------------------------------------------------------------------------------------------- */

static void add_meta(struct weft_member *out, const struct wf_swim_record *r)
{
    out->meta_count = r->meta_count;
    for (uint32_t i = 0; i < r->meta_count; i++) {
        snprintf(out->meta[i].key, sizeof out->meta[i].key, "%.*s", WEFT_STR(r->key[i]));
        snprintf(out->meta[i].value, sizeof out->meta[i].value, "%.*s", WEFT_STR(r->value[i]));
    }
}

static void describe_self(const struct wf_transport *t, struct weft_member *out)
{
    out->incarnation = t->node->incarnation;
    out->state = WEFT_MEMBER_UP;
    out->self = true;
    snprintf(out->name, sizeof out->name, "%s", t->node->name);
    snprintf(out->reason, sizeof out->reason, "%s", t->cluster->partition.text);
    struct wf_swim_record r = wf_meta_record(&t->meta);
    add_meta(out, &r);
}

static void describe(const struct wf_peer *p, struct weft_member *out, int64_t now)
{
    out->incarnation = p->incarnation;
    enum wf_peer_state shown = wf_peer_shown(p);
    out->state = p->state == WF_PEER_DOWN && p->left ? WEFT_MEMBER_LEFT
                 : shown == WF_PEER_LEAF             ? WEFT_MEMBER_LEAF
                                                     : (weft_member_state)shown;
    out->since = now - p->since;
    snprintf(out->name, sizeof out->name, "%s", p->name);
    snprintf(out->reason, sizeof out->reason, "%.127s", p->reason);
    struct wf_swim_record r = wf_peer_record(p);
    add_meta(out, &r);
}

int weft_members(weft_node *node, struct weft_member **out, size_t *count)
{
    if (node == NULL || node->transport == NULL || out == NULL || count == NULL) return WEFT_EINVAL;
    struct wf_transport *t = node->transport;
    struct wf_cluster *c = t->cluster;
    int64_t now = wf_transport_now(t);
    pf_mutex_lock(t->lock);
    struct weft_member *all = calloc(c->peer_count + 1, sizeof *all);
    size_t n = 0;
    if (all != NULL) {
        describe_self(t, &all[n++]);
        WF_LIST_EACH(k, &c->peers) describe(WF_CONTAINER(k, struct wf_peer, in_cluster), &all[n++], now);
    }
    pf_mutex_unlock(t->lock);
    if (all == NULL) return WEFT_ENOMEM;
    *out = all;
    *count = n;
    return WEFT_OK;
}

const char *weft_member_meta(const struct weft_member *m, const char *key)
{
    for (uint32_t i = 0; i < m->meta_count; i++)
        if (strcmp(m->meta[i].key, key) == 0) return m->meta[i].value;
    return NULL;
}

bool weft_in_minority(const weft_node *node)
{
    return node != NULL && wf_node_in_minority(node);
}
