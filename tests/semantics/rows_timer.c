/* Messages sent later, in virtual time. */
#include "rows.h"

static weft_later later(int64_t in, weft_pid to, uint32_t tag)
{
    weft_later l = {0};
    say_result(weft_send_after(weft_after(in), to, tag, NULL, 0, &l));
    return l;
}

ROW(timer_fires)
{
    later(WEFT_MS(10), weft_self(), 1);
    say_mail();
}

ROW(timer_to_gone)
{
    weft_pid a = puppet();
    do_exit(a, 17);
    later(WEFT_MS(10), a, 1);
}

ROW(timer_now)
{
    later(0, weft_self(), 1);
    say_mail();
}

ROW(timer_cancel_before)
{
    say_result(weft_later_cancel(later(WEFT_MS(100), weft_self(), 1)));
    say_mail();
}

ROW(timer_cancel_after)
{
    weft_later l = later(WEFT_MS(10), weft_self(), 1);
    weft_advance(WEFT_MS(20));
    say_result(weft_later_cancel(l));
    say_mail();
}

ROW(timer_cancel_twice)
{
    weft_later l = later(WEFT_MS(100), weft_self(), 1);
    say_result(weft_later_cancel(l));
    say_result(weft_later_cancel(l));
}

static weft_later of_another;

ACTOR(cancels)
{
    say_result(weft_later_cancel(of_another));
}

ROW(timer_cancel_by_another)
{
    of_another = later(WEFT_MS(300), weft_self(), 1);
    start(cancels);
    say_mail();
}

ACTOR(arms_and_ends)
{
    later(WEFT_MS(100), first_actor(), 1);
}

ROW(timer_owner_ends)
{
    start(arms_and_ends);
    say_mail();
}

ROW(timer_order)
{
    later(WEFT_MS(200), weft_self(), 2);
    later(WEFT_MS(10), weft_self(), 1);
    say_mail();
}

ROW(timer_equal_deadlines)
{
    int64_t when = weft_after(WEFT_MS(10));
    for (uint32_t i = 1; i <= 4; i++) weft_send_after(when, weft_self(), i, NULL, 0, NULL);
    say_mail();
}

ROW(timer_interval_backlog)
{
    weft_later l;
    weft_send_every(weft_after(WEFT_MS(5)), WEFT_MS(5), weft_self(), 1, NULL, 0, &l);
    weft_advance(WEFT_MS(200));
    weft_later_cancel(l);
    int count = 0;
    for (weft_msg *m; weft_recv(&m, WEFT_NOW) == 0; weft_msg_free(m)) count++;
    say(count == 0 ? "none" : count == 1 ? "one" : "several");
}

ROW(timer_interval_drift)
{
    int64_t begin = weft_now();
    weft_later l;
    weft_send_every(weft_after(WEFT_MS(10)), WEFT_MS(10), weft_self(), 1, NULL, 0, &l);
    for (int i = 0; i < 4; i++) {
        weft_msg *m;
        if (weft_recv(&m, WEFT_FOREVER) != 0) return;
        weft_msg_free(m);
        say("%d", (int)((weft_now() - begin) / WEFT_MS(1)));
        weft_sleep(weft_after(WEFT_MS(3)));
    }
    weft_later_cancel(l);
}

ROW(timer_interval_receiver_ends)
{
    weft_later l;
    weft_pid a = puppet();
    weft_send_every(weft_after(WEFT_MS(10)), WEFT_MS(10), a, 1, NULL, 0, &l);
    do_exit(a, 17);
    weft_advance(WEFT_MS(1500));
    say_result(weft_later_cancel(l));
}

ROW(timer_message_and_deadline)
{
    int64_t when = weft_after(WEFT_MS(10));
    weft_send_after(when, weft_self(), 1, NULL, 0, NULL);
    weft_msg *m;
    if (weft_recv(&m, when) == 0) say_message(m);
    else say("timed-out");
}
