/* transport/discover/etcd_http.c -- requests over libcurl's multi interface. */
#include "etcd_http.h"

#include "curl.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MAX = 8 * 1024 * 1024, URL_MAX = 320, TOKEN_MAX = 1024 };
#define CONNECT_MS 2000L

struct wf_http {
    struct wf_curl curl;
    CURLM *multi;
    struct wf_list requests; /* exchange.in_http */
    char base[256], ca[WF_URL_TEXT], cert[WF_URL_TEXT], key[WF_URL_TEXT], token[TOKEN_MAX];
    long time_ms;
    void (*done)(void *arg, struct wf_request *r);
    void (*line)(void *arg, struct wf_request *r, const struct json_t *line);
    void *arg;
};

/* A request, with its state for curl. */
struct exchange {
    struct wf_request r;
    struct wf_list_node in_http;
    struct wf_http *http;
    CURL *easy;
    struct curl_slist *headers;
    char *body, *in;
    size_t size, capacity;
    bool ended, too_big;
    char why[WF_REASON_TEXT], error[CURL_ERROR_SIZE];
};

static const char *const paths[] = {
    [WF_REQUEST_SIGN_ON] = "/v3/auth/authenticate",
    [WF_REQUEST_GRANT] = "/v3/lease/grant",
    [WF_REQUEST_REGISTER] = "/v3/kv/put",
    [WF_REQUEST_LIST] = "/v3/kv/range",
    [WF_REQUEST_WATCH] = "/v3/watch",
    [WF_REQUEST_KEEP] = "/v3/lease/keepalive",
    [WF_REQUEST_REVOKE] = "/v3/lease/revoke",
    [WF_REQUEST_ACQUIRE] = "/v3/kv/txn",
    [WF_REQUEST_RELEASE] = "/v3/kv/txn",
};

int wf_http_create(const struct wf_http_options *o, char *why, struct wf_http **out)
{
    struct wf_http *h = calloc(1, sizeof *h);
    int rc = h == NULL ? WEFT_ENOMEM : wf_curl_load(&h->curl, why);
    if (rc == WEFT_OK &&
        (h->curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || (h->multi = h->curl.multi_init()) == NULL))
        rc = WEFT_ENOMEM;
    if (rc < 0) {
        free(h);
        return rc;
    }
    wf_list_init(&h->requests);
    snprintf(h->base, sizeof h->base, "%s", o->base);
    snprintf(h->ca, sizeof h->ca, "%s", o->ca);
    snprintf(h->cert, sizeof h->cert, "%s", o->cert);
    snprintf(h->key, sizeof h->key, "%s", o->key);
    h->time_ms = (long)(o->time / WEFT_MS(1));
    h->done = o->done;
    h->line = o->line;
    h->arg = o->arg;
    *out = h;
    return WEFT_OK;
}

void wf_http_destroy(struct wf_http *h)
{
    if (h == NULL) return;
    wf_http_end_all(h);
    h->curl.multi_cleanup(h->multi);
    memset(h->token, 0, sizeof h->token);
    free(h);
}

void wf_http_token(struct wf_http *h, const char *token)
{
    snprintf(h->token, sizeof h->token, "%s", token);
}

static void exchange_free(struct exchange *x)
{
    const struct wf_curl *curl = &x->http->curl;
    if (wf_linked(&x->in_http)) wf_unlink(&x->in_http);
    if (x->easy != NULL) {
        (void)curl->multi_remove_handle(x->http->multi, x->easy);
        curl->easy_cleanup(x->easy);
    }
    curl->slist_free_all(x->headers);
    if (x->body != NULL) memset(x->body, 0, strlen(x->body)); /* it may contain a password */
    free(x->body);
    free(x->in);
    free(x);
}

void wf_http_end_all(struct wf_http *h)
{
    for (struct wf_list_node *k; (k = wf_list_first(&h->requests)) != NULL;)
        exchange_free(WF_CONTAINER(k, struct exchange, in_http));
}

/* ---- Answers --------------------------------------------------------------------------------------------------- */

/* Handles every complete line of the watch. */
static void take_lines(struct exchange *x)
{
    char *newline;
    size_t at = 0;
    while (!x->ended && (newline = memchr(x->in + at, '\n', x->size - at)) != NULL) {
        size_t size = (size_t)(newline - (x->in + at));
        json_t *j = json_loadb(x->in + at, size, 0, NULL);
        if (j != NULL) x->http->line(x->http->arg, &x->r, j);
        else if (size > 0) wf_http_end(&x->r, "etcd's reply is not JSON");
        json_decref(j);
        at += size + 1;
    }
    x->size -= at;
    memmove(x->in, x->in + at, x->size);
}

static size_t on_bytes(char *data, size_t one, size_t count, void *arg)
{
    struct exchange *x = arg;
    size_t size = one * count;
    if (x->size + size + 1 > x->capacity) {
        size_t capacity = WF_MAX(x->capacity * 2, x->size + size + 1024);
        char *grown = capacity > 2 * ANSWER_MAX || x->size + size > ANSWER_MAX ? NULL : realloc(x->in, capacity);
        x->too_big = grown == NULL;
        if (grown == NULL) return 0;
        x->in = grown;
        x->capacity = capacity;
    }
    memcpy(x->in + x->size, data, size);
    x->size += size;
    x->in[x->size] = '\0';
    if (x->r.kind == WF_REQUEST_WATCH) take_lines(x);
    return size;
}

/* Whether the request has failed; x->why gets the reason. */
static bool is_fault(struct exchange *x, CURLcode code, const json_t *answer)
{
    long status = 0;
    (void)x->http->curl.easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    const char *said = json_string_value(json_object_get(answer, "error"));
    const json_t *nested = json_object_get(answer, "error"); /* of streams: an object */
    if (json_is_object(nested)) said = json_string_value(json_object_get(nested, "message"));
    if (x->why[0] != '\0') return true;
    if (x->too_big) snprintf(x->why, sizeof x->why, "an answer of etcd at %.60s is too large", x->http->base);
    else if (code != CURLE_OK)
        snprintf(x->why, sizeof x->why, "etcd at %.60s cannot be reached: %.70s", x->http->base,
                 x->error[0] != '\0' ? x->error : x->http->curl.easy_strerror(code));
    else if (status != 200 || said != NULL)
        snprintf(x->why, sizeof x->why, "etcd at %.60s refuses (%ld): %.60s", x->http->base, status,
                 said == NULL ? "no reason given" : said);
    else if (answer == NULL)
        snprintf(x->why, sizeof x->why, "%.60s answers what is not JSON: is it etcd (v3.4 or later)?", x->http->base);
    else if (x->r.kind == WF_REQUEST_WATCH) snprintf(x->why, sizeof x->why, "etcd has ended the watch");
    else return false;
    x->r.denied = status == 401 || (said != NULL && strstr(said, "invalid auth token") != NULL);
    x->r.not_found = status == 404 || (said != NULL && strstr(said, "not found") != NULL);
    return true;
}

static void over(struct exchange *x, CURLcode code)
{
    struct wf_http *h = x->http;
    bool watch = x->r.kind == WF_REQUEST_WATCH;
    json_t *answer = x->size == 0 ? NULL : json_loadb(x->in, x->size, JSON_DISABLE_EOF_CHECK, NULL);
    if (watch && answer == NULL && code == CURLE_OK) answer = json_object();
    if (is_fault(x, code, answer)) x->r.error = x->why;
    else x->r.answer = answer;
    wf_unlink(&x->in_http);
    h->done(h->arg, &x->r);
    json_decref(answer);
    exchange_free(x);
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

static bool add_header(struct exchange *x, const char *line)
{
    struct curl_slist *more = x->http->curl.slist_append(x->headers, line);
    if (more != NULL) x->headers = more;
    return more != NULL;
}

static bool set_up(struct exchange *x)
{
    struct wf_http *h = x->http;
    char url[URL_MAX], token[TOKEN_MAX + 32];
    const struct wf_curl *curl = &h->curl;
    CURL *c = x->easy = curl->easy_init();
    if (c == NULL || x->body == NULL) return false;
    snprintf(url, sizeof url, "%s%s", h->base, paths[x->r.kind]);
    snprintf(token, sizeof token, "Authorization: %s", h->token);
    bool good = add_header(x, "Content-Type: application/json") && add_header(x, "Expect:");
    if (h->token[0] != '\0' && x->r.kind != WF_REQUEST_SIGN_ON) good = good && add_header(x, token);
    good = good && curl->easy_setopt(c, CURLOPT_URL, url) == CURLE_OK &&
           curl->easy_setopt(c, CURLOPT_POSTFIELDS, x->body) == CURLE_OK;
    (void)curl->easy_setopt(c, CURLOPT_HTTPHEADER, x->headers);
    (void)curl->easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl->easy_setopt(c, CURLOPT_PROXY, "");
    (void)curl->easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    (void)curl->easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, WF_MIN(CONNECT_MS, h->time_ms));
    (void)curl->easy_setopt(c, CURLOPT_TIMEOUT_MS, x->r.kind == WF_REQUEST_WATCH ? 0L : h->time_ms);
    (void)curl->easy_setopt(c, CURLOPT_ERRORBUFFER, x->error);
    (void)curl->easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl->easy_setopt(c, CURLOPT_WRITEDATA, x);
    (void)curl->easy_setopt(c, CURLOPT_PRIVATE, x);
    if (h->ca[0] != '\0') good = good && curl->easy_setopt(c, CURLOPT_CAINFO, h->ca) == CURLE_OK;
    if (h->cert[0] != '\0') good = good && curl->easy_setopt(c, CURLOPT_SSLCERT, h->cert) == CURLE_OK;
    if (h->key[0] != '\0') good = good && curl->easy_setopt(c, CURLOPT_SSLKEY, h->key) == CURLE_OK;
    return good && curl->multi_add_handle(h->multi, c) == CURLM_OK;
}

struct wf_request *wf_http_start(struct wf_http *h, enum wf_request_kind kind, char *body, int64_t lease)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (x == NULL) {
        free(body);
        return NULL;
    }
    x->http = h;
    x->body = body;
    x->r.kind = kind;
    x->r.lease = lease;
    x->r.sent_at = weft_now();
    if (!set_up(x)) {
        exchange_free(x);
        return NULL;
    }
    wf_list_push(&h->requests, &x->in_http);
    return &x->r;
}

void wf_http_end(struct wf_request *r, const char *why)
{
    struct exchange *x = (struct exchange *)r;
    if (x->ended) return;
    x->ended = true;
    snprintf(x->why, sizeof x->why, "%s", why);
}

void wf_http_turn(struct wf_http *h, int64_t until)
{
    int running, left;
    (void)h->curl.multi_perform(h->multi, &running);
    for (CURLMsg *m; (m = h->curl.multi_info_read(h->multi, &left)) != NULL;) {
        char *x = NULL;
        CURLcode code = m->data.result;
        if (m->msg != CURLMSG_DONE) continue;
        (void)h->curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x);
        over((struct exchange *)(void *)x, code);
        until = WEFT_NOW; /* the callbacks may have added work */
    }
    WF_LIST_EACH(k, &h->requests) {
        struct exchange *x = WF_CONTAINER(k, struct exchange, in_http);
        if (!x->ended) continue;
        over(x, CURLE_OK);
        return; /* the list may have changed */
    }
    int64_t wait = until == WEFT_NOW ? 0 : (until - weft_now()) / WEFT_MS(1) + 1;
    (void)h->curl.multi_poll(h->multi, NULL, 0, (int)WF_MIN(WF_MAX(wait, (int64_t)0), (int64_t)3600000), NULL);
}

void wf_http_wake(struct wf_http *h)
{
    (void)h->curl.multi_wakeup(h->multi);
}
