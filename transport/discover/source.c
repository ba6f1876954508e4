/* transport/discover/source.c -- functions for all kinds of sources: options and hosts of their specs, the list that
 * they report, and the log lines about it. */
#include "source.h"
#include "cluster_event.h"
#include "url.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_FIRST WEFT_SEC(1)
#define BACKOFF_MAX WEFT_SEC(30)

/* ---- Specs ----------------------------------------------------------------------------------------------------- */

static const char *option_of(const char *spec, const char *name)
{
    size_t n = strlen(name);
    const char *at = strchr(spec, '?');
    while (at != NULL) {
        at++;
        if (strncmp(at, name, n) == 0 && at[n] == '=') return at + n + 1;
        at = strchr(at, '&');
    }
    return NULL;
}

bool wf_source_option(const struct wf_source *s, const char *name, char out[WF_URL_TEXT])
{
    const char *value = option_of(s->spec, name);
    if (value != NULL) snprintf(out, WF_URL_TEXT, "%.*s", (int)strcspn(value, "&"), value);
    return value != NULL;
}

int wf_check_host(const char *text, size_t size, char *why)
{
    size_t label = 0;
    if (size > 0 && text[size - 1] == '.') size--; /* the dot of the root */
    bool good = size > 0 && size <= 253;
    for (size_t i = 0; good && i < size; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                      c == '_';
        label = c == '.' ? 0 : label + 1;
        good = label <= 63 && (letter || (c == '.' && i > 0 && text[i - 1] != '.'));
    }
    if (good) return WEFT_OK;
    snprintf(why, WF_REASON_TEXT,
             "'%.*s' is no host name: labels of 1 to 63 letters, digits, '-' and '_', with dots between",
             (int)wf_utf8_whole(text, WF_MIN(size, (size_t)48)), text);
    return WEFT_EADDRESS;
}

int wf_check_host_port(const char *text, size_t size, char *why)
{
    size_t host = size;
    while (host > 0 && text[host - 1] != ':') host--;
    if (host == 0 || wf_port_of(text + host, size - host) < 1) {
        snprintf(why, WF_REASON_TEXT, "'%.*s' is not HOST:PORT with a port from 1 to 65535",
                 (int)wf_utf8_whole(text, WF_MIN(size, (size_t)60)), text);
        return WEFT_EADDRESS;
    }
    if (host > 3 && text[0] == '[' && text[host - 2] == ']') return WEFT_OK;
    return wf_check_host(text, host - 1, why);
}

/* ---- Reports of sources ---------------------------------------------------------------------------------------- */

void wf_url_list_add(struct wf_url_list *list, const char *url)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->url[i], url) == 0) return;
    if (list->count == list->capacity && list->capacity < WF_SOURCE_URLS) {
        size_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
        void *grown = realloc(list->url, capacity * sizeof *list->url);
        if (grown != NULL) {
            list->url = grown;
            list->capacity = capacity;
        }
    }
    if (list->count == list->capacity || strlen(url) >= WF_URL_TEXT) list->cut = true;
    else snprintf(list->url[list->count++], WF_URL_TEXT, "%s", url);
}

void wf_url_list_finish(struct wf_url_list *list)
{
    free(list->url);
    *list = (struct wf_url_list){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Writes the first few URLs, for the log. */
static void describe(const struct wf_url_list *list, char *out, size_t size)
{
    int used = snprintf(out, size, "%zu URL%s", list->count, list->count == 1 ? "" : "s");
    for (size_t i = 0; i < WF_MIN(list->count, (size_t)4) && (size_t)used + WF_URL_TEXT + 8 < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%s", i == 0 ? ": " : ", ", list->url[i]);
    if (list->count > 4 && (size_t)used + 8 < size) snprintf(out + used, size - (size_t)used, ", ...");
}

void wf_source_found(struct wf_source *s, struct wf_url_list *list, bool fine)
{
    size_t size = 0;
    bool failed_before = s->reason[0] != '\0';
    if (fine) s->reason[0] = '\0';
    if (list->count > 0) qsort(list->url, list->count, sizeof *list->url, by_text);
    for (size_t i = 0; i < list->count; i++) size += strlen(list->url[i]) + 1;
    char *packed = malloc(size + 1);
    if (packed == NULL) return; /* the next report will have these URLs */
    for (size_t i = 0, at = 0; i < list->count; i++) at += (size_t)sprintf(packed + at, "%s", list->url[i]) + 1;
    bool same = s->reported && size == s->listed_size && (size == 0 || memcmp(packed, s->listed, size) == 0);
    struct wf_cluster_event *e = same ? NULL : wf_cluster_event_new(WF_CLUSTER_EVENT_LISTED, NULL, packed, size);
    if (!same && e != NULL) {
        free(s->listed);
        s->listed = packed;
        s->listed_size = size;
        s->reported = true;
        e->number = s->number;
        wf_cluster_event_post(s->t, e);
    } else {
        free(packed);
    }
    char text[5 * WF_URL_TEXT];
    describe(list, text, sizeof text);
    if (fine && (!same || failed_before) && s->kind->prefix[0] != '\0') /* the list of a single URL never changes */
        weft_log(WEFT_INFO, "discover %s: %s%s", s->spec, text,
                 list->cut ? "; there are more, which are left out" : "");
}

void wf_source_failed(struct wf_source *s, int64_t wait, const char *format, ...)
{
    char reason[WF_REASON_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (strcmp(reason, s->reason) == 0) return;
    memcpy(s->reason, reason, sizeof reason);
    weft_log(WEFT_WARN, "discover %s: %s; trying again in %.1f s, then less often", s->spec, reason,
             (double)wait / 1e9);
}

static double chance(const struct wf_source *s)
{
    uint32_t number = 0;
    struct pf_env *env = s->t->node->workers.env;
    env->random(env, &number, sizeof number);
    return (double)number / 4294967296.0;
}

int64_t wf_source_jitter(const struct wf_source *s, int64_t span)
{
    return span + (int64_t)((double)span * 0.1 * chance(s));
}

int64_t wf_source_backoff(const struct wf_source *s, uint32_t failures)
{
    int64_t span = failures >= 5 ? BACKOFF_MAX : WF_MIN(BACKOFF_FIRST << failures, BACKOFF_MAX);
    return span / 2 + (int64_t)((double)span / 2 * chance(s));
}
