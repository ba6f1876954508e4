/* runtime/os/changes.c -- changes in a directory: a stream of the platform's records; each call takes one. */
#include "stream.h"

#include <string.h>

#include <weft/changes.h>

_Static_assert((int)WEFT_CHANGE_CREATED == PF_CHANGE_CREATED && (int)WEFT_CHANGE_REMOVED == PF_CHANGE_REMOVED &&
                   (int)WEFT_CHANGE_MODIFIED == PF_CHANGE_MODIFIED &&
                   (int)WEFT_CHANGE_OVERFLOW == PF_CHANGE_OVERFLOW && (int)WEFT_CHANGE_GONE == PF_CHANGE_GONE &&
                   WEFT_CHANGE_NAME == sizeof((struct pf_change *)0)->name,
               "the platform's changes are the public ones");

static weft_stream stream_of(weft_changes c)
{
    return (weft_stream){c.id};
}

int weft_changes_open(weft_changes *out, const char *path)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || path == NULL) return WEFT_EINVAL;
    pf_handle h;
    struct wf_stream *s;
    int rc = pf_changes_open(&h, path);
    if (rc == WEFT_OK) rc = wf_stream_open(t->worker, h, &s);
    if (rc != WEFT_OK) return rc;
    s->pieces = true;
    out->id = wf_socket_id(&s->socket);
    return WEFT_OK;
}

int weft_changes_defer_close(weft_changes c)
{
    return weft_defer_close(stream_of(c));
}

weft_wait weft_on_changes(weft_changes c)
{
    return weft_on_readable(stream_of(c));
}

static int next(weft_changes c, struct pf_change *out, int64_t deadline)
{
    char records[PF_CHANGES_READ];
    size_t have = 0;
    int64_t taken = 0;
    while (taken == 0) {
        int64_t n = weft_read(stream_of(c), records + have, sizeof records - have, deadline);
        if (n < 0 && have > 0 && wf_stream_unread(c.id, records, have) < 0) return WEFT_ENOMEM;
        if (n <= 0) return (int)n;
        have += (size_t)n;
        taken = pf_changes_parse(records, have, out);
    }
    if (taken < 0) return (int)taken;
    size_t rest = have - (size_t)taken;
    memmove(records, records + taken, rest);
    /* The record of the end stays in the stream, so that each later call and each wait finds it. */
    if (out->kind == PF_CHANGE_GONE || out->kind == PF_CHANGE_END) rest = pf_changes_end(records);
    int rc = rest == 0 ? WEFT_OK : wf_stream_unread(c.id, records, rest);
    return rc < 0 ? rc : out->kind != PF_CHANGE_END;
}

int weft_changes_next(weft_changes c, weft_change *out, int64_t deadline)
{
    if (out == NULL) return WEFT_EINVAL;
    struct pf_change change;
    int rc;
    do rc = next(c, &change, deadline);
    while (rc == 1 && change.kind == PF_CHANGE_NONE);
    if (rc != 1) return rc;
    out->kind = (weft_change_kind)change.kind;
    memcpy(out->name, change.name, sizeof out->name);
    return 1;
}

int weft_changes_close(weft_changes c)
{
    return weft_close(stream_of(c));
}
