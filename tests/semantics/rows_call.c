/* Calls: the result that the caller gets. */
#include "rows.h"

/* Answers 1 with 42, answers 2 twice, drops 3, ends on 4, waits a second on 5, sends the caller
 * 1 before it answers 7. */
ACTOR(server)
{
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        switch (weft_tag(m)) {
        case 4: weft_exit(17);
        case 5: weft_sleep(weft_after(WEFT_SEC(1))); break;
        case 7: weft_send(weft_from(m), 1, NULL, 0); break;
        default: break;
        }
        if (weft_tag(m) != 3) weft_reply(m, 42, NULL, 0);
        if (weft_tag(m) == 2) {
            weft_sleep(weft_after(WEFT_SEC(1)));
            weft_reply(m, 43, NULL, 0);
        }
    }
}

static void ask(weft_pid who, uint32_t what, int64_t within)
{
    weft_msg *answer;
    int rc = weft_call(who, what, NULL, 0, &answer, weft_after(within));
    if (rc == 0) say_message(answer);
    else say_result(rc);
}

ROW(call_answer)
{
    ask(start(server), 1, WEFT_SEC(1));
}

ROW(call_gone)
{
    weft_pid s = puppet();
    do_exit(s, 17);
    ask(s, 1, WEFT_SEC(1));
}

ROW(call_server_fails)
{
    ask(start(server), 4, WEFT_SEC(1));
}

static weft_pid helper;

ACTOR(asks_4)
{
    ask(helper, 4, WEFT_SEC(1));
}

ACTOR(asks_1)
{
    ask(helper, 1, WEFT_SEC(1));
}

ROW(call_server_fails_before)
{
    helper = start(server);
    start(asks_4);
    start(asks_1);
    weft_advance(WEFT_SEC(3));
}

ROW(call_not_answered)
{
    ask(start(server), 3, WEFT_SEC(1));
}

ROW(call_timeout)
{
    ask(start(server), 5, WEFT_MS(10));
}

ROW(call_late_answer)
{
    ask(start(server), 5, WEFT_MS(10));
    say_mail();
}

ROW(call_self)
{
    ask(weft_self(), 1, WEFT_MS(10));
}

ACTOR(calls_back)
{
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) != 0) return;
    ask(weft_from(m), 1, WEFT_MS(10));
    weft_reply(m, 42, NULL, 0);
}

ROW(call_cycle)
{
    ask(start(calls_back), 1, WEFT_SEC(1));
}

ROW(call_missing_name)
{
    weft_msg *answer;
    say_result(weft_call_name("call_missing_name", 1, NULL, 0, &answer, weft_after(WEFT_SEC(1))));
}

ROW(call_answered_twice)
{
    ask(start(server), 2, WEFT_SEC(1));
    say_mail();
}

ROW(call_past_mail)
{
    weft_pid s = start(server);
    ask(s, 7, WEFT_SEC(1));
    say_mail();
}

ACTOR(passes_on)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) weft_send_msg(helper, m);
}

ROW(call_passed_on)
{
    helper = start(server);
    ask(start(passes_on), 1, WEFT_SEC(1));
}

ACTOR(passes_on_and_ends)
{
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) == 0) weft_send_msg(helper, m);
}

ROW(call_passed_on_by_one_who_ends)
{
    helper = start(server);
    weft_pid s = start(passes_on_and_ends);
    ask(s, 5, WEFT_SEC(2));
    say_alive(s);
}

ROW(call_answer_to_no_call)
{
    weft_send(weft_self(), 1, NULL, 0);
    weft_msg *m;
    if (weft_recv(&m, WEFT_NOW) != 0) return;
    say_result(weft_reply(m, 42, NULL, 0));
    weft_msg_free(m);
    say_mail();
}

ROW(call_unknown_node)
{
    weft_msg *answer;
    say_result(weft_call_name("anybody@nobody", 1, NULL, 0, &answer, weft_after(WEFT_SEC(1))));
}

ROW(call_in_order_with_mail)
{
    weft_pid s = start(server);
    for (int i = 0; i < 3; i++) weft_send(s, 1, NULL, 0);
    weft_send(s, 4, NULL, 0);
    ask(s, 1, WEFT_SEC(1));
}
