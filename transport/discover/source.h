/* transport/discover/source.h -- one source of URLs: what its kind does, and what it may call. */
#ifndef WF_SOURCE_H
#define WF_SOURCE_H

#include "transport.h"

enum {
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

#endif
