/* Messages and mailboxes. */
#include "rows.h"

#include <string.h>

static weft_pid gone(void)
{
    weft_pid a = puppet();
    do_exit(a, 17);
    return a;
}

static int mail_to(weft_pid to, int tag)
{
    return weft_send(to, (uint32_t)tag, NULL, 0);
}

/* Takes a message of that tag that is there, or says "nothing". */
static void take(uint32_t tag)
{
    weft_msg *m;
    if (weft_recv_tag(&m, tag, WEFT_NOW) == 0) say_message(m);
    else say("nothing");
}

ROW(message_order)
{
    weft_pid a = puppet();
    for (int i = 1; i <= 3; i++) do_send(a, weft_self(), i);
    say_mail();
}

ROW(message_to_gone)
{
    say_result(mail_to(gone(), 1));
}

ROW(message_to_self)
{
    say_result(mail_to(weft_self(), 1));
    say_mail();
}

ROW(message_to_missing_name)
{
    say_refused(weft_send_name("message_to_missing_name", 1, NULL, 0));
}

ROW(message_to_unknown_node)
{
    say_result(weft_send_name("anybody@nobody", 1, NULL, 0));
}

ROW(message_selective)
{
    for (int i = 1; i <= 4; i++) mail_to(weft_self(), i);
    take(3);
    say_mail();
}

ROW(message_selective_same)
{
    mail_to(weft_self(), 5);
    mail_to(weft_self(), 6);
    mail_to(weft_self(), 5);
    take(5);
    say_mail();
}

ROW(message_timeout_zero)
{
    weft_msg *m;
    say_result(weft_recv(&m, WEFT_NOW));
    mail_to(weft_self(), 1);
    if (weft_recv(&m, WEFT_NOW) == 0) say_message(m);
}

ROW(message_timeout_zero_other)
{
    mail_to(weft_self(), 1);
    take(2);
    say_mail();
}

ROW(message_timeout)
{
    weft_msg *m;
    say_result(weft_recv_tag(&m, 1, weft_after(WEFT_MS(10))));
}

ROW(message_unread_at_end)
{
    weft_pid a = puppet();
    weft_monitor(a, NULL);
    weft_kill(a);
    say_result(mail_to(a, 1));
    say_mail();
}

/* Reads nothing; has space for four messages. */
static weft_pid small_box(weft_full_policy policy)
{
    weft_pid a = weft_nobody();
    weft_spawn(&a, idle, NULL, 0, &(weft_spawn_options){.mailbox_max = 4, .policy = policy});
    return a;
}

ROW(message_bound)
{
    weft_pid a = small_box(WEFT_FULL_FAIL);
    int sent = 0;
    for (int i = 1; i <= 10; i++) sent += mail_to(a, i) == 0;
    say("%d", sent);
}

ROW(message_bound_waits)
{
    weft_pid a = small_box(WEFT_FULL_SUSPEND);
    int sent = 0;
    for (int i = 1; i <= 10; i++) sent += mail_to(a, i) == 0;
    say("%d", sent);
}

ACTOR(takes_newest)
{
    weft_sleep(weft_after(WEFT_SEC(1)));
    say_mail();
}

ROW(message_bound_drops_oldest)
{
    weft_pid a = weft_nobody();
    weft_spawn(&a, takes_newest, NULL, 0, &(weft_spawn_options){.mailbox_max = 2, .policy = WEFT_FULL_DROP_OLDEST});
    for (int i = 1; i <= 4; i++) mail_to(a, i);
    weft_advance(WEFT_SEC(120));
}

static weft_pid watched;

ACTOR(full_and_watching)
{
    weft_monitor(watched, NULL);
    weft_sleep(weft_after(WEFT_SEC(1)));
    say_mail();
}

ROW(message_bound_news)
{
    weft_pid a = weft_nobody();
    watched = puppet();
    weft_spawn(&a, full_and_watching, NULL, 0,
               &(weft_spawn_options){.mailbox_max = 2, .policy = WEFT_FULL_DROP_NEWEST});
    settle();
    for (int i = 1; i <= 4; i++) mail_to(a, i);
    do_exit(watched, 17);
    weft_advance(WEFT_SEC(120));
}

ROW(message_forged_news)
{
    say_result(weft_send(weft_self(), WEFT_TAG_DOWN, NULL, 0));
    say_mail();
}

ROW(message_too_big)
{
    static char big[16];
    say_result(weft_send(weft_self(), 1, big, WEFT_MESSAGE_MAX + (size_t)1));
}

static bool never(const weft_msg *m, void *arg)
{
    (void)m;
    (void)arg;
    return false;
}

ACTOR(passes_over)
{
    weft_msg *m;
    say_result(weft_recv_match(&m, never, NULL, weft_after(WEFT_SEC(60))));
}

ROW(message_passed_over)
{
    weft_pid a = weft_nobody();
    weft_spawn(&a, passes_over, NULL, 0, &(weft_spawn_options){.skipped_max = 3});
    for (int i = 1; i <= 10; i++) mail_to(a, i);
    weft_advance(WEFT_SEC(120));
}

ROW(message_passed_over_stays)
{
    weft_msg *m;
    for (int i = 1; i <= 3; i++) mail_to(weft_self(), i);
    say_result(weft_recv_match(&m, never, NULL, weft_after(WEFT_MS(10))));
    say_mail();
}

ROW(message_copied)
{
    char text[8] = "before";
    weft_send(weft_self(), 1, text, sizeof text);
    strcpy(text, "after");
    weft_msg *m;
    if (weft_recv(&m, WEFT_NOW) != 0) return;
    say("%s", (const char *)weft_data(m));
    weft_msg_free(m);
}

ROW(message_sender)
{
    weft_pid a = puppet();
    do_send(a, weft_self(), 1);
    weft_msg *m;
    if (weft_recv(&m, WEFT_NOW) != 0) return;
    say(weft_pid_equal(weft_from(m), a) ? "known" : "unknown");
    weft_msg_free(m);
}

ACTOR(stopped_in_wait)
{
    weft_msg *m;
    int rc = weft_recv(&m, WEFT_FOREVER);
    say_result(rc);
    say_result(weft_recv(&m, WEFT_FOREVER));
}

ROW(message_wait_stopped)
{
    weft_pid a = watch(stopped_in_wait);
    settle();
    weft_stop(a);
    say_mail();
}
