/* Groups. In Erlang: the module pg. */
#include "rows.h"

#define G "group"

ACTOR(member)
{
    weft_group_join(G);
    idle(arg, size);
}

static weft_pid joined(void)
{
    weft_pid a = start(member);
    settle();
    return a;
}

static void count(void)
{
    say("%d", weft_group_members(G, NULL, 0));
}

ROW(group_join_twice)
{
    say_result(weft_group_join(G));
    say_result(weft_group_join(G));
    count();
}

ROW(group_leave_once)
{
    weft_group_join(G);
    weft_group_join(G);
    weft_group_leave(G);
    count();
}

ROW(group_leave_none)
{
    say_refused(weft_group_leave(G));
}

ROW(group_empty)
{
    count();
}

ROW(group_member_ends)
{
    weft_pid a = joined();
    count();
    weft_kill(a);
    settle();
    count();
}

ROW(group_watch_news)
{
    weft_group_watch(G);
    weft_kill(joined());
    say_mail();
}

ROW(group_watch_existing)
{
    joined();
    joined();
    weft_group_watch(G);
    say_mail();
}

ROW(group_watch_leave)
{
    weft_group_watch(G);
    weft_group_join(G);
    weft_group_leave(G);
    say_mail();
}

ROW(group_unwatch)
{
    weft_group_watch(G);
    weft_group_join(G);
    weft_group_unwatch(G);
    say_mail();
}

ROW(group_watch_twice)
{
    say_result(weft_group_watch(G));
    say_result(weft_group_watch(G));
    weft_group_join(G);
    say_mail();
}

ROW(group_gone_at_down)
{
    weft_pid a = joined();
    weft_monitor(a, NULL);
    weft_kill(a);
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) == 0) say_message(m);
    count();
}

ROW(group_send)
{
    joined();
    weft_group_join(G);
    say_result(weft_group_send(G, 1, NULL, 0));
    say_mail();
}
