/* transport/metrics/web.h -- a small HTTP server. It hands each request to its user, who may answer it at any later
 * time.
 *
 * Design notes.
 * (1) The actor $http accepts; each connection is an actor of its own on the same worker, with one request, which must
 *     be complete within HEAD_TIME. There are at most PLACES connections at a time, SHARE of them from one source.
 * (2) A request belongs to its connection and to the code that answers it: the second of the two frees it. If the
 *     connection has ended before the answer, it is `gone`, and the answer is dropped. */
#ifndef WF_WEB_H
#define WF_WEB_H

#include "base.h"
#include "list.h"

#include <weft/node.h>

struct wf_web;

/* One request. The function that gets it answers it once, then or later, on any thread. */
struct wf_web_ask {
    struct wf_list_node in_queue; /* the user's queue */
    int path;                     /* index in `paths` */
    const char *policy; /* the answer's Content-Security-Policy, static; NULL: nothing may be run or loaded */
};

/* Listens on "127.0.0.1:9464" ("[::1]:0": the kernel chooses the port; a name is looked up, which blocks) with a
 * service of the node, and hands each GET of one of the `count` paths to `on_ask`, on a worker, where it must not
 * block. Other paths and methods are refused, so are requests for a host that is no IP address, not localhost and not
 * the name that it listens on, and those that are not whole in time. `bound` gets "127.0.0.1:9464", `why` the reason
 * for an error. Not on a worker. WEFT_EADDRESS, WEFT_ENOHOST, WEFT_EINUSE, WEFT_EACCESS,
 * WEFT_ENOMEM, WEFT_ESYSTEM. */
int wf_web_start(struct wf_web **out, weft_node *node, const char *address, const char *const *paths, int count,
                 void (*on_ask)(void *arg, struct wf_web_ask *ask), void *arg, char bound[64], const char **why);
/* Any thread, also after the node has ended. The body is copied. */
void wf_web_answer(struct wf_web_ask *ask, int status, const char *type, const void *body, size_t size);
/* All requests have been answered, and the node has ended. Frees; NULL is fine. */
void wf_web_stop(struct wf_web *h);

#endif
