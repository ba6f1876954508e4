/* runtime/io/datagram.c -- UDP: a socket that sends and receives whole datagrams. */
#include "datagram.h"

#include <string.h>

#include <weft/udp.h>

static void finish_udp(struct wf_socket *s)
{
    pf_close(s->handle);
}

static int set_options(pf_handle h, const weft_udp_options *o)
{
    const struct {
        bool wanted;
        enum pf_option option;
        int value;
    } all[] = {{o->broadcast, PF_BROADCAST, 1},
               {o->no_loop, PF_MULTICAST_LOOP, 0},
               {o->hops != 0, PF_MULTICAST_HOPS, o->hops},
               {o->receive_buffer != 0, PF_RECEIVE_BUFFER, o->receive_buffer},
               {o->send_buffer != 0, PF_SEND_BUFFER, o->send_buffer}};
    int rc = WEFT_OK;
    for (size_t i = 0; i < WF_COUNT(all) && rc == WEFT_OK; i++)
        if (all[i].wanted) rc = pf_set_option(h, all[i].option, all[i].value);
    return rc;
}

int weft_udp_open(weft_udp *out, const char *address, const weft_udp_options *options)
{
    static const weft_udp_options defaults;
    struct wf_task *t = wf_task_self();
    struct pf_address at, peer;
    pf_handle h = PF_NO_HANDLE;
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || address == NULL) return WEFT_EINVAL;
    if (options == NULL) options = &defaults;
    int rc = pf_address_parse(address, &at);
    if (rc == WEFT_OK && options->peer != NULL) rc = pf_address_parse(options->peer, &peer);
    if (rc == WEFT_OK) rc = pf_udp_open(&h, &at, options->reuse);
    if (rc < 0) return rc;
    rc = set_options(h, options);
    if (rc == WEFT_OK && options->peer != NULL) rc = pf_udp_connect(h, &peer);
    struct wf_socket *s = rc < 0 ? NULL : wf_socket_open(t->worker, WF_UDP, h, finish_udp);
    if (s == NULL) {
        pf_close(h);
        return rc < 0 ? rc : WEFT_ENOMEM;
    }
    out->id = wf_socket_id(s);
    return WEFT_OK;
}

static int enter(weft_udp u, struct wf_socket **out)
{
    struct wf_task *t = wf_task_self();
    return t == NULL ? WEFT_ENOTACTOR : wf_socket_enter(t->worker, WF_UDP, u.id, out);
}

int weft_udp_address(weft_udp u, weft_address *out)
{
    struct wf_socket *s;
    struct pf_address bound;
    if (out == NULL) return wf_task_self() == NULL ? WEFT_ENOTACTOR : WEFT_EINVAL;
    int rc = enter(u, &s);
    if (rc < 0) return rc;
    rc = pf_local_address(s->handle, &bound);
    if (rc == WEFT_OK) memcpy(out, &bound, sizeof *out);
    wf_socket_leave(s);
    return rc;
}

static int change_group(weft_udp u, const weft_address *group, const char *interface_name, bool join)
{
    struct wf_socket *s;
    struct pf_address at;
    if (group == NULL) return wf_task_self() == NULL ? WEFT_ENOTACTOR : WEFT_EINVAL;
    int rc = enter(u, &s);
    if (rc < 0) return rc;
    memcpy(&at, group, sizeof at);
    rc = pf_udp_group(s->handle, &at, interface_name, join);
    wf_socket_leave(s);
    return rc;
}

int weft_udp_join(weft_udp u, const weft_address *group, const char *interface_name)
{
    return change_group(u, group, interface_name, true);
}

int weft_udp_leave(weft_udp u, const weft_address *group, const char *interface_name)
{
    return change_group(u, group, interface_name, false);
}

/* ---- Datagrams ------------------------------------------------------------------------------------------------- */

struct datagram {
    void *data;
    size_t size;
    struct pf_address *address; /* may be NULL */
};

static int64_t attempt(struct wf_socket *s, bool for_write, void *arg)
{
    const struct datagram *d = arg;
    return for_write ? pf_udp_send(s->handle, d->address, d->data, d->size)
                     : pf_udp_receive(s->handle, d->data, d->size, d->address);
}

static int64_t call(weft_udp u, bool for_write, struct datagram *d, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *s;
    int64_t n = t->cancelled ? WEFT_ECANCELED : wf_socket_begin(t, WF_UDP, u.id, for_write, &s);
    if (n < 0) return wf_task_finish_wait(n);
    n = wf_socket_pass(s, t, for_write, attempt, d, deadline, for_write ? "datagram to send" : "datagram");
    wf_socket_end(s, for_write);
    wf_task_tick(t);
    return wf_task_finish_wait(n);
}

int weft_udp_send(weft_udp u, const weft_address *to, const void *data, size_t size, int64_t deadline)
{
    struct pf_address at;
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    if (data == NULL && size > 0) return WEFT_EINVAL;
    if (to != NULL) memcpy(&at, to, sizeof at);
    struct datagram d = {(void *)(uintptr_t)data, size, to != NULL ? &at : NULL};
    return (int)call(u, true, &d, deadline);
}

int64_t weft_udp_receive(weft_udp u, void *buffer, size_t size, weft_address *from, int64_t deadline)
{
    struct pf_address sender = {.size = 0};
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    if (buffer == NULL && size > 0) return WEFT_EINVAL;
    struct datagram d = {buffer, size, from != NULL ? &sender : NULL};
    int64_t n = call(u, false, &d, deadline);
    if (from != NULL && (n >= 0 || n == WEFT_ETOOBIG)) memcpy(from, &sender, sizeof *from);
    return n;
}

int weft_udp_close(weft_udp u)
{
    struct wf_task *t = wf_task_self();
    return t == NULL ? WEFT_ENOTACTOR : wf_socket_close(t->worker, WF_UDP, u.id);
}

int weft_udp_defer_close(weft_udp u)
{
    return wf_socket_defer_close(WF_UDP, u.id);
}

/* ---- Waiting for any of several sources -------------------------------------------------------------------------- */

weft_wait weft_on_udp(weft_udp u, bool for_write)
{
    return (weft_wait){.kind = for_write ? WF_ON_UDP_WRITABLE : WF_ON_UDP_READABLE, .fd = -1, .id = u.id};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    return wf_socket_wait_open(s, WF_UDP, from->id);
}

static const struct wf_wait_kind readable = {.number = WF_ON_UDP_READABLE,
                                             .name = "datagram",
                                             .open = wait_open,
                                             .recheck = wf_socket_wait_recheck,
                                             .look = wf_socket_wait_look,
                                             .attach = wf_socket_wait_attach,
                                             .close = wf_socket_wait_close};
static const struct wf_wait_kind writable = {.number = WF_ON_UDP_WRITABLE,
                                             .for_write = true,
                                             .name = "datagram to send",
                                             .open = wait_open,
                                             .recheck = wf_socket_wait_recheck,
                                             .look = wf_socket_wait_look,
                                             .attach = wf_socket_wait_attach,
                                             .close = wf_socket_wait_close};

/* ---- The part of each worker ------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->datagrams, sizeof(struct wf_socket), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    wf_socket_finish_all(w, WF_UDP);
    wf_slab_finish(&w->datagrams);
}

static const struct wf_wait_kind *const wait_kinds[] = {&readable, &writable, NULL};
const struct wf_part wf_udp_part = {.worker_begin = part_begin, .worker_end = part_end, .wait_kinds = wait_kinds};
