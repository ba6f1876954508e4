/* transport/discover/discover.h -- finding other nodes: sources that say "these are the URLs now", whenever that
 * changes.
 *
 * Design notes.
 * (1) A source is one entry of weft_node_options.discover: a URL (a list of one, for ever), dns:, dns-srv: or etcd:.
 *     Its kind starts it, and from then on it reports from a thread of its own choice: an actor (DNS) or a thread
 *     (etcd). Nothing here knows how.
 * (2) What it reports goes to $cluster as news. There each URL has a dialer, like a seed, for as long as it is
 *     listed; a link that is up outlives its entry.
 * (3) A source that fails keeps what it has said before: a list that may be stale is better than none. A source that
 *     says "nobody" is believed.
 * (4) The log gets a line when the reason of a failure, or the list, changes; not one per attempt. */
#ifndef WF_DISCOVER_H
#define WF_DISCOVER_H

#include "transport.h"

enum {
    WF_SOURCES_MAX = 16,
    WF_SOURCE_URLS = 1024, /* of one source; the rest is left out, and the log says so */
    WF_SPEC_TEXT = 512,
};

struct wf_source;

struct wf_source_kind {
    const char *prefix;         /* "dns:" */
    const char *const *options; /* names behind '?', NULL at the end */
    /* What is wrong with `rest`, the spec without prefix and options, goes to `why` (WF_REASON_TEXT bytes).
     * WEFT_EADDRESS; WEFT_EACCESS; WEFT_ENOMEM. */
    int (*open)(struct wf_source *s, const char *rest, char *why);
    int (*start)(struct wf_source *s);                    /* the workers run, listeners are bound */
    void (*leave)(struct wf_source *s, int64_t deadline); /* the node ends; may be NULL */
    void (*close)(struct wf_source *s);                   /* nothing of it runs any more; may be NULL */
};

struct wf_source {
    struct wf_transport *t;
    const struct wf_source_kind *kind;
    uint32_t number; /* from 1 */
    char spec[WF_SPEC_TEXT];
    void *own; /* the kind's */
    /* Of the thread that reports. */
    char reason[WF_REASON_TEXT]; /* of the failure that was logged last; "": none since it went well */
    char *listed;                /* what was reported last: URLs in order, each with its NUL */
    size_t listed_size;
    bool reported;
};

struct wf_discover {
    uint32_t count;
    struct wf_source source[WF_SOURCES_MAX];
};

/* Checks the specs (the log says what is wrong with which). */
int wf_discover_create(struct wf_transport *t, const weft_node_options *o);
int wf_discover_start(struct wf_transport *t);
void wf_discover_leave(struct wf_transport *t, int64_t deadline);
void wf_discover_destroy(struct wf_transport *t);

/* ---- For the kinds --------------------------------------------------------------------------------------------- */
/* A list in the making: what is put in twice is in it once. */
struct wf_url_list {
    char (*url)[WF_URL_TEXT];
    size_t count, capacity;
    bool cut; /* more than WF_SOURCE_URLS, or no memory */
};
void wf_url_list_add(struct wf_url_list *list, const char *url);
void wf_url_list_finish(struct wf_url_list *list);

/* One thread at a time per source. These are the URLs now; sorts the list. `fine`: nothing is wrong; otherwise
 * wf_source_failed follows and says what. */
void wf_source_found(struct wf_source *s, struct wf_url_list *list, bool fine);
/* It cannot say at the moment; tries again after `wait`. */
void wf_source_failed(struct wf_source *s, int64_t wait, const char *format, ...) WEFT_PRINTF(3, 4);
/* The value of an option behind '?', or false. WF_URL_TEXT bytes. */
bool wf_source_option(const struct wf_source *s, const char *name, char out[WF_URL_TEXT]);
/* `span` and up to a tenth more, by chance. */
int64_t wf_source_jitter(const struct wf_source *s, int64_t span);
/* After so many failures in a row: 1 s, doubled up to 30 s; half of it is chance. */
int64_t wf_source_backoff(const struct wf_source *s, uint32_t failures);
/* "host:port" or "[v6]:port"; a host alone. WEFT_EADDRESS and a reason. */
int wf_check_host_port(const char *text, size_t size, char *why);
int wf_check_host(const char *text, size_t size, char *why);

extern const struct wf_source_kind wf_source_url, wf_source_dns, wf_source_dns_srv, wf_source_etcd;

#endif
