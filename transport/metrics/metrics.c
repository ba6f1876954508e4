/* transport/metrics/metrics.c -- the actor $metrics, which answers HTTP requests. */
#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_rows.h"
#include "metrics_text.h"
#include "page.h"
#include "web.h"
#include "node_life.h"
#include "node_stats.h"

enum { QUEUE_MAX = 64 };
enum path { PAGE, NODES, METRICS, HEALTHZ, READYZ, PATHS };

struct wf_metrics {
    weft_node *node;
    struct wf_web *http;
    pf_mutex *lock;
    struct wf_list queue; /* wf_web_ask.in_queue; under lock, as the next three */
    uint32_t queued;
    weft_event wake; /* good while AWAKE */
    enum { BEGINS, AWAKE, CLOSED } state;
    struct wf_pages pages;
    /* Of $metrics: */
    struct wf_node_stats stats;        /* with statistics of kinds */
    int64_t tallied_at;                /* 0: never */
    struct wf_histogram answers;       /* times until workers handled a question */
    uint64_t received[WF_WORKERS_MAX]; /* the highest value that was reported: a counter never decreases */
};

static void send_text(struct wf_web_ask *ask, int status, const char *text)
{
    wf_web_answer(ask, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* On a worker. */
static void on_ask(void *arg, struct wf_web_ask *ask)
{
    struct wf_metrics *m = arg;
    pf_mutex_lock(m->lock);
    bool taken = m->state != CLOSED && m->queued < QUEUE_MAX;
    if (taken) {
        wf_list_push(&m->queue, &ask->in_queue);
        m->queued++;
        if (m->state == AWAKE) (void)weft_event_set(m->wake);
    }
    pf_mutex_unlock(m->lock);
    if (!taken) send_text(ask, 503, "the node ends, or is asked too often\n");
}

static struct wf_web_ask *take(struct wf_metrics *m)
{
    pf_mutex_lock(m->lock);
    struct wf_list_node *k = wf_list_pop(&m->queue);
    if (k != NULL) m->queued--;
    pf_mutex_unlock(m->lock);
    return k == NULL ? NULL : WF_CONTAINER(k, struct wf_web_ask, in_queue);
}

/* ---- Answers --------------------------------------------------------------------------------------------------- */

static int stats(struct wf_metrics *m, bool kinds)
{
    enum { PATIENCE = 2 }; /* seconds */
    if (kinds && m->tallied_at != 0 && weft_now() - m->tallied_at < WEFT_SEC(1)) return WEFT_OK;
    int rc = wf_node_stats_take(m->node, kinds, &m->stats, weft_after(WEFT_SEC(PATIENCE)));
    m->tallied_at = rc == WEFT_OK && kinds ? weft_now() : 0;
    for (uint32_t i = 0; (rc == WEFT_OK || rc == WEFT_ETIMEDOUT) && i < m->stats.workers; i++) {
        struct wf_node_stats_worker *w = &m->stats.worker[i];
        wf_histogram_add(&m->answers, w->counted ? w->answered_in : WEFT_SEC(PATIENCE), 1);
        if (kinds) m->received[i] = WF_MAX(m->received[i], w->received);
        w->received = m->received[i];
    }
    return rc;
}

static void send_metrics(struct wf_metrics *m, struct wf_web_ask *ask)
{
    char *text = NULL;
    int rc = stats(m, true);
    if (rc == WEFT_OK || rc == WEFT_ETIMEDOUT)
        rc = wf_metrics_text(m->node->transport, &m->stats, &m->answers, &text);
    if (text != NULL) wf_metrics_rows_append(m->node->transport, &text);
    if (text == NULL) send_text(ask, 503, rc == WEFT_ECANCELED ? "the node ends\n" : "out of memory\n");
    else wf_web_answer(ask, 200, "text/plain; version=0.0.4; charset=utf-8", text, strlen(text));
    free(text);
}

static void send_health(struct wf_metrics *m, struct wf_web_ask *ask)
{
    char text[64] = "ok\n";
    int rc = stats(m, false);
    bool all = rc == WEFT_OK;
    for (uint32_t i = 0; (rc == WEFT_OK || rc == WEFT_ETIMEDOUT) && i < m->stats.workers; i++) {
        if (m->stats.worker[i].counted) continue;
        all = false;
        snprintf(text, sizeof text, "worker %u is blocked\n", (unsigned)i);
    }
    if (rc < 0 && rc != WEFT_ETIMEDOUT) snprintf(text, sizeof text, "%s\n", weft_strerror(rc));
    send_text(ask, all ? 200 : 503, text);
}

static void send_ready(const struct wf_metrics *m, struct wf_web_ask *ask)
{
    bool drains = wf_node_is_draining(m->node) || atomic_load_explicit(&m->node->stopping, memory_order_relaxed);
    bool minority = wf_node_in_minority(m->node);
    send_text(ask, drains || minority ? 503 : 200, drains ? "draining\n" : minority ? "in a minority\n" : "ready\n");
}

static void send_page(struct wf_web_ask *ask)
{
    ask->policy = wf_page_policy;
    wf_web_answer(ask, 200, "text/html; charset=utf-8", wf_page, wf_page_size);
}

static void answer(struct wf_metrics *m, struct wf_web_ask *ask)
{
    switch ((enum path)ask->path) {
    case PAGE: send_page(ask); break;
    case NODES:
        if (!wf_pages_take(&m->pages, ask)) send_text(ask, 503, "the node ends, or is asked too often\n");
        break;
    case METRICS: send_metrics(m, ask); break;
    case HEALTHZ: send_health(m, ask); break;
    case READYZ: send_ready(m, ask); break;
    case PATHS: break;
    }
}

/* A clean-up of $metrics, also if it is killed; and if it never began. */
static void close_queue(void *arg)
{
    struct wf_metrics *m = arg;
    pf_mutex_lock(m->lock);
    m->state = CLOSED;
    pf_mutex_unlock(m->lock);
    for (struct wf_web_ask *ask; (ask = take(m)) != NULL;) send_text(ask, 503, "the node has ended\n");
}

static void metrics_main(const void *arg, size_t size)
{
    (void)size;
    struct wf_metrics *m = *(struct wf_metrics *const *)arg;
    weft_event wake;
    int rc = weft_event_open(&wake);
    if (rc == WEFT_OK) rc = weft_defer(close_queue, m);
    if (rc < 0) {
        weft_log(WEFT_ERROR, "no HTTP server: %s", weft_strerror(rc));
        close_queue(m);
        return;
    }
    pf_mutex_lock(m->lock);
    m->wake = wake;
    m->state = AWAKE;
    pf_mutex_unlock(m->lock);
    do {
        for (struct wf_web_ask *ask; (ask = take(m)) != NULL;) answer(m, ask);
    } while (weft_event_await(wake, WEFT_FOREVER) >= 0);
}

int wf_metrics_start(struct wf_metrics **out, weft_node *node, const char *address, char bound[64])
{
    static const char *const paths[PATHS] = {
        [PAGE] = "/", [NODES] = "/nodes.json", [METRICS] = "/metrics", [HEALTHZ] = "/healthz", [READYZ] = "/readyz"};
    const char *why = "out of memory";
    char local[64];
    if (strchr(address, ':') == NULL) snprintf(local, sizeof local, "127.0.0.1:%.40s", address);
    else snprintf(local, sizeof local, "%.60s", address);
    struct wf_metrics *m = calloc(1, sizeof *m);
    int rc = m == NULL ? WEFT_ENOMEM : pf_mutex_create(&m->lock);
    if (rc == WEFT_OK) rc = wf_pages_init(&m->pages);
    if (rc == WEFT_OK) {
        m->node = node;
        wf_list_init(&m->queue);
        rc = wf_web_start(&m->http, node, local, paths, PATHS, on_ask, m, bound, &why);
    }
    if (rc == WEFT_OK) rc = wf_node_spawn_service(node, NULL, metrics_main, &m, sizeof m, "$metrics");
    if (rc < 0) {
        weft_log(WEFT_ERROR, "cannot serve metrics on %s: %s", local, why);
        wf_metrics_stop(m);
        return rc;
    }
    *out = m;
    return WEFT_OK;
}

void wf_metrics_stop(struct wf_metrics *m)
{
    if (m == NULL) return;
    if (m->http != NULL) close_queue(m); /* $metrics may never have begun */
    wf_pages_finish(&m->pages);
    wf_web_stop(m->http);
    pf_mutex_destroy(m->lock);
    free(m);
}
