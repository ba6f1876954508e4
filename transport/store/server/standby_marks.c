/* transport/store/server/standby_marks.c -- see standby_marks.h. */
#include <weft/time.h>

#include "standby_marks.h"
#include "store_messages.h"

static struct store_mark mark_of(const struct wf_standby_marks *m)
{
    return (struct store_mark){.owner = m->is.owner, .commits = m->is.commits};
}

static void remember(struct wf_standby_marks *m, weft_pid standby)
{
    for (size_t i = 0; i < m->count; i++) {
        if (m->standby[i].node != standby.node) continue;
        m->standby[i] = standby;
        return;
    }
    if (m->count < WF_STANDBYS_MAX) m->standby[m->count++] = standby;
    else m->standby[m->oldest++ % WF_STANDBYS_MAX] = standby;
}

void wf_standby_marks_ask(struct wf_standby_marks *m, const weft_msg *ask)
{
    const struct store_mark mark = mark_of(m);
    if (!weft_pid_is_nobody(weft_from(ask))) remember(m, weft_from(ask));
    wf_store_answer(ask, store_mark_type(), &mark);
}

static void tell(struct wf_standby_marks *m)
{
    const struct store_mark mark = mark_of(m);
    for (size_t i = 0; i < m->count;) {
        weft_msg *news = wf_store_message(WF_STORE_MARK, store_mark_type(), &mark);
        int rc = news == NULL ? WEFT_OK : weft_try_send_msg(m->standby[i], news);
        if (rc == WEFT_ENOACTOR || rc == WEFT_ENONODE) m->standby[i] = m->standby[--m->count];
        else i++;
    }
    m->told = m->is;
    m->told_at = weft_now();
}

void wf_standby_marks_take(struct wf_standby_marks *m, const struct wf_store_file *f)
{
    wf_store_file_mark(f, &m->is);
}

int64_t wf_standby_marks_deadline(const struct wf_standby_marks *m)
{
    return m->count == 0 || m->is.commits == m->told.commits ? WEFT_FOREVER : m->told_at + WEFT_SEC(1);
}

void wf_standby_marks_tell(struct wf_standby_marks *m)
{
    if (weft_now() >= wf_standby_marks_deadline(m)) tell(m);
}

void wf_standby_marks_end(struct wf_standby_marks *m)
{
    if (m->is.commits != m->told.commits) tell(m);
}
