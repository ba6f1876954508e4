/* transport/web.h -- NNG's HTTP server: some paths, each answered whenever whoever is asked comes to it. */
#ifndef WF_WEB_H
#define WF_WEB_H

#include "base.h"
#include "list.h"

struct wf_web;

/* One request. Whoever got it answers it, once, on any thread. */
struct wf_web_ask {
    struct wf_link in_queue; /* for who got it */
    int path;                /* index in `paths` */
    const char *policy;      /* the answer's Content-Security-Policy, static; NULL: nothing may be run or loaded */
};

/* Listens on "127.0.0.1:9464" ("[::1]:0": the kernel chooses the port) and hands each GET of one of the `count` paths
 * to `on_ask`, on a thread of NNG's, which must not block. Other paths and methods are refused. `bound` gets
 * "127.0.0.1:9464", `why` the reason for an error. WEFT_EADDRESS, WEFT_EINUSE, WEFT_ENOMEM, WEFT_ESYSTEM. */
int wf_web_start(struct wf_web **out, const char *address, const char *const *paths, int count,
                 void (*on_ask)(void *arg, struct wf_web_ask *ask), void *arg, char bound[64], const char **why);
/* The body is copied. */
void wf_web_answer(struct wf_web_ask *ask, int status, const char *type, const void *body, size_t size);
/* All requests have been answered, and no more will come. Frees; NULL is fine. */
void wf_web_stop(struct wf_web *h);

#endif
