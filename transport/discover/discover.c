/* transport/discover/discover.c -- the kinds of sources, and the sources of a node. See discover.h. */
#include "discover.h"
#include "discover_dns.h"
#include "etcd.h"
#include "source.h"
#include "transport.h"
#include "url.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A list of one --------------------------------------------------------------------------------------------- */

static int url_check(const struct wf_source *s, const char *rest, char *why)
{
    (void)rest;
    if (wf_url_is_known(s->spec)) return wf_url_check(s->spec, false, why);
    snprintf(why, WF_REASON_TEXT,
             "unknown; known are URLs like tcp://127.0.0.1:4001, dns:HOST:PORT, dns-srv:_weft._tcp.NAME and "
             "etcd:http://HOST:PORT/PREFIX");
    return WEFT_EADDRESS;
}

static int url_start(struct wf_source *s)
{
    struct wf_url_list list = {0};
    wf_url_list_add(&list, s->spec);
    wf_source_found(s, &list, true);
    bool cut = list.cut;
    wf_url_list_finish(&list);
    return cut ? WEFT_ENOMEM : WEFT_OK;
}

static const char *const no_options[] = {NULL};
static const struct wf_source_kind url_kind = {"", no_options, url_check, NULL, url_start, NULL, NULL};

/* ---- Specs ----------------------------------------------------------------------------------------------------- */

static int check_options(const struct wf_source *s, char *why)
{
    const char *at = strchr(s->spec, '?');
    for (; at != NULL; at = strchr(at, '&')) {
        at++;
        size_t n = strcspn(at, "=&");
        bool known = false;
        for (const char *const *o = s->kind->options; *o != NULL; o++)
            known |= strlen(*o) == n && strncmp(*o, at, n) == 0;
        if (!known) {
            snprintf(why, WF_REASON_TEXT, "'%.*s' is no option of %s", (int)wf_utf8_whole(at, WF_MIN(n, (size_t)30)),
                     at, s->kind->prefix);
            return WEFT_EADDRESS;
        }
        if (at[n] != '=' || strcspn(at + n + 1, "&") == 0 || strcspn(at + n + 1, "&") >= WF_URL_TEXT) {
            snprintf(why, WF_REASON_TEXT, "option %.*s needs a value", (int)n, at);
            return WEFT_EADDRESS;
        }
    }
    return WEFT_OK;
}

/* Sets the spec and the kind. `rest` gets the spec without prefix and options. */
static int check_source(struct wf_source *s, const char *spec, char rest[WF_SPEC_TEXT], char *why)
{
    static const struct wf_source_kind *const kinds[] = {&wf_source_dns, &wf_source_dns_srv, &wf_source_etcd,
                                                         &url_kind};
    size_t i = 0;
    snprintf(s->spec, sizeof s->spec, "%s", spec);
    if (strlen(spec) >= sizeof s->spec) {
        snprintf(why, WF_REASON_TEXT, "longer than %zu bytes", sizeof s->spec - 1);
        return WEFT_EADDRESS;
    }
    while (strncmp(s->spec, kinds[i]->prefix, strlen(kinds[i]->prefix)) != 0) i++;
    s->kind = kinds[i];
    if (s->kind != &url_kind && check_options(s, why) < 0) return WEFT_EADDRESS;
    snprintf(rest, WF_SPEC_TEXT, "%s", s->spec + strlen(s->kind->prefix));
    rest[strcspn(rest, "?")] = '\0';
    return s->kind->check(s, rest, why);
}

int wf_discover_check(const char *spec, char *why)
{
    struct wf_source s = {.number = 1};
    char rest[WF_SPEC_TEXT];
    return check_source(&s, spec, rest, why);
}

int wf_discover_create(struct wf_transport *t, const weft_node_options *o)
{
    if (o->discover_count == 0) return WEFT_OK;
    if (o->discover_count > WF_SOURCES_MAX) {
        weft_log(WEFT_ERROR, "node option discover: at most %d entries", WF_SOURCES_MAX);
        return WEFT_EINVAL;
    }
    struct wf_discover *d = calloc(1, sizeof *d);
    if (d == NULL) return WEFT_ENOMEM;
    t->discover = d;
    for (size_t i = 0; i < o->discover_count; i++) {
        struct wf_source *s = &d->source[d->count];
        const char *spec = o->discover[i] == NULL ? "" : o->discover[i];
        char why[WF_REASON_TEXT] = "out of memory", rest[WF_SPEC_TEXT];
        s->t = t;
        s->number = d->count + 1;
        int rc = check_source(s, spec, rest, why);
        if (rc == WEFT_OK && s->kind->open != NULL) rc = s->kind->open(s, rest, why);
        if (rc < 0) {
            weft_log(WEFT_ERROR, "cannot discover by %.200s: %s", spec, why);
            return rc;
        }
        d->count++;
    }
    return WEFT_OK;
}

int wf_discover_start(struct wf_transport *t)
{
    for (uint32_t i = 0; t->discover != NULL && i < t->discover->count; i++) {
        struct wf_source *s = &t->discover->source[i];
        int rc = s->kind->start(s);
        if (rc == WEFT_OK) continue;
        weft_log(WEFT_ERROR, "cannot discover by %s: %s", s->spec, weft_strerror(rc));
        return rc;
    }
    return WEFT_OK;
}

void wf_discover_leave(struct wf_transport *t, int64_t deadline)
{
    for (uint32_t i = 0; t->discover != NULL && i < t->discover->count; i++)
        if (t->discover->source[i].kind->leave != NULL)
            t->discover->source[i].kind->leave(&t->discover->source[i], deadline);
}

void wf_discover_destroy(struct wf_transport *t)
{
    for (uint32_t i = 0; t->discover != NULL && i < t->discover->count; i++) {
        if (t->discover->source[i].kind->close != NULL) t->discover->source[i].kind->close(&t->discover->source[i]);
        free(t->discover->source[i].listed);
    }
    free(t->discover);
    t->discover = NULL;
}
