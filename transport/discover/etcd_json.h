/* transport/discover/etcd_json.h -- the JSON of requests to etcd and of its answers. */
#ifndef WF_ETCD_JSON_H
#define WF_ETCD_JSON_H

#include "source.h"

struct json_t;

/* All malloc'ed; NULL: out of memory. */
char *wf_etcd_base64(const char *text);
/* At most `size` bytes with the NUL. False: malformed, too long, or with NULs. */
bool wf_etcd_unbase64(const char *text, char *out, size_t size);
char *wf_etcd_json_put(const char *key, const char *value, int64_t lease);
char *wf_etcd_json_range(const char *prefix);
char *wf_etcd_json_watch(const char *prefix, int64_t from);
char *wf_etcd_json_acquire(const char *key, const char *value, int64_t lease);
char *wf_etcd_json_release(const char *key, int64_t token);
char *wf_etcd_json_number(const char *name, int64_t number);
char *wf_etcd_json_sign_on(const char *user, const char *password);
char *wf_etcd_node_text(const struct wf_transport *t); /* the value of this node's key: its name and URLs */
/* Adds the URLs in the value of a node's key. False: malformed. */
bool wf_etcd_node_urls(const char *text, struct wf_url_list *out);
/* A number of the gateway: a string of digits, or a number; 0 if it is neither. */
int64_t wf_etcd_number(const struct json_t *object, const char *name);
const struct json_t *wf_etcd_member(const struct json_t *object, const char *name); /* an object, array or NULL */
const char *wf_etcd_text(const struct json_t *object, const char *name);            /* "" if there is none */
bool wf_etcd_true(const struct json_t *object, const char *name);
size_t wf_etcd_count(const struct json_t *array);
const struct json_t *wf_etcd_item(const struct json_t *array, size_t i); /* NULL past the end */

#endif
