/* Links. Most rows have two puppets, a linked to b, and report what the end of a did to b. */
#include "rows.h"

struct pair {
    weft_pid a, b;
};

/* b is monitored. */
static struct pair linked(void)
{
    struct pair p = {puppet(), puppet()};
    weft_monitor(p.b, NULL);
    do_link(p.b, p.a);
    return p;
}

ROW(link_normal)
{
    struct pair p = linked();
    do_exit(p.a, WEFT_EXIT_NORMAL);
    say_alive(p.b);
}

ROW(link_failed)
{
    do_exit(linked().a, 17);
    say_mail();
}

ROW(link_other_way)
{
    struct pair p = {puppet(), puppet()};
    weft_monitor(p.b, NULL);
    do_link(p.a, p.b);
    do_exit(p.a, 17);
    say_mail();
}

ROW(link_stopped)
{
    weft_stop(linked().a);
    say_mail();
}

ROW(link_killed)
{
    weft_kill(linked().a);
    say_mail();
}

ROW(link_chain)
{
    struct pair p = linked();
    weft_pid c = puppet(), d = puppet();
    do_link(c, p.b);
    do_link(d, c);
    weft_monitor(d, NULL);
    do_exit(p.a, 17);
    say_mail();
}

ROW(link_chain_normal_in_between)
{
    struct pair p = linked();
    do_exit(p.b, WEFT_EXIT_NORMAL);
    do_exit(p.a, 17);
    say_mail();
}

ROW(link_twice_unlink_once)
{
    weft_pid a = puppet();
    weft_link(a);
    weft_link(a);
    weft_unlink(a);
    weft_trap_exits(true);
    do_exit(a, 17);
    say_mail();
}

/* The row's own actor traps and is linked to a. */
static weft_pid trapped(void)
{
    weft_trap_exits(true);
    weft_pid a = puppet();
    weft_link(a);
    return a;
}

ROW(link_twice)
{
    weft_pid a = trapped();
    say_result(weft_link(a));
    do_exit(a, 17);
    say_mail();
}

ROW(link_trap)
{
    do_exit(trapped(), 17);
    say_mail();
}

ROW(link_trap_normal)
{
    do_exit(trapped(), WEFT_EXIT_NORMAL);
    say_mail();
}

ROW(link_trap_killed)
{
    weft_kill(trapped());
    say_mail();
}

ROW(link_trap_last_message)
{
    weft_pid a = trapped();
    do_send(a, weft_self(), 1);
    do_exit(a, 17);
    say_mail();
}

ROW(link_trap_off_again)
{
    struct pair p = linked();
    do_trap(p.b, true);
    do_trap(p.b, false);
    do_exit(p.a, 17);
    say_mail();
}

ROW(link_trap_off_after)
{
    do_exit(trapped(), 17);
    weft_trap_exits(false);
    say_mail();
}

ROW(link_unlink)
{
    weft_pid a = trapped();
    say_result(weft_unlink(a));
    do_exit(a, 17);
    say_mail();
}

ROW(link_unlink_after_exit)
{
    weft_pid a = trapped();
    do_exit(a, 17);
    weft_unlink(a);
    say_mail();
}

ROW(link_unlink_none)
{
    say_result(weft_unlink(puppet()));
}

ROW(link_unlink_by_the_other)
{
    weft_pid a = trapped(), b = puppet();
    weft_link(b);
    weft_unlink(a);
    do_exit(b, 18);
    do_exit(a, 17);
    say_mail();
}

ROW(link_gone)
{
    weft_pid a = puppet(), b = puppet();
    weft_monitor(b, NULL);
    do_exit(a, 17);
    do_link(b, a);
    say_mail();
}

ROW(link_gone_trapping)
{
    weft_pid a = puppet();
    do_exit(a, 17);
    weft_trap_exits(true);
    say_result(weft_link(a));
    say_mail();
}

ROW(link_self)
{
    say_result(weft_link(weft_self()));
    weft_trap_exits(true);
    say_mail();
}

ACTOR(exits)
{
    weft_exit(17);
}

ROW(link_at_spawn)
{
    weft_trap_exits(true);
    weft_spawn(NULL, exits, NULL, 0, &(weft_spawn_options){.link = true});
    say_mail();
}

ROW(link_and_monitor)
{
    weft_pid a = trapped();
    weft_monitor(a, NULL);
    do_exit(a, 17);
    weft_msg *m;
    if (weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER) == 0) say_message(m);
    say_mail();
}

static weft_pid fails_first;

static void clean(void *arg)
{
    (void)arg;
    say("cleaned");
}

ACTOR(waits_with_clean_up)
{
    weft_defer(clean, NULL);
    weft_link(fails_first);
    weft_msg *m;
    say_result(weft_recv(&m, WEFT_FOREVER));
}

ROW(link_victim)
{
    fails_first = puppet();
    watch(waits_with_clean_up);
    settle();
    do_exit(fails_first, 17);
    say_mail();
}

ACTOR(victim_with_reason)
{
    weft_link(fails_first);
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) != 0) weft_exit(18);
}

ROW(link_victim_own_reason)
{
    fails_first = puppet();
    watch(victim_with_reason);
    settle();
    do_exit(fails_first, 17);
    say_mail();
}

ROW(link_node_unknown)
{
    weft_trap_exits(true);
    weft_link((weft_pid){12345, weft_self().actor});
    say_mail();
}
