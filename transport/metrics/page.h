/* transport/metrics/page.h -- the page at / of --metrics (page.html, embedded by tools/embed_page.py), and its data:
 * /nodes.json, the answers of all nodes to TOP of docs/wire.md, as JSON.
 *
 * Asking all nodes takes a while, so a separate actor does it for each request, and $metrics answers probes and scrapes
 * meanwhile. */
#ifndef WF_PAGE_H
#define WF_PAGE_H

#include "base.h"
#include "list.h"
#include "platform.h"

extern const unsigned char wf_page[];
extern const size_t wf_page_size;
extern const char wf_page_policy[]; /* its Content-Security-Policy */

struct wf_web_ask;

struct wf_pages {
    pf_mutex *lock;
    struct wf_list asked; /* requests under way; under lock, as the next one */
    uint32_t count;
};

/* WEFT_ENOMEM. */
int wf_pages_init(struct wf_pages *p);
/* All actors have ended. */
void wf_pages_finish(struct wf_pages *p);
/* [A] A request for /nodes.json, which will be answered. False: too many are under way, or there is no memory; then
 * it is the caller's. */
bool wf_pages_take(struct wf_pages *p, struct wf_web_ask *ask);

#endif
