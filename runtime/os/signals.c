/* runtime/os/signals.c -- signals as sources. The rules are in signals.h. */
#include "signals.h"

#include <stdlib.h>

#include "once.h"
#include "list.h"
#include "task.h"

#include <weft/signal.h>
#include <weft/wait.h>

enum { NUMBERS = 65 };

struct source {
    struct wf_owned_handle handle;
    struct wf_list_node in_table; /* sources, under table.lock */
    weft_event came;
    int number;
    int count; /* under table.lock */
};

static struct {
    _Atomic(pf_mutex *) lock, changing; /* the first caller that needs them makes them; they are never freed */
    /* These are under `lock`: */
    struct wf_list sources;
    void (*watcher)(void *arg, int number);
    void *watcher_arg;
    bool hangup; /* the watcher receives SIGHUP, too */
    /* These are under `changing`: */
    int users[NUMBERS]; /* the number of sources, plus one for the watcher */
} table = {.sources = {{&table.sources.head, &table.sources.head}}};

static int prepare(void)
{
    return wf_mutex_once(&table.lock) == NULL || wf_mutex_once(&table.changing) == NULL ? WEFT_ENOMEM : WEFT_OK;
}

/* Runs on the platform's thread. */
static void on_signal(int number)
{
    bool handled = false;
    pf_mutex_lock(table.lock);
    WF_LIST_EACH(k, &table.sources) {
        struct source *s = WF_CONTAINER(k, struct source, in_table);
        if (s->number != number) continue;
        s->count++;
        (void)weft_event_set(s->came);
        handled = true;
    }
    bool ends = number == PF_SIGINT || number == PF_SIGTERM, hangup = number == PF_SIGHUP && table.hangup;
    void (*watcher)(void *, int) = hangup || (ends && !handled) ? table.watcher : NULL;
    void *arg = table.watcher_arg;
    if (watcher != NULL) watcher(arg, number);
    pf_mutex_unlock(table.lock);
}

static int add_user(int number)
{
    if (number <= 0 || number >= NUMBERS) return WEFT_EINVAL;
    pf_mutex_lock(table.changing);
    int rc = table.users[number] > 0 ? WEFT_OK : pf_signal_catch(number, on_signal);
    if (rc == WEFT_OK) table.users[number]++;
    pf_mutex_unlock(table.changing);
    return rc;
}

static void remove_user(int number)
{
    pf_mutex_lock(table.changing);
    if (--table.users[number] == 0) pf_signal_release(number);
    pf_mutex_unlock(table.changing);
}

/* ---- The process's own ----------------------------------------------------------------------------------------- */

int wf_signals_watch(void (*on)(void *arg, int number), void *arg)
{
    int rc = prepare();
    if (rc < 0) return rc;
    pf_mutex_lock(table.lock);
    if (table.watcher != NULL) rc = WEFT_EBUSY;
    else table.watcher = on, table.watcher_arg = arg;
    pf_mutex_unlock(table.lock);
    if (rc == WEFT_OK) rc = add_user(PF_SIGINT);
    if (rc < 0) return rc;
    rc = add_user(PF_SIGTERM);
    if (rc < 0) {
        remove_user(PF_SIGINT);
        pf_mutex_lock(table.lock);
        table.watcher = NULL;
        pf_mutex_unlock(table.lock);
    }
    return rc;
}

int wf_signals_watch_hangup(void)
{
    pf_mutex_lock(table.lock);
    table.hangup = true;
    pf_mutex_unlock(table.lock);
    int rc = add_user(PF_SIGHUP);
    if (rc < 0) {
        pf_mutex_lock(table.lock);
        table.hangup = false;
        pf_mutex_unlock(table.lock);
    }
    return rc;
}

void wf_signals_unwatch(void)
{
    pf_mutex_lock(table.lock);
    bool hangup = table.hangup;
    table.watcher = NULL;
    table.hangup = false;
    pf_mutex_unlock(table.lock);
    if (hangup) remove_user(PF_SIGHUP);
    remove_user(PF_SIGINT);
    remove_user(PF_SIGTERM);
}

/* ---- Sources --------------------------------------------------------------------------------------------------- */

static void free_source(struct source *s)
{
    wf_owned_leave(&s->handle);
    pf_mutex_lock(table.lock);
    wf_unlink(&s->in_table);
    pf_mutex_unlock(table.lock);
    remove_user(s->number);
    free(s);
}

static void close_owned(struct wf_owned *o)
{
    free_source(WF_CONTAINER(o, struct source, handle.owned)); /* the task owns the event as well, and closes it */
}

int weft_signal_open(weft_signal *out, int number)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    struct source *s = malloc(sizeof *s);
    if (s == NULL || prepare() < 0) {
        free(s);
        return WEFT_ENOMEM;
    }
    *s = (struct source){.handle.owned.close = close_owned, .number = number};
    int rc = weft_event_open(&s->came);
    if (rc < 0) {
        free(s);
        return rc;
    }
    rc = wf_owned_name(t, &s->handle, s->came.id);
    if (rc == WEFT_OK) rc = add_user(number);
    if (rc < 0) {
        (void)weft_event_close(s->came);
        wf_owned_leave(&s->handle);
        free(s);
        return rc;
    }
    pf_mutex_lock(table.lock);
    wf_list_push(&table.sources, &s->in_table);
    pf_mutex_unlock(table.lock);
    wf_list_push_front(&t->owned, &s->handle.owned.on_task);
    out->came = s->came;
    return WEFT_OK;
}

static struct source *find(weft_signal signal)
{
    struct wf_owned_handle *h = wf_owned_find(close_owned, signal.came.id);
    return h == NULL ? NULL : WF_CONTAINER(h, struct source, handle);
}

weft_wait weft_on_signal(weft_signal s)
{
    return weft_on_event(s.came);
}

int weft_signal_take(weft_signal signal)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct source *s = find(signal);
    if (s == NULL) return WEFT_ECLOSED;
    pf_mutex_lock(table.lock);
    int count = s->count;
    s->count = 0;
    (void)weft_event_take(s->came);
    pf_mutex_unlock(table.lock);
    return count;
}

int weft_signal_close(weft_signal signal)
{
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    struct source *s = find(signal);
    if (s == NULL) return WEFT_ECLOSED;
    (void)weft_event_close(s->came);
    free_source(s);
    return WEFT_OK;
}
