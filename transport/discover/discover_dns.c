/* transport/discover/discover_dns.c -- dns:HOST:PORT and dns-srv:NAME: nodes found by their DNS records, looked up
 * with c-ares. */
#include "discover_dns.h"
#include "actor_life.h"
#include "discover.h"
#include "source.h"

#include <weft/wait.h>

#include <ares.h>
#include <ares_nameser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ASK_MS = 2000, /* time for an answer of a server; each further try has twice as long */
    ASK_TRIES = 3,
    TARGETS_MAX = 128, /* names taken from one SRV answer */
    STACK = 192 * 1024,
};
#define TTL_NONE WEFT_SEC(5) /* used for records with TTL 0, and for those from a file */
#define TTL_MAX WEFT_SEC(300)

struct dns {
    char host[256];
    char port[6]; /* "": the SRV record has it */
    char server[WF_URL_TEXT], scheme[16];
};

/* One SRV record. */
struct target {
    struct lookup *lookup;
    char host[256];
    unsigned short port;
};

struct lookup {
    const struct dns *dns;
    struct wf_source *source;
    ares_channel channel;
    uint32_t pending; /* queries whose answers have not come */
    struct wf_url_list list;
    int64_t ttl;        /* the shortest TTL of the answers; 0: they have none */
    int status, silent; /* `status`: of a negative answer; `silent`: of a server that does not answer, or fails */
    struct target *target;
    uint32_t targets;
};

/* ---- Answers --------------------------------------------------------------------------------------------------- */

static void note_ttl(struct lookup *l, int64_t seconds)
{
    if (seconds > 0 && (l->ttl == 0 || WEFT_SEC(seconds) < l->ttl)) l->ttl = WEFT_SEC(seconds);
}

static void note_failure(struct lookup *l, int status)
{
    if (status == ARES_ENODATA || status == ARES_ENOTFOUND || status == ARES_ENONAME) l->status = status;
    else l->silent = status;
}

static void add_address(const struct target *t, const struct ares_addrinfo_node *n)
{
    struct pf_address address = {.size = (uint32_t)n->ai_addrlen};
    char text[80], url[WF_URL_TEXT];
    if (n->ai_addr == NULL || address.size > sizeof address.bytes) return;
    memcpy(address.bytes, n->ai_addr, address.size);
    if (pf_address_format(&address, text, sizeof text) < 0) return;
    *strrchr(text, ':') = '\0'; /* takes the port off, which is 0 */
    /* Leaves out addresses that would make the kernel dial this machine, and those that are valid on one machine
     * only, as they name a network card. */
    if (strcmp(text, "0.0.0.0") == 0 || strcmp(text, "[::]") == 0 || strchr(text, '%') != NULL ||
        strncmp(text, "[fe80:", 6) == 0)
        return;
    snprintf(url, sizeof url, "%s://%s:%u", t->lookup->dns->scheme, text, (unsigned)t->port);
    wf_url_list_add(&t->lookup->list, url);
}

static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *found)
{
    const struct target *t = arg;
    (void)timeouts;
    t->lookup->pending--;
    if (status != ARES_SUCCESS) note_failure(t->lookup, status);
    for (const struct ares_addrinfo_node *n = found == NULL ? NULL : found->nodes; n != NULL; n = n->ai_next) {
        note_ttl(t->lookup, n->ai_ttl);
        add_address(t, n);
    }
    ares_freeaddrinfo(found);
}

static void ask_addresses(struct target *t)
{
    static const struct ares_addrinfo_hints hints = {.ai_family = AF_UNSPEC, .ai_flags = ARES_AI_NOSORT};
    t->lookup->pending++;
    ares_getaddrinfo(t->lookup->channel, t->host, NULL, &hints, on_addresses, t);
}

/* Finds the shortest TTL of the answers, which c-ares's own parser of SRV records does not report. */
static void note_ttls(struct lookup *l, const uint8_t *data, int size)
{
    if (size < HFIXEDSZ) return;
    int questions = data[4] << 8 | data[5], answers = data[6] << 8 | data[7], at = HFIXEDSZ;
    for (int i = 0; i < questions + answers; i++) {
        while (at < size && data[at] != 0 && data[at] < 0xC0) at += data[at] + 1;
        at += at < size && data[at] >= 0xC0 ? 2 : 1;
        if (i < questions) {
            at += QFIXEDSZ;
            continue;
        }
        if (at + RRFIXEDSZ > size) return;
        const uint8_t *r = data + at;
        note_ttl(l, (int64_t)r[4] << 24 | r[5] << 16 | r[6] << 8 | r[7]);
        at += RRFIXEDSZ + (r[8] << 8 | r[9]);
    }
}

static bool add_target(struct lookup *l, const struct ares_srv_reply *r)
{
    char why[WF_REASON_TEXT];
    if (l->targets == TARGETS_MAX) l->list.cut = true;
    /* The target "." means that the service is not available. */
    if (l->targets == TARGETS_MAX || r->port == 0 || r->host == NULL || r->host[0] == '\0' ||
        strcmp(r->host, ".") == 0 || wf_check_host(r->host, strlen(r->host), why) < 0)
        return false;
    struct target *t = &l->target[l->targets++];
    t->lookup = l;
    t->port = r->port;
    snprintf(t->host, sizeof t->host, "%s", r->host);
    return true;
}

static void on_services(void *arg, int status, int timeouts, unsigned char *data, int size)
{
    struct lookup *l = arg;
    struct ares_srv_reply *replies = NULL;
    (void)timeouts;
    l->pending--;
    if (status == ARES_SUCCESS) status = ares_parse_srv_reply(data, size, &replies);
    if (status != ARES_SUCCESS) {
        note_failure(l, status);
        return;
    }
    note_ttls(l, data, size);
    for (const struct ares_srv_reply *r = replies; r != NULL; r = r->next)
        if (add_target(l, r)) ask_addresses(&l->target[l->targets - 1]);
    ares_free_data(replies);
}

/* ---- A look-up --------------------------------------------------------------------------------------------------- */

/* Only Windows needs ares_library_init. It counts its calls without locks. */
static void load_library(void)
{
    (void)ares_library_init(ARES_LIB_INIT_ALL);
}

static int open_channel(struct lookup *l)
{
    static bool loaded;
    struct ares_options o = {.timeout = ASK_MS, .tries = ASK_TRIES};
    pf_once(&loaded, load_library);
    int rc = ares_init_options(&l->channel, &o, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES);
    if (rc != ARES_SUCCESS) return rc;
    if (l->dns->server[0] != '\0') rc = ares_set_servers_ports_csv(l->channel, l->dns->server);
    if (rc != ARES_SUCCESS) ares_destroy(l->channel);
    return rc;
}

/* Waits for c-ares's sockets and its deadline, once. */
static int wait_once(struct lookup *l)
{
    ares_socket_t socket[ARES_GETSOCK_MAXNUM];
    weft_wait wait[2 * ARES_GETSOCK_MAXNUM];
    size_t count = 0;
    /* The macros of c-ares would shift into the sign bit. */
    uint32_t mask = (uint32_t)ares_getsock(l->channel, socket, ARES_GETSOCK_MAXNUM);
    for (int i = 0; i < ARES_GETSOCK_MAXNUM; i++) {
        if ((mask >> i & 1) != 0) wait[count++] = weft_on_fd((int)socket[i], false);
        if ((mask >> (i + ARES_GETSOCK_MAXNUM) & 1) != 0) wait[count++] = weft_on_fd((int)socket[i], true);
    }
    struct timeval most = {.tv_sec = 3600}, left;
    (void)ares_timeout(l->channel, &most, &left);
    int rc = weft_wait_any(wait, count, weft_after(WEFT_SEC(left.tv_sec) + WEFT_US(left.tv_usec) + WEFT_MS(1)));
    pf_signals_before_write(); /* c-ares writes to its sockets as to files */
    if (rc >= 0) ares_process_fd(l->channel, (ares_socket_t)wait[rc].fd, (ares_socket_t)wait[rc].fd);
    else if (rc == WEFT_ETIMEDOUT) ares_process_fd(l->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    return rc == WEFT_ETIMEDOUT || rc > 0 ? 0 : rc;
}

/* Returns 0: all answers have come; WEFT_ECANCELED; WEFT_ENOMEM. */
static int look_up(struct lookup *l)
{
    l->target = calloc(TARGETS_MAX, sizeof *l->target);
    if (l->target == NULL) return WEFT_ENOMEM;
    int rc = open_channel(l);
    if (rc != ARES_SUCCESS) {
        note_failure(l, rc);
        return 0;
    }
    pf_signals_before_write();
    if (l->dns->port[0] == '\0') {
        l->pending++;
        ares_search(l->channel, l->dns->host, C_IN, T_SRV, on_services, l);
    } else {
        struct target *t = &l->target[l->targets++];
        *t = (struct target){.lookup = l, .port = (unsigned short)atoi(l->dns->port)};
        snprintf(t->host, sizeof t->host, "%s", l->dns->host);
        ask_addresses(t);
    }
    for (rc = 0; rc == 0 && l->pending > 0;) rc = wait_once(l);
    ares_destroy(l->channel); /* calls the callbacks of pending queries */
    return rc;
}

/* ---- The actor ------------------------------------------------------------------------------------------------- */

static void report_failed(const struct lookup *l, int64_t wait)
{
    const char *server = l->dns->server[0] != '\0' ? l->dns->server : "the servers of /etc/resolv.conf";
    const char *what = l->dns->port[0] == '\0' ? "SRV records" : "A or AAAA records";
    struct wf_source *s = l->source;
    switch (l->silent != 0 ? l->silent : l->status) {
    case ARES_ENOTFOUND:
    case ARES_ENONAME:
        wf_source_failed(s, wait, "there is no name %.80s (asked %.60s): is it spelled right?", l->dns->host, server);
        break;
    case ARES_ENODATA: wf_source_failed(s, wait, "%.80s has no %s (asked %.60s)", l->dns->host, what, server); break;
    case ARES_ECONNREFUSED:
    case ARES_ETIMEOUT:
        wf_source_failed(s, wait, "no DNS server answers, or it refuses (asked %.60s)", server);
        break;
    default:
        wf_source_failed(s, wait, "%.60s answers: %.80s", server,
                         ares_strerror(l->silent != 0 ? l->silent : l->status));
        break;
    }
}

/* Reports; returns how long to sleep. */
static int64_t report(struct lookup *l, uint32_t *failures)
{
    struct wf_source *s = l->source;
    bool found = l->list.count > 0;
    if (found || l->silent == 0) wf_source_found(s, &l->list, found);
    if (found) {
        *failures = 0;
        return wf_source_jitter(s, l->ttl == 0 ? TTL_NONE : WF_MIN(l->ttl, TTL_MAX));
    }
    int64_t wait = wf_source_backoff(s, (*failures)++);
    if (l->silent != 0 || l->status != 0) report_failed(l, wait);
    return wait;
}

static void dns_main(const void *arg, size_t size)
{
    struct wf_source *s = *(struct wf_source *const *)arg;
    (void)size;
    for (uint32_t failures = 0;;) {
        struct lookup *l = calloc(1, sizeof *l);
        int64_t wait = WEFT_SEC(1);
        int rc = l == NULL ? WEFT_ENOMEM : 0;
        if (rc == 0) {
            l->dns = s->own;
            l->source = s;
            rc = look_up(l);
            if (rc == 0) wait = report(l, &failures);
            wf_url_list_finish(&l->list);
            free(l->target);
            free(l);
        }
        if (rc == WEFT_ENOMEM) wf_source_failed(s, wait, "out of memory");
        if (rc == WEFT_ECANCELED || weft_sleep(weft_after(wait)) < 0) return;
    }
}

/* ---- The source ------------------------------------------------------------------------------------------------ */

static const char *scheme_of(const struct wf_source *s, char out[WF_URL_TEXT])
{
    if (!wf_source_option(s, "scheme", out)) snprintf(out, WF_URL_TEXT, "tcp");
    return out;
}

static int dns_check(const struct wf_source *s, const char *rest, char *why)
{
    char value[WF_URL_TEXT];
    bool srv = s->kind == &wf_source_dns_srv;
    int rc = srv ? wf_check_host(rest, strlen(rest), why) : wf_check_host_port(rest, strlen(rest), why);
    if (rc == WEFT_OK && wf_source_option(s, "server", value)) rc = wf_check_host_port(value, strlen(value), why);
    if (rc < 0 || strcmp(scheme_of(s, value), "tcp") == 0 || strcmp(value, "tls+tcp") == 0) return rc;
    snprintf(why, WF_REASON_TEXT, "scheme=%.30s: tcp or tls+tcp", value);
    return WEFT_EADDRESS;
}

static int dns_open(struct wf_source *s, const char *rest, char *why)
{
    char scheme[WF_URL_TEXT];
    struct dns *dns = calloc(1, sizeof *dns);
    (void)why;
    if (dns == NULL) return WEFT_ENOMEM;
    s->own = dns;
    const char *colon = s->kind == &wf_source_dns_srv ? NULL : strrchr(rest, ':');
    snprintf(dns->host, sizeof dns->host, "%.*s", colon == NULL ? (int)strlen(rest) : (int)(colon - rest), rest);
    if (colon != NULL) snprintf(dns->port, sizeof dns->port, "%s", colon + 1);
    (void)wf_source_option(s, "server", dns->server);
    snprintf(dns->scheme, sizeof dns->scheme, "%.15s", scheme_of(s, scheme));
    return WEFT_OK;
}

static int dns_start(struct wf_source *s)
{
    weft_spawn_options options = {.kind = "$discover", .stack_bytes = STACK};
    return wf_actor_spawn(s->t->node, NULL, NULL, dns_main, &s, sizeof s, &options, true);
}

static void dns_close(struct wf_source *s)
{
    free(s->own);
}

static const char *const dns_options[] = {"server", "scheme", NULL};
const struct wf_source_kind wf_source_dns = {"dns:", dns_options, dns_check, dns_open, dns_start, NULL, dns_close};
const struct wf_source_kind wf_source_dns_srv = {"dns-srv:", dns_options, dns_check, dns_open,
                                                 dns_start,  NULL,        dns_close};
