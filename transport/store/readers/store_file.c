/* transport/store/readers/store_file.c -- see store_file.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include <weft/offload.h>

#include "postgres.h"
#include "sqlite.h"
#include "store_file.h"
#include "utf8.h"

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
    out[wf_utf8_whole(out, strlen(out))] = '\0';
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

int wf_store_url_check(const char *url, struct wf_store_why *why)
{
    const char *where;
    const struct wf_store_engine *engine = engine_of(url, &where);
    if (engine == NULL) return no_engine(url, why);
    const char *wrong = engine->wrong(where);
    if (wrong == NULL) return WEFT_OK;
    char shown[64];
    wf_store_url_show(url, shown, sizeof shown);
    snprintf(why->text, sizeof why->text, "'%s' %s", shown, wrong);
    return WEFT_EINVAL;
}

/* All that are open. */
static struct wf_store_file *files;

static void lock(void)
{
    sqlite3_mutex_enter(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static void unlock(void)
{
    sqlite3_mutex_leave(sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1));
}

static void add(struct wf_store_file *f)
{
    static uint64_t numbers;
    lock();
    f->users = 1;
    f->number = ++numbers;
    f->next = files;
    files = f;
    unlock();
}

int wf_store_file_open(struct wf_store_file **out, const char *url, bool read_only, struct wf_store_why *why)
{
    return wf_store_file_open_as(out, url, &(struct wf_store_opening){.read_only = read_only}, why);
}

int wf_store_file_open_as(struct wf_store_file **out, const char *url, const struct wf_store_opening *how,
                          struct wf_store_why *why)
{
    const char *where = url;
    const struct wf_store_engine *engine = engine_of(url, &where);
    *out = NULL;
    if (engine == NULL) return no_engine(url, why);
    struct wf_store_file *f = calloc(1, sizeof *f);
    snprintf(why->text, sizeof why->text, "out of memory");
    if (f == NULL) return WEFT_ENOMEM;
    int rc = engine->open(&f->store, where, how, why);
    if (rc < 0) {
        free(f);
        return rc;
    }
    add(f);
    *out = f;
    return WEFT_OK;
}

int wf_store_file_look(const char *url, struct wf_store_mark *out, struct wf_store_why *why)
{
    const char *where = url;
    const struct wf_store_engine *engine = engine_of(url, &where);
    if (engine == NULL) return no_engine(url, why);
    return engine->look == NULL ? WEFT_ENOTSUP : engine->look(where, out, why);
}

void wf_store_file_mark(const struct wf_store_file *f, struct wf_store_mark *out)
{
    *out = (struct wf_store_mark){0};
    if (f->store->engine->mark != NULL) f->store->engine->mark(f->store, out);
}

struct wf_store_file *wf_store_file_share(struct wf_store_file *f)
{
    lock();
    f->users++;
    unlock();
    return f;
}

struct wf_store_file *wf_store_file_find(uint64_t number)
{
    lock();
    struct wf_store_file *f = files;
    while (f != NULL && f->number != number) f = f->next;
    if (f != NULL) f->users++;
    unlock();
    return f;
}

void wf_store_file_release(struct wf_store_file *f)
{
    if (f == NULL) return;
    lock();
    bool is_last = --f->users == 0;
    struct wf_store_file **at = &files;
    while (is_last && *at != f) at = &(*at)->next;
    if (is_last) *at = f->next;
    unlock();
    if (!is_last) return;
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
