/* runtime/wait/wait.c -- waiting for any or all of several sources: look at each; if none is ready, link a waiter to
 * each, suspend, look again.
 *
 * Design notes.
 * (1) Looking consumes nothing, so a wake is only a reason to look again, and sources that lose are as they
 *     were.
 * (2) All that a wait needs lies on the waiting task's stack; the small array serves nearly every wait, so that
 *     a few sources do not touch a second page of the stack. Everything is undone before settling, as a killed task
 *     does not come back from that. */
#include "event.h"
#include "file.h"
#include "process.h"
#include "stream.h"
#include "timer.h"

#include <weft/udp.h>
#include <weft/wait.h>

enum { FEW = 6 };

enum kind {
    MAILBOX = 1,
    TIMER,
    EVENT,
    END,
    READABLE,
    WRITABLE,
    LISTENER,
    FD_READABLE,
    FD_WRITABLE,
    UDP_READABLE,
    UDP_WRITABLE
};

struct source {
    uint8_t kind;
    bool claimed;  /* socket: this one entered first and ends the claim */
    bool attached; /* a waiter is linked, or always_ready was found out */
    bool borrowed; /* fd: the record is an earlier source's */
    bool always;   /* fd: cannot be polled, so it is always ready */
    bool done;     /* wait_all: was ready once */
    int fd;
    union {
        struct wf_socket *socket;
        struct {
            struct wf_user_timer *timer;
            struct wf_waiter waiter;
        };
        struct wf_fd *record;
        struct wf_event_wait event;
        struct wf_end_wait end;
    };
};

weft_wait weft_on_mailbox(void)
{
    return (weft_wait){.kind = MAILBOX, .fd = -1};
}

weft_wait weft_on_timer(weft_timer t)
{
    return (weft_wait){.kind = TIMER, .fd = -1, .id = t.id};
}

weft_wait weft_on_event(weft_event e)
{
    return (weft_wait){.kind = EVENT, .fd = -1, .id = e.id, .node = (uintptr_t)e.node};
}

weft_wait weft_on_end(weft_pid who)
{
    return (weft_wait){.kind = END, .fd = -1, .id = who.actor, .node = who.node};
}

weft_wait weft_on_readable(weft_stream s)
{
    return (weft_wait){.kind = READABLE, .fd = -1, .id = s.id};
}

weft_wait weft_on_writable(weft_stream s)
{
    return (weft_wait){.kind = WRITABLE, .fd = -1, .id = s.id};
}

weft_wait weft_on_listener(weft_listener l)
{
    return (weft_wait){.kind = LISTENER, .fd = -1, .id = l.id};
}

weft_wait weft_on_udp(weft_udp u, bool for_write)
{
    return (weft_wait){.kind = for_write ? UDP_WRITABLE : UDP_READABLE, .fd = -1, .id = u.id};
}

weft_wait weft_on_fd(int fd, bool for_write)
{
    return (weft_wait){.kind = for_write ? FD_WRITABLE : FD_READABLE, .fd = fd};
}

static bool for_write(const struct source *s)
{
    return s->kind == WRITABLE || s->kind == FD_WRITABLE || s->kind == UDP_WRITABLE;
}

static bool is_socket(const struct source *s)
{
    return (s->kind >= READABLE && s->kind <= LISTENER) || s->kind >= UDP_READABLE;
}

static enum wf_socket_kind socket_kind(const struct source *s)
{
    return s->kind == LISTENER ? WF_LISTENER : s->kind >= UDP_READABLE ? WF_UDP : WF_STREAM;
}

static const char *name_of(const struct source *s, size_t count)
{
    static const char *const names[] = {"nothing",        "mailbox",        "timer",           "event",
                                        "an actor's end", "stream to read", "stream to write", "connection",
                                        "descriptor",     "descriptor",     "datagram",        "datagram to send"};
    return count == 0 ? names[0] : count == 1 ? names[s->kind] : "several sources";
}

/* ---- One source: open, look, attach, close --------------------------------------------------------------------- */
static int open_source(struct source *s, const weft_wait *from, struct wf_task *t)
{
    *s = (struct source){.kind = (uint8_t)from->kind, .fd = from->fd};
    int rc = 0;
    switch (from->kind) {
    case MAILBOX: return 0;
    case TIMER:
        s->waiter.task = t;
        s->timer = wf_user_timer_find(t, from->id);
        return s->timer == NULL ? WEFT_ECLOSED : 0;
    case EVENT:
        if (from->node != 0 && from->node != (uintptr_t)t->worker->set) return WEFT_EINVAL;
        wf_event_begin(&s->event, t, (weft_event){.node = (void *)(uintptr_t)from->node, .id = from->id});
        return 0;
    case END:
        s->end = (struct wf_end_wait){.task = t, .node = from->node, .actor = from->id};
        return s->end.node == 0 || s->end.actor == 0 ? WEFT_EINVAL : 0;
    case READABLE:
    case WRITABLE:
    case LISTENER:
    case UDP_READABLE:
    case UDP_WRITABLE:
        rc = wf_socket_begin(t, socket_kind(s), from->id, for_write(s), &s->socket);
        s->claimed = rc == 0;
        return WF_MIN(rc, 0);
    case FD_READABLE:
    case FD_WRITABLE: return from->fd < 0 ? WEFT_EINVAL : 0;
    default: return WEFT_EINVAL;
    }
}

static int look_at(struct source *s, struct wf_task *t)
{
    switch (s->kind) {
    case MAILBOX: return t->worker->set->hooks->mail_ready(t);
    case TIMER: return s->timer->fired > 0;
    case EVENT: return wf_event_look(&s->event);
    case END: return t->worker->set->hooks->end_look(&s->end);
    case READABLE:
    case WRITABLE: return wf_stream_look(wf_stream_of(s->socket), for_write(s));
    case LISTENER:
    case UDP_READABLE:
    case UDP_WRITABLE: return wf_socket_look(s->socket, for_write(s));
    default:
        if (s->always) return 1;
        return s->record != NULL ? wf_fd_look(s->record, for_write(s)) : pf_is_ready(s->fd, for_write(s));
    }
}

/* A record for the length of this wait; a second source on the same descriptor borrows the first one's. */
static int attach_fd(struct source *s, struct source *first, struct wf_task *t)
{
    for (struct source *other = first; other != s; other++) {
        bool same = (other->kind == FD_READABLE || other->kind == FD_WRITABLE) && other->fd == s->fd;
        if (!same || !other->attached) continue;
        s->always = other->always;
        s->record = other->record;
        s->borrowed = true;
        break;
    }
    if (s->record == NULL && !s->always) {
        int rc = wf_fd_add(t->worker, s->fd, &s->record);
        s->always = rc == WEFT_EINVAL;
        if (rc == WEFT_EEXIST) return WEFT_EBUSY;
        if (rc < 0 && !s->always) return rc;
    }
    if (s->always) return 0;
    return wf_fd_wait(s->record, for_write(s), t);
}

static int attach(struct source *s, struct source *first, struct wf_task *t)
{
    s->attached = true;
    switch (s->kind) {
    case MAILBOX: t->wants_mail = true; return 0;
    case TIMER: wf_list_push(&s->timer->waiters, &s->waiter.on_source); return 0;
    case EVENT: return wf_event_attach(&s->event);
    case END: return t->worker->set->hooks->end_attach(&s->end);
    case READABLE:
    case WRITABLE:
    case LISTENER:
    case UDP_READABLE:
    case UDP_WRITABLE: return wf_socket_attach(s->socket, for_write(s), t);
    default: return attach_fd(s, first, t);
    }
}

/* Also of a source that is only half attached, or not at all. */
static void close_source(struct source *s, struct wf_task *t)
{
    switch (s->kind) {
    case MAILBOX: t->wants_mail = false; break;
    case EVENT: wf_event_detach(&s->event); break;
    case END:
        if (s->attached) t->worker->set->hooks->end_detach(&s->end);
        break;
    case READABLE:
    case WRITABLE:
    case LISTENER:
    case UDP_READABLE:
    case UDP_WRITABLE:
        if (s->attached) wf_socket_detach(s->socket, for_write(s));
        if (s->claimed) wf_socket_end(s->socket, for_write(s));
        else wf_socket_leave(s->socket);
        break;
    case FD_READABLE:
    case FD_WRITABLE:
        if (s->record != NULL && !s->borrowed) wf_fd_remove(s->record);
        break;
    default: wf_unlink(&s->waiter.on_source); break;
    }
}

/* ---- The wait -------------------------------------------------------------------------------------------------- */
enum { NONE_READY = -2000 };

/* The lowest ready index (any), 0 once all have been ready (all), NONE_READY, or an error. */
static int look_at_all(struct source *s, size_t count, bool all, struct wf_task *t)
{
    bool every = true;
    for (size_t i = 0; i < count; i++) {
        if (s[i].done) continue;
        int rc = look_at(&s[i], t);
        if (rc < 0) return rc;
        if (rc > 0 && !all) return (int)i;
        s[i].done = rc > 0;
        every &= s[i].done;
        /* It has been its turn, and others may be ready later. */
        if (rc > 0 && s[i].kind == EVENT) wf_event_detach(&s[i].event);
    }
    return all && every ? 0 : NONE_READY;
}

static int wait_until(struct source *s, size_t count, bool all, int64_t deadline, struct wf_task *t)
{
    bool attached = false;
    for (;;) {
        int rc = look_at_all(s, count, all, t);
        if (rc != NONE_READY) return rc;
        if (attached || count == 0) {
            rc = wf_task_wait(deadline, name_of(s, count));
            if (rc == 0) continue;
            int last = rc == WEFT_ETIMEDOUT ? look_at_all(s, count, all, t) : NONE_READY; /* both came in one turn */
            return last == NONE_READY ? rc : last;
        }
        if (deadline == WEFT_NOW) return WEFT_ETIMEDOUT;
        for (size_t i = 0; i < count; i++) {
            rc = s[i].done ? 0 : attach(&s[i], s, t);
            if (rc < 0) return rc;
        }
        attached = true; /* and look again: what came before attaching woke nobody */
    }
}

static int wait_on(struct source *s, const weft_wait *sources, size_t count, bool all, int64_t deadline,
                   struct wf_task *t)
{
    size_t open = 0;
    int rc = t->cancelled ? WEFT_ECANCELED : 0;
    while (rc == 0 && open < count) {
        rc = open_source(&s[open], &sources[open], t);
        if (rc == 0) open++;
    }
    for (size_t i = 0; i < open && deadline == WEFT_NOW; i++) {
        if (is_socket(&s[i])) wf_socket_doubt(s[i].socket, for_write(&s[i]));
    }
    if (rc == 0) rc = wait_until(s, count, all, deadline, t);
    while (open > 0) close_source(&s[--open], t);
    return rc;
}

__attribute__((noinline)) static int wait_on_few(const weft_wait *sources, size_t count, bool all, int64_t deadline,
                                                 struct wf_task *t)
{
    struct source s[FEW];
    return wait_on(s, sources, count, all, deadline, t);
}

__attribute__((noinline)) static int wait_on_many(const weft_wait *sources, size_t count, bool all, int64_t deadline,
                                                  struct wf_task *t)
{
    struct source s[WEFT_WAIT_MAX];
    return wait_on(s, sources, count, all, deadline, t);
}

static int wait_for(const weft_wait *sources, size_t count, bool all, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (count > WEFT_WAIT_MAX || (sources == NULL && count > 0)) return WEFT_EINVAL;
    int rc = (count <= FEW ? wait_on_few : wait_on_many)(sources, count, all, deadline, t);
    if (rc >= 0) wf_task_tick(t);
    return (int)wf_task_settle(rc);
}

int weft_wait_any(const weft_wait *sources, size_t count, int64_t deadline)
{
    return wait_for(sources, count, false, deadline);
}

int weft_wait_all(const weft_wait *sources, size_t count, int64_t deadline)
{
    return wait_for(sources, count, true, deadline);
}

/* ---- The slabs of a worker ------------------------------------------------------------------------------------- */
int wf_sources_init(struct wf_worker *w)
{
    const struct {
        struct wf_slab *slab;
        size_t bytes;
    } slabs[] = {
        {&w->fds, sizeof(struct wf_fd)},         {&w->streams, sizeof(struct wf_stream)},
        {&w->listeners, wf_listener_bytes()},    {&w->datagrams, sizeof(struct wf_socket)},
        {&w->events, sizeof(struct wf_event)},   {&w->user_timers, sizeof(struct wf_user_timer)},
        {&w->tickets, sizeof(struct wf_ticket)}, {&w->files, wf_file_bytes()},
    };
    for (size_t i = 0; i < WF_COUNT(slabs); i++) {
        int rc = wf_slab_init(slabs[i].slab, slabs[i].bytes, WF_SLAB_MAX);
        if (rc < 0) return rc;
    }
    return 0;
}

void wf_sources_finish(struct wf_worker *w)
{
    wf_socket_finish_all(w, WF_STREAM);
    wf_socket_finish_all(w, WF_LISTENER);
    wf_socket_finish_all(w, WF_UDP);
    wf_files_finish(w);
    wf_processes_finish(w);
    wf_events_finish(w);
    struct wf_slab *slabs[] = {&w->fds,    &w->streams,     &w->listeners, &w->datagrams,
                               &w->events, &w->user_timers, &w->tickets,   &w->files};
    for (size_t i = 0; i < WF_COUNT(slabs); i++) wf_slab_finish(slabs[i]);
}
