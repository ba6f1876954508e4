/* runtime/io/pipe.c -- pipes within the process, and its standard streams (weft/pipe.h). */
#include "stream.h"

#include <weft/pipe.h>

int weft_pipe(weft_stream *reading, weft_stream *writing)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (reading == NULL || writing == NULL) return WEFT_EINVAL;
    pf_handle ends[2];
    struct wf_stream *in, *out;
    int rc = pf_pipe(&ends[0], &ends[1], true, true);
    if (rc < 0) return rc;
    rc = wf_stream_open(t->worker, ends[0], &in);
    if (rc < 0) {
        pf_close(ends[1]);
        return rc;
    }
    uint64_t id = wf_socket_id(&in->socket);
    rc = wf_stream_open(t->worker, ends[1], &out);
    if (rc < 0) {
        (void)wf_socket_close(t->worker, WF_STREAM, id);
        return rc;
    }
    reading->id = id;
    writing->id = wf_socket_id(&out->socket);
    return WEFT_OK;
}

static int standard(weft_stream *out, int which)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL) return WEFT_EINVAL;
    pf_handle h;
    struct wf_stream *s;
    int rc = pf_standard(&h, which);
    if (rc == WEFT_OK) rc = wf_stream_open(t->worker, h, &s);
    if (rc != WEFT_OK) return rc;
    s->pieces = true; /* the descriptor may be a terminal or a socket: stream.h, note (3) */
    out->id = wf_socket_id(&s->socket);
    return WEFT_OK;
}

int weft_stdin(weft_stream *out)
{
    return standard(out, 0);
}

int weft_stdout(weft_stream *out)
{
    return standard(out, 1);
}

int weft_stderr(weft_stream *out)
{
    return standard(out, 2);
}
