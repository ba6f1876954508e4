/* transport/metrics/web.c -- see web.h. */
#include "web.h"

#include "http.h"
#include "node_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/actor.h>
#include <weft/error.h>
#include <weft/event.h>
#include <weft/stream.h>

enum { PLACES = 64, SHARE = 16 };
#define HEAD_TIME WEFT_SEC(5)
#define WRITE_TIME WEFT_SEC(10)

struct wf_web {
    void (*on_ask)(void *arg, struct wf_web_ask *ask);
    void *arg;
    const char *const *paths;
    int count;
    char address[64], host[64]; /* the address to listen on, and the host name in it; "": it has none */
    pf_mutex *lock;
    pf_cond *changed;
    bool started; /* under lock, as the next two */
    int error;
    char *bound;
};

struct ask {
    struct wf_web_ask base;
    struct wf_web *web;
    weft_event done;
    bool head;           /* only the answer's head is wanted */
    bool gone, answered; /* under web->lock, as the next two */
    char *answer;        /* malloc'ed; NULL: there was no memory */
    size_t size;
};

/* ---- Answers --------------------------------------------------------------------------------------------------- */

static const char *status_text(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    default: return "Service Unavailable";
    }
}

static char *answer_text(const struct ask *a, int status, const char *type, const void *body, size_t size,
                         size_t *out)
{
    enum { HEAD = 1024 };
    const char *policy = a->base.policy == NULL ? "default-src 'none'" : a->base.policy;
    char *text = malloc(HEAD + size);
    if (text == NULL) return NULL;
    int n = snprintf(text, HEAD,
                     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n"
                     "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: %s\r\nConnection: close\r\n\r\n",
                     status, status_text(status), type, size, policy);
    WF_ASSERT(n > 0 && n < HEAD);
    if (!a->head && size > 0) memcpy(text + n, body, size);
    *out = (size_t)n + (a->head ? 0 : size);
    return text;
}

void wf_web_answer(struct wf_web_ask *ask, int status, const char *type, const void *body, size_t size)
{
    struct ask *a = WF_CONTAINER(ask, struct ask, base);
    pf_mutex *lock = a->web->lock;
    size_t answer_size = 0;
    char *answer = answer_text(a, status, type, body, size, &answer_size);
    pf_mutex_lock(lock);
    bool gone = a->gone;
    a->answer = answer;
    a->size = answer_size;
    a->answered = true;
    if (!gone) (void)weft_event_set(a->done); /* while it holds the lock the connection is there */
    pf_mutex_unlock(lock);
    if (!gone) return;
    free(answer);
    free(a);
}

/* A clean-up of the connection. */
static void let_go(void *arg)
{
    struct ask *a = arg;
    pf_mutex_lock(a->web->lock);
    bool answered = a->answered;
    a->gone = true;
    pf_mutex_unlock(a->web->lock);
    if (!answered) return;
    free(a->answer);
    free(a);
}

/* ---- Connections ----------------------------------------------------------------------------------------------- */

struct visit {
    struct wf_web *web;
    weft_stream stream;
};

/* Reads the head and returns its size; 0: it is too long; negative: there is none, and no client to answer. */
static int64_t read_head(weft_stream s, uint8_t buffer[WF_HTTP_HEAD_MAX])
{
    int64_t by = weft_after(HEAD_TIME);
    size_t used = 0, head = 0;
    while (head == 0 && used < WF_HTTP_HEAD_MAX) {
        int64_t n = weft_read(s, buffer + used, WF_HTTP_HEAD_MAX - used, by);
        if (n <= 0) return n == 0 ? WEFT_ECLOSED : n;
        used += (size_t)n;
        head = wf_http_head(buffer, used);
    }
    return (int64_t)head;
}

static bool is_for_us(const struct wf_web *h, const struct wf_http_request *r)
{
    struct wf_http_text host = wf_http_host(r->host);
    return host.at != NULL && host.size > 0 && (wf_http_host_is_numeric(host) || wf_http_is(host, h->host));
}

/* 0: it is good, and for `*path`. */
static int judge(const struct wf_web *h, const uint8_t *head, int64_t size, bool *is_head, int *path)
{
    struct wf_http_request r;
    if (size == 0) return 431;
    if (!wf_http_read(&r, head, (size_t)size) || r.twice) return 400;
    bool old = wf_http_is(r.version, "HTTP/1.0");
    if ((!old && !wf_http_is(r.version, "HTTP/1.1")) || (!old && r.host.at == NULL)) return 400;
    if (r.host.at != NULL && !is_for_us(h, &r)) return 421;
    *is_head = wf_http_is(r.method, "HEAD");
    if (!*is_head && !wf_http_is(r.method, "GET")) return 405;
    for (*path = 0; *path < h->count; ++*path)
        if (wf_http_path_is(&r, h->paths[*path])) return 0;
    return 404;
}

/* Closing while input is unread would reset the connection, and the answer might be lost: a second is for reading. */
static void part(weft_stream s)
{
    char rest[512];
    int64_t until = weft_after(WEFT_SEC(1));
    if (weft_shutdown(s) < 0) return;
    while (weft_read(s, rest, sizeof rest, until) > 0) {}
}

static void visit_main(const void *arg, size_t size)
{
    (void)size;
    const struct visit *v = arg;
    struct ask *a = NULL;
    uint8_t buffer[WF_HTTP_HEAD_MAX];
    bool is_head = false;
    int path = 0;
    if (weft_defer_close(v->stream) < 0) return;
    int64_t head = read_head(v->stream, buffer);
    if (head < 0 || (a = calloc(1, sizeof *a)) == NULL) return;
    int status = judge(v->web, buffer, head, &is_head, &path);
    *a = (struct ask){.base.path = path, .web = v->web, .head = is_head};
    if (weft_event_open(&a->done) < 0 || weft_defer(let_go, a) < 0) {
        free(a);
        return;
    }
    if (status != 0) {
        const char *text = status_text(status);
        wf_web_answer(&a->base, status, "text/plain; charset=utf-8", text, strlen(text));
    } else {
        v->web->on_ask(v->web->arg, &a->base);
    }
    if (weft_event_await(a->done, WEFT_FOREVER) < 0 || a->answer == NULL) return;
    if (weft_write(v->stream, a->answer, a->size, weft_after(WRITE_TIME)) >= 0) part(v->stream);
}

/* ---- The server ------------------------------------------------------------------------------------------------ */

static void answer_start(struct wf_web *h, int error, const char *bound)
{
    pf_mutex_lock(h->lock);
    snprintf(h->bound, 64, "%.63s", bound);
    h->error = error;
    h->started = true;
    pf_cond_broadcast(h->changed);
    pf_mutex_unlock(h->lock);
}

static void http_main(const void *arg, size_t size)
{
    (void)size;
    struct visit v = {.web = *(struct wf_web *const *)arg};
    const weft_spawn_options beside = {.kind = "$request", .worker = WEFT_BESIDE};
    char bound[WEFT_ADDRESS_TEXT] = "";
    weft_listener l;
    int rc = weft_listen(&l, v.web->address, NULL);
    if (rc == WEFT_OK) rc = weft_listener_defer_close(l);
    if (rc == WEFT_OK) rc = weft_listener_places(l, PLACES, SHARE);
    if (rc == WEFT_OK) rc = weft_listener_address(l, bound, sizeof bound);
    answer_start(v.web, WF_MIN(rc, 0), bound);
    if (rc < 0) return;
    /* WEFT_EFULL: out of descriptors; weft_accept has waited a little. */
    while ((rc = weft_accept(l, &v.stream, WEFT_FOREVER)) == WEFT_OK || rc == WEFT_EFULL || rc == WEFT_ENOMEM)
        if (rc == WEFT_OK && weft_spawn(NULL, visit_main, &v, sizeof v, &beside) < 0) weft_close(v.stream);
}

/* A host that is a name is looked up, here and now. */
static int find_address(struct wf_web *h, const char *address)
{
    struct pf_address at;
    const char *colon = strrchr(address, ':');
    snprintf(h->address, sizeof h->address, "%.63s", address);
    if (colon == NULL || pf_address_parse(address, &at) == WEFT_OK) return WEFT_OK;
    snprintf(h->host, sizeof h->host, "%.*s", (int)(colon - address), address);
    int n = pf_resolve(h->host, colon + 1, &at, 1);
    if (n < 1) return n == 0 ? WEFT_ENOHOST : n;
    return pf_address_format(&at, h->address, sizeof h->address);
}

int wf_web_start(struct wf_web **out, weft_node *node, const char *address, const char *const *paths, int count,
                 void (*on_ask)(void *arg, struct wf_web_ask *ask), void *arg, char bound[64], const char **why)
{
    struct wf_web *h = calloc(1, sizeof *h);
    *why = weft_strerror(WEFT_ENOMEM);
    if (h == NULL) return WEFT_ENOMEM;
    *h = (struct wf_web){.on_ask = on_ask, .arg = arg, .paths = paths, .count = count, .bound = bound};
    int rc = pf_mutex_create(&h->lock);
    if (rc == WEFT_OK) rc = pf_cond_create(&h->changed);
    if (rc == WEFT_OK) rc = find_address(h, address);
    if (rc == WEFT_OK) rc = wf_node_spawn_service(node, NULL, http_main, &h, sizeof h, "$http");
    if (rc == WEFT_OK) {
        pf_mutex_lock(h->lock);
        while (!h->started) (void)pf_cond_wait(h->changed, h->lock, WEFT_FOREVER);
        rc = h->error;
        pf_mutex_unlock(h->lock);
    }
    if (rc < 0) {
        *why = weft_strerror(rc);
        wf_web_stop(h);
        return rc;
    }
    *out = h;
    return WEFT_OK;
}

void wf_web_stop(struct wf_web *h)
{
    if (h == NULL) return;
    pf_cond_destroy(h->changed);
    pf_mutex_destroy(h->lock);
    free(h);
}
