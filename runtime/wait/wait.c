/* runtime/wait/wait.c -- see wait.h. */
#include "wait.h"

#include <string.h>

enum { FEW = 6, NONE_READY = -2000 };

/* Returns the lowest index that is ready (any); 0 if each has been ready (all); NONE_READY; or an error. */
static int look_at_all(struct wf_wait *s, size_t count, bool all)
{
    bool every = true;
    for (size_t i = 0; i < count; i++) {
        if (s[i].done) continue;
        int rc = s[i].kind->look(&s[i]);
        if (rc < 0) return rc;
        if (rc > 0 && !all) return (int)i;
        s[i].done = rc > 0;
        every &= s[i].done;
        if (rc > 0 && s[i].kind->was_ready != NULL) s[i].kind->was_ready(&s[i]);
    }
    return all && every ? 0 : NONE_READY;
}

static const char *name_of(const struct wf_wait *s, size_t count)
{
    return count == 0 ? "nothing" : count == 1 ? s->kind->name : "several sources";
}

/* Returns 1 if one of them may have become ready meanwhile. */
static int attach_all(struct wf_wait *s, size_t count)
{
    int again = 0;
    for (size_t i = 0; i < count; i++) {
        if (s[i].done) continue;
        s[i].attached = true;
        int rc = s[i].kind->attach(&s[i], s);
        if (rc < 0) return rc;
        again |= rc;
    }
    return again;
}

static int wait_until(struct wf_wait *s, size_t count, bool all, int64_t deadline)
{
    int rc = look_at_all(s, count, all);
    if (rc != NONE_READY) return rc;
    if (deadline == WEFT_NOW) return WEFT_ETIMEDOUT;
    rc = attach_all(s, count);
    if (rc > 0) rc = look_at_all(s, count, all); /* events before the attaching have not woken the task */
    else if (rc == 0) rc = NONE_READY;
    while (rc == NONE_READY) {
        rc = wf_task_wait(deadline, name_of(s, count));
        if (rc != WEFT_OK && rc != WEFT_ETIMEDOUT) return rc;
        int found = look_at_all(s, count, all); /* also after the deadline: both may come in one turn */
        if (found != NONE_READY || rc == WEFT_OK) rc = found;
    }
    return rc;
}

static int open_source(struct wf_wait *s, const weft_wait *from, struct wf_task *t)
{
    const unsigned number = (unsigned)from->kind;
    const struct wf_wait_kind *kind = number < WF_WAIT_KINDS_MAX ? t->worker->set->wait_kinds[number] : NULL;
    if (kind == NULL) return WEFT_EINVAL;
    WF_ASSERT((unsigned)kind->number == number);
    s->kind = kind;
    s->task = t;
    s->attached = s->done = false;
    return kind->open(s, from);
}

static int wait_on(struct wf_wait *s, const weft_wait *sources, size_t count, bool all, int64_t deadline,
                   struct wf_task *t)
{
    size_t open = 0;
    int rc = t->cancelled ? WEFT_ECANCELED : 0;
    while (rc == 0 && open < count) {
        rc = open_source(&s[open], &sources[open], t);
        if (rc == 0) open++;
    }
    for (size_t i = 0; i < open && deadline == WEFT_NOW; i++)
        if (s[i].kind->recheck != NULL) s[i].kind->recheck(&s[i]);
    if (rc == 0) rc = wait_until(s, count, all, deadline);
    while (open > 0) {
        open--;
        s[open].kind->close(&s[open]);
    }
    return rc;
}

__attribute__((noinline)) static int wait_on_few(const weft_wait *sources, size_t count, bool all, int64_t deadline,
                                                 struct wf_task *t)
{
    struct wf_wait s[FEW];
    WF_ASSERT(count <= FEW);
    return wait_on(s, sources, count, all, deadline, t);
}

__attribute__((noinline)) static int wait_on_many(const weft_wait *sources, size_t count, bool all, int64_t deadline,
                                                  struct wf_task *t)
{
    struct wf_wait s[WEFT_WAIT_MAX];
    return wait_on(s, sources, count, all, deadline, t);
}

static int wait_for(const weft_wait *sources, size_t count, bool all, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (count > WEFT_WAIT_MAX || (sources == NULL && count > 0)) return WEFT_EINVAL;
    int rc = (count <= FEW ? wait_on_few : wait_on_many)(sources, count, all, deadline, t);
    if (rc >= 0) wf_task_tick(t);
    return (int)wf_task_finish_wait(rc);
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
