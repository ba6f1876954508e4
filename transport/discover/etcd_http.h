/* transport/discover/etcd_http.h -- requests to etcd's JSON gateway over libcurl. One thread calls all functions but
 * wf_http_wake. */
#ifndef WF_ETCD_HTTP_H
#define WF_ETCD_HTTP_H

#include "etcd.h"
#include "text.h"

struct wf_http;

enum wf_request_kind {
    WF_REQUEST_SIGN_ON,
    WF_REQUEST_GRANT,
    WF_REQUEST_REGISTER,
    WF_REQUEST_LIST,
    WF_REQUEST_WATCH,
    WF_REQUEST_KEEP,
    WF_REQUEST_REVOKE,
    WF_REQUEST_ACQUIRE,
    WF_REQUEST_RELEASE,
};

struct wf_request {
    enum wf_request_kind kind;
    int64_t lease; /* the session's when it was sent */
    int64_t sent_at;
    char name[WF_NAME_MAX + 1];
    int64_t token;
    /* Once the request has ended: */
    const struct json_t *answer; /* NULL if the request has failed, and then */
    const char *error;           /* has the reason */
    bool denied;                 /* it failed because etcd requires a new sign-on */
    bool not_found;
};

struct wf_http_options {
    const char *base;            /* "http://127.0.0.1:2379"; copied, like all of these */
    const char *ca, *cert, *key; /* files; "": none */
    int64_t time;                /* time limit of a request other than the watch */
    /* wf_http_turn calls it when a request has ended; the request is freed afterwards. */
    void (*done)(void *arg, struct wf_request *r);
    /* One line of the watch. */
    void (*line)(void *arg, struct wf_request *r, const struct json_t *line);
    void *arg;
};

/* WEFT_OK; WEFT_ENOMEM; WEFT_EADDRESS if libcurl cannot be loaded, and `why` (WF_REASON_TEXT bytes) says so. */
int wf_http_create(const struct wf_http_options *options, char *why, struct wf_http **out);
void wf_http_destroy(struct wf_http *h); /* NULL is fine */
/* Takes `body` over (NULL: there was no memory for it). NULL: out of memory, and `done` will not be called. */
struct wf_request *wf_http_start(struct wf_http *h, enum wf_request_kind kind, char *body, int64_t lease);
/* Ends the request in the next turn, with that reason. */
void wf_http_end(struct wf_request *r, const char *why);
void wf_http_end_all(struct wf_http *h); /* without calling `done` */
/* Waits for data, until then at most, and handles it. */
void wf_http_turn(struct wf_http *h, int64_t until);
void wf_http_wake(struct wf_http *h); /* any thread */
void wf_http_token(struct wf_http *h, const char *token);

#endif
