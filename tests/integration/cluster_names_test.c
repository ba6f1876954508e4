/* Global names on three nodes: all nodes find them, they are removed with their actor or node, and one registration
 * wins after a partition. */
#include "puppets.h"

/* Commands for an actor, by tag: the body is a name. The actor reports the result. */
enum { REGISTER = 1, GIVE_BACK, WHEREIS, AWAIT, SEND, CALL, LOCAL, PING, MONITOR };

static void do_order(char label, uint32_t tag, const char *name)
{
    char pid_text[WEFT_PID_TEXT];
    weft_pid p = weft_nobody();
    weft_msg *answer;
    int rc;
    switch (tag) {
    case REGISTER: say("%c register %s %d", label, name, weft_register_global(name)); break;
    case LOCAL: say("%c local %s %d", label, name, weft_register(name)); break;
    case GIVE_BACK: say("%c gave back %s %d", label, name, weft_unregister(name)); break;
    case WHEREIS:
        rc = weft_whereis(name, &p);
        say("%c whereis %s %d %s", label, name, rc, rc == 0 ? weft_pid_format(p, pid_text) : "");
        break;
    case AWAIT:
        rc = weft_await_name(name, &p, patience());
        say("%c await %s %d %s", label, name, rc, rc == 0 ? weft_pid_format(p, pid_text) : "");
        break;
    case SEND: say("%c send %s %d", label, name, weft_send_name(name, PING, &label, 1)); break;
    case CALL:
        rc = weft_call_name(name, PING, &label, 1, &answer, patience());
        say("%c call %s %d %s", label, name, rc, rc == 0 ? (const char *)weft_data(answer) : "");
        if (rc == 0) weft_msg_free(answer);
        break;
    case MONITOR:
        if (weft_whereis(name, &p) == 0) say("%c monitor %s %d", label, name, weft_monitor(p, NULL));
        break;
    default: break;
    }
}

static void obey(char label, weft_msg *m, const char *text)
{
    struct weft_name_lost lost;
    struct weft_down down;
    char answer[2] = {label, 0};
    weft_pid p;
    if (weft_tag(m) == PING && weft_wants_reply(m)) weft_reply(m, PING, answer, 2);
    else if (weft_tag(m) == PING) say("%c pinged by %.1s", label, text);
    else if (weft_name_lost_read(m, &lost) == 0) {
        bool holds = weft_whereis(lost.name, &p) == 0 && weft_pid_equal(p, lost.winner);
        say("%c lost %s to %s", label, lost.name, holds ? "its holder" : "somebody else");
    } else if (weft_down_read(m, &down) == 0) say("%c down, boss %d", label, weft_whereis("boss", &p));
    else do_order(label, weft_tag(m), text);
}

START_TEST(a_name_is_found_on_every_node_until_its_actor_ends)
{
    three_nodes();
    instruct(0, AWAIT, "boss");
    instruct(1, REGISTER, "boss");
    HEAR("b register boss 0");
    HEAR("a await boss 0 ");
    instruct(2, AWAIT, "boss");
    HEAR("c await boss 0 ");
    instruct(0, REGISTER, "boss");
    HEAR("a register boss -11");
    instruct(0, SEND, "boss");
    HEAR("b pinged by a");
    instruct(2, CALL, "boss");
    HEAR("c call boss 0 b");
    instruct(2, CALL, "boss@nodeb");
    HEAR("c call boss@nodeb 0 b");
    instruct(2, CALL, "boss@nodea"); /* only a global name there */
    HEAR("c call boss@nodea -6");
    instruct(2, LOCAL, "boss"); /* hides the other one there */
    HEAR("c local boss 0");
    instruct(2, CALL, "boss");
    HEAR("c call boss -22"); /* itself */
    instruct(0, MONITOR, "boss");
    HEAR("a monitor boss 0");
    instruct(1, END, "");
    HEAR("a down, boss -6");
    instruct(0, REGISTER, "boss");
    HEAR("a register boss 0");
    net_close();
}
END_TEST

/* Registers and sends at once, again and again: the receiver finds the name each time. */
#ifdef _WIN32
enum { TURNS = 200 }; /* each system call of wine is a question to another process */
#else
enum { TURNS = 2000 };
#endif

static void finder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    ck_assert_int_eq(weft_register("finder"), 0);
    say("finder there");
    int found = 0, gone = 0;
    weft_msg *m;
    for (int i = 0; i < 2 * TURNS; i++) {
        weft_pid p;
        char name[65];
        ck_assert_int_eq(weft_recv(&m, patience()), 0);
        snprintf(name, sizeof name, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
        int rc = weft_whereis(name, &p);
        int sent = rc == 0 && i % 2 == 0 ? weft_send(weft_from(m), 1, NULL, 0) : 0;
        if (i % 2 == 0) found += rc == 0 && weft_pid_equal(p, weft_from(m)) && sent == 0;
        else gone += rc == WEFT_ENOACTOR;
        if (found != i / 2 + 1 || gone != (i + 1) / 2) {
            say("%s after %d: whereis %d, answer %d", name, i, rc, sent);
            break;
        }
        weft_msg_free(m);
    }
    say("found %d gone %d", found, gone);
}

static void changer(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < TURNS; i++) {
        char name[16];
        int length = snprintf(name, sizeof name, "n%d", i);
        weft_msg *m;
        ck_assert_int_eq(weft_register_global(name), 0);
        ck_assert_int_eq(weft_send_name("finder@nodec", 1, name, (size_t)length), 0);
        ck_assert_int_eq(weft_recv(&m, patience()), 0); /* it was found: it may go */
        weft_msg_free(m);
        ck_assert_int_eq(weft_unregister(name), 0);
        ck_assert_int_eq(weft_send_name("finder@nodec", 1, name, (size_t)length), 0);
    }
}

START_TEST(a_name_is_known_before_what_its_actor_sends_next)
{
    three_nodes();
    run_actor(net.node[2], finder, NULL, 0);
    HEAR("finder there");
    run_actor(net.node[0], changer, NULL, 0);
    char line[64];
    snprintf(line, sizeof line, "found %d gone %d", TURNS, TURNS);
    HEAR(line);
    net_close();
}
END_TEST

START_TEST(names_of_a_lost_node_are_removed)
{
    three_nodes();
    instruct(1, REGISTER, "boss");
    HEAR("b register boss 0");
    instruct(0, AWAIT, "boss");
    HEAR("a await boss 0");
    instruct(0, MONITOR, "boss");
    HEAR("a monitor boss 0");
    net_cut(0, 1, true); /* c sees both of them */
    HEAR("a down, boss -6");
    instruct(2, WHEREIS, "boss");
    HEAR("c whereis boss 0");
    net_cut(0, 1, false);
    instruct(0, AWAIT, "boss"); /* the snapshot of the new link */
    ck_assert_int_ge(heard("a await boss 0", 2), 2);
    node_down(net.node[1]);
    net.node[1] = NULL;
    HEAR("nodec down nodeb");
    instruct(2, WHEREIS, "boss");
    HEAR("c whereis boss -6");
    net_node(1); /* a new life: it knows of what others have, and can have what was its own */
    ck_assert_int_ge(heard("nodeb up", 4), 4);
    add_actor(1, puppet, "there");
    ck_assert_int_ge(heard("nodec up nodeb", 2), 2);
    instruct(1, REGISTER, "boss");
    ck_assert_int_ge(heard("b register boss 0", 2), 2);
    net_close();
}
END_TEST

/* The loser's node may not have told the third one yet. */
static void call_until(int i, const char *answer)
{
    char any[16], right[24];
    snprintf(any, sizeof any, "%c call boss", 'a' + i);
    snprintf(right, sizeof right, "%s %s", any, answer);
    for (int calls = 1; heard(right, 0) == 0; calls++) {
        instruct(i, CALL, "boss");
        ck_assert_int_ge(heard(any, calls), calls);
    }
}

START_TEST(one_of_two_holders_keeps_the_name_when_a_partition_heals)
{
    for (int turn = 0; turn < 2; turn++) {
        int first = turn == 0 ? 0 : 2, second = 2 - first;
        char a = (char)('a' + first), line[64];
        three_nodes();
        net_cut(0, 2, true), net_cut(1, 2, true);
        HEAR("nodec down nodea");
        HEAR("nodec down nodeb");
        HEAR("nodea down nodec");
        HEAR("nodeb down nodec");
        instruct(first, REGISTER, "boss");
        snprintf(line, sizeof line, "%c register boss 0", a);
        HEAR(line);
        instruct(second, REGISTER, "boss");
        snprintf(line, sizeof line, "%c register boss 0", 'a' + second);
        HEAR(line);
        net_cut(0, 2, false), net_cut(1, 2, false);
        snprintf(line, sizeof line, "%c lost boss to its holder", 'a' + second); /* the younger one */
        HEAR(line);
        ck_assert_int_ge(heard("nodeb up nodec", 2), 2);
        ck_assert_int_ge(heard("nodec up nodeb", 2), 2);
        for (int i = 0; i < 3; i++) {
            instruct(i, AWAIT, "boss");
            snprintf(line, sizeof line, "%c await boss 0", 'a' + i);
            HEAR(line);
            call_until(i, i == first ? "-22" : (char[]){'0', ' ', a, 0});
        }
        instruct(second, GIVE_BACK, "boss");
        snprintf(line, sizeof line, "%c gave back boss -6", 'a' + second);
        HEAR(line);
        instruct(first, END, "");
        snprintf(line, sizeof line, "%c lost", a);
        ck_assert_int_eq(heard(line, 0), 0);
        net_close();
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cluster_names");
    TCase *c = tcase_create("names");
    tcase_add_test(c, a_name_is_found_on_every_node_until_its_actor_ends);
    tcase_add_test(c, a_name_is_known_before_what_its_actor_sends_next);
    tcase_add_test(c, names_of_a_lost_node_are_removed);
    tcase_add_test(c, one_of_two_holders_keeps_the_name_when_a_partition_heals);
    suite_add_tcase(s, c);
    return run_suite_unforked(s);
}
