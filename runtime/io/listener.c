/* runtime/io/listener.c -- see listener.h. */
#include "listener.h"

#include "places.h"

#include <weft/stream.h>

enum { BACKLOG = 1024 };
static const int64_t PAUSE_WHEN_FULL = WEFT_MS(50); /* no descriptor is free: other code gets time to close some */

struct wf_listener {
    struct wf_socket socket; /* first: its slot is the slab item's */
    struct pf_address bound;
};

static struct wf_listener *listener_of(struct wf_socket *s)
{
    return WF_CONTAINER(s, struct wf_listener, socket);
}

static void no_more_places(struct wf_socket *s)
{
    wf_places_release(s->places);
    s->places = NULL;
}

static void finish_listener(struct wf_socket *s)
{
    no_more_places(s);
    pf_listen_close(s->handle, &listener_of(s)->bound);
}

int weft_listen(weft_listener *out, const char *address, const weft_listen_options *options)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || address == NULL || (options != NULL && options->backlog < 0)) return WEFT_EINVAL;
    struct pf_address at, bound;
    int rc = pf_address_parse(address, &at);
    if (rc < 0) return rc;
    int backlog = options != NULL && options->backlog > 0 ? options->backlog : BACKLOG;
    pf_handle h;
    rc = pf_listen(&h, &at, backlog, options != NULL && options->reuse_port);
    if (rc < 0) return rc;
    rc = pf_local_address(h, &bound);
    struct wf_socket *s = rc < 0 ? NULL : wf_socket_open(t->worker, WF_LISTENER, h, finish_listener);
    if (s == NULL) {
        pf_listen_close(h, &at);
        return rc < 0 ? rc : WEFT_ENOMEM;
    }
    listener_of(s)->bound = bound;
    out->id = wf_socket_id(s);
    return 0;
}

/* The service manager has this socket, too, and owns the file of a Unix socket, so neither is removed. */
static void finish_inherited(struct wf_socket *s)
{
    no_more_places(s);
    pf_close(s->handle);
}

int weft_listen_inherited(weft_listener *out, const char *name)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    /* Memory is allocated first, because a socket that was taken cannot be given back. */
    struct wf_socket *s = wf_socket_open(t->worker, WF_LISTENER, PF_NO_HANDLE, finish_inherited);
    if (s == NULL) return WEFT_ENOMEM;
    int rc = pf_manager_listener(name, &s->handle);
    /* none is left: a caller that takes all sockets of a name stops at this error */
    if (rc == WEFT_EINUSE) rc = WEFT_ENOTFOUND;
    if (rc == WEFT_OK) rc = pf_local_address(s->handle, &listener_of(s)->bound);
    if (rc < 0) {
        (void)wf_socket_close(t->worker, WF_LISTENER, wf_socket_id(s));
        return rc;
    }
    out->id = wf_socket_id(s);
    return WEFT_OK;
}

int weft_listener_address(weft_listener l, char *out, size_t size)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || size == 0) return WEFT_EINVAL;
    struct wf_socket *s;
    int rc = wf_socket_enter(t->worker, WF_LISTENER, l.id, &s);
    if (rc < 0) return rc;
    rc = pf_address_format(&listener_of(s)->bound, out, size);
    wf_socket_leave(s);
    return rc;
}

int weft_listener_places(weft_listener l, uint32_t most, uint32_t each)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (most < 1 || most > WF_PLACES_MAX) return WEFT_EINVAL;
    struct wf_places *places;
    struct wf_socket *s;
    int rc = wf_places_new(&places, t->worker->set->env, most, each > 0 ? each : WF_MAX(most / 4, 1U));
    if (rc < 0) return rc;
    rc = wf_socket_enter(t->worker, WF_LISTENER, l.id, &s);
    if (rc < 0) {
        wf_places_release(places);
        return rc;
    }
    no_more_places(s);
    s->places = places;
    wf_socket_leave(s);
    return WEFT_OK;
}

/* False: no place is free, and the connection has been closed. */
static bool has_a_place(const struct wf_socket *l, pf_handle h, uint32_t *place)
{
    struct pf_address from;
    if (l->places == NULL) return true;
    bool known = pf_peer_address(h, &from) == WEFT_OK;
    if (wf_places_take(l->places, known ? &from : NULL, place)) return true;
    pf_close(h);
    return false;
}

static int pause_when_full(struct wf_socket *s, int64_t deadline)
{
    int64_t until = WF_MIN(deadline, weft_after(PAUSE_WHEN_FULL));
    int rc = 0;
    while (rc == 0 && !wf_socket_closed(s)) rc = wf_task_wait(until, "free descriptor");
    if (wf_socket_closed(s)) return WEFT_ECLOSED;
    return rc == WEFT_ETIMEDOUT ? WEFT_EFULL : rc;
}

enum { REFUSED = 1 };

static int accept_one(struct wf_socket *s, struct wf_task *t, pf_handle *out, uint32_t *place, int64_t deadline)
{
    if (deadline == WEFT_NOW) wf_socket_recheck(s, false);
    for (;;) {
        if (wf_socket_worth(s, false)) {
            if (wf_socket_closed(s)) return WEFT_ECLOSED;
            int rc = pf_accept(s->handle, out);
            if (rc == WEFT_EFULL) return pause_when_full(s, deadline);
            if (rc == 0) wf_socket_moved(s, false, false);
            if (rc == 0 && !has_a_place(s, *out, place)) return REFUSED;
            if (rc != PF_AGAIN) return rc;
            wf_socket_stuck(s, false);
        }
        int rc = wf_socket_wait(s, t, false, deadline, "connection to accept");
        if (rc < 0) return rc;
    }
}

/* REFUSED: a connection has come, and was closed because no place is free. */
static int accept_stream(struct wf_task *t, weft_listener l, weft_stream *out, int64_t deadline)
{
    struct wf_socket *s;
    struct wf_stream *stream;
    pf_handle h;
    uint32_t place = 0;
    int rc = t->cancelled ? WEFT_ECANCELED : wf_socket_begin(t, WF_LISTENER, l.id, false, &s);
    if (rc < 0) return rc;
    bool pieces = pf_address_is_unix(&listener_of(s)->bound);
    rc = accept_one(s, t, &h, &place, deadline);
    struct wf_places *places = s->places;
    wf_socket_end(s, false);
    if (rc != WEFT_OK) return rc;
    rc = wf_stream_open(t->worker, h, &stream);
    if (rc < 0) {
        if (places != NULL) wf_places_give(places, place);
        return rc;
    }
    stream->pieces = pieces;
    stream->socket.places = places;
    stream->socket.place = place;
    out->id = wf_socket_id(&stream->socket);
    return WEFT_OK;
}

int weft_accept(weft_listener l, weft_stream *out, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    for (int rc = REFUSED; rc == REFUSED;) {
        wf_task_tick(t); /* ticks now: a kill during a tick at the end would leak the connection */
        rc = accept_stream(t, l, out, deadline);
        if (rc < 0) return (int)wf_task_finish_wait(rc);
    }
    return WEFT_OK;
}

int weft_listener_defer_close(weft_listener l)
{
    return wf_socket_defer_close(WF_LISTENER, l.id);
}

int weft_listener_close(weft_listener l)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    return wf_socket_close(t->worker, WF_LISTENER, l.id);
}

/* ---- Waiting for any of several sources -------------------------------------------------------------------------- */

weft_wait weft_on_listener(weft_listener l)
{
    return (weft_wait){.kind = WF_ON_LISTENER, .fd = -1, .id = l.id};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    return wf_socket_wait_open(s, WF_LISTENER, from->id);
}

static const struct wf_wait_kind wait_kind = {.number = WF_ON_LISTENER,
                                              .name = "connection",
                                              .open = wait_open,
                                              .recheck = wf_socket_wait_recheck,
                                              .look = wf_socket_wait_look,
                                              .attach = wf_socket_wait_attach,
                                              .close = wf_socket_wait_close};

/* ---- The part of each worker ------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->listeners, sizeof(struct wf_listener), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    wf_socket_finish_all(w, WF_LISTENER);
    wf_slab_finish(&w->listeners);
}

static const struct wf_wait_kind *const wait_kinds[] = {&wait_kind, NULL};
const struct wf_part wf_listener_part = {
    .worker_begin = part_begin, .worker_end = part_end, .wait_kinds = wait_kinds};
