/* runtime/log.c -- one line per event, put together on the caller's stack and written at once. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"

_Atomic(wf_log_context_fn *) wf_log_context;
_Atomic(wf_last_words_fn *) wf_last_words;

static _Atomic int log_level = WEFT_INFO; /* relaxed: a setting, it orders nothing */
static _Atomic bool log_json;             /* relaxed, as above */

static const char *const LEVELS[] = {"debug", "info", "warn", "error", "silent"};

struct line {
    bool json;
    bool truncated;
    size_t size;
    char text[WF_LOG_LINE_MAX];
};

enum { TAIL = 24 }; /* kept free for ` truncated=true` or its JSON form and the end of the line */

static void put(struct line *l, const char *data, size_t size)
{
    size_t room = sizeof l->text - TAIL - l->size;
    if (size > room) {
        l->truncated = true;
        return;
    }
    memcpy(l->text + l->size, data, size);
    l->size += size;
}

static void put_text(struct line *l, const char *text)
{
    put(l, text, strlen(text));
}

/* Between quotes, escaped as JSON asks, which logfmt readers take as well. The closing quote always fits, as TAIL
 * is free. */
static void put_quoted(struct line *l, const char *text, size_t size)
{
    put_text(l, "\"");
    for (size_t i = 0; i < size && !l->truncated; i++) {
        unsigned char c = (unsigned char)text[i];
        char code[8] = {(char)c};
        if (c == '"' || c == '\\') snprintf(code, sizeof code, "\\%c", c);
        else if (c == '\n') snprintf(code, sizeof code, "\\n");
        else if (c == '\t') snprintf(code, sizeof code, "\\t");
        else if (c < 0x20 || c == 0x7f) snprintf(code, sizeof code, "\\u%04x", c);
        put_text(l, code);
    }
    l->text[l->size++] = '"';
}

static void put_key(struct line *l, const char *key, size_t size)
{
    if (l->json) {
        put_text(l, l->size == 0 ? "{\"" : ",\"");
        put(l, key, size);
        put_text(l, "\":");
    } else {
        if (l->size > 0) put_text(l, " ");
        put(l, key, size);
        put_text(l, "=");
    }
}

static void put_field(struct line *l, const char *key, const char *value, size_t size)
{
    put_key(l, key, strlen(key));
    if (l->json) put_quoted(l, value, size);
    else put(l, value, size);
}

/* "node=a actor=0.17.1" */
static void put_context(struct line *l)
{
    char fields[256] = "";
    /* Pairs with the store of who registers. */
    wf_log_context_fn *context = atomic_load_explicit(&wf_log_context, memory_order_acquire);
    if (context == NULL) return;
    context(fields, sizeof fields);
    for (char *rest = NULL, *f = strtok_r(fields, " ", &rest); f != NULL; f = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(f, '=');
        if (value == NULL) continue;
        *value++ = '\0';
        put_field(l, f, value, strlen(value));
    }
}

static void finish(struct line *l)
{
    const char *flag = !l->truncated ? "" : l->json ? ",\"truncated\":true" : " truncated=true";
    int n = snprintf(l->text + l->size, sizeof l->text - l->size, "%s%s\n", flag, l->json ? "}" : "");
    WF_ASSERT(n > 0 && (size_t)n < sizeof l->text - l->size);
    l->size += (size_t)n;
}

static void write_line(weft_log_level level, const char *message, size_t size, bool cut)
{
    char now[32];
    struct line l = {.json = atomic_load_explicit(&log_json, memory_order_relaxed)};
    pf_wall_clock_text(now, sizeof now);
    put_field(&l, "time", now, strlen(now));
    put_field(&l, "level", LEVELS[level], strlen(LEVELS[level]));
    put_context(&l);
    put_key(&l, "msg", 3);
    put_quoted(&l, message, size);
    l.truncated = l.truncated || cut;
    finish(&l);
    pf_stderr(l.text, l.size);
}

void weft_log_set(weft_log_level level, bool json)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
    atomic_store_explicit(&log_json, json, memory_order_relaxed);
}

void weft_log(weft_log_level level, const char *format, ...)
{
    if ((int)level < atomic_load_explicit(&log_level, memory_order_relaxed) || level >= WEFT_SILENT) return;
    char message[WF_LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (n < 0) n = snprintf(message, sizeof message, "(bad format: %s)", format);
    bool cut = (size_t)n >= sizeof message;
    write_line(level, message, cut ? sizeof message - 1 : (size_t)n, cut);
}

void wf_assert_failed(const char *condition, const char *file, int line)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s:%d: assertion failed: %s\n", file, line, condition);
    if (n > 0) pf_stderr(text, WF_MIN((size_t)n, sizeof text - 1));
    wf_last_words_fn *last = atomic_load_explicit(&wf_last_words, memory_order_acquire);
    if (last != NULL) last();
    abort();
}
