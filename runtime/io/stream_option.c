/* runtime/io/stream_option.c -- options of streams, streams made of existing descriptors, and descriptors that are
 * sent over Unix sockets. */
#include <limits.h>

#include <weft/stream.h>

#include "stream.h"

enum unit { FLAG, NUMBER, SPAN, LINGER };

static const struct {
    enum pf_option option;
    enum unit unit;
} options[] = {
    [WEFT_NODELAY] = {PF_NODELAY, FLAG},
    [WEFT_KEEPALIVE] = {PF_KEEPALIVE, SPAN},
    [WEFT_KEEPALIVE_INTERVAL] = {PF_KEEPALIVE_INTERVAL, SPAN},
    [WEFT_KEEPALIVE_COUNT] = {PF_KEEPALIVE_COUNT, NUMBER},
    [WEFT_SEND_BUFFER] = {PF_SEND_BUFFER, NUMBER},
    [WEFT_RECEIVE_BUFFER] = {PF_RECEIVE_BUFFER, NUMBER},
    [WEFT_LINGER] = {PF_LINGER, LINGER},
    [WEFT_UNSENT] = {PF_NOT_SENT, NUMBER},
};

static bool is_option(weft_stream_option o)
{
    return (int)o >= WEFT_NODELAY && (size_t)o < WF_COUNT(options);
}

/* Time spans are rounded up to whole seconds. */
static bool to_system(enum unit unit, int64_t value, int *out)
{
    int64_t least = unit == LINGER ? -1 : 0, most = unit == FLAG ? 1 : unit == LINGER ? 0 : INT_MAX;
    if (unit == SPAN && value > 0) value = (value - 1) / WEFT_SEC(1) + 1;
    if (value < least || value > most) return false;
    *out = (int)value;
    return true;
}

int weft_stream_set(weft_stream stream, weft_stream_option option, int64_t value)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *s;
    int number;
    if (t == NULL) return WEFT_ENOTACTOR;
    if (!is_option(option) || !to_system(options[option].unit, value, &number)) return WEFT_EINVAL;
    int rc = wf_socket_enter(t->worker, WF_STREAM, stream.id, &s);
    if (rc < 0) return rc;
    rc = pf_set_option(s->handle, options[option].option, number);
    wf_socket_leave(s);
    return rc;
}

int weft_stream_get(weft_stream stream, weft_stream_option option, int64_t *value)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *s;
    int number = 0;
    if (t == NULL) return WEFT_ENOTACTOR;
    if (!is_option(option) || value == NULL) return WEFT_EINVAL;
    int rc = wf_socket_enter(t->worker, WF_STREAM, stream.id, &s);
    if (rc < 0) return rc;
    rc = pf_get_option(s->handle, options[option].option, &number);
    wf_socket_leave(s);
    if (rc == WEFT_OK) *value = options[option].unit == SPAN ? WEFT_SEC((int64_t)number) : number;
    return rc;
}

int weft_stream_from_fd(weft_stream *out, int fd)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    int rc = pf_adopt(fd);
    if (rc < 0) return rc;
    struct wf_socket *s = wf_socket_open(t->worker, WF_STREAM, fd, wf_stream_finish);
    if (s == NULL) return WEFT_ENOMEM;
    struct pf_address bound;
    wf_stream_begin(wf_stream_of(s));
    wf_stream_of(s)->pieces = pf_local_address(fd, &bound) < 0 || pf_address_is_unix(&bound);
    out->id = wf_socket_id(s);
    return WEFT_OK;
}

int weft_stream_fd(weft_stream stream, int *out)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *s;
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    int rc = wf_socket_enter(t->worker, WF_STREAM, stream.id, &s);
    if (rc < 0) return rc;
    *out = (int)s->handle;
    wf_socket_leave(s);
    return WEFT_OK;
}

/* ---- Sending and receiving descriptors --------------------------------------------------------------------------- */

static int64_t attempt(struct wf_socket *k, bool for_write, void *handle)
{
    const struct wf_stream *s = wf_stream_of(k);
    pf_handle *h = handle;
    if (s->layer != NULL) return WEFT_EINVAL; /* the descriptor would bypass the layer */
    if (for_write) return pf_send_handle(k->handle, *h);
    if (s->broken < 0) return s->broken;
    return s->held_size > 0 ? WEFT_EFORMAT : pf_receive_handle(k->handle, h);
}

static int call(weft_stream stream, bool for_write, pf_handle *h, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    struct wf_socket *s;
    wf_task_tick(t); /* ticks now: a kill during a tick at the end would leak the descriptor */
    int rc = t->cancelled ? WEFT_ECANCELED : wf_socket_begin(t, WF_STREAM, stream.id, for_write, &s);
    if (rc < 0) return (int)wf_task_finish_wait(rc);
    const char *what = for_write ? "stream to write" : "descriptor";
    rc = (int)wf_socket_pass(s, t, for_write, attempt, h, deadline, what);
    wf_socket_end(s, for_write);
    return rc >= 0 ? rc : (int)wf_task_finish_wait(rc);
}

int weft_send_fd(weft_stream stream, int fd, int64_t deadline)
{
    pf_handle h = fd;
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    return fd < 0 ? WEFT_EINVAL : call(stream, true, &h, deadline);
}

int weft_receive_fd(weft_stream stream, int *out, int64_t deadline)
{
    pf_handle h = PF_NO_HANDLE;
    if (wf_task_self() == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    int rc = call(stream, false, &h, deadline);
    if (rc == 1) *out = (int)h;
    return rc;
}
