/* tests/sim/etcd_store.h -- etcd in a simulated world: this file implements the functions of
 * transport/discover/etcd_http.h with a store in virtual time. The linker puts it in the place of libcurl (--wrap),
 * and an actor in the place of the thread that asks; all other code of the session is the product's.
 *
 * A request and its answer take some time; either may be lost. Then the request ends at its timeout, whether the
 * store has executed it or not. The store knows leases, keys, compare-and-set and watches. */
#ifndef ETCD_STORE_H
#define ETCD_STORE_H

#include "etcd_http.h"
#include "sim_world.h"

#include "../unit/actors/random.h"
#include "etcd_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { STORE_LEASES = 512, STORE_KEYS = 64, STORE_EVENTS = 8192 };

struct exchange {
    struct wf_request r;
    struct exchange *next;
    struct wf_http *http;
    char *body;
    int64_t arrives, answers, expires; /* WEFT_FOREVER: never */
    size_t seen;                       /* of a watch: events */
    bool arrived, ended;
    json_t *answer;
    char why[WF_REASON_TEXT];
};

struct wf_http {
    struct wf_http_options o;
    struct wf_http *next;
    struct exchange *first;
    unsigned host;
    weft_event wake;
    bool awake;
};

struct store_key {
    char *key, *value;
    int64_t lease, created;
};

static struct store {
    struct wf_sim_world *world;
    uint64_t random;
    struct wf_http *sessions;
    struct {
        int64_t id, time, until;
    } lease[STORE_LEASES];
    struct store_key key[STORE_KEYS];
    struct {
        json_t *line;
        int64_t revision, at;
    } event[STORE_EVENTS];
    size_t events;
    int64_t revision;
    int64_t cut_by[WF_SIM_HOSTS], slow_by, deaf_by,
        down_by; /* until then: a host cut off, answers slow or lost, it is off */
} store;

static int64_t store_now(void)
{
    return wf_sim_now(store.world);
}

/* ---- What it keeps --------------------------------------------------------------------------------------------- */

static void store_event(const char *type, const struct store_key *k)
{
    if (store.events == STORE_EVENTS) abort();
    store.event[store.events].revision = store.revision;
    store.event[store.events].at = store_now();
    store.event[store.events++].line = json_pack("{s:{s:[{s:s, s:{s:s, s:s, s:I}}]}}", "result", "events", "type",
                                                 type, "kv", "key", k->key, "value", k->value, "mod_revision",
                                                 (json_int_t)store.revision);
}

static struct store_key *store_find(const char *key)
{
    for (size_t i = 0; i < STORE_KEYS; i++)
        if (store.key[i].key != NULL && strcmp(store.key[i].key, key) == 0) return &store.key[i];
    return NULL;
}

static void store_delete(struct store_key *k)
{
    store.revision++;
    store_event("DELETE", k);
    free(k->key);
    free(k->value);
    *k = (struct store_key){0};
}

static bool store_has_lease(int64_t id)
{
    for (size_t i = 0; i < STORE_LEASES; i++)
        if (id != 0 && store.lease[i].id == id) return true;
    return false;
}

static bool store_put(const json_t *put)
{
    const char *key = wf_etcd_text(put, "key");
    struct store_key *k = store_find(key);
    if (!store_has_lease(wf_etcd_number(put, "lease"))) return false;
    store.revision++;
    for (size_t i = 0; k == NULL && i < STORE_KEYS; i++)
        if (store.key[i].key == NULL) *(k = &store.key[i]) = (struct store_key){strdup(key), NULL, 0, store.revision};
    if (k == NULL) abort();
    free(k->value);
    k->value = strdup(wf_etcd_text(put, "value"));
    k->lease = wf_etcd_number(put, "lease");
    store_event("PUT", k);
    return true;
}

static void store_end_lease(size_t i)
{
    for (size_t k = 0; k < STORE_KEYS; k++)
        if (store.key[k].key != NULL && store.key[k].lease == store.lease[i].id) store_delete(&store.key[k]);
    store.lease[i].id = 0;
}

static json_t *store_keys(void)
{
    json_t *kvs = json_array();
    for (size_t i = 0; i < STORE_KEYS; i++)
        if (store.key[i].key != NULL)
            (void)json_array_append_new(
                kvs, json_pack("{s:s, s:s}", "key", store.key[i].key, "value", store.key[i].value));
    return kvs;
}

static json_t *header(void)
{
    return json_pack("{s:I}", "revision", (json_int_t)store.revision);
}

/* ---- What it answers ------------------------------------------------------------------------------------------- */

static json_t *answer_lease(struct exchange *x, const json_t *ask)
{
    int64_t id = wf_etcd_number(ask, "ID"), time = WEFT_SEC(wf_etcd_number(ask, "TTL"));
    size_t i = 0;
    while (i < STORE_LEASES && store.lease[i].id != (x->r.kind == WF_REQUEST_GRANT ? 0 : id)) i++;
    if (i == STORE_LEASES) {
        snprintf(x->why, sizeof x->why, "requested lease not found");
        x->r.not_found = true;
        return x->r.kind == WF_REQUEST_KEEP ? json_pack("{s:{s:i}}", "result", "TTL", 0) : NULL;
    }
    if (x->r.kind == WF_REQUEST_REVOKE) {
        store_end_lease(i);
        return json_object();
    }
    if (x->r.kind == WF_REQUEST_GRANT) {
        store.lease[i].id = 1 + (int64_t)(random_next(&store.random) >> 2); /* in no order, as etcd's */
        store.lease[i].time = time;
    }
    store.lease[i].until = store_now() + store.lease[i].time;
    int seconds = (int)(store.lease[i].time / WEFT_SEC(1));
    json_t *said = json_pack("{s:I, s:i}", "ID", (json_int_t)store.lease[i].id, "TTL", seconds);
    return x->r.kind == WF_REQUEST_KEEP ? json_pack("{s:o}", "result", said) : said;
}

static json_t *answer_transaction(struct exchange *x, const json_t *ask)
{
    const json_t *compare = wf_etcd_item(wf_etcd_member(ask, "compare"), 0);
    const json_t *todo = wf_etcd_item(wf_etcd_member(ask, "success"), 0);
    struct store_key *k = store_find(wf_etcd_text(compare, "key"));
    bool holds = (k == NULL ? 0 : k->created) == wf_etcd_number(compare, "create_revision");
    const json_t *put = wf_etcd_member(todo, "request_put");
    if (holds && put != NULL && !store_put(put)) {
        snprintf(x->why, sizeof x->why, "requested lease not found");
        return NULL;
    }
    if (holds && put == NULL && k != NULL) store_delete(k);
    json_t *said = json_pack("{s:o, s:b}", "header", header(), "succeeded", holds);
    if (!holds && k != NULL)
        (void)json_object_set_new(said, "responses",
                                  json_pack("[{s:{s:[{s:s, s:I, s:I}]}}]", "response_range", "kvs", "key", k->key,
                                            "lease", (json_int_t)k->lease, "create_revision",
                                            (json_int_t)k->created));
    return said;
}

static void answer(struct exchange *x)
{
    json_t *ask = json_loads(x->body, 0, NULL);
    x->arrived = true;
    switch (x->r.kind) {
    case WF_REQUEST_GRANT:
    case WF_REQUEST_KEEP:
    case WF_REQUEST_REVOKE: x->answer = answer_lease(x, ask); break;
    case WF_REQUEST_REGISTER:
        if (store_put(ask)) x->answer = json_object();
        else snprintf(x->why, sizeof x->why, "requested lease not found");
        break;
    case WF_REQUEST_LIST: x->answer = json_pack("{s:o, s:o}", "header", header(), "kvs", store_keys()); break;
    case WF_REQUEST_ACQUIRE:
    case WF_REQUEST_RELEASE: x->answer = answer_transaction(x, ask); break;
    case WF_REQUEST_WATCH: {
        int64_t from = wf_etcd_number(wf_etcd_member(ask, "create_request"), "start_revision");
        while (x->seen < store.events && store.event[x->seen].revision < from) x->seen++;
        break;
    }
    default: break;
    }
    json_decref(ask);
}

/* ---- The way there and back ------------------------------------------------------------------------------------ */

static bool is_cut(unsigned host)
{
    return store_now() < store.cut_by[host] || store_now() < store.down_by;
}

static int64_t delay(void)
{
    int64_t most = store_now() < store.slow_by ? WEFT_MS(1200) : WEFT_MS(3);
    return WEFT_US(100) + (int64_t)random_below(&store.random, (uint32_t)(most / 1000)) * 1000;
}

static void step_exchange(struct exchange *x)
{
    if (!x->arrived && store_now() >= x->arrives) {
        if (is_cut(x->http->host)) {
            x->arrives = WEFT_FOREVER;
            return;
        }
        answer(x);
        bool lost = store_now() < store.deaf_by && random_below(&store.random, 2) == 0;
        if (x->r.kind != WF_REQUEST_WATCH && !lost) x->answers = store_now() + delay();
    }
    if (x->arrived && x->answers < WEFT_FOREVER && is_cut(x->http->host)) x->answers = WEFT_FOREVER;
}

/* Whether there is something for its session. */
static bool is_ready(const struct exchange *x)
{
    bool news = x->r.kind == WF_REQUEST_WATCH && x->arrived && x->seen < store.events && !is_cut(x->http->host);
    return x->ended || news || store_now() >= WF_MIN(x->answers, x->expires);
}

/* Leases end up to a tenth of a second late. */
static void store_step(void)
{
    for (size_t i = 0; i < STORE_LEASES && store_now() >= store.down_by; i++)
        if (store.lease[i].id != 0 && store_now() >= store.lease[i].until && random_below(&store.random, 100) == 0)
            store_end_lease(i);
    for (struct wf_http *h = store.sessions; h != NULL; h = h->next)
        for (struct exchange *x = h->first; x != NULL; x = x->next) {
            step_exchange(x);
            if (h->awake && is_ready(x)) (void)weft_event_set(h->wake);
        }
}

static void store_finish(void)
{
    for (size_t i = 0; i < STORE_KEYS; i++) {
        free(store.key[i].key);
        free(store.key[i].value);
    }
    for (size_t i = 0; i < store.events; i++) json_decref(store.event[i].line);
}

/* ---- In the place of etcd_http.c and its thread ---------------------------------------------------------------- */

int __wrap_wf_http_create(const struct wf_http_options *options, char *why, struct wf_http **out);
void __wrap_wf_http_destroy(struct wf_http *h);
struct wf_request *__wrap_wf_http_start(struct wf_http *h, enum wf_request_kind kind, char *body, int64_t lease);
void __wrap_wf_http_end(struct wf_request *r, const char *why);
void __wrap_wf_http_end_all(struct wf_http *h);
void __wrap_wf_http_turn(struct wf_http *h, int64_t until);
void __wrap_wf_http_wake(struct wf_http *h);
void __wrap_wf_http_token(struct wf_http *h, const char *token);
int __wrap_pf_thread_start(pf_thread **out, const char *name, void (*body)(void *), void *arg);
int __real_pf_thread_start(pf_thread **out, const char *name, void (*body)(void *), void *arg);
void __wrap_pf_thread_join(pf_thread *t);
void __real_pf_thread_join(pf_thread *t);

int __wrap_wf_http_create(const struct wf_http_options *options, char *why, struct wf_http **out)
{
    (void)why;
    struct wf_http *h = calloc(1, sizeof *h);
    if (h == NULL) abort();
    h->o = *options;
    h->host = store.world->starting;
    h->next = store.sessions;
    *out = store.sessions = h;
    return WEFT_OK;
}

static void exchange_free(struct exchange *x)
{
    struct exchange **at = &x->http->first;
    while (*at != x) at = &(*at)->next;
    *at = x->next;
    json_decref(x->answer);
    free(x->body);
    free(x);
}

void __wrap_wf_http_end_all(struct wf_http *h)
{
    while (h->first != NULL) exchange_free(h->first);
}

void __wrap_wf_http_destroy(struct wf_http *h)
{
    struct wf_http **at = &store.sessions;
    if (h == NULL) return;
    __wrap_wf_http_end_all(h);
    while (*at != h) at = &(*at)->next;
    *at = h->next;
    free(h);
}

struct wf_request *__wrap_wf_http_start(struct wf_http *h, enum wf_request_kind kind, char *body, int64_t lease)
{
    struct exchange *x = calloc(1, sizeof *x), **at = &h->first;
    if (x == NULL || body == NULL) abort();
    while (*at != NULL) at = &(*at)->next;
    *at = x;
    x->http = h;
    x->body = body;
    x->r = (struct wf_request){.kind = kind, .lease = lease, .sent_at = weft_now()};
    x->arrives = is_cut(h->host) ? WEFT_FOREVER : store_now() + delay();
    x->answers = WEFT_FOREVER;
    x->expires = kind == WF_REQUEST_WATCH && x->arrives < WEFT_FOREVER ? WEFT_FOREVER : store_now() + h->o.time;
    return &x->r;
}

void __wrap_wf_http_end(struct wf_request *r, const char *why)
{
    struct exchange *x = (struct exchange *)r;
    if (x->ended) return;
    x->ended = true;
    snprintf(x->why, sizeof x->why, "%s", why);
}

/* True: its session may have changed. */
static bool hear(struct exchange *x)
{
    struct wf_http *h = x->http;
    if (!is_ready(x)) return false;
    if (x->r.kind == WF_REQUEST_WATCH && !x->ended && x->arrived && x->seen < store.events) {
        h->o.line(h->o.arg, &x->r, store.event[x->seen++].line);
        return true;
    }
    bool answered = !x->ended && store_now() >= x->answers;
    if (!answered && x->why[0] == '\0') snprintf(x->why, sizeof x->why, "no answer in time");
    if (answered && x->answer != NULL) x->r.answer = x->answer;
    else x->r.error = x->why;
    h->o.done(h->o.arg, &x->r);
    exchange_free(x);
    return true;
}

void __wrap_wf_http_turn(struct wf_http *h, int64_t until)
{
    for (struct exchange *x = h->first; x != NULL; x = x->next)
        if (hear(x)) return;
    for (struct exchange *x = h->first; x != NULL; x = x->next) until = WF_MIN(until, WF_MIN(x->answers, x->expires));
    int rc = weft_event_await(h->wake, until);
    if (rc != WEFT_OK && rc != WEFT_ETIMEDOUT) weft_exit(WEFT_EXIT_NORMAL);
}

void __wrap_wf_http_wake(struct wf_http *h)
{
    if (h->awake) (void)weft_event_set(h->wake);
}

void __wrap_wf_http_token(struct wf_http *h, const char *token)
{
    (void)h, (void)token;
}

struct thread {
    void (*body)(void *);
    void *arg;
    struct wf_http *http;
};

static void thread_main(const void *arg, size_t size)
{
    struct thread t;
    memcpy(&t, arg, size);
    if (weft_event_open(&t.http->wake) < 0) abort();
    t.http->awake = true;
    t.body(t.arg);
}

/* The session of the node that starts. */
int __wrap_pf_thread_start(pf_thread **out, const char *name, void (*body)(void *), void *arg)
{
    if (strcmp(name, "weft etcd") != 0) return __real_pf_thread_start(out, name, body, arg);
    struct thread t = {body, arg, store.sessions};
    *out = (pf_thread *)(void *)store.sessions;
    return weft_node_spawn(store.world->host[store.world->starting].node, NULL, thread_main, &t, sizeof t,
                           &(weft_spawn_options){.stack_bytes = 256 * 1024});
}

/* It has ended with the actors of its node. */
void __wrap_pf_thread_join(pf_thread *t)
{
    for (const struct wf_http *h = store.sessions; h != NULL; h = h->next)
        if ((const void *)h == (const void *)t) return;
    __real_pf_thread_join(t);
}

#endif
