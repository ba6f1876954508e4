/* transport/store/postgres/postgres_hosts.c -- see postgres_hosts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/log.h>
#include <weft/time.h>

#include "host_lookup.h"
#include "postgres_hosts.h"

enum { HOSTS_MAX = 16 }; /* of a URL: libpq would look up those of a longer list, without a limit of time */

struct host {
    const char *name, *address, *port;
    bool is_looked_up;
    struct host_lookup *lookup;
    int failed; /* why there is none */
};

/* What libpq will use, from the URL, its environment and its service file. */
struct words {
    char *host, *hostaddr, *port; /* lists, which are cut at their commas */
    int timeout;                  /* ms; -1: no limit */
    int count;
    struct host of[HOSTS_MAX];
};

/* ---- What libpq will use ---------------------------------------------------------------------------------------- */

static char *copy_of(const PQconninfoOption *options, const char *name)
{
    while (options->keyword != NULL && strcmp(options->keyword, name) != 0) options++;
    return strdup(options->val == NULL ? "" : options->val);
}

/* libpq tells its words of a connection only: one that it refuses to make, as there is no such sslmode. With a password it
 * reads no file of passwords for it. */
static PQconninfoOption *effective_words(const char *where)
{
    const char *const words[] = {"connect_timeout", "dbname", "password", "sslmode", NULL};
    const char *const values[] = {PQ_CONNECT_TIMEOUT, where, "none", "only the words", NULL};
    PGconn *refused = PQconnectStartParams(words, values, 1);
    PQconninfoOption *options = refused == NULL ? NULL : PQconninfo(refused);
    PQfinish(refused);
    return options;
}

/* The next one of a list with commas; `*rest` is NULL behind the last one, and then it is "". */
static const char *next_of(char **rest)
{
    char *at = *rest, *comma = at == NULL ? NULL : strchr(at, ',');
    if (at == NULL) return "";
    *rest = comma == NULL ? NULL : comma + 1;
    if (comma != NULL) *comma = '\0';
    return at;
}

static int count_of(const char *list)
{
    int count = 1;
    for (; (list = strchr(list, ',')) != NULL; list++) count++;
    return count;
}

static int shorter(int a, int b)
{
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return a < b ? a : b;
}

static int check_count(const struct words *w, struct wf_store_why *why)
{
    const int count = count_of(w->host);
    if (count <= HOSTS_MAX) return WEFT_OK;
    snprintf(why->text, sizeof why->text,
             "names %d hosts, and %d are the most: leave some of them out (`host` in the URL, or PGHOST)", count,
             HOSTS_MAX);
    return WEFT_EINVAL;
}

/* False: there is no name to look up, or the lists do not fit together, as libpq will say. */
static bool cut_lists(struct words *w)
{
    const bool has_addresses = w->hostaddr[0] != '\0', has_ports = strchr(w->port, ',') != NULL;
    w->count = count_of(w->host);
    if (w->host[0] == '\0') return false;
    if (has_addresses && count_of(w->hostaddr) != w->count) return false;
    if (has_ports && count_of(w->port) != w->count) return false;
    char *hosts = w->host, *addresses = w->hostaddr, *ports = w->port;
    bool any = false;
    for (int i = 0; i < w->count; i++) {
        struct host *h = &w->of[i];
        h->name = next_of(&hosts);
        h->address = has_addresses ? next_of(&addresses) : "";
        h->port = has_ports ? next_of(&ports) : w->port;
        bool is_name = h->name[0] != '\0' && h->name[0] != '/' && h->name[0] != '@'; /* these are sockets */
        h->is_looked_up = is_name && h->address[0] == '\0' && !host_is_address(h->name);
        any |= h->is_looked_up;
    }
    return any;
}

static void free_words(struct words *w)
{
    for (int i = 0; i < HOSTS_MAX; i++) host_lookup_end(w->of[i].lookup);
    free(w->host);
    free(w->hostaddr);
    free(w->port);
}

static bool read_words(const struct pq_url *url, struct words *w)
{
    PQconninfoOption *options = effective_words(url->where);
    if (options == NULL) return false;
    char *timeout = copy_of(options, "connect_timeout");
    w->host = copy_of(options, "host");
    w->hostaddr = copy_of(options, "hostaddr");
    w->port = copy_of(options, "port");
    PQconninfoFree(options);
    long seconds = timeout == NULL ? 0 : strtol(timeout, NULL, 10);
    w->timeout = shorter(seconds <= 0 || seconds > 1000000 ? -1 : (int)seconds * 1000, url->silence);
    free(timeout);
    return w->host != NULL && w->hostaddr != NULL && w->port != NULL;
}

/* ---- Addresses -------------------------------------------------------------------------------------------------- */

/* Adds an element to a list with commas. */
static bool add_to(char **list, bool is_first, const char *text)
{
    size_t size = is_first ? 0 : strlen(*list) + 1;
    char *grown = realloc(*list, size + strlen(text) + 1);
    if (grown == NULL) return false;
    if (!is_first) grown[size - 1] = ',';
    memcpy(grown + size, text, strlen(text) + 1);
    *list = grown;
    return true;
}

static bool add_host(struct pq_hosts *out, const struct host *h, const char *address)
{
    const bool is_first = out->host == NULL;
    return add_to(&out->host, is_first, h->name) && add_to(&out->hostaddr, is_first, address) &&
           add_to(&out->port, is_first, h->port);
}

static void say_missing(const struct words *w, const struct host *h, int found, struct wf_store_why *why)
{
    if (found < 0)
        snprintf(why->text, sizeof why->text, "the name server has not said in %.3g s which address %s has",
                 (double)w->timeout / 1e3, h->name);
    else snprintf(why->text, sizeof why->text, "the host %s has no address", h->name);
}

/* Returns how many hosts of `out` it has become, or an error. */
static int add_addresses(const struct words *w, const struct host *h, int64_t by, struct pq_hosts *out,
                         struct wf_store_why *why)
{
    char address[HOST_ADDRESSES_MAX][HOST_ADDRESS_SIZE];
    if (!h->is_looked_up) return add_host(out, h, h->address) ? 1 : WEFT_ENOMEM;
    if (h->failed < 0) return h->failed;
    int found = host_lookup_wait(h->lookup, by, address);
    if (found <= 0) say_missing(w, h, found, why);
    for (int i = 0; i < found; i++)
        if (!add_host(out, h, address[i])) return WEFT_ENOMEM;
    return found < 0 ? 0 : found;
}

static int look_up_all(struct words *w, struct pq_hosts *out, struct wf_store_why *why)
{
    const int64_t by = w->timeout < 0 ? WEFT_FOREVER : weft_after(WEFT_MS(w->timeout));
    for (int i = 0; i < w->count; i++)
        if (w->of[i].is_looked_up) w->of[i].failed = host_lookup_begin(w->of[i].name, &w->of[i].lookup);
    for (int i = 0; i < w->count; i++) {
        int added = add_addresses(w, &w->of[i], by, out, why);
        if (added < 0) return added;
        if (added == 0 && w->count > 1) weft_log(WEFT_WARN, "PostgreSQL: %s; other hosts are tried", why->text);
    }
    return out->host == NULL ? WEFT_ESYSTEM : WEFT_OK;
}

int pq_hosts_find(const struct pq_url *url, struct pq_hosts *out, struct wf_store_why *why)
{
    struct words w = {0};
    struct wf_store_why here;
    *out = (struct pq_hosts){0};
    int rc = read_words(url, &w) ? WEFT_OK : WEFT_ENOMEM;
    if (why == NULL) why = &here;
    if (rc == WEFT_OK) rc = check_count(&w, why);
    if (rc == WEFT_OK && cut_lists(&w)) rc = look_up_all(&w, out, why);
    free_words(&w);
    if (rc < 0) pq_hosts_free(out);
    if (rc == WEFT_ENOMEM) snprintf(why->text, sizeof why->text, "out of memory");
    if (rc == WEFT_EFULL)
        snprintf(why->text, sizeof why->text,
                 "%d names of hosts are being looked up already: try again when they are", HOST_LOOKUPS_MAX);
    return rc;
}

void pq_hosts_free(struct pq_hosts *hosts)
{
    free(hosts->host);
    free(hosts->hostaddr);
    free(hosts->port);
    *hosts = (struct pq_hosts){0};
}
