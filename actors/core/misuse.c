/* actors/core/misuse.c -- see misuse.h. */
#include "misuse.h"

#include "actor.h"
#include "hash.h"
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool wf_misuse_is_new(weft_node *node, const char *kind, const char *what)
{
    WF_ASSERT(what != NULL);
    uint32_t first = kind == NULL ? 0 : wf_hash(kind, strlen(kind), 0);
    uint64_t key = (uint64_t)wf_hash(what, strlen(what), first) << 32 | first | 1;
    for (size_t i = 0; i < WF_MISUSES_MAX; i++) {
        /* Relaxed: an entry publishes no other memory. */
        uint64_t there = atomic_load_explicit(&node->misuses[i], memory_order_relaxed);
        if (there == 0 && atomic_compare_exchange_strong_explicit(&node->misuses[i], &there, key,
                                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
        if (there == key) return false;
    }
    return false;
}

/* ---- Arguments ------------------------------------------------------------------------------------------------- */

int wf_wrong(int rc, const char *format, ...)
{
    const struct wf_actor *self = wf_actor_self();
    /* A service of weft's own does what another actor asked for, and that actor gets the error as its answer. */
    if (self != NULL && (self->service || !wf_misuse_is_new(wf_node_of(self->task.worker), self->kind, format)))
        return rc;
    char text[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    weft_log(WEFT_WARN, "%s%s%s%s (%s)", self == NULL ? "" : "actor ", self == NULL ? "" : self->kind,
             self == NULL ? "" : ": ", text, weft_error_name(rc));
    return rc;
}

int wf_wrong_message(const char *call, uint32_t tag, const void *data, size_t size)
{
    if (tag >= WEFT_TAG_SYSTEM)
        return wf_wrong(WEFT_EINVAL, "%s: the tag %u is weft's own: tags of messages are below WEFT_TAG_SYSTEM, %u",
                        call, tag, WEFT_TAG_SYSTEM);
    if (size > WEFT_MESSAGE_MAX)
        return wf_wrong(
            WEFT_ETOOBIG,
            "%s: a body of %zu bytes is larger than WEFT_MESSAGE_MAX, %d: send it in parts, or by a stream", call,
            size, WEFT_MESSAGE_MAX);
    WF_ASSERT(data == NULL);
    return wf_wrong(WEFT_EINVAL, "%s: the data is NULL, but its size is %zu", call, size);
}

int wf_wrong_name(int rc, const char *name)
{
    if (name == NULL) return wf_wrong(rc, "the name is NULL");
    return wf_wrong(rc, "'%.70s' cannot be a name: a name is 1 to %d letters, digits, '.', '_', '-' and '$'", name,
                    WF_NAME_MAX);
}

int wf_wrong_topic(const char *topic, bool pattern)
{
    if (topic == NULL) return wf_wrong(WEFT_EINVAL, "the topic is NULL");
    if (pattern)
        return wf_wrong(WEFT_EINVAL,
                        "'%.100s' cannot be a pattern of topics: words of letters, digits, '_', '-' and '$', or '*', "
                        "with '.' between them, and '>' at the end for all that follows",
                        topic);
    return wf_wrong(WEFT_EINVAL,
                    "'%.100s' cannot be a topic: words of letters, digits, '_', '-' and '$' with '.' between them",
                    topic);
}

/* ---- Spans and points in time ---------------------------------------------------------------------------------- */

enum { SPAN_TEXT = 48 };

/* The span as it would stand in a program. A small number was not meant as nanoseconds. */
static const char *span_text(int64_t span, char out[SPAN_TEXT])
{
    const struct {
        int64_t unit;
        const char *name;
    } units[] = {{1000000000, "WEFT_SEC"}, {1000000, "WEFT_MS"}, {1000, "WEFT_US"}};
    snprintf(out, SPAN_TEXT, "%lld", (long long)span);
    if (span < 1000000) return out;
    for (size_t i = 0; i < WF_COUNT(units); i++) {
        if (span % units[i].unit != 0) continue;
        snprintf(out, SPAN_TEXT, "%s(%lld)", units[i].name, (long long)(span / units[i].unit));
        break;
    }
    return out;
}

static void cure_of_span(int64_t span, char *out, size_t size)
{
    char text[SPAN_TEXT];
    if (span < 0) snprintf(out, size, "WEFT_FOREVER to wait without end, WEFT_NOW not to wait");
    else if (span >= 1000000) snprintf(out, size, "weft_after(%s)", span_text(span, text));
    else snprintf(out, size, "weft_after(WEFT_MS(%lld)) if that is milliseconds", (long long)span);
}

/* `who`: "actor chat: its wait (sleep)". */
static void say_span(const char *who, const char *effect, int64_t span)
{
    char text[SPAN_TEXT], cure[96];
    cure_of_span(span, cure, sizeof cure);
    weft_log(WEFT_WARN,
             "%s was given the deadline %s, which is a span and not a point in time, so it is %s at once: write %s",
             who, span_text(span, text), effect, cure);
}

void wf_actor_wrong_time(struct wf_task *t, const char *what, int64_t time)
{
    const struct wf_actor *a = wf_actor_of(t);
    if (!wf_misuse_is_new(wf_node_of(t->worker), a->kind, what)) return;
    char who[160];
    if (wf_is_span(time)) {
        bool call = strncmp(what, "weft_", 5) == 0;
        snprintf(who, sizeof who, call ? "actor %s: %s" : "actor %s: its wait (%s)", a->kind, what);
        say_span(who, call ? "due" : "over", time);
        return;
    }
    weft_log(WEFT_WARN,
             "actor %s: %s was given a point in time (weft_now() %+lld ns) where a span belongs, and treats it as "
             "WEFT_FOREVER: write the span alone, such as WEFT_SEC(1)",
             a->kind, what, (long long)(time - weft_now()));
}

void wf_node_look_at_deadline(weft_node *node, const char *call, int64_t deadline)
{
    if (WF_LIKELY(!wf_is_span(deadline)) || !wf_misuse_is_new(node, NULL, call)) return;
    say_span(call, "over", deadline);
}
