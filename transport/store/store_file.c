/* transport/store/store_file.c -- see store_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/offload.h>

#include "postgres.h"
#include "sqlite.h"
#include "store_file.h"

static const struct wf_store_engine *const engines[] = {&wf_store_sqlite, &wf_store_postgres};

enum { ENGINES = sizeof engines / sizeof *engines };

/* NULL: there is none. `*where` is what stands behind its scheme. */
static const struct wf_store_engine *engine_of(const char *url, const char **where)
{
    size_t scheme = strcspn(url, ":");
    if (url[scheme] == '\0') return NULL;
    *where = url + scheme + 1;
    for (size_t i = 0; i < ENGINES; i++)
        if (strlen(engines[i]->scheme) == scheme && strncmp(engines[i]->scheme, url, scheme) == 0) return engines[i];
    return NULL;
}

/* What has no known scheme may be anything, with a password in it. */
void wf_store_url_show(const char *url, char *out, size_t size)
{
    const char *where;
    const struct wf_store_engine *engine = engine_of(url, &where);
    if (engine == NULL) snprintf(out, size, "%.*s", (int)strcspn(url, ":=@ "), url);
    else if (engine->show == NULL) snprintf(out, size, "%s", url);
    else engine->show(where, out, size);
}

static int no_engine(const char *url, struct wf_store_why *why)
{
    char shown[64], usage[128] = "";
    wf_store_url_show(url, shown, sizeof shown);
    for (size_t i = 0, used = 0; i < ENGINES; i++)
        used += (size_t)snprintf(usage + used, sizeof usage - used, "%s%s", i > 0 ? " or " : "", engines[i]->usage);
    snprintf(why->text, sizeof why->text, "'%s': a store is given as %s", shown, usage);
    return WEFT_EINVAL;
}

int wf_store_file_open(struct wf_store_file **out, const char *url, bool read_only, struct wf_store_why *why)
{
    const char *where = url;
    const struct wf_store_engine *engine = engine_of(url, &where);
    *out = NULL;
    if (engine == NULL) return no_engine(url, why);
    struct wf_store_file *f = calloc(1, sizeof *f);
    snprintf(why->text, sizeof why->text, "out of memory");
    if (f == NULL) return WEFT_ENOMEM;
    atomic_init(&f->users, 1);
    int rc = engine->open(&f->store, where, &(struct wf_store_opening){.read_only = read_only}, why);
    if (rc == WEFT_OK) *out = f;
    else free(f);
    return rc;
}

struct wf_store_file *wf_store_file_share(struct wf_store_file *f)
{
    atomic_fetch_add(&f->users, 1);
    return f;
}

void wf_store_file_release(struct wf_store_file *f)
{
    if (f == NULL || atomic_fetch_sub(&f->users, 1) > 1) return;
    f->store->engine->close(f->store);
    free(f);
}

static void release_once(void *block)
{
    struct wf_store_file **f = block;
    wf_store_file_release(*f);
    *f = NULL;
}

void wf_store_file_leave(struct wf_store_file *f)
{
    weft_job job;
    if (weft_offload_start(&job, release_once, release_once, &f, sizeof(void *), WEFT_FOREVER) < 0) {
        wf_store_file_release(f);
        return;
    }
    weft_ignore(weft_offload_take(job, &f, sizeof(void *), WEFT_FOREVER));
}
