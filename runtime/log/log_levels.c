/* runtime/log/log_levels.c -- see log_levels.h. */
#include "log_levels.h"

#include <stdio.h>
#include <string.h>

#include "once.h"

const char *const wf_log_levels[] = {"debug", "info", "warn", "error", "silent"};
enum { LEVELS = 5 };

struct levels {
    weft_log_level rest; /* of modules that are not listed */
    int count;
    struct {
        char name[WF_LOG_MODULE_MAX];
        weft_log_level level;
    } of[WF_LOG_MODULES];
};

static _Atomic(pf_mutex *) lock;
static struct levels levels = {.rest = WEFT_INFO}; /* under lock; no thread reads it while there are no modules */
/* Relaxed, all of them: settings, they order nothing. */
static _Atomic int lowest = WEFT_INFO; /* the lowest of all levels: a line below it needs no further check */
static _Atomic int rest = WEFT_INFO;   /* levels.rest */
static _Atomic bool modules;           /* levels.count > 0 */
static _Atomic bool is_json;

bool wf_log_is_json(void)
{
    return atomic_load_explicit(&is_json, memory_order_relaxed);
}

bool wf_log_wanted(const char *module, weft_log_level level)
{
    if ((int)level < atomic_load_explicit(&lowest, memory_order_relaxed) || level >= WEFT_SILENT) return false;
    int least = atomic_load_explicit(&rest, memory_order_relaxed);
    if (!atomic_load_explicit(&modules, memory_order_relaxed)) return (int)level >= least;
    if (module == NULL) module = "app";
    pf_mutex *m = wf_mutex_once(&lock); /* there since there are modules */
    pf_mutex_lock(m);
    for (int i = 0; i < levels.count; i++) {
        if (strcmp(levels.of[i].name, module) == 0) least = (int)levels.of[i].level;
    }
    pf_mutex_unlock(m);
    return (int)level >= least;
}

/* Under the lock, if there is one. */
static void set(const struct levels *to, bool json)
{
    int least = (int)to->rest;
    for (int i = 0; i < to->count; i++) least = WF_MIN(least, (int)to->of[i].level);
    if (to->count > 0) levels = *to;
    atomic_store_explicit(&rest, (int)to->rest, memory_order_relaxed);
    atomic_store_explicit(&lowest, least, memory_order_relaxed);
    atomic_store_explicit(&modules, to->count > 0, memory_order_relaxed);
    atomic_store_explicit(&is_json, json, memory_order_relaxed);
}

void weft_log_set(weft_log_level level, bool json)
{
    /* Without modules there has been no lock, and there is nothing to guard: this has to work without memory. */
    pf_mutex *m = atomic_load_explicit(&lock, memory_order_acquire);
    if (m != NULL) pf_mutex_lock(m);
    set(&(struct levels){.rest = level}, json);
    if (m != NULL) pf_mutex_unlock(m);
}

/* ---- From words ------------------------------------------------------------------------------------------------ */

static bool is(const char *word, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(word, name, size) == 0;
}

static bool read_level(const char *word, size_t size, weft_log_level *out)
{
    for (int i = 0; i < LEVELS; i++) {
        if (!is(word, size, wf_log_levels[i])) continue;
        *out = (weft_log_level)i;
        return true;
    }
    return false;
}

static int read_module(const char *word, size_t size, weft_log_level level, struct levels *to)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (size == 0 || size >= WF_LOG_MODULE_MAX || strspn(word, letters) != size) return WEFT_EINVAL;
    int i = 0;
    while (i < to->count && !is(word, size, to->of[i].name)) i++;
    if (i == WF_LOG_MODULES) return WEFT_EFULL;
    if (i == to->count) memcpy(to->of[to->count++].name, word, size);
    to->of[i].level = level;
    return WEFT_OK;
}

static int read_word(const char *word, size_t size, struct levels *to, bool *json)
{
    const char *equals = memchr(word, '=', size), *colon = memchr(word, ':', size);
    weft_log_level level;
    if (equals != NULL) {
        size_t name = (size_t)(equals - word);
        if (!read_level(equals + 1, size - name - 1, &level)) return WEFT_EINVAL;
        return read_module(word, name, level, to);
    }
    if (read_level(word, size, &to->rest)) return WEFT_OK;
    size_t form = colon == NULL ? size : (size_t)(colon - word);
    if (is(word, form, "json")) *json = true;
    else if (is(word, form, "logfmt")) *json = false;
    else return WEFT_EINVAL;
    return colon == NULL || read_level(colon + 1, size - form - 1, &to->rest) ? WEFT_OK : WEFT_EINVAL;
}

static int read_words(const char *words, struct levels *to, bool *json, const char **wrong)
{
    if (wrong != NULL) *wrong = words;
    if (words == NULL) return WEFT_EINVAL;
    for (const char *at = words;;) {
        size_t size = strcspn(at, ",");
        int rc = read_word(at, size, to, json);
        if (rc < 0 && wrong != NULL) *wrong = at;
        if (rc < 0 || at[size] == '\0') return rc;
        at += size + 1;
    }
}

int weft_log_check(const char *words, const char **wrong)
{
    return read_words(words, &(struct levels){.rest = WEFT_INFO}, &(bool){false}, wrong);
}

int weft_log_configure(const char *words, const char **wrong)
{
    struct levels to = {.rest = WEFT_INFO};
    bool json = false;
    int rc = read_words(words, &to, &json, wrong);
    pf_mutex *m = rc < 0 ? NULL : wf_mutex_once(&lock);
    if (rc < 0 || m == NULL) return rc < 0 ? rc : WEFT_ENOMEM;
    pf_mutex_lock(m);
    set(&to, json);
    pf_mutex_unlock(m);
    return WEFT_OK;
}

/* Under the lock. */
static struct levels levels_now(void)
{
    struct levels all = levels;
    if (!atomic_load_explicit(&modules, memory_order_relaxed)) all.count = 0;
    all.rest = (weft_log_level)atomic_load_explicit(&rest, memory_order_relaxed);
    return all;
}

int weft_log_adjust(const char *words, const char **wrong)
{
    pf_mutex *m = wf_mutex_once(&lock);
    if (m == NULL) return WEFT_ENOMEM;
    pf_mutex_lock(m);
    struct levels to = levels_now();
    bool json = wf_log_is_json();
    int rc = read_words(words, &to, &json, wrong);
    if (rc == WEFT_OK) set(&to, json);
    pf_mutex_unlock(m);
    return rc;
}

size_t weft_log_words(char *out, size_t size)
{
    pf_mutex *m = wf_mutex_once(&lock);
    if (m != NULL) pf_mutex_lock(m);
    struct levels now = levels_now();
    if (m != NULL) pf_mutex_unlock(m);
    char text[WF_LOG_WORDS_MAX];
    int n = snprintf(text, sizeof text, "%s%s", wf_log_is_json() ? "json:" : "", wf_log_levels[now.rest]);
    for (int i = 0; i < now.count; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ",%s=%s", now.of[i].name, wf_log_levels[now.of[i].level]);
    if (size > 0) snprintf(out, size, "%s", text);
    return (size_t)n;
}
