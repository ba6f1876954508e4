/* runtime/sched/stuck.c -- see stuck.h. */
#include "stuck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "here.h"
#include "log.h"
#include "task.h"

/* ---- Finding a blocked worker ------------------------------------------------------------------------------------ */

struct wf_watch {
    pf_mutex *lock;       /* of `seen` */
    _Atomic bool setting; /* a thread sets the alarm, one at a time: acquire and release */
    _Atomic bool rings;   /* relaxed: the poller has no alarms, so its worker must be woken when it is time to look */
    struct wf_stuck seen[WF_WORKERS_MAX];
    struct wf_stuck look; /* of the thread that looks; while a thread is glimpsed, that thread writes it */
    const struct wf_worker *glimpsed;
};

/* Runs on the glimpsed thread, in its signal handler. Where threads cannot be glimpsed it runs on the thread that
 * looks: it then reads fields that were written at least a second ago, or that do not change as long as the actor
 * lives. */
__attribute__((no_sanitize("thread"))) static void see(void *watch)
{
    struct wf_watch *all = watch;
    const struct wf_worker *w = all->glimpsed;
    const struct wf_task *t = w->current;
    if (t == NULL) return;
    const char *task = (const char *)t, *kind = NULL;
    uint64_t id = 0;
    __builtin_memcpy(&id, task + w->set->hooks->task_id_at, sizeof id);
    __builtin_memcpy(&kind, task + w->set->hooks->task_kind_at, sizeof kind);
    all->look.actor = id;
    for (size_t i = 0; kind != NULL && i < sizeof all->look.kind - 1 && kind[i] != '\0'; i++)
        all->look.kind[i] = kind[i];
}

static void glimpse(struct wf_watch *all, struct wf_worker *w)
{
    struct wf_stuck *s = &all->look;
    all->glimpsed = w;
    int calls = pf_thread_glimpse(w->thread, see, all, s->call, WF_STUCK_CALLS);
    s->calls = WF_MAX(calls, 0);
    s->asked = calls == WEFT_ETIMEDOUT ? s->asked + 1 : 0;
    if (s->actor == 0) see(all);
    if (s->actor != 0 && w->set->hooks->task_name != NULL)
        w->set->hooks->task_name(w->set, s->actor, s->name, sizeof s->name);
}

void wf_stuck_who(const struct wf_stuck *s, char *out, size_t size)
{
    const unsigned slot = (unsigned)(s->actor & 0xFFFFFF), generation = (unsigned)(s->actor >> 32);
    if (s->actor == 0) snprintf(out, size, "a timer or a delivery");
    else
        snprintf(out, size, "actor %s%s%s%s%u.%u.%u%s", s->name, s->name[0] == 0 ? "" : " (", s->kind, " ", s->worker,
                 slot, generation, s->name[0] == 0 ? "" : ")");
}

/* Whether each actor begins with this function: one runs bodies, the other handlers. */
static bool is_first(const char *name)
{
    static const char body[] = "wf_actor_main", handler[] = "wf_handler_turn";
    return strncmp(name, body, sizeof body - 1) == 0 || strncmp(name, handler, sizeof handler - 1) == 0;
}

/* Only functions of the program: the functions with which each actor begins are left out, if their names are
 * known. */
void wf_stuck_where(const struct wf_stuck *s, char out[WF_STUCK_TEXT])
{
    int shown = 0;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < s->calls && used < WF_STUCK_TEXT; i++) {
        struct pf_code code;
        char name[128] = "";
        if (!pf_code_at(s->call[i], &code)) break; /* callers beyond unknown code cannot be trusted */
        if (!pf_code_function(&code, name, sizeof name)) snprintf(name, sizeof name, "%s", code.symbol);
        if (is_first(name)) break;
        if (name[0] == '\0') continue;
        used += (size_t)snprintf(out + used, WF_STUCK_TEXT - used, "%s%s", shown++ == 0 ? " in " : " < ", name);
    }
}

static void say_seen(const struct wf_stuck *s, bool again)
{
    char who[160], where[WF_STUCK_TEXT];
    wf_stuck_who(s, who, sizeof who);
    wf_stuck_where(s, where);
    if (again)
        weft_log(WEFT_WARN, "worker %u is still held up by %s, after %.1f s%s", (unsigned)s->worker, who,
                 (double)(s->now - s->began) / 1e9, where);
    else
        weft_log(WEFT_WARN, "worker %u is held up by %s for %.1f s%s: nothing else runs there until it waits or ends",
                 (unsigned)s->worker, who, (double)(s->now - s->began) / 1e9, where);
}

bool wf_stuck_at(struct wf_workers *set, uint32_t worker, struct wf_stuck *out)
{
    struct wf_watch *all = set->watch;
    if (all == NULL || worker >= set->users) return false;
    struct wf_worker *w = set->at[worker];
    int64_t began = atomic_load_explicit(&w->pace.began, memory_order_relaxed);
    if (began == 0 || atomic_load_explicit(&w->pace.seen, memory_order_acquire) != began) return false;
    if (out == NULL) return true;
    pf_mutex_lock(all->lock);
    *out = all->seen[worker];
    pf_mutex_unlock(all->lock);
    out->now = set->env->now(set->env);
    return out->began == began;
}

uint32_t wf_stuck_report(struct wf_workers *set, const char *what)
{
    struct wf_stuck s;
    char who[160], where[WF_STUCK_TEXT];
    uint32_t told = 0;
    for (uint32_t i = 0; i < set->users; i++) {
        if (!wf_stuck_at(set, i, &s)) continue;
        wf_stuck_who(&s, who, sizeof who);
        wf_stuck_where(&s, where);
        weft_log(WEFT_ERROR, "%s waits for %s, which has held worker %u up for %.1f s%s", what, who,
                 (unsigned)s.worker, (double)(s.now - s.began) / 1e9, where);
        told++;
    }
    return told;
}

void wf_stuck_over(struct wf_worker *w, int64_t began, int64_t now)
{
    struct wf_watch *all = w->set->watch;
    char who[160];
    WF_ASSERT(all != NULL && w->index < w->set->users);
    pf_mutex_lock(all->lock);
    struct wf_stuck s = all->seen[w->index];
    pf_mutex_unlock(all->lock);
    wf_stuck_who(&s, who, sizeof who);
    weft_log(WEFT_WARN, "worker %u goes on: %s has held it up for %.1f s", (unsigned)w->index, who,
             (double)(now - began) / 1e9);
    wf_stuck_arm(w); /* nothing has set the alarm since the last look */
}

/* ---- Looking --------------------------------------------------------------------------------------------------- */

static void set_alarm(struct wf_workers *set, int64_t at)
{
    struct wf_watch *all = set->watch;
    struct wf_worker *own = wf_workers_own(set);
    /* another thread sets it, to about the same time */
    if (atomic_exchange_explicit(&all->setting, true, memory_order_acquire)) return;
    atomic_store_explicit(&set->look_at, at, memory_order_relaxed);
    if (set->env->poller_alarm(own->poller, at) < 0) {
        atomic_store_explicit(&all->rings, true, memory_order_relaxed);
        if (wf_here != own) set->env->poller_wake(own->poller);
    }
    atomic_store_explicit(&all->setting, false, memory_order_release);
}

static bool another_runs(const struct wf_worker *w)
{
    for (uint32_t i = 0; i < w->set->users; i++) {
        if (i != w->index && atomic_load_explicit(&w->set->at[i]->pace.began, memory_order_relaxed) != 0) return true;
    }
    return false;
}

/* The alarm is set half a limit later than necessary, so that a worker that wakes more often than that need not set
 * it each time. */
void wf_stuck_arm(struct wf_worker *w)
{
    struct wf_workers *set = w->set;
    if (w->index >= set->users) return;
    int64_t now = set->env->now(set->env), at = atomic_load_explicit(&set->look_at, memory_order_relaxed);
    if (at > now && another_runs(w)) return; /* the next look sees this worker, too */
    set_alarm(set, now + set->stuck_after + set->stuck_after / 2);
}

/* Whether its thread has not answered yet, and is to be asked again. Only the thread that looks writes `seen`. */
static bool is_to_be_asked(const struct wf_watch *all, uint32_t worker, int64_t began)
{
    const struct wf_stuck *s = &all->seen[worker];
    return s->began == began && s->asked > 0 && s->asked < WF_STUCK_ASKED_MAX;
}

static void look_at_one(struct wf_workers *set, struct wf_worker *w, int64_t began, int64_t now, bool again)
{
    struct wf_watch *all = set->watch;
    struct wf_stuck *s = &all->look;
    WF_ASSERT(w->index < set->users && began <= now);
    *s = (struct wf_stuck){.worker = w->index, .began = began, .now = now};
    if (again) s->asked = all->seen[w->index].asked;
    glimpse(all, w);
    if (atomic_load_explicit(&w->pace.began, memory_order_relaxed) != began) return; /* this turn is over */
    pf_mutex_lock(all->lock);
    all->seen[w->index] = *s;
    pf_mutex_unlock(all->lock);
    atomic_store_explicit(&w->pace.seen, began, memory_order_release);
    if (!again || s->calls > 0) say_seen(s, again);
}

void wf_stuck_look_now(struct wf_worker *own)
{
    struct wf_workers *set = own->set;
    WF_ASSERT(own->is_own && set->watch != NULL);
    int64_t now = own->now, next = WEFT_FOREVER, at = atomic_load_explicit(&set->look_at, memory_order_relaxed);
    bool late = now - at > set->stuck_after / 2;
    atomic_store_explicit(&set->look_at, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < set->users; i++) {
        struct wf_worker *w = set->at[i];
        int64_t began = atomic_load_explicit(&w->pace.began, memory_order_relaxed);
        bool again = atomic_load_explicit(&w->pace.seen, memory_order_relaxed) == began;
        if (began == 0 || (again && !is_to_be_asked(set->watch, i, began))) continue;
        if (!late && now - began >= set->stuck_after) {
            look_at_one(set, w, began, now, again);
            if (!is_to_be_asked(set->watch, i, began)) continue;
        }
        next = WF_MIN(next, (late || now - began >= set->stuck_after ? now : began) + set->stuck_after);
    }
    if (next != WEFT_FOREVER) set_alarm(set, next);
}

int64_t wf_stuck_rings_at(const struct wf_worker *own)
{
    const struct wf_watch *all = own->set->watch;
    int64_t at = atomic_load_explicit(&own->set->look_at, memory_order_relaxed);
    bool rings = all != NULL && at != 0 && atomic_load_explicit(&all->rings, memory_order_relaxed);
    return rings ? at : WEFT_FOREVER;
}

int wf_stuck_init(struct wf_workers *set)
{
    if (set->stuck_after <= 0 || set->stuck_after == WEFT_FOREVER || set->users == set->count) {
        set->stuck_after = 0;
        atomic_store_explicit(&set->look_at, WEFT_FOREVER, memory_order_relaxed);
        return WEFT_OK;
    }
    WF_ASSERT(set->watch == NULL);
    set->watch = calloc(1, sizeof *set->watch);
    return set->watch == NULL ? WEFT_ENOMEM : pf_mutex_create(&set->watch->lock);
}

void wf_stuck_finish(struct wf_workers *set)
{
    if (set->watch == NULL) return;
    pf_mutex_destroy(set->watch->lock);
    free(set->watch);
    set->watch = NULL;
}
