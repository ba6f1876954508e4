/* Monitors. */
#include "rows.h"

ROW(monitor_gone)
{
    weft_pid a = puppet();
    do_exit(a, 17);
    weft_monitor(a, NULL);
    say_mail();
}

ACTOR(exits_at_once)
{
    weft_exit(17);
}

ROW(monitor_at_spawn)
{
    watch(exits_at_once);
    say_mail();
}

ROW(monitor_twice)
{
    weft_pid a = puppet();
    weft_monitor(a, NULL);
    weft_monitor(a, NULL);
    do_exit(a, 17);
    say_mail();
}

ROW(monitor_twice_ended_once)
{
    weft_pid a = puppet();
    weft_monitor_ref r;
    weft_monitor(a, &r);
    weft_monitor(a, NULL);
    weft_demonitor(r);
    do_exit(a, 17);
    say_mail();
}

ROW(monitor_ended_before)
{
    weft_pid a = puppet();
    weft_monitor_ref r;
    weft_monitor(a, &r);
    say_result(weft_demonitor(r));
    do_exit(a, 17);
    say_mail();
}

ROW(monitor_ended_after)
{
    weft_pid a = puppet();
    weft_monitor_ref r;
    weft_monitor(a, &r);
    do_exit(a, 17);
    say_result(weft_demonitor(r));
    say_mail();
}

ROW(monitor_flushed)
{
    weft_pid a = puppet();
    weft_monitor_ref r;
    weft_monitor(a, &r);
    do_exit(a, 17);
    weft_demonitor(r);
    say_mail();
}

ROW(monitor_ended_twice)
{
    weft_pid a = puppet();
    weft_monitor_ref r;
    weft_monitor(a, &r);
    say_result(weft_demonitor(r));
    say_result(weft_demonitor(r));
}

ROW(monitor_last_message)
{
    weft_pid a = puppet();
    weft_monitor(a, NULL);
    do_send(a, weft_self(), 1);
    do_send(a, weft_self(), 2);
    do_exit(a, 17);
    say_mail();
}

ROW(monitor_selective)
{
    weft_pid a = puppet();
    weft_monitor(a, NULL);
    do_send(a, weft_self(), 1);
    do_exit(a, 17);
    weft_msg *m;
    if (weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER) == 0) say_message(m);
    say_mail();
}

ROW(monitor_self)
{
    say_result(weft_monitor(weft_self(), NULL));
    say_mail();
}

ROW(monitor_name_missing)
{
    weft_pid a;
    int rc = weft_whereis("monitor_name_missing", &a);
    if (rc == 0) rc = weft_monitor(a, NULL);
    say_result(rc);
    say_mail();
}

ROW(monitor_node_unknown)
{
    weft_monitor((weft_pid){12345, weft_self().actor}, NULL);
    say_mail();
}

ROW(monitor_failure_stays_there)
{
    weft_pid a = puppet(), b = puppet();
    weft_monitor(a, NULL);
    weft_monitor(b, NULL);
    do_exit(a, 17);
    do_exit(b, 18);
    say_mail();
}

static weft_monitor_ref of_another;

ACTOR(ends_the_monitor_of_another)
{
    say_result(weft_demonitor(of_another));
}

ROW(monitor_ended_by_another)
{
    weft_pid a = puppet();
    weft_monitor(a, &of_another);
    start(ends_the_monitor_of_another);
    settle();
    do_exit(a, 17);
    say_mail();
}
