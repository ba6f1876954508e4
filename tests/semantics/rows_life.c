/* How actors end. */
#include "rows.h"

static void exits(const void *arg, size_t size)
{
    (void)size;
    (void)arg;
    weft_exit(17);
}

ACTOR(returns)
{
}

ROW(life_return)
{
    watch(returns);
    say_mail();
}

ROW(life_exit)
{
    watch(exits);
    say_mail();
}

ACTOR(fails)
{
    weft_require(weft_own_name(0) != NULL);
}

ROW(life_assertion)
{
    watch(fails);
    say_mail();
}

ROW(life_stop)
{
    weft_pid a = watch(idle);
    weft_settle();
    weft_stop(a);
    say_mail();
}

ACTOR(traps_stop)
{
    weft_trap_stop(true);
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) != 0) return;
    say(weft_tag(m) == WEFT_TAG_STOP ? "message" : "?");
    weft_msg_free(m);
    weft_exit(17);
}

ROW(life_stop_trapped)
{
    weft_pid a = watch(traps_stop);
    weft_settle();
    weft_stop(a);
    say_mail();
}

ACTOR(traps_exits)
{
    weft_trap_exits(true);
    idle(arg, size);
}

ROW(life_stop_trapping_exits)
{
    weft_pid a = watch(traps_exits);
    weft_settle();
    weft_stop(a);
    say_mail();
}

ACTOR(ends_in_its_own_way)
{
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) == WEFT_ECANCELED) weft_exit(17);
}

ROW(life_stop_other_reason)
{
    weft_pid a = watch(ends_in_its_own_way);
    weft_settle();
    weft_stop(a);
    say_mail();
}

ROW(life_kill)
{
    weft_pid a = watch(idle);
    weft_settle();
    weft_kill(a);
    say_mail();
}

ACTOR(traps_all)
{
    weft_trap_exits(true);
    weft_trap_stop(true);
    idle(arg, size);
}

ROW(life_kill_trapping)
{
    weft_pid a = watch(traps_all);
    weft_settle();
    weft_kill(a);
    say_mail();
}

/* ---- Clean-ups ------------------------------------------------------------------------------------------------- */

static void clean(void *arg)
{
    (void)arg;
    say("cleaned");
}

ACTOR(cleans)
{
    weft_defer(clean, NULL);
    idle(arg, size);
}

ROW(life_cleanup_return)
{
    weft_pid a = watch(cleans);
    weft_settle();
    weft_stop(a);
    say_mail();
}

ROW(life_cleanup_kill)
{
    weft_pid a = watch(cleans);
    weft_settle();
    weft_kill(a);
    say_mail();
}

ACTOR(cleans_and_fails)
{
    weft_defer(clean, NULL);
    weft_exit(17);
}

ROW(life_cleanup_exit)
{
    watch(cleans_and_fails);
    say_mail();
}

static void exits_18(void *arg)
{
    (void)arg;
    weft_exit(18);
}

ACTOR(exits_twice)
{
    weft_defer(clean, NULL);
    weft_defer(exits_18, NULL);
    weft_exit(17);
}

ROW(life_exit_in_cleanup)
{
    watch(exits_twice);
    say_mail();
}

static void waits_for_ever(void *arg)
{
    idle(arg, 0);
    say("given-up");
}

ACTOR(cleans_for_ever)
{
    weft_defer(waits_for_ever, NULL);
    weft_exit(17);
}

ROW(life_cleanup_hangs)
{
    watch(cleans_for_ever);
    say_mail();
}

/* ---- Before and after its life --------------------------------------------------------------------------------- */

ROW(life_stop_gone)
{
    weft_pid a = watch(returns);
    weft_settle();
    say_result(weft_stop(a));
}

ROW(life_kill_gone)
{
    weft_pid a = watch(returns);
    weft_settle();
    say_result(weft_kill(a));
}

ACTOR(says_so)
{
    say("ran");
    idle(arg, size);
}

ROW(life_stop_unborn)
{
    weft_pid a = watch(says_so);
    weft_stop(a);
    say_mail();
}

ROW(life_kill_unborn)
{
    weft_pid a = watch(says_so);
    weft_kill(a);
    say_mail();
}

ACTOR(stops_itself)
{
    weft_stop(weft_self());
    say("goes-on");
    idle(arg, size);
}

ROW(life_stop_self)
{
    watch(stops_itself);
    say_mail();
}

ACTOR(kills_itself)
{
    weft_kill(weft_self());
    say("goes-on");
    idle(arg, size);
    say("never");
}

ROW(life_kill_self)
{
    watch(kills_itself);
    say_mail();
}

ACTOR(parent)
{
    weft_pid child;
    weft_spawn(&child, idle, NULL, 0, NULL);
    weft_send(first_actor(), 1, &child, sizeof child);
}

ROW(life_parent_ends)
{
    weft_msg *m;
    start(parent);
    if (weft_recv(&m, WEFT_FOREVER) != 0) return;
    weft_pid child = *(const weft_pid *)weft_data(m);
    weft_msg_free(m);
    say_alive(child);
}
