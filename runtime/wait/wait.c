/* runtime/wait/wait.c -- see wait.h. */
#include "wait.h"

#include <string.h>

enum { FEW = 6, NONE_READY = -2000 };

/* weft_wait_any: returns the lowest index that is ready, NONE_READY, or an error. */
static inline __attribute__((always_inline)) int look_for_any(struct wf_wait *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int rc = s[i].kind->look(&s[i]);
        if (rc != 0) return rc > 0 ? (int)i : rc;
    }
    return NONE_READY;
}

/* weft_wait_all: returns 0 if each has been ready, NONE_READY, or an error. */
static int look_at_all(struct wf_wait *s, size_t count)
{
    bool every = true;
    for (size_t i = 0; i < count; i++) {
        if (s[i].done) continue;
        int rc = s[i].kind->look(&s[i]);
        if (rc < 0) return rc;
        s[i].done = rc > 0;
        every &= s[i].done;
        if (rc > 0 && s[i].kind->was_ready != NULL) s[i].kind->was_ready(&s[i]);
    }
    return every ? 0 : NONE_READY;
}

static inline __attribute__((always_inline)) int look(struct wf_wait *s, size_t count, bool all)
{
    return all ? look_at_all(s, count) : look_for_any(s, count);
}

static const char *name_of(const struct wf_wait *s, size_t count)
{
    return count == 0 ? "nothing" : count == 1 ? s->kind->name : "several sources";
}

/* Returns 1 if one of them may have become ready meanwhile. */
static inline __attribute__((always_inline)) int attach_all(struct wf_wait *s, size_t count, bool all)
{
    int again = 0;
    for (struct wf_wait *at = s; at < s + count; at++) {
        if (all && at->done) continue;
        at->attached = true;
        int rc = at->kind->attach(at, s);
        if (rc < 0) return rc;
        again |= rc;
    }
    return again;
}

static inline __attribute__((always_inline)) int wait_until(struct wf_wait *s, size_t count, bool all,
                                                            int64_t deadline)
{
    int rc = look(s, count, all);
    if (rc != NONE_READY) return rc;
    if (deadline == WEFT_NOW) return WEFT_ETIMEDOUT;
    rc = attach_all(s, count, all);
    if (rc > 0) rc = look(s, count, all); /* events before the attaching have not woken the task */
    else if (rc == 0) rc = NONE_READY;
    while (rc == NONE_READY) {
        rc = wf_task_wait(deadline, name_of(s, count));
        if (rc != WEFT_OK && rc != WEFT_ETIMEDOUT) return rc;
        int found = look(s, count, all); /* also after the deadline: both may come in one turn */
        if (found != NONE_READY || rc == WEFT_OK) rc = found;
    }
    return rc;
}

static inline __attribute__((always_inline)) int open_source(struct wf_wait *s, const weft_wait *from, bool all,
                                                             struct wf_task *t)
{
    const unsigned number = (unsigned)from->kind;
    const struct wf_wait_kind *kind = number < WF_WAIT_KINDS_MAX ? t->worker->set->wait_kinds[number] : NULL;
    if (kind == NULL) return WEFT_EINVAL;
    s->kind = kind;
    s->task = t;
    s->attached = false;
    if (all) s->done = false;
    return kind->open(s, from);
}

static void recheck_all(struct wf_wait *s, const struct wf_wait *end)
{
    for (; s < end; s++)
        if (s->kind->recheck != NULL) s->kind->recheck(s);
}

/* `all` is a constant where it is called. */
static inline __attribute__((always_inline)) int wait_on(struct wf_wait *s, const weft_wait *sources, size_t count,
                                                         bool all, int64_t deadline, struct wf_task *t)
{
    if (WF_UNLIKELY(t->cancelled)) return WEFT_ECANCELED;
    struct wf_wait *open = s; /* the first one that is not open */
    int rc = 0;
    for (; open < s + count && (rc = open_source(open, sources, all, t)) == 0; sources++) open++;
    if (WF_UNLIKELY(deadline == WEFT_NOW)) recheck_all(s, open);
    if (WF_LIKELY(rc == 0)) rc = wait_until(s, count, all, deadline);
    while (open > s) {
        open--;
        open->kind->close(open);
    }
    return rc;
}

static __attribute__((noinline)) int wait_for_any(const weft_wait *sources, size_t count, int64_t deadline,
                                                  struct wf_task *t)
{
    struct wf_wait s[FEW];
    return wait_on(s, sources, count, false, deadline, t);
}

static __attribute__((noinline)) int wait_for_all(const weft_wait *sources, size_t count, int64_t deadline,
                                                  struct wf_task *t)
{
    struct wf_wait s[FEW];
    return wait_on(s, sources, count, true, deadline, t);
}

static __attribute__((noinline)) int wait_on_many(const weft_wait *sources, size_t count, bool all, int64_t deadline,
                                                  struct wf_task *t)
{
    struct wf_wait s[WEFT_WAIT_MAX];
    return all ? wait_on(s, sources, count, true, deadline, t) : wait_on(s, sources, count, false, deadline, t);
}

static inline __attribute__((always_inline)) int wait_for(const weft_wait *sources, size_t count, bool all,
                                                          int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    int rc;
    if (t == NULL) return WEFT_ENOTACTOR;
    if (count > WEFT_WAIT_MAX || (sources == NULL && count > 0)) return WEFT_EINVAL;
    if (WF_UNLIKELY(count > FEW)) rc = wait_on_many(sources, count, all, deadline, t);
    else rc = (all ? wait_for_all : wait_for_any)(sources, count, deadline, t);
    if (WF_UNLIKELY(rc < 0)) return (int)wf_task_finish_wait(rc);
    wf_task_tick(t);
    if (WF_UNLIKELY(t->killed)) wf_task_finish_wait(rc);
    return rc;
}

int weft_wait_any(const weft_wait *sources, size_t count, int64_t deadline)
{
    return wait_for(sources, count, false, deadline);
}

int weft_wait_all(const weft_wait *sources, size_t count, int64_t deadline)
{
    return wait_for(sources, count, true, deadline);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static void add_rows(struct wf_workers *set, const struct wf_wait_kind *const *rows)
{
    for (; rows != NULL && *rows != NULL; rows++) {
        const struct wf_wait_kind *row = *rows;
        WF_ASSERT(row->number > 0 && row->number < WF_WAIT_KINDS && set->wait_kinds[row->number] == NULL);
        WF_ASSERT(row->name != NULL && row->open != NULL && row->look != NULL && row->attach != NULL &&
                  row->close != NULL);
        set->wait_kinds[row->number] = row;
    }
}

static int register_rows(struct wf_workers *set)
{
    memset(set->wait_kinds, 0, sizeof set->wait_kinds);
    for (const struct wf_part *const *p = set->parts; *p != NULL; p++) add_rows(set, (*p)->wait_kinds);
    add_rows(set, set->hooks->wait_kinds);
    return WEFT_OK;
}

const struct wf_part wf_wait_part = {.set_begin = register_rows};
