/* transport/carrier/listener_tcp.c -- listening for the carrier on plain TCP. Each listener belongs to one worker,
 * which accepts in its turns. If the service manager has handed a listener over, only this process's descriptor of it
 * is closed at the end, and connections wait in the socket for the next process. */
#include "listener_tcp.h"
#include "carrier_tcp.h"
#include "url.h"

#include <weft/log.h>
#include <weft/resolve.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACCEPT_TURN = 64, /* connections of one listener in one turn */
    BACKLOG = 128,
};
#define ACCEPT_PAUSE WEFT_MS(100)

struct tcp_listener {
    struct wf_list_node in_carrier;
    struct tcp_carrier *carrier;
    struct wf_worker *worker;
    struct pf_address address; /* for pf_listen_close; an inherited listener has no file to remove */
    pf_handle handle;
    struct wf_fd *fd;
    struct wf_timer pause;
    struct wf_call start, again, end;
    bool started; /* under carrier->lock */
    bool more;    /* the call `again` is under way */
    bool over;    /* it no longer listens */
};

/* ---- Listening: its worker's thread ---------------------------------------------------------------------------- */

static void look_next_turn(struct tcp_listener *l)
{
    if (l->more) return;
    l->more = true;
    wf_worker_post(l->worker, &l->again.post);
}

/* Looks again later, because the poller does not report connections that wait already. If there is no memory for a
 * timer, this posts a call for each turn until there is. False: there is no memory. */
static bool look_later(struct tcp_listener *l)
{
    struct pf_env *env = l->worker->set->env;
    if (wf_timer_armed(&l->pause)) return true;
    if (wf_timer_arm(l->worker, &l->pause, env->now(env) + ACCEPT_PAUSE) == WEFT_OK) return true;
    look_next_turn(l);
    return false;
}

static void accept_some(struct tcp_listener *l)
{
    for (int i = 0; i < ACCEPT_TURN; i++) {
        pf_handle h;
        int rc = pf_accept(l->handle, &h);
        if (rc == PF_AGAIN && (rc = wf_fd_arm(l->fd, false)) == WEFT_OK) return;
        if (rc == WEFT_OK) rc = wf_tcp_conn_new(l->carrier, h, NULL, NULL, false);
        if (rc == WEFT_OK || rc == WEFT_ECLOSED) continue; /* ECLOSED: there are too many strangers */
        (void)look_later(l);                               /* no descriptors or no memory are left */
        return;
    }
    look_next_turn(l);
}

static void on_listener(void *arg, const struct pf_ready *r)
{
    (void)r;
    accept_some(arg);
}

/* If there is no memory, or the user has too many watches, it tries again later; peers dial again meanwhile. */
static void watch(struct wf_worker *w, struct tcp_listener *l)
{
    int rc = wf_fd_add(w, l->handle, &l->fd);
    if (rc < 0) {
        if (look_later(l)) weft_log(WEFT_ERROR, "cannot accept connections now: %s", wf_loop_explain(rc));
        return;
    }
    l->fd->watch = on_listener;
    l->fd->watch_arg = l;
    accept_some(l);
}

static void look(struct wf_worker *w, struct tcp_listener *l)
{
    if (l->fd != NULL) accept_some(l);
    else if (!l->over) watch(w, l);
}

static void on_pause_over(struct wf_worker *w, struct wf_timer *t)
{
    look(w, WF_CONTAINER(t, struct tcp_listener, pause));
}

static void on_more(struct wf_worker *w, struct wf_call *call)
{
    struct tcp_listener *l = WF_CONTAINER(call, struct tcp_listener, again);
    l->more = false;
    look(w, l);
}

static void on_listen(struct wf_worker *w, struct wf_call *call)
{
    watch(w, WF_CONTAINER(call, struct tcp_listener, start));
}

static void listener_free(struct tcp_listener *l)
{
    pf_listen_close(l->handle, &l->address);
    free(l);
}

static void on_unlisten(struct wf_worker *w, struct wf_call *call)
{
    struct tcp_listener *l = WF_CONTAINER(call, struct tcp_listener, end);
    struct tcp_carrier *k = l->carrier;
    wf_timer_disarm(w, &l->pause);
    if (l->fd != NULL) wf_fd_remove(l->fd);
    l->fd = NULL;
    l->over = true;
    if (l->more) { /* this runs again behind the call that is under way */
        wf_worker_post(w, &l->end.post);
        return;
    }
    listener_free(l);
    wf_loop_gone(&k->loop);
}

/* Opens it; `bound` gets its URL. */
static int open_listener(struct tcp_listener *l, const char *url, char *bound, char *why)
{
    char text[64];
    struct pf_address real;
    if (!wf_tcp_parse(url, &l->address)) return WEFT_EADDRESS;
    int rc = pf_listen(&l->handle, &l->address, BACKLOG, false);
    if (rc == WEFT_OK) rc = pf_local_address(l->handle, &real); /* the real port, if any port was requested */
    if (rc == WEFT_OK) rc = pf_address_format(&real, text, sizeof text);
    if (rc < 0) snprintf(why, WF_REASON_TEXT, "%s", wf_loop_explain(rc));
    else wf_url_with_port(url, atoi(strrchr(text, ':') + 1), bound);
    return rc;
}

static const char *explain_inherited(int error)
{
    switch (error) {
    case WEFT_ENOTFOUND:
        return "the service manager has passed no socket of that name: is its .socket unit started, with "
               "FileDescriptorName=?";
    case WEFT_EINUSE: return "that socket is taken already: each can be used once in a process";
    case WEFT_EINVAL: return "the socket passed by that name is not a listening TCP socket";
    case WEFT_ENOTSUP: return "no service manager of this system hands over sockets";
    default: return wf_loop_explain(error);
    }
}

/* The same for a listener that the service manager has opened: `bound` gets the URL that peers dial. */
static int inherit_listener(struct tcp_listener *l, const char *name, char *bound, char *why)
{
    char text[WEFT_ADDRESS_TEXT];
    int rc = pf_manager_listener(name, &l->handle);
    if (rc == WEFT_OK) rc = pf_local_address(l->handle, &l->address);
    if (rc == WEFT_OK && pf_address_is_unix(&l->address)) rc = WEFT_EINVAL;
    if (rc == WEFT_OK) rc = pf_address_format(&l->address, text, sizeof text);
    if (rc < 0) snprintf(why, WF_REASON_TEXT, "%s", explain_inherited(rc));
    else snprintf(bound, WF_URL_TEXT, "tcp://%s", text);
    return rc;
}

/* Called with the lock held. */
static void start(struct tcp_listener *l)
{
    l->started = true;
    wf_worker_post(l->worker, &l->start.post);
}

int wf_tcp_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    (void)mode;
    struct tcp_listener *l = calloc(1, sizeof *l);
    if (l == NULL) return WEFT_ENOMEM;
    snprintf(why, WF_REASON_TEXT, "not a URL to listen on");
    l->handle = PF_NO_HANDLE;
    const char *name = wf_url_inherited(url);
    int rc = name != NULL ? inherit_listener(l, name, bound, why) : open_listener(l, url, bound, why);
    if (rc < 0) {
        pf_close(l->handle);
        free(l);
        return rc;
    }
    l->carrier = k;
    l->pause.fire = on_pause_over;
    l->start = (struct wf_call){.post.kind = WF_POST_CALL, .call = on_listen};
    l->again = (struct wf_call){.post.kind = WF_POST_CALL, .call = on_more};
    l->end = (struct wf_call){.post.kind = WF_POST_CALL, .call = on_unlisten};
    pf_mutex_lock(k->loop.lock);
    l->worker = wf_workers_own(k->loop.options.workers);
    wf_list_push(&k->listeners, &l->in_carrier);
    k->loop.count++;
    if (k->accepting) start(l);
    pf_mutex_unlock(k->loop.lock);
    return WEFT_OK;
}

void wf_tcp_accept(struct wf_carrier *base)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    pf_mutex_lock(k->loop.lock);
    k->accepting = true;
    WF_LIST_EACH(at, &k->listeners) start(WF_CONTAINER(at, struct tcp_listener, in_carrier));
    pf_mutex_unlock(k->loop.lock);
}

/* A listener that was never started has no worker yet. */
void wf_tcp_unlisten(struct wf_carrier *base)
{
    struct tcp_carrier *k = (struct tcp_carrier *)base;
    struct wf_list unused;
    wf_list_init(&unused);
    pf_mutex_lock(k->loop.lock);
    for (struct wf_list_node *at; (at = wf_list_pop(&k->listeners)) != NULL;) {
        struct tcp_listener *l = WF_CONTAINER(at, struct tcp_listener, in_carrier);
        if (l->started) wf_worker_post(l->worker, &l->end.post);
        else wf_list_push(&unused, &l->in_carrier);
    }
    pf_mutex_unlock(k->loop.lock);
    for (struct wf_list_node *at; (at = wf_list_pop(&unused)) != NULL;) {
        listener_free(WF_CONTAINER(at, struct tcp_listener, in_carrier));
        wf_loop_gone(&k->loop);
    }
}
