/* transport/discover/source.h -- one source of URLs: the functions of its kind, and the functions that it may
 * call. */
#ifndef WF_SOURCE_H
#define WF_SOURCE_H

#include "transport.h"

enum {
    WF_SOURCE_URLS = 1024, /* URLs of one source; further ones are left out, with a log line */
    WF_SPEC_TEXT = 512,
};

struct wf_source;

struct wf_source_kind {
    const char *prefix;         /* "dns:" */
    const char *const *options; /* names behind '?', NULL at the end */
    /* Whether `rest`, the spec without prefix and options, and the options are right, without a look at files or at the
     * network. What is wrong goes to `why` (WF_REASON_TEXT bytes). WEFT_EADDRESS. */
    int (*check)(const struct wf_source *s, const char *rest, char *why);
    /* Follows a check that found nothing; may be NULL. WEFT_EADDRESS; WEFT_EACCESS; WEFT_ENOMEM. */
    int (*open)(struct wf_source *s, const char *rest, char *why);
    int (*start)(struct wf_source *s);                    /* the workers run, listeners are bound */
    void (*leave)(struct wf_source *s, int64_t deadline); /* the node ends; may be NULL */
    /* called when no part of the source runs any more; may be NULL */
    void (*close)(struct wf_source *s);
};

struct wf_source {
    struct wf_transport *t;
    const struct wf_source_kind *kind;
    uint32_t number; /* from 1 */
    char spec[WF_SPEC_TEXT];
    void *own; /* data of the kind */
    /* Only the thread that reports uses these. */
    char reason[WF_REASON_TEXT]; /* of the failure that was logged last; "": there was none since the last success */
    char *listed;                /* the list that was reported last: sorted URLs, each with its NUL */
    size_t listed_size;
    bool reported;
};

/* A list that is being filled: a URL that is added twice is in it once. */
struct wf_url_list {
    char (*url)[WF_URL_TEXT];
    size_t count, capacity;
    bool cut; /* more than WF_SOURCE_URLS, or no memory */
};
void wf_url_list_add(struct wf_url_list *list, const char *url);
void wf_url_list_finish(struct wf_url_list *list);

/* Reports the present URLs, after sorting the list. One thread at a time calls it for a source. `fine`: there was no
 * fault; otherwise wf_source_failed must follow. */
void wf_source_found(struct wf_source *s, struct wf_url_list *list, bool fine);
/* Reports that the URLs are not known at the moment, and that the source tries again after `wait`. */
void wf_source_failed(struct wf_source *s, int64_t wait, const char *format, ...) WEFT_PRINTF(3, 4);
/* The value of an option behind '?', or false. WF_URL_TEXT bytes. */
bool wf_source_option(const struct wf_source *s, const char *name, char out[WF_URL_TEXT]);
/* `span`, and a random part of a tenth of it. */
int64_t wf_source_jitter(const struct wf_source *s, int64_t span);
/* How long to wait after that many failures in a row: 1 s, then doubled, up to 30 s; half of it is random. */
int64_t wf_source_backoff(const struct wf_source *s, uint32_t failures);
/* "host:port" or "[v6]:port"; a host alone. WEFT_EADDRESS and a reason. */
int wf_check_host_port(const char *text, size_t size, char *why);
int wf_check_host(const char *text, size_t size, char *why);

#endif
