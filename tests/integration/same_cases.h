/* The cases of transport_same_test.c, which includes this once. */
#ifndef SAME_CASES_H
#define SAME_CASES_H

/* ---- Cases: ends ----------------------------------------------------------------------------------------------- */

static void monitor_exit(void)
{
    weft_pid p = begin(NULL);
    note("%s", result(weft_monitor(p, NULL)));
    (void)order(p, "exit", DIE);
    hear();
}

static void monitor_fail_with_text(void)
{
    weft_pid p = begin(NULL);
    (void)weft_monitor(p, NULL);
    (void)order(p, "fail", DIE);
    hear();
}

static void monitor_stop(void)
{
    weft_pid p = begin(NULL);
    (void)weft_monitor(p, NULL);
    note("%s", result(weft_stop(p)));
    hear();
}

static void monitor_kill(void)
{
    weft_pid p = begin(NULL);
    (void)weft_monitor(p, NULL);
    note("%s", result(weft_kill(p)));
    hear();
}

static weft_pid gone(void)
{
    weft_monitor_ref ref;
    weft_pid p = begin(&ref);
    weft_msg *m;
    (void)order(p, "exit", DIE);
    if (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
    return p;
}

static void monitor_gone(void)
{
    note("%s", result(weft_monitor(gone(), NULL)));
    hear();
}

static void monitor_twice(void)
{
    weft_pid p = begin(NULL);
    (void)weft_monitor(p, NULL);
    (void)weft_monitor(p, NULL);
    (void)order(p, "exit", DIE);
    hear();
    hear();
}

static void monitor_ended(void)
{
    weft_monitor_ref ref;
    weft_pid p = begin(NULL), other = begin(NULL);
    (void)weft_monitor(p, &ref);
    note("%s", result(weft_demonitor(ref)));
    note("%s", result(weft_demonitor(ref)));
    (void)weft_monitor(p, NULL);
    (void)order(p, "exit", DIE);
    hear(); /* of the second one only */
    no_more(other);
}

static void monitor_from_there(void)
{
    weft_pid p = begin(NULL), q = begin(NULL);
    note("%s", result(tell_with(p, (struct order){.whom = q}, "monitor")));
    (void)tell_with(p, (struct order){.whom = q}, "call"); /* behind the watch */
    (void)order(q, "exit", DIE);
    hear();
}

static void mail_before_end(void)
{
    weft_pid p = begin(NULL);
    (void)weft_monitor(p, NULL);
    (void)order(p, "numbers", 3);
    (void)order(p, "exit", DIE);
    for (int i = 0; i < 4; i++) hear();
}

static void link_failure(void)
{
    weft_pid p = begin(NULL);
    (void)weft_trap_exits(true);
    note("%s", result(weft_link(p)));
    (void)order(p, "fail", DIE);
    hear();
}

static void link_normal(void)
{
    weft_pid p = begin(NULL);
    (void)weft_trap_exits(true);
    (void)weft_link(p);
    (void)order(p, "exit", 0);
    hear();
}

static void link_gone(void)
{
    (void)weft_trap_exits(true);
    note("%s", result(weft_link(gone())));
    hear();
}

static void link_taken_back(void)
{
    weft_pid p = begin(NULL), other = begin(NULL);
    (void)weft_trap_exits(true);
    (void)weft_link(p);
    note("%s", result(weft_unlink(p)));
    note("%s", result(weft_unlink(p)));
    (void)weft_monitor(p, NULL);
    (void)order(p, "exit", DIE);
    hear();
    no_more(other);
}

static void link_made_there(void)
{
    weft_pid p = begin(NULL);
    (void)weft_trap_exits(true);
    note("%s", result(tell(p, "link", 0)));
    (void)order(p, "exit", DIE);
    hear();
}

static void links_and_ends(const void *arg, size_t size)
{
    weft_pid p;
    memcpy(&p, arg, size);
    (void)weft_link(p);
    weft_exit(DIE);
}

static void link_ends_the_other(void)
{
    weft_pid p = begin(NULL), me = p;
    (void)weft_monitor(p, NULL);
    (void)weft_spawn(NULL, links_and_ends, &me, sizeof me, NULL);
    hear();
}

static void link_is_trapped_there(void)
{
    weft_pid p = begin(NULL), me = p;
    (void)tell(p, "trap exits", 0);
    (void)weft_spawn(NULL, links_and_ends, &me, sizeof me, NULL);
    hear();
}

static void stop_is_trapped(void)
{
    weft_pid p = begin(NULL);
    (void)weft_monitor(p, NULL);
    (void)tell(p, "trap stop", 0);
    (void)weft_stop(p);
    hear();
    hear();
}

static void stop_gone(void)
{
    weft_pid p = gone();
    note("%s %s", result(weft_stop(p)), result(weft_kill(p)));
}

/* ---- Cases: messages ------------------------------------------------------------------------------------------- */

static void send_in_order(void)
{
    weft_pid p = begin(NULL);
    (void)order(p, "numbers", 5);
    for (int i = 0; i < 5; i++) hear();
}

static void send_gone(void)
{
    note("%s", result(weft_send(gone(), NUMBER, NULL, 0)));
}

static weft_pid start_full(const char *name)
{
    weft_pid p = weft_nobody();
    weft_remote_options o = {.deadline = patience()};
    int rc = weft_spawn_on(where, name, &p, WEFT_NO_ARGS, &o);
    if (rc < 0) note("not started %s", result(rc));
    return p;
}

static void send_to_full(const char *name)
{
    weft_pid p = start_full(name);
    int rc = WEFT_OK;
    for (int i = 0; i < 300 && rc == WEFT_OK; i++) rc = weft_send(p, NUMBER, NULL, 0);
    note("%s", result(rc));
    note("%s", result(weft_try_send(p, NUMBER, NULL, 0)));
    note("%s", result(weft_kill(p)));
}

static void full_suspend(void)
{
    send_to_full("same.suspend");
}

static void full_fail(void)
{
    send_to_full("same.fail");
}

static void full_drop(void)
{
    send_to_full("same.drop");
}

static void sent_later(void)
{
    struct order o = {.what = weft_cstr("numbers"), .number = 1, .whom = weft_self()};
    weft_writer w = weft_writer_on(NULL, 0);
    weft_pid p = begin(NULL);
    weft_later l;
    char body[200];
    w = weft_writer_on(body, sizeof body);
    order_put(&w, &o);
    note("%s", result(weft_send_after(WEFT_MS(1), p, OBEY, body, w.size, &l)));
    hear();
}

/* ---- Cases: calls ---------------------------------------------------------------------------------------------- */

static void call_with(weft_pid p, uint32_t tag, const void *data, size_t size, int64_t deadline)
{
    weft_msg *m;
    int rc = weft_call(p, tag, data, size, &m, deadline);
    note("%s", result(rc));
    if (rc < 0) return;
    note("%u%s", (unsigned)weft_size(m), weft_pid_equal(weft_from(m), p) ? "" : " of another");
    weft_msg_free(m);
}

static void call_answered(void)
{
    static const char large[1 << 20];
    weft_pid p = begin(NULL);
    call_with(p, ECHO, "hello", 5, patience());
    call_with(p, ECHO, large, sizeof large, patience());
}

static void call_let_go(void)
{
    call_with(begin(NULL), LETGO, NULL, 0, WEFT_FOREVER);
}

static void call_gone(void)
{
    call_with(gone(), ECHO, NULL, 0, WEFT_FOREVER);
}

static void call_ends_meanwhile(void)
{
    struct order o = {.what = weft_cstr("exit"), .number = DIE};
    weft_msg *m;
    note("%s", result(order_call(begin(NULL), &o, &m, WEFT_FOREVER)));
}

static void call_too_late(void)
{
    call_with(begin(NULL), KEEP, NULL, 0, weft_after(WEFT_MS(20)));
}

static void call_many(void)
{
    struct weft_answer to[3];
    for (int i = 0; i < 3; i++) to[i].from = begin(NULL);
    note("%d", weft_gather(to, 3, 3, ECHO, "x", 1, patience()));
    weft_answers_free(to, 3);
    to[0].from = gone();
    note("%d", weft_gather(to, 1, 1, ECHO, "x", 1, patience()));
    note("%s", result(to[0].error));
}

static void call_in_a_circle(void)
{
    weft_pid p = begin(NULL);
    struct order o = {.what = weft_cstr("call"), .whom = weft_self()};
    weft_msg *m;
    /* It calls back, and one of the two calls fails; both are over then. */
    int rc = order_call(p, &o, &m, patience());
    if (rc == WEFT_OK) weft_msg_free(m);
    note("%s", rc == WEFT_OK || rc == WEFT_EDEADLOCK ? "over" : result(rc));
}

/* ---- Cases: names, topics -------------------------------------------------------------------------------------- */

static const char *full_name(void)
{
    static char name[80];
    snprintf(name, sizeof name, "same.name@%s", where);
    return name;
}

static void name_is_sent_to(void)
{
    weft_pid p = begin(NULL);
    struct order o = {.text = weft_cstr("same.name")};
    struct order numbers = {.what = weft_cstr("numbers"), .number = 2, .whom = weft_self()};
    weft_msg *m;
    (void)tell_with(p, o, "register");
    note("%s", result(order_send_name(full_name(), &numbers)));
    hear();
    hear();
    int rc = weft_call_name(full_name(), ECHO, "x", 1, &m, patience());
    note("%s", result(rc));
    if (rc == WEFT_OK) weft_msg_free(m);
    (void)tell_with(p, o, "unregister");
    note("%s", result(weft_call_name(full_name(), ECHO, "x", 1, &m, patience())));
}

static void name_ends_with_its_actor(void)
{
    weft_pid p = begin(NULL);
    weft_msg *m;
    (void)tell_with(p, (struct order){.text = weft_cstr("same.name")}, "register");
    (void)weft_monitor(p, NULL);
    (void)order(p, "exit", DIE);
    hear();
    note("%s", result(weft_call_name(full_name(), ECHO, "x", 1, &m, patience())));
}

static void name_missing(void)
{
    note("%s", result(weft_send_name(full_name(), NUMBER, NULL, 0)));
}

/* Subscribers of the run before are still there. */
static const char *topic(void)
{
    return where[0] == 'a' ? "same.topic.a" : "same.topic.b";
}

static void topic_heard_there(void)
{
    weft_pid p = begin(NULL);
    weft_msg *m = NULL;
    (void)tell_with(p, (struct order){.text = weft_cstr(topic())}, "subscribe");
    while (m == NULL) { /* until this node knows of it */
        (void)weft_publish(topic(), HEARD, "x", 1);
        (void)tell(p, "nothing", 0);
        if (weft_recv(&m, WEFT_NOW) < 0) m = NULL;
    }
    note("'%.*s'", (int)weft_size(m), (const char *)weft_data(m));
    weft_msg_free(m);
}

static void topic_heard_here(void)
{
    weft_pid p = begin(NULL);
    weft_msg *m = NULL;
    note("%s", result(weft_subscribe(topic(), NULL)));
    while (m == NULL) {
        (void)tell_with(p, (struct order){.text = weft_cstr(topic())}, "publish");
        if (weft_recv(&m, WEFT_NOW) < 0) m = NULL;
    }
    note("%.10s %d", weft_topic(m), weft_pid_equal(weft_from(m), p));
    weft_msg_free(m);
}

/* ---- Cases: requests that are passed on ------------------------------------------------------------------------ */

static void asks(const void *arg, size_t size)
{
    weft_pid to;
    weft_msg *m;
    memcpy(&to, arg, size);
    int rc = weft_call(to, ECHO, "x", 1, &m, patience());
    if (rc == WEFT_OK) weft_msg_free(m);
    (void)weft_send(to, HEARD, result(rc), strlen(result(rc)));
}

static void request_passed_on(void)
{
    weft_pid p = begin(NULL), me = weft_self();
    weft_msg *m;
    (void)weft_spawn(NULL, asks, &me, sizeof me, NULL);
    if (weft_recv(&m, patience()) == WEFT_OK) note("%s", result(weft_send_msg(p, m)));
    hear();
}

static void request_from_there_passed_on(void)
{
    weft_pid p = begin(NULL), q = begin(NULL);
    weft_msg *m;
    (void)order(p, "call", 0);
    if (weft_recv(&m, patience()) == WEFT_OK) note("%s", result(weft_send_msg(q, m)));
}

#endif
