/* Registered names. */
#include "rows.h"

static void whereis(const char *name)
{
    weft_pid a;
    int rc = weft_whereis(name, &a);
    if (rc == 0) say("found");
    else say_result(rc);
}

ROW(name_twice)
{
    say_result(weft_register("name_twice"));
    say_result(weft_register("name_twice"));
}

ROW(name_taken)
{
    do_name(puppet(), "name_taken");
    do_name(puppet(), "name_taken");
}

ROW(name_second_name)
{
    say_result(weft_register("name_second_name"));
    say_result(weft_register("name_second_name_2"));
}

ROW(name_free_at_down)
{
    weft_pid a = puppet();
    do_name(a, "name_free_at_down");
    weft_monitor(a, NULL);
    weft_kill(a);
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) == 0) say_message(m);
    whereis("name_free_at_down");
    say_result(weft_register("name_free_at_down"));
}

ROW(name_missing)
{
    whereis("name_missing");
}

ROW(name_given_back_by_another)
{
    do_name(puppet(), "name_given_back_by_another");
    say_refused(weft_unregister("name_given_back_by_another"));
    whereis("name_given_back_by_another");
}

ROW(name_given_back_missing)
{
    say_refused(weft_unregister("name_given_back_missing"));
}

ROW(name_given_back)
{
    say_result(weft_register("name_given_back"));
    say_result(weft_unregister("name_given_back"));
    whereis("name_given_back");
}

ROW(name_with_blank)
{
    say_result(weft_register("name with blank"));
}

ROW(name_looked_up_each_time)
{
    weft_pid a = puppet();
    do_name(a, "name_looked_up_each_time");
    do_exit(a, 17);
    say_result(weft_register("name_looked_up_each_time"));
    weft_send_name("name_looked_up_each_time", 1, NULL, 0);
    say_mail();
}

ROW(name_pid_outlives)
{
    weft_register("name_pid_outlives");
    weft_pid a;
    weft_whereis("name_pid_outlives", &a);
    weft_unregister("name_pid_outlives");
    weft_send(a, 1, NULL, 0);
    say_mail();
}

ACTOR(waits_for_name)
{
    weft_pid a;
    say_result(weft_await_name("name_awaited", &a, weft_after(WEFT_SEC(10))));
}

ROW(name_awaited)
{
    start(waits_for_name);
    settle();
    say("waits");
    weft_register("name_awaited");
    settle();
}

ACTOR(ends_with_clean_up)
{
    weft_register("name_in_cleanup");
    idle(arg, size);
}

static void looks(void *arg)
{
    (void)arg;
    whereis("name_in_cleanup");
}

ACTOR(looks_at_its_end)
{
    weft_defer(looks, NULL);
    ends_with_clean_up(arg, size);
}

ROW(name_in_cleanup)
{
    weft_pid a = start(looks_at_its_end);
    settle();
    weft_stop(a);
    settle();
}
