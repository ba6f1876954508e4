/* transport/carrier/http.h -- the head of an HTTP request, read and judged, for the listeners that speak it: ws.c,
 * web.c. */
#ifndef WF_HTTP_H
#define WF_HTTP_H

#include "base.h"

enum { WF_HTTP_HEAD_MAX = 4096 }; /* the longest head that a listener accepts, in bytes */

/* A part of a request. `at` NULL: the request does not have it. */
struct wf_http_text {
    const char *at;
    size_t size;
};

struct wf_http_request {
    struct wf_http_text method, target, version;
    struct wf_http_text host, origin, upgrade, connection, ws_version, ws_key, ws_protocol;
    bool twice; /* one of these headers was there twice */
};

/* Returns how many bytes are the head of a request, with its empty line; 0: the head is not complete. */
size_t wf_http_head(const uint8_t *data, size_t size);
/* False: it is not an HTTP request. The texts point into `head`. */
bool wf_http_read(struct wf_http_request *out, const uint8_t *head, size_t size);
/* Whether the target is `path`, without the part behind a '?'. */
bool wf_http_path_is(const struct wf_http_request *r, const char *path);

/* Whether the texts are equal, ignoring case. */
bool wf_http_is(struct wf_http_text a, const char *text);
bool wf_http_same(struct wf_http_text a, struct wf_http_text b);
/* Whether one of the words between commas is `word`. */
bool wf_http_lists(struct wf_http_text s, const char *word);
/* The part between "://" and the path. */
struct wf_http_text wf_http_authority(const char *url);
/* "host:port" or "host", without the port; `at` NULL: it is neither. */
struct wf_http_text wf_http_host(struct wf_http_text authority);
/* Whether it is localhost or an IP address. A page whose own name points to this machine (DNS rebinding) cannot send
 * such a host. */
bool wf_http_host_is_numeric(struct wf_http_text host);

#endif
