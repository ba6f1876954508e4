/* transport/discover/etcd.c -- the session with etcd, on a thread of its own. See etcd.h for the notes. */
#include "etcd.h"
#include "etcd_http.h"
#include "etcd_json.h"
#include "etcd_spec.h"
#include "exclusive_names.h"
#include "source.h"
#include "text.h"
#include "transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN_LEAST WEFT_MS(500)

enum phase { PHASE_SIGN_ON, PHASE_GRANT, PHASE_REGISTER, PHASE_LIST, PHASE_READY };

struct ask {
    struct wf_list_node in_queue;
    enum wf_ask_kind kind;
    char name[WF_NAME_MAX + 1];
    int64_t token;
};

/* Another node that is registered. */
struct entry {
    struct wf_list_node in_nodes;
    char id[17]; /* its incarnation */
    struct wf_url_list urls;
};

struct wf_etcd {
    struct wf_source *source;
    struct wf_etcd_spec spec;
    char self[17];
    struct wf_http *http;
    pf_thread *thread;
    pf_mutex *lock;
    /* Under lock. */
    struct wf_list asks, tells; /* ask.in_queue, wf_etcd_event.in_queue */
    weft_event wake;
    bool listening, stop;
    int64_t stop_by;
    /* Written by the thread, in this order: sure_until = WEFT_NOW, sure_lease, sure_until; other threads read them in
     * the opposite order. The stores release, the loads acquire. */
    _Atomic int64_t sure_lease, sure_until;
    /* The thread's own. */
    enum phase phase;
    bool busy, keeping, relist, leaving, left;
    bool here; /* the list in etcd contains this node */
    uint32_t failures;
    int64_t retry_at, keep_at, lost_at;
    int64_t again_at; /* when names for which a request has failed are requested again; 0: there are none */
    uint32_t ask_failures;
    char ask_reason[WF_REASON_TEXT]; /* the reason that was logged last */
    int64_t granted;                 /* how long etcd has granted the lease, in ns */
    /* 0: none. `stale`: a lease that has ended on this node and is not revoked yet */
    int64_t lease, stale;
    int64_t revision;
    struct wf_request *watch;
    struct wf_list nodes; /* entry.in_nodes */
};

static void done(void *arg, struct wf_request *r);

/* ---- Events for the actor -------------------------------------------------------------------------------------- */

static void post_event(struct wf_etcd *e, enum wf_etcd_event_kind kind, const char *name, int64_t number)
{
    struct wf_etcd_event *t = calloc(1, sizeof *t);
    if (t == NULL) {
        weft_log(WEFT_ERROR, "etcd: out of memory for a notification about an exclusive name");
        return;
    }
    t->kind = kind;
    t->number = number;
    t->lease = e->lease;
    snprintf(t->name, sizeof t->name, "%s", name);
    pf_mutex_lock(e->lock);
    wf_list_push(&e->tells, &t->in_queue);
    bool listening = e->listening;
    weft_event wake = e->wake;
    pf_mutex_unlock(e->lock);
    if (listening) weft_event_set(wake);
}

static void set_sure(struct wf_etcd *e, int64_t lease, int64_t until)
{
    if (atomic_load_explicit(&e->sure_lease, memory_order_relaxed) != lease) { /* only this thread writes */
        atomic_store_explicit(&e->sure_until, WEFT_NOW, memory_order_release);
        atomic_store_explicit(&e->sure_lease, lease, memory_order_release);
    }
    atomic_store_explicit(&e->sure_until, until, memory_order_release);
}

int64_t wf_etcd_valid_until(const struct wf_etcd *e, int64_t lease)
{
    int64_t until = atomic_load_explicit(&e->sure_until, memory_order_acquire);
    return atomic_load_explicit(&e->sure_lease, memory_order_acquire) == lease ? until : WEFT_NOW;
}

/* ---- The lease ------------------------------------------------------------------------------------------------- */

static void request(struct wf_etcd *e, enum wf_request_kind kind, char *body, const struct ask *ask)
{
    struct wf_request *r = wf_http_start(e->http, kind, body, e->lease);
    struct wf_request none = {.kind = kind, .lease = e->lease, .error = "out of memory"};
    struct wf_request *it = r == NULL ? &none : r;
    if (ask != NULL) {
        it->token = ask->token;
        snprintf(it->name, sizeof it->name, "%s", ask->name);
    }
    if (kind == WF_REQUEST_WATCH) e->watch = r;
    if (r == NULL) done(e, &none);
}

static void revoke(struct wf_etcd *e, int64_t lease)
{
    request(e, WF_REQUEST_REVOKE, wf_etcd_json_number("ID", lease), NULL);
}

/* The lease is valid for its time, counted from when the request was sent. */
static void keep_until(struct wf_etcd *e, int64_t sent_at)
{
    int64_t margin = WF_MAX(e->granted / 5, MARGIN_LEAST);
    e->lost_at = sent_at + e->granted - margin;
    e->keep_at = sent_at + e->granted / 3;
    set_sure(e, e->lease, e->lost_at);
}

static void lose(struct wf_etcd *e, const char *why)
{
    if (e->lease == 0) return;
    set_sure(e, 0, WEFT_NOW);
    weft_log(WEFT_WARN, "etcd: the lease of this node has expired: %s; its exclusive names are lost", why);
    post_event(e, WF_ETCD_LOST, "", 0);
    WF_SOMETIMES("exclusive: a lease expires", weft_now() >= e->lost_at);
    WF_SOMETIMES("exclusive: etcd has forgotten a lease", weft_now() < e->lost_at);
    e->stale = e->lease;
    e->lease = 0;
    e->phase = PHASE_GRANT;
    e->retry_at = WEFT_NOW;
}

static void failed(struct wf_etcd *e, const char *why)
{
    int64_t wait = wf_source_backoff(e->source, e->failures++);
    wait = WF_MIN(wait, e->spec.ttl / 2);
    e->retry_at = weft_after(wait);
    WF_SOMETIMES("exclusive: etcd fails twice in a row", e->failures > 1);
    wf_source_failed(e->source, wait, "%s", why);
}

/* ---- The list of nodes ----------------------------------------------------------------------------------------- */

static void forget(struct entry *n)
{
    wf_unlink(&n->in_nodes);
    wf_url_list_finish(&n->urls);
    free(n);
}

static void forget_all(struct wf_etcd *e)
{
    for (struct wf_list_node *k; (k = wf_list_first(&e->nodes)) != NULL;)
        forget(WF_CONTAINER(k, struct entry, in_nodes));
}

static void forget_node(struct wf_etcd *e, const char *id)
{
    WF_LIST_EACH(k, &e->nodes) {
        struct entry *n = WF_CONTAINER(k, struct entry, in_nodes);
        if (strcmp(n->id, id) == 0) forget(n);
    }
}

static void keep_node(struct wf_etcd *e, const char *id, const char *text)
{
    forget_node(e, id);
    if (strcmp(id, e->self) == 0 || strlen(id) != 16) return;
    struct entry *n = calloc(1, sizeof *n);
    if (n == NULL) return;
    snprintf(n->id, sizeof n->id, "%s", id);
    wf_list_push(&e->nodes, &n->in_nodes);
    if (!wf_etcd_node_urls(text, &n->urls)) {
        weft_log(WEFT_WARN, "discover %s: the value of key %snodes/%s does not describe a node", e->source->spec,
                 e->spec.prefix, id);
        forget(n);
    }
}

static void report(struct wf_etcd *e)
{
    struct wf_url_list all = {0};
    WF_LIST_EACH(k, &e->nodes) {
        const struct entry *n = WF_CONTAINER(k, struct entry, in_nodes);
        for (size_t i = 0; i < n->urls.count; i++) wf_url_list_add(&all, n->urls.url[i]);
    }
    wf_source_found(e->source, &all, true);
    wf_url_list_finish(&all);
}

/* One key of ours that was set or (`gone`) deleted. */
static void on_key(struct wf_etcd *e, const struct json_t *kv, bool gone, int64_t revision)
{
    char key[WF_URL_TEXT], value[WF_FRAME_URLS * WF_URL_TEXT];
    size_t n = strlen(e->spec.prefix);
    if (!wf_etcd_unbase64(wf_etcd_text(kv, "key"), key, sizeof key) || strncmp(key, e->spec.prefix, n) != 0) return;
    if (strncmp(key + n, "nodes/", 6) == 0) {
        const char *id = key + n + 6;
        if (gone) forget_node(e, id);
        else if (wf_etcd_unbase64(wf_etcd_text(kv, "value"), value, sizeof value)) keep_node(e, id, value);
        if (strcmp(id, e->self) == 0) e->here = !gone;
    } else if (strncmp(key + n, "exclusive/", 10) == 0 && gone) {
        if (strlen(key + n + 10) <= WF_NAME_MAX) post_event(e, WF_ETCD_FREED, key + n + 10, revision);
    }
}

static void on_list(struct wf_etcd *e, const struct json_t *answer)
{
    const struct json_t *kvs = wf_etcd_member(answer, "kvs");
    e->revision = wf_etcd_number(wf_etcd_member(answer, "header"), "revision");
    forget_all(e);
    e->here = false;
    for (size_t i = 0; i < wf_etcd_count(kvs); i++) on_key(e, wf_etcd_item(kvs, i), false, 0);
    report(e);
}

/* One line of the watch. */
static void on_watch(void *arg, struct wf_request *r, const struct json_t *line)
{
    struct wf_etcd *e = arg;
    const struct json_t *result = wf_etcd_member(line, "result");
    const struct json_t *events = wf_etcd_member(result, "events");
    if (result == NULL || wf_etcd_true(result, "canceled")) {
        wf_http_end(r, "etcd has ended the watch (compacted, or no permission)");
        return;
    }
    bool nodes = false;
    for (size_t i = 0; i < wf_etcd_count(events); i++) {
        const struct json_t *event = wf_etcd_item(events, i), *kv = wf_etcd_member(event, "kv");
        on_key(e, kv, strcmp(wf_etcd_text(event, "type"), "DELETE") == 0, wf_etcd_number(kv, "mod_revision"));
        nodes = true;
    }
    if (nodes) report(e);
}

/* ---- Phases ---------------------------------------------------------------------------------------------------- */

static void start_phase(struct wf_etcd *e)
{
    char key[WF_URL_TEXT], *text;
    e->busy = true;
    switch (e->phase) {
    case PHASE_SIGN_ON:
        request(e, WF_REQUEST_SIGN_ON, wf_etcd_json_sign_on(e->spec.user, e->spec.password), NULL);
        break;
    case PHASE_GRANT:
        if (e->stale != 0) revoke(e, e->stale);
        request(e, WF_REQUEST_GRANT, wf_etcd_json_number("TTL", e->spec.ttl / WEFT_SEC(1)), NULL);
        break;
    case PHASE_REGISTER:
        snprintf(key, sizeof key, "%snodes/%s", e->spec.prefix, e->self);
        text = wf_etcd_node_text(e->source->t);
        request(e, WF_REQUEST_REGISTER, text == NULL ? NULL : wf_etcd_json_put(key, text, e->lease), NULL);
        free(text);
        break;
    case PHASE_LIST: request(e, WF_REQUEST_LIST, wf_etcd_json_range(e->spec.prefix), NULL); break;
    case PHASE_READY: e->busy = false; break;
    }
}

static void next_phase(struct wf_etcd *e)
{
    e->phase++;
    e->retry_at = WEFT_NOW;
    if (e->phase != PHASE_READY) return;
    e->failures = 0;
    e->relist = false;
    request(e, WF_REQUEST_WATCH, wf_etcd_json_watch(e->spec.prefix, e->revision + 1), NULL);
    post_event(e, WF_ETCD_AGAIN, "", 0);
}

static void on_granted(struct wf_etcd *e, const struct wf_request *r)
{
    e->lease = wf_etcd_number(r->answer, "ID");
    e->granted = WEFT_SEC(wf_etcd_number(r->answer, "TTL"));
    if (e->lease == 0 || e->granted < WEFT_SEC(1)) {
        e->lease = 0;
        failed(e, "etcd grants no lease");
        return;
    }
    e->keeping = false;
    keep_until(e, r->sent_at);
    /* Without a URL to dial there is nothing to register. */
    if (wf_transport_urls(e->source->t) == 0) e->phase++;
    next_phase(e);
}

static void on_kept(struct wf_etcd *e, const struct wf_request *r)
{
    WF_SOMETIMES("exclusive: an answer belongs to a lease that has ended", r->lease != e->lease);
    if (r->lease != e->lease || e->lease == 0) return;
    e->keeping = false;
    if (r->error != NULL) {
        e->relist = true; /* the watch may use the same broken connection */
        e->keep_at = weft_after(WF_MIN(e->granted / 10, WEFT_SEC(1)));
        wf_source_failed(e->source, e->granted / 10, "%s", r->error);
    } else if (wf_etcd_number(wf_etcd_member(r->answer, "result"), "TTL") <= 0) {
        lose(e, "etcd no longer knows it");
        e->stale = 0;
    } else {
        keep_until(e, r->sent_at);
    }
}

static void on_phase_done(struct wf_etcd *e, struct wf_request *r)
{
    static const enum phase phases[] = {[WF_REQUEST_SIGN_ON] = PHASE_SIGN_ON,
                                        [WF_REQUEST_GRANT] = PHASE_GRANT,
                                        [WF_REQUEST_REGISTER] = PHASE_REGISTER,
                                        [WF_REQUEST_LIST] = PHASE_LIST};
    e->busy = false;
    if (phases[r->kind] != e->phase) return; /* the lease was lost while this request was under way */
    if (r->error != NULL) {
        if (r->denied && e->spec.user[0] != '\0') e->phase = PHASE_SIGN_ON;
        failed(e, r->error);
        return;
    }
    switch (r->kind) {
    case WF_REQUEST_SIGN_ON:
        wf_http_token(e->http, wf_etcd_text(r->answer, "token"));
        next_phase(e);
        if (e->lease != 0) e->phase = PHASE_REGISTER;
        break;
    case WF_REQUEST_GRANT: on_granted(e, r); break;
    case WF_REQUEST_LIST:
        on_list(e, r->answer);
        next_phase(e);
        break;
    default: next_phase(e); break;
    }
}

/* ---- Exclusive names ------------------------------------------------------------------------------------------- */

/* A request has failed: it is unknown whether etcd has done it. */
static void ask_failed(struct wf_etcd *e, const struct wf_request *r)
{
    post_event(e, WF_ETCD_FAILED, r->name, 0);
    int64_t wait = wf_source_backoff(e->source, e->ask_failures++);
    e->again_at = weft_after(WF_MIN(wait, e->spec.ttl));
    if (r->error == NULL || strcmp(r->error, e->ask_reason) == 0) return;
    snprintf(e->ask_reason, sizeof e->ask_reason, "%s", r->error);
    weft_log(WEFT_WARN, "exclusive name %s: %s; retrying", r->name, r->error);
}

static void ask_went_well(struct wf_etcd *e)
{
    e->ask_failures = 0;
    e->ask_reason[0] = '\0';
}

static void on_acquired(struct wf_etcd *e, const struct wf_request *r)
{
    int64_t revision = wf_etcd_number(wf_etcd_member(r->answer, "header"), "revision");
    const struct json_t *responses = wf_etcd_member(r->answer, "responses");
    if (r->error != NULL || r->lease != e->lease || e->lease == 0 || revision == 0) {
        ask_failed(e, r);
        return;
    }
    ask_went_well(e);
    if (wf_etcd_true(r->answer, "succeeded")) {
        post_event(e, WF_ETCD_ACQUIRED, r->name, revision);
    } else {
        /* The key belongs to this node if the answer to an earlier request was lost. */
        const struct json_t *kvs = wf_etcd_member(wf_etcd_member(wf_etcd_item(responses, 0), "response_range"),
                                                  "kvs");
        const struct json_t *kv = wf_etcd_item(kvs, 0);
        bool ours = kv != NULL && wf_etcd_number(kv, "lease") == e->lease;
        WF_SOMETIMES("exclusive: the answer to an earlier request was lost", ours);
        if (ours) post_event(e, WF_ETCD_ACQUIRED, r->name, wf_etcd_number(kv, "create_revision"));
        else post_event(e, WF_ETCD_TAKEN, r->name, revision);
    }
}

static void take_asks(struct wf_etcd *e)
{
    for (;;) {
        pf_mutex_lock(e->lock);
        struct wf_list_node *k = wf_list_pop(&e->asks);
        pf_mutex_unlock(e->lock);
        if (k == NULL) return;
        struct ask *a = WF_CONTAINER(k, struct ask, in_queue);
        char key[WF_URL_TEXT];
        snprintf(key, sizeof key, "%sexclusive/%s", e->spec.prefix, a->name);
        if (e->lease == 0 || e->phase != PHASE_READY) post_event(e, WF_ETCD_FAILED, a->name, 0);
        else if (a->kind == WF_ASK_ACQUIRE)
            request(e, WF_REQUEST_ACQUIRE, wf_etcd_json_acquire(key, e->source->t->node->name, e->lease), a);
        else request(e, WF_REQUEST_RELEASE, wf_etcd_json_release(key, a->token), a);
        free(a);
    }
}

/* ---- The thread ------------------------------------------------------------------------------------------------ */

/* A request has ended, with `answer` or `error`. */
static void done(void *arg, struct wf_request *r)
{
    struct wf_etcd *e = arg;
    if (r->denied && e->spec.user[0] != '\0' && e->phase == PHASE_READY) {
        e->phase = PHASE_SIGN_ON; /* the token has expired */
        e->retry_at = WEFT_NOW;
    }
    switch (r->kind) {
    case WF_REQUEST_KEEP: on_kept(e, r); break;
    case WF_REQUEST_WATCH:
        e->watch = NULL;
        if (e->phase != PHASE_READY || e->leaving) break;
        WF_SOMETIMES("exclusive: the watch has ended, and the list is requested again", true);
        e->phase = PHASE_LIST;
        failed(e, r->error);
        break;
    case WF_REQUEST_REVOKE:
        if (r->error == NULL || r->not_found) e->stale = 0;
        if (e->leaving) e->left = true;
        break;
    case WF_REQUEST_ACQUIRE: on_acquired(e, r); break;
    case WF_REQUEST_RELEASE:
        if (r->error == NULL) post_event(e, WF_ETCD_RELEASED, r->name, 0);
        else ask_failed(e, r);
        break;
    default: on_phase_done(e, r); break;
    }
}

static void leave(struct wf_etcd *e)
{
    e->leaving = true;
    set_sure(e, 0, WEFT_NOW);
    if (e->lease == 0) e->left = true;
    else revoke(e, e->lease);
}

/* Does the work that is due; returns when to call it again. */
static int64_t step(struct wf_etcd *e)
{
    int64_t now = weft_now();
    pf_mutex_lock(e->lock);
    bool stop = e->stop;
    int64_t stop_by = e->stop_by;
    pf_mutex_unlock(e->lock);
    if (stop && !e->leaving) leave(e);
    if (e->leaving) {
        if (now >= stop_by) e->left = true;
        return stop_by;
    }
    if (e->lease != 0 && now >= e->lost_at) lose(e, "etcd did not answer in time");
    if (e->lease != 0 && !e->keeping && now >= e->keep_at) {
        e->keeping = true;
        request(e, WF_REQUEST_KEEP, wf_etcd_json_number("ID", e->lease), NULL);
    }
    /* The key of this node has been deleted in etcd. A node without URLs has no key. */
    bool deleted = !e->here && e->lease != 0 && wf_transport_urls(e->source->t) > 0;
    if ((e->relist || deleted) && e->phase == PHASE_READY && !e->keeping) {
        e->relist = false;
        e->phase = PHASE_REGISTER;
        e->retry_at = WEFT_NOW;
    }
    if (e->phase != PHASE_READY && e->watch != NULL && !e->busy) wf_http_end(e->watch, "the list is requested again");
    if (e->phase != PHASE_READY && !e->busy && now >= e->retry_at) start_phase(e);
    take_asks(e);
    if (e->again_at != 0 && now >= e->again_at) {
        e->again_at = 0;
        post_event(e, WF_ETCD_AGAIN, "", 0);
    }
    int64_t at = e->phase != PHASE_READY && !e->busy ? e->retry_at : WEFT_FOREVER;
    if (e->lease != 0) at = WF_MIN(at, e->keeping ? e->lost_at : WF_MIN(e->lost_at, e->keep_at));
    return e->again_at != 0 ? WF_MIN(at, e->again_at) : at;
}

static void etcd_main(void *arg)
{
    struct wf_etcd *e = arg;
    while (!e->left) {
        int64_t at = step(e);
        if (!e->left) wf_http_turn(e->http, at);
    }
    wf_http_end_all(e->http);
}

/* ---- From other threads ---------------------------------------------------------------------------------------- */

int wf_etcd_ask(struct wf_etcd *e, enum wf_ask_kind kind, const char *name, int64_t token)
{
    struct ask *a = calloc(1, sizeof *a);
    if (a == NULL) return WEFT_ENOMEM;
    a->kind = kind;
    a->token = token;
    snprintf(a->name, sizeof a->name, "%s", name);
    pf_mutex_lock(e->lock);
    bool stop = e->stop;
    if (!stop) wf_list_push(&e->asks, &a->in_queue);
    pf_mutex_unlock(e->lock);
    if (stop) free(a);
    else wf_http_wake(e->http);
    return stop ? WEFT_ECLOSED : WEFT_OK;
}

void wf_etcd_listen(struct wf_etcd *e, weft_event wake)
{
    pf_mutex_lock(e->lock);
    e->wake = wake;
    e->listening = true;
    pf_mutex_unlock(e->lock);
    weft_event_set(wake);
}

struct wf_etcd_event *wf_etcd_take_event(struct wf_etcd *e)
{
    pf_mutex_lock(e->lock);
    struct wf_list_node *k = wf_list_pop(&e->tells);
    pf_mutex_unlock(e->lock);
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_etcd_event, in_queue);
}

static void etcd_close(struct wf_source *s)
{
    struct wf_etcd *e = s->own;
    if (e == NULL) return;
    s->t->etcd = NULL;
    forget_all(e);
    for (struct wf_list_node *k; (k = wf_list_pop(&e->asks)) != NULL;) free(WF_CONTAINER(k, struct ask, in_queue));
    for (struct wf_list_node *k; (k = wf_list_pop(&e->tells)) != NULL;)
        free(WF_CONTAINER(k, struct wf_etcd_event, in_queue));
    wf_http_destroy(e->http);
    pf_mutex_destroy(e->lock);
    memset(e->spec.password, 0, sizeof e->spec.password);
    free(e);
}

static void etcd_leave(struct wf_source *s, int64_t deadline)
{
    struct wf_etcd *e = s->own;
    if (e->thread == NULL) return;
    pf_mutex_lock(e->lock);
    e->stop = true;
    e->stop_by = deadline;
    pf_mutex_unlock(e->lock);
    wf_http_wake(e->http);
    pf_thread_join(e->thread);
    e->thread = NULL;
}

static int etcd_start(struct wf_source *s)
{
    struct wf_etcd *e = s->own;
    snprintf(e->self, sizeof e->self, "%016" PRIx64, s->t->node->incarnation);
    int rc = wf_exclusive_start(s->t);
    return rc < 0 ? rc : pf_thread_start(&e->thread, "weft etcd", etcd_main, e);
}

static int etcd_open(struct wf_source *s, const char *rest, char *why)
{
    if (s->t->etcd != NULL) {
        snprintf(why, WF_REASON_TEXT, "there is another etcd: before it; one is enough");
        return WEFT_EADDRESS;
    }
    struct wf_etcd *e = calloc(1, sizeof *e);
    if (e == NULL) return WEFT_ENOMEM;
    s->own = e;
    e->source = s;
    wf_list_init(&e->asks);
    wf_list_init(&e->tells);
    wf_list_init(&e->nodes);
    int rc = wf_etcd_spec_read(&e->spec, s, rest, why);
    e->phase = e->spec.user[0] != '\0' ? PHASE_SIGN_ON : PHASE_GRANT;
    struct wf_http_options options = {.base = e->spec.base,
                                      .ca = e->spec.ca,
                                      .cert = e->spec.cert,
                                      .key = e->spec.key,
                                      .time = WF_MAX(e->spec.ttl / 4, WEFT_MS(500)),
                                      .done = done,
                                      .line = on_watch,
                                      .arg = e};
    if (rc == WEFT_OK) rc = wf_http_create(&options, why, &e->http);
    if (rc == WEFT_OK) rc = pf_mutex_create(&e->lock);
    if (rc == WEFT_OK) s->t->etcd = e;
    else etcd_close(s);
    if (rc < 0) s->own = NULL;
    return rc;
}

static const char *const etcd_options[] = {"ttl", "user", "password_file", "ca", "cert", "key", NULL};
const struct wf_source_kind wf_source_etcd = {"etcd:",    etcd_options, wf_etcd_spec_check, etcd_open,
                                              etcd_start, etcd_leave,   etcd_close};
