/* runtime/io/connect.c -- connections made by this side: to an address, or to the first address of a name that
 * answers.
 */
#include <string.h>

#include <weft/resolve.h>
#include <weft/stream.h>

#include "resolve.h"
#include "stream.h"

static int await_connected(struct wf_socket *k, struct wf_task *t, int64_t deadline)
{
    for (;;) {
        wf_socket_stuck(k, true);
        int rc = deadline == WEFT_NOW ? WEFT_ETIMEDOUT : wf_socket_wait(k, t, true, deadline, "connect");
        if (rc < 0) return rc;
        rc = wf_socket_error(k) < 0 ? wf_socket_error(k) : pf_connect_result(k->handle);
        if (rc != PF_AGAIN) return rc;
    }
}

static int connect_stream(struct wf_task *t, weft_stream *out, const struct pf_address *to, int64_t deadline)
{
    pf_handle h;
    int rc = pf_connect(&h, to);
    if (rc < 0 && rc != PF_AGAIN) return rc;
    struct wf_stream *s;
    int opened = wf_stream_open(t->worker, h, &s);
    if (opened < 0) return opened;
    s->pieces = pf_address_is_unix(to);
    uint64_t id = wf_socket_id(&s->socket);
    struct wf_socket *socket;
    opened = wf_socket_begin(t, WF_STREAM, id, true, &socket);
    WF_ASSERT(opened == 0);
    if (rc == PF_AGAIN) rc = await_connected(socket, t, deadline);
    wf_socket_end(socket, true);
    if (rc < 0) (void)wf_socket_close(t->worker, WF_STREAM, id);
    else out->id = id;
    return rc;
}

/* Splits "host:service". False: the text is neither an address nor a name. A malformed address is not looked up as a
 * name. */
static bool split(const char *text, char *host, char *service)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL) return false;
    size_t length = (size_t)(colon - text);
    if (length == 0 || length >= WF_HOST_BYTES || memchr(text, ':', length) != NULL) return false;
    if (colon[1] == '\0' || strlen(colon + 1) >= WF_SERVICE_BYTES) return false;
    memcpy(host, text, length);
    host[length] = '\0';
    memcpy(service, colon + 1, strlen(colon + 1) + 1);
    return strspn(host, "0123456789.") != length && strpbrk(host, "/[] \t\r\n") == NULL;
}

/* Each remaining address gets an equal share of the remaining time, so that an address that never answers leaves time
 * for the next one. */
__attribute__((noinline)) static int connect_by_name(struct wf_task *t, weft_stream *out, const char *text,
                                                     int64_t deadline)
{
    char host[WF_HOST_BYTES], service[WF_SERVICE_BYTES];
    struct pf_address found[WEFT_RESOLVE_MAX];
    if (!split(text, host, service)) return WEFT_EADDRESS;
    int count = wf_resolve_host(host, service, found, WEFT_RESOLVE_MAX, deadline), rc = WEFT_ENOHOST;
    if (count < 0) return count;
    for (int i = 0; i < count; i++) {
        int64_t until = deadline, now = weft_now();
        if (deadline != WEFT_FOREVER && deadline > now) until = now + (deadline - now) / (count - i);
        rc = connect_stream(t, out, &found[i], until);
        if (rc == 0 || rc == WEFT_ECANCELED || rc == WEFT_EFULL || rc == WEFT_ENOMEM) break;
    }
    return rc;
}

int weft_connect(weft_stream *out, const char *address, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || address == NULL) return WEFT_EINVAL;
    wf_task_tick(t); /* ticks now: a kill during a tick at the end would leak the connection */
    if (t->cancelled) return (int)wf_task_finish_wait(WEFT_ECANCELED);
    struct pf_address to;
    int rc = pf_address_parse(address, &to) == WEFT_OK ? connect_stream(t, out, &to, deadline)
                                                       : connect_by_name(t, out, address, deadline);
    return rc == 0 ? rc : (int)wf_task_finish_wait(rc);
}
