/* Queue groups and retained messages on three nodes. */
#include "puppets.h"

enum { JOIN = 1, LEAVE, CHURN, PUBLISH, KNOWN, NEWS };
enum { VALUES = 4096 };

/* How often each number was received, and how many numbers by each node. */
static _Atomic int got[VALUES], got_by[3], got_all;
static _Atomic int expected;
static weft_subscription membership[3];

static void expect(int count)
{
    for (int i = 0; i < VALUES; i++) atomic_store(&got[i], 0);
    for (int i = 0; i < 3; i++) atomic_store(&got_by[i], 0);
    atomic_store(&got_all, 0);
    atomic_store(&expected, count);
    forget_all();
}

static void join(char label)
{
    weft_subscribe_options o = {.queue = "workers"};
    int rc = weft_subscribe_with("job.*", &o, &membership[label - 'a']);
    if (rc < 0) say("%c cannot join: %d", label, rc);
}

static void leave(char label)
{
    int rc = weft_unsubscribe(membership[label - 'a']);
    if (rc < 0) say("%c cannot leave: %d", label, rc);
}

/* Who gets this knows what came before it. */
static void tell_the_others(char label)
{
    static const char *const others[] = {"do@nodea", "do@nodeb", "do@nodec"};
    for (int i = 0; i < 3; i++)
        if (i != label - 'a') (void)weft_send_name(others[i], KNOWN, &label, 1);
}

static void publish(char label, const char *text)
{
    int from = 0, count = 0, handed = 0;
    ck_assert_int_eq(sscanf(text, "%d %d", &from, &count), 2);
    for (int i = from; i < from + count; i++) handed += weft_publish("job.new", NEWS, &i, sizeof i);
    say("%c published to %d", label, handed);
}

static void note_news(char label, const weft_msg *m)
{
    int value;
    memcpy(&value, weft_data(m), sizeof value);
    atomic_fetch_add(&got[value], 1);
    atomic_fetch_add(&got_by[label - 'a'], 1);
    if (atomic_fetch_add(&got_all, 1) + 1 == atomic_load(&expected)) say("all");
}

static void obey(char label, weft_msg *m, const char *text)
{
    switch (weft_tag(m)) {
    case JOIN:
        join(label);
        tell_the_others(label);
        break;
    case LEAVE:
        leave(label);
        tell_the_others(label);
        break;
    case CHURN: /* again and again, by messages to itself: what it is sent meanwhile it receives in between */
        leave(label);
        join(label);
        if (atoi(text) > 0) {
            char less[16];
            int size = snprintf(less, sizeof less, "%d", atoi(text) - 1);
            (void)weft_send(weft_self(), CHURN, less, (size_t)size);
        }
        break;
    case PUBLISH: publish(label, text); break;
    case KNOWN: say("%c knows of %.1s", label, text); break;
    case NEWS: note_news(label, m); break;
    default: break;
    }
}

static void each_came_once(int from, int count)
{
    for (int i = from; i < from + count; i++) ck_assert_int_eq(atomic_load(&got[i]), 1);
}

static void order_and_wait(int node, uint32_t tag)
{
    forget_all();
    tell(node, tag, "");
    for (int i = 0; i < 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "%c knows of %c", 'a' + i, 'a' + node);
        if (i != node) HEAR(line);
    }
}

START_TEST(one_member_of_the_cluster_gets_each_message)
{
    three_nodes();
    order_and_wait(1, JOIN);
    order_and_wait(2, JOIN);
    expect(200);
    tell(0, PUBLISH, "0 200");
    HEAR("a published to 200");
    HEAR("all");
    each_came_once(0, 200);
    ck_assert_int_eq(atomic_load(&got_by[1]), 100); /* nodes take turns */
    ck_assert_int_eq(atomic_load(&got_by[2]), 100);

    expect(200);
    tell(2, PUBLISH, "0 200"); /* a member on the publisher's own node comes first */
    HEAR("all");
    each_came_once(0, 200);
    ck_assert_int_eq(atomic_load(&got_by[2]), 200);

    order_and_wait(2, LEAVE);
    expect(200);
    tell(2, PUBLISH, "0 200");
    HEAR("all");
    ck_assert_int_eq(atomic_load(&got_by[1]), 200);

    order_and_wait(1, LEAVE);
    tell(0, PUBLISH, "0 1");
    HEAR("a published to 0");
    net_close();
}
END_TEST

START_TEST(nothing_is_lost_or_doubled_while_members_come_and_go)
{
    three_nodes();
    order_and_wait(1, JOIN);
    order_and_wait(2, JOIN);
    expect(900);
    tell(1, CHURN, "300");
    tell(0, PUBLISH, "0 300");
    tell(0, PUBLISH, "300 300");
    tell(2, PUBLISH, "600 300");
    HEAR("all");
    each_came_once(0, 900);
    net_close();
}
END_TEST

START_TEST(a_lost_node_gets_nothing_more_and_is_back_when_it_is_linked_again)
{
    three_nodes();
    order_and_wait(1, JOIN);
    order_and_wait(2, JOIN);
    net_cut(0, 1, true);
    HEAR("nodea down nodeb");
    expect(100);
    tell(0, PUBLISH, "0 100");
    HEAR("all");
    each_came_once(0, 100);
    ck_assert_int_eq(atomic_load(&got_by[2]), 100);
    net_cut(0, 1, false);
    HEAR("nodea up nodeb");
    HEAR("nodeb up nodea");
    forget_all();
    tell(1, KNOWN, "");
    order_and_wait(1, LEAVE);
    order_and_wait(1, JOIN);
    expect(100);
    tell(0, PUBLISH, "0 100");
    HEAR("all");
    each_came_once(0, 100);
    ck_assert_int_eq(atomic_load(&got_by[1]), 50);
    node_down(net.node[1]);
    net.node[1] = NULL;
    expect(100);
    tell(2, PUBLISH, "0 100");
    HEAR("all");
    each_came_once(0, 100);
    net_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cluster_topics");
    TCase *c = tcase_create("topics");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, one_member_of_the_cluster_gets_each_message);
    tcase_add_test(c, nothing_is_lost_or_doubled_while_members_come_and_go);
    tcase_add_test(c, a_lost_node_gets_nothing_more_and_is_back_when_it_is_linked_again);
    suite_add_tcase(s, c);
    return run_suite_unforked(s);
}
