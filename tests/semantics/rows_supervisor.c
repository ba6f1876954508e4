/* Supervisors. "+a" is the start of child a, "-a" its end. */
#include "rows.h"

static void ended(void *arg)
{
    say("-%c", *(const char *)arg);
}

/* Its argument is its letter. Told a number it exits with that. */
ACTOR(child)
{
    say("+%c", *(const char *)arg);
    weft_defer(ended, (void *)(uintptr_t)arg);
    weft_ready();
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0;) {
        int reason = (int)weft_tag(m);
        weft_msg_free(m);
        weft_exit(reason);
    }
}

ACTOR(does_not_start)
{
    say("?%c", *(const char *)arg);
    weft_exit(17);
}

static int starts;

ACTOR(starts_once)
{
    if (starts++ > 0) does_not_start(arg, size);
    child(arg, size);
}

ACTOR(lingers)
{
    say("+%c", *(const char *)arg);
    weft_trap_stop(true);
    idle(arg, size);
}

#define CHILD_WITH(letter, ...)                                                                         \
    {                                                                                                   \
        .name = #letter, .body = child, .arg = #letter, .arg_size = 2, .await_ready = true, __VA_ARGS__ \
    }
#define CHILD(letter) CHILD_WITH(letter, .restart = WEFT_PERMANENT)
#define CHILDREN(...)                                   \
    .children = (const weft_child_spec[]){__VA_ARGS__}, \
    .child_count = sizeof((const weft_child_spec[]){__VA_ARGS__}) / sizeof(weft_child_spec)

ACTOR(supervises)
{
    if (weft_supervise(*(const weft_supervisor_spec *const *)arg) != 0) say("error");
}

static weft_pid top(const weft_supervisor_spec *spec)
{
    weft_pid s = weft_nobody();
    weft_monitor_ref ref;
    weft_spawn(&s, supervises, &spec, sizeof spec, &(weft_spawn_options){.monitor = &ref});
    settle();
    return s;
}

static void child_exits(const char *name, int reason)
{
    weft_send_name(name, (uint32_t)reason, NULL, 0);
    settle();
}

static void child_is(const char *name)
{
    weft_pid a;
    say(weft_whereis(name, &a) == 0 ? "there" : "gone");
}

/* All restarts of one failure of b among a, b, c. */
static void strategy(weft_strategy s)
{
    top(&(weft_supervisor_spec){.strategy = s, CHILDREN(CHILD(a), CHILD(b), CHILD(c))});
    say("|");
    child_exits("b", 17);
    say("|");
}

ROW(supervisor_order)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN(CHILD(a), CHILD(b), CHILD(c))});
    weft_stop(s);
    say_mail();
}

ROW(supervisor_one_for_one)
{
    strategy(WEFT_ONE_FOR_ONE);
}

ROW(supervisor_one_for_all)
{
    strategy(WEFT_ONE_FOR_ALL);
}

ROW(supervisor_rest_for_one)
{
    strategy(WEFT_REST_FOR_ONE);
}

static void kind(weft_restart r, int reason)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD_WITH(a, .restart = r))});
    child_exits("a", reason);
    say("|");
}

ROW(supervisor_permanent_normal)
{
    kind(WEFT_PERMANENT, WEFT_EXIT_NORMAL);
}

ROW(supervisor_transient_normal)
{
    kind(WEFT_TRANSIENT, WEFT_EXIT_NORMAL);
}

ROW(supervisor_transient_stopped)
{
    kind(WEFT_TRANSIENT, WEFT_EXIT_STOPPED);
}

ROW(supervisor_transient_failed)
{
    kind(WEFT_TRANSIENT, 17);
}

ROW(supervisor_temporary_failed)
{
    kind(WEFT_TEMPORARY, 17);
}

ROW(supervisor_child_stopped_by_another)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    weft_pid a;
    weft_whereis("a", &a);
    weft_stop(a);
    settle();
    say("|");
}

ROW(supervisor_child_killed)
{
    top(&(weft_supervisor_spec){CHILDREN({.name = "a", .body = idle})});
    weft_pid a, b = weft_nobody();
    weft_whereis("a", &a);
    weft_kill(a);
    settle();
    weft_whereis("a", &b);
    say(weft_pid_is_nobody(b) ? "gone" : weft_pid_equal(a, b) ? "same" : "another");
}

ROW(supervisor_intensity)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD(a), CHILD(b)), .max_restarts = 1});
    child_exits("b", 17);
    child_exits("b", 17);
    say_mail();
}

ROW(supervisor_intensity_default)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    for (int i = 0; i < 8; i++) {
        weft_pid a;
        if (weft_whereis("a", &a) == 0) child_exits("a", 17);
    }
    say_mail();
}

ROW(supervisor_intensity_none)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD(a)), .max_restarts = WEFT_NO_RESTARTS});
    child_exits("a", 17);
    say_mail();
}

ROW(supervisor_start_fails)
{
    top(&(weft_supervisor_spec){CHILDREN(
        CHILD(a), {.name = "b", .body = does_not_start, .arg = "b", .arg_size = 2, .await_ready = true}, CHILD(c))});
    say_mail();
}

ROW(supervisor_restart_fails)
{
    starts = 0;
    top(&(weft_supervisor_spec){
        CHILDREN(CHILD(a), {.name = "b", .body = starts_once, .arg = "b", .arg_size = 2, .await_ready = true}),
        .max_restarts = 2});
    child_exits("b", 17);
    say_mail();
}

ROW(supervisor_restart_keeps_name)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    weft_pid one = weft_nobody(), two = weft_nobody();
    weft_whereis("a", &one);
    child_exits("a", 17);
    weft_whereis("a", &two);
    say(weft_pid_is_nobody(two) ? "gone" : weft_pid_equal(one, two) ? "same-pid" : "another-pid");
}

ROW(supervisor_killed)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN({.name = "a", .body = idle})}), a;
    weft_whereis("a", &a);
    weft_monitor(a, NULL);
    weft_kill(s);
    weft_msg *m;
    struct weft_down down = {.reason = -1};
    while (weft_recv_tag(&m, WEFT_TAG_DOWN, weft_after(WEFT_SEC(60))) == 0) {
        weft_down_read(m, &down);
        if (weft_pid_equal(down.who, a)) say("%s", reason_word(down.reason));
        weft_msg_free(m);
    }
}

ROW(supervisor_child_lingers)
{
    weft_pid s = top(&(weft_supervisor_spec){
        CHILDREN({.name = "a", .body = lingers, .arg = "a", .arg_size = 2, .stop_timeout = WEFT_MS(50)})});
    weft_pid a;
    weft_whereis("a", &a);
    weft_monitor(a, NULL);
    weft_stop(s);
    say_mail();
}

ROW(supervisor_same_name_twice)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD(a), CHILD(a))});
}

/* ---- Children at run time -------------------------------------------------------------------------------------- */

static void add(weft_pid s)
{
    say_refused(weft_start_child(s, &(weft_child_spec)CHILD(b), NULL, WEFT_FOREVER));
}

ROW(supervisor_add_child)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    add(s);
    weft_stop(s);
    say_mail();
}

ROW(supervisor_add_twice)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    add(s);
    add(s);
}

ROW(supervisor_add_again)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    add(s);
    say_refused(weft_stop_child(s, "b", WEFT_FOREVER));
    add(s);
}

ROW(supervisor_add_fails)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    weft_child_spec b = {.name = "b", .body = does_not_start, .arg = "b", .arg_size = 2, .await_ready = true};
    say_refused(weft_start_child(s, &b, NULL, WEFT_FOREVER));
    child_is("a");
}

ROW(supervisor_take_off_missing)
{
    weft_pid s = top(&(weft_supervisor_spec){CHILDREN(CHILD(a))});
    say_refused(weft_stop_child(s, "b", WEFT_FOREVER));
}

ROW(supervisor_kept_mailbox)
{
    top(&(weft_supervisor_spec){CHILDREN(CHILD_WITH(a, .keep_mailbox = true))});
    weft_pid one, two = weft_nobody();
    weft_whereis("a", &one);
    child_exits("a", 17);
    weft_whereis("a", &two);
    say(weft_pid_equal(one, two) ? "same-pid" : "another-pid");
}
