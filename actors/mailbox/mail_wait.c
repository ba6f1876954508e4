/* actors/mailbox/mail_wait.c -- weft_on_mailbox: the running actor's mailbox as one of several sources of a wait. */
#include "mailbox.h"
#include "wait.h"

weft_wait weft_on_mailbox(void)
{
    return (weft_wait){.kind = WF_ON_MAILBOX, .fd = -1};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    (void)s, (void)from;
    return 0;
}

static int wait_look(struct wf_wait *s)
{
    const struct wf_actor *a = wf_actor_of(s->task);
    return a->mail.first == NULL ? a->signals.first != NULL : wf_mailbox_ready(s->task);
}

static int wait_attach(struct wf_wait *s, struct wf_wait *first)
{
    (void)first;
    s->task->wants_mail = WF_MAIL_WAKE;
    return 0;
}

static void wait_close(struct wf_wait *s)
{
    WF_ASSERT(s->task->worker == wf_here);
    s->task->wants_mail = WF_MAIL_NONE;
}

static const struct wf_wait_kind wait_kind = {.number = WF_ON_MAILBOX,
                                              .name = "mailbox",
                                              .open = wait_open,
                                              .look = wait_look,
                                              .attach = wait_attach,
                                              .close = wait_close};
const struct wf_feature wf_mailbox_feature = {.name = "mailbox", .wait_kind = &wait_kind};
