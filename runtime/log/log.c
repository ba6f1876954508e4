/* runtime/log/log.c -- see log.h. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log_levels.h"
#include "log_output.h"
#include "log_repeats.h"
#include "platform.h"
#include "utf8.h"

#undef weft_log /* here it is the function */

_Atomic(wf_log_context_fn *) wf_log_context;
_Atomic(wf_log_sink_fn *) wf_log_sink;

/* Relaxed: -1 until a thread has checked whether standard error is the journal, and then the same for all threads. */
static _Atomic int to_journal = -1;

enum { CONTEXT_MAX = 256 };

struct line {
    bool json;
    bool any; /* field is there already */
    bool truncated;
    size_t size;
    char text[WF_LOG_LINE_MAX];
};

enum { TAIL = 24 }; /* kept free for ` truncated=true` or its JSON form and the end of the line */

static void put(struct line *l, const char *data, size_t size)
{
    size_t space = sizeof l->text - TAIL - l->size;
    if (size > space) {
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

/* As much of it as there is space for. */
static void put_whole(struct line *l, const char *text, size_t size)
{
    size_t space = sizeof l->text - TAIL - l->size;
    if (size > space) {
        put(l, text, wf_utf8_whole(text, space));
        l->truncated = true;
    } else {
        put(l, text, size);
    }
}

static size_t find_quote(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && text[i] != '"' && text[i] != '\\') i++;
    return i;
}

/* Between quotes, escaped as JSON asks, which logfmt readers take as well. The closing quote always fits, as TAIL
 * is free. */
static void put_quoted(struct line *l, const char *text, size_t size)
{
    put_text(l, "\"");
    for (size_t i = 0; i < size && !l->truncated; i++) {
        uint32_t stop = 0;
        size_t plain = weft_printable(text + i, size - i, &stop), quote = find_quote(text + i, plain);
        char code[8];
        put_whole(l, text + i, quote);
        if (l->truncated || (i += quote) == size) break;
        if (quote < plain) snprintf(code, sizeof code, "\\%c", text[i]);
        else if (stop == '\n') snprintf(code, sizeof code, "\\n");
        else if (stop == '\t') snprintf(code, sizeof code, "\\t");
        else snprintf(code, sizeof code, "\\u%04x", (unsigned)stop & 0xFFFF);
        put_text(l, code);
        if (quote == plain && stop != 0xFFFD) i += stop < 0x80 ? 0 : stop < 0x800 ? 1 : 2;
    }
    l->text[l->size++] = '"';
}

static void put_key(struct line *l, const char *key, size_t size)
{
    if (l->json) {
        put_text(l, l->any ? ",\"" : "{\"");
        put(l, key, size);
        put_text(l, "\":");
    } else {
        if (l->any) put_text(l, " ");
        put(l, key, size);
        put_text(l, "=");
    }
    l->any = true;
}

static void put_field(struct line *l, const char *key, const char *value, size_t size)
{
    put_key(l, key, strlen(key));
    if (l->json) put_quoted(l, value, size);
    else put(l, value, size);
}

/* Of "node=a actor=0.17.1", which is cut to pieces. */
static void put_context(struct line *l, char *fields)
{
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

/* What the journal knows as the line's priority, and takes off. */
static void put_priority(struct line *l, weft_log_level level)
{
    static const char *const priorities[] = {"<7>", "<6>", "<4>", "<3>"};
    put_text(l, priorities[level]);
}

static bool writes_to_journal(bool elsewhere)
{
    int journal = atomic_load_explicit(&to_journal, memory_order_relaxed);
    if (journal < 0) {
        journal = pf_stderr_is_journal();
        atomic_store_explicit(&to_journal, journal, memory_order_relaxed);
    }
    return !elsewhere && journal > 0;
}

struct event {
    weft_log_level level;
    const char *module; /* NULL or "": none */
    char *context;      /* is cut to pieces */
    const char *text;
    size_t size;
    bool cut;
    uint64_t repeated;
    int64_t wall; /* when it was; 0: now */
};

/* `text` is not set to zeroes first, as that would take longer than to compose it. */
static void compose(struct line *l, const struct event *e)
{
    l->json = wf_log_is_json();
    l->any = l->truncated = false;
    l->size = 0;
    /* Pairs with the store of weft_log_file. */
    wf_log_sink_fn *sink = atomic_load_explicit(&wf_log_sink, memory_order_acquire);
    bool journal = writes_to_journal(sink != NULL);
    if (journal) put_priority(l, e->level);
    if (!journal || l->json) {
        char now[32];
        pf_wall_clock_text(e->wall, now, sizeof now);
        put_field(l, "time", now, strlen(now));
    }
    put_field(l, "level", wf_log_levels[e->level], strlen(wf_log_levels[e->level]));
    if (e->module != NULL && e->module[0] != '\0') put_field(l, "module", e->module, strlen(e->module));
    put_context(l, e->context);
    if (e->repeated > 0) {
        char count[24];
        put_key(l, "repeated", 8);
        put(l, count, (size_t)snprintf(count, sizeof count, "%llu", (unsigned long long)e->repeated));
    }
    put_key(l, "msg", 3);
    put_quoted(l, e->text, e->size);
    l->truncated = l->truncated || e->cut;
    finish(l);
}

static void write_line(const struct event *e)
{
    struct line l;
    compose(&l, e);
    wf_log_put(l.text, l.size);
}

size_t wf_log_compose_lost(char *out, uint64_t lines)
{
    struct line l;
    char text[160], context[1] = "";
    int n = snprintf(text, sizeof text, "%llu lines of the log are missing here: nothing read the log in time",
                     (unsigned long long)lines);
    compose(&l, &(struct event){WEFT_WARN, "runtime", context, text, (size_t)n, false, 0, 0});
    memcpy(out, l.text, l.size);
    return l.size;
}

static void tell_repeats(int64_t now)
{
    struct wf_repeat r;
    while (wf_log_take_repeat(now, &r)) {
        write_line(&(struct event){.level = r.level,
                                   .module = r.module,
                                   .context = r.node,
                                   .text = r.text,
                                   .size = strlen(r.text),
                                   .cut = strlen(r.text) == sizeof r.text - 1,
                                   .repeated = r.held});
    }
}

void wf_log_write_repeats(void)
{
    tell_repeats(INT64_MAX);
    wf_log_flush();
}

/* `held`: of a class of lines; else NULL. */
static void say(const char *module, weft_log_level level, const char *held, const char *format, va_list args)
{
    char message[WF_LOG_LINE_MAX], context[CONTEXT_MAX], node[CONTEXT_MAX];
    context[0] = '\0';
    int n = vsnprintf(message, sizeof message, format, args);
    if (n < 0) n = snprintf(message, sizeof message, "(bad format: %s)", format);
    bool cut = (size_t)n >= sizeof message;
    size_t size = cut ? sizeof message - 1 : (size_t)n;
    /* Pairs with the store of the thread that registers. */
    wf_log_context_fn *add = atomic_load_explicit(&wf_log_context, memory_order_acquire);
    int64_t wall = 0, now = add == NULL ? 0 : add(context, sizeof context, &wall);
    if (now > 0) {
        tell_repeats(now);
        snprintf(node, sizeof node, "%.*s", (int)strcspn(context, " "), context);
        if (held != NULL && !wf_log_may_class(module, level, node, held, now)) return;
        if (!wf_log_may_repeat(module, level, node, message, size, now)) return;
    }
    write_line(&(struct event){level, module, context, message, size, cut, 0, wall});
}

void weft_log(weft_log_level level, const char *format, ...)
{
    if (!wf_log_wanted(NULL, level)) return;
    va_list args;
    va_start(args, format);
    say(NULL, level, NULL, format, args);
    va_end(args);
}

void weft_log_in(const char *module, weft_log_level level, const char *format, ...)
{
    if (!wf_log_wanted(module, level)) return;
    va_list args;
    va_start(args, format);
    say(module, level, NULL, format, args);
    va_end(args);
}

void wf_log_class(const char *module, weft_log_level level, const char *held, const char *format, ...)
{
    if (!wf_log_wanted(module, level)) return;
    va_list args;
    va_start(args, format);
    say(module, level, held, format, args);
    va_end(args);
}
