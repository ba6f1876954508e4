/* runtime/log/log_repeats.c -- see log_repeats.h. */
#include "log_repeats.h"

#include <limits.h>
#include <string.h>

#include "once.h"

enum { SLOTS = 32, CLASS_SLOTS = 8 };

static _Atomic(pf_mutex *) lock;
/* Under lock: */
static struct wf_repeat slots[SLOTS + CLASS_SLOTS]; /* those of classes are the last ones */
static int lines_most = 20;
static int64_t period = WEFT_SEC(10);

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return (hash ^ size) * UINT64_C(0x100000001B3);
}

static uint64_t key_of(const char *module, weft_log_level level, const char *node, const char *text, size_t size)
{
    uint64_t hash = mix(UINT64_C(0xCBF29CE484222325), &level, sizeof level);
    hash = mix(hash, module, strlen(module));
    hash = mix(hash, node, strlen(node));
    hash = mix(hash, text, size);
    return hash == 0 ? 1 : hash;
}

static void copy(char *to, size_t capacity, const char *from, size_t size)
{
    size = WF_MIN(size, capacity - 1);
    memcpy(to, from, size);
    to[size] = '\0';
}

/* The line's slot among `count` ones, else a free one; NULL: there is neither. */
static struct wf_repeat *slot_of(struct wf_repeat *first, int count, uint64_t key, int64_t now)
{
    struct wf_repeat *unused = NULL;
    for (struct wf_repeat *r = first; r < first + count; r++) {
        if (r->key == key) return r;
        if (r->key == 0 || (r->until <= now && r->held == 0)) unused = r;
    }
    return unused;
}

/* Whether one more of it may be written, of at most `most`. */
static bool count_line(struct wf_repeat *r, int most)
{
    const bool may = r->written < most;
    if (may) r->written++;
    else r->held++;
    return may;
}

static bool may_write(const struct wf_repeat *line, const char *text, size_t size, bool is_class, int64_t now)
{
    pf_mutex *m = wf_mutex_once(&lock);
    if (m == NULL) return true;
    pf_mutex_lock(m);
    struct wf_repeat *r = lines_most == 0 ? NULL
                          : is_class      ? slot_of(slots + SLOTS, CLASS_SLOTS, line->key, now)
                                          : slot_of(slots, SLOTS, line->key, now);
    if (r != NULL && (r->key != line->key || r->until <= now)) {
        *r = *line;
        r->until = now + period;
        copy(r->text, sizeof r->text, text, size);
    }
    bool may = r == NULL ||
               count_line(r, is_class ? (int)WF_MIN((int64_t)lines_most * WF_LOG_CLASS_TIMES, INT_MAX) : lines_most);
    pf_mutex_unlock(m);
    return may;
}

static bool may_write_line(const char *module, weft_log_level level, const char *node, const char *text, size_t size,
                           bool is_class, int64_t now)
{
    if (module == NULL) module = "";
    struct wf_repeat line = {.key = key_of(module, level, node, text, size), .level = level};
    copy(line.module, sizeof line.module, module, strlen(module));
    copy(line.node, sizeof line.node, node, strlen(node));
    return may_write(&line, text, size, is_class, now);
}

bool wf_log_may_repeat(const char *module, weft_log_level level, const char *node, const char *text, size_t size,
                       int64_t now)
{
    return may_write_line(module, level, node, text, size, false, now);
}

bool wf_log_may_class(const char *module, weft_log_level level, const char *node, const char *text, int64_t now)
{
    return may_write_line(module, level, node, text, strlen(text), true, now);
}

bool wf_log_take_repeat(int64_t now, struct wf_repeat *out)
{
    pf_mutex *m = atomic_load_explicit(&lock, memory_order_acquire); /* pairs with wf_mutex_once */
    bool found = false;
    if (m == NULL) return false;
    pf_mutex_lock(m);
    for (int i = 0; i < SLOTS + CLASS_SLOTS && !found; i++) {
        found = slots[i].held > 0 && slots[i].until <= now;
        if (!found) continue;
        *out = slots[i];
        slots[i].key = 0;
        slots[i].held = 0;
    }
    pf_mutex_unlock(m);
    return found;
}

void weft_log_repeats(int lines, int64_t span)
{
    pf_mutex *m = wf_mutex_once(&lock);
    if (m == NULL) return;
    pf_mutex_lock(m);
    lines_most = WF_MAX(lines, 0);
    period = WF_MIN(WF_MAX(span, 0), WEFT_SEC(86400));
    pf_mutex_unlock(m);
}
