/* Queue groups and retained messages on three nodes. */
#include "puppets.h"

enum {
    JOIN = 1,
    LEAVE,
    CHURN,
    PUBLISH,
    KNOWN,
    NEWS,
    RETAIN,
    CLEAR,
    SUBSCRIBE,
    READ,
    READ_ALL,
    KEPT,
    PASS,
    BIG,
    BIG_ONE,
    REACH,
    REACH_ALL
};
enum { VALUES = 4096 };

/* How often each number was received, and how many numbers by each node. */
static _Atomic int got[VALUES], got_by[NODES_MAX], got_all;
static _Atomic int expected;
static weft_subscription membership[NODES_MAX];

static void expect(int count)
{
    for (int i = 0; i < VALUES; i++) atomic_store(&got[i], 0);
    for (int i = 0; i < NODES_MAX; i++) atomic_store(&got_by[i], 0);
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

/* A node that gets this has got everything that was sent before it. */
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

/* "topic value" */
static int retain(const char *text)
{
    char topic[64];
    snprintf(topic, sizeof topic, "%.*s", (int)strcspn(text, " "), text);
    return weft_publish_retained(topic, KEPT, text, strlen(text));
}

/* The retained messages of all topics are reported before "read". */
static void begin_to_read(char label)
{
    int rc = weft_subscribe("state.>", &membership[label - 'a']);
    if (rc < 0) say("%c cannot subscribe: %d", label, rc);
    (void)weft_send(weft_self(), READ_ALL, NULL, 0);
}

enum { BIG_COUNT = 24, BIG_SIZE = 1 << 20 };

static void retain_big(char label)
{
    static const char big[BIG_SIZE];
    for (int i = 0; i < BIG_COUNT; i++) {
        char topic[16];
        snprintf(topic, sizeof topic, "big.%d", i);
        int rc = weft_publish_retained(topic, BIG_ONE, big, sizeof big);
        if (rc < 0) say("%c cannot retain: %d", label, rc);
    }
    say("%c retained all", label);
}

static void reach(char label, bool everybody)
{
    struct weft_reach r = {.nodes = 0};
    int rc;
    int64_t by = patience();
    do rc = weft_publish_reach("job.new", REACH_ALL + 1, "x", 1, &r, by);
    while (rc == 0 && everybody && r.subscribers < 4 && weft_now() < by); /* until it knows of all */
    say("%c reached %d: %u nodes, %d subscribers, %u silent", label, rc, r.nodes, (int)r.subscribers, r.silent);
}

static void obey_retained(char label, weft_msg *m, const char *text)
{
    switch (weft_tag(m)) {
    case RETAIN: say("%c retained %d", label, retain(text) >= 0); break;
    case CLEAR: say("%c cleared %d", label, weft_retained_clear(text)); break;
    case SUBSCRIBE: say("%c subscribed %d", label, weft_subscribe(text, NULL)); break;
    case PASS: tell_the_others(label); break;
    case READ: begin_to_read(label); break;
    case READ_ALL:
        leave(label);
        say("%c read", label);
        break;
    case BIG: retain_big(label); break;
    case REACH:
    case REACH_ALL: reach(label, weft_tag(m) == REACH_ALL); break;
    case BIG_ONE:
        if (atomic_fetch_add(&got_all, 1) + 1 == atomic_load(&expected)) say("all");
        break;
    case KEPT: say("%c %s %s", label, weft_is_retained(m) ? "kept" : "heard", text); break;
    default: break;
    }
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
    default: obey_retained(label, m, text); break;
    }
}

static void each_came_once(int from, int count)
{
    for (int i = from; i < from + count; i++) ck_assert_int_eq(atomic_load(&got[i]), 1);
}

static void order_and_wait(int node, uint32_t tag)
{
    forget_all();
    instruct(node, tag, "");
    for (int i = 0; i < 3; i++) {
        char line[32];
        snprintf(line, sizeof line, "%c knows of %c", 'a' + i, 'a' + node);
        if (i != node) HEAR(line);
    }
}

START_TEST(each_message_goes_to_one_member_of_a_queue_group_in_the_cluster)
{
    three_nodes();
    order_and_wait(1, JOIN);
    order_and_wait(2, JOIN);
    expect(200);
    instruct(0, PUBLISH, "0 200");
    HEAR("a published to 200");
    HEAR("all");
    each_came_once(0, 200);
    ck_assert_int_eq(atomic_load(&got_by[1]), 100); /* nodes take turns */
    ck_assert_int_eq(atomic_load(&got_by[2]), 100);

    expect(200);
    instruct(2, PUBLISH, "0 200"); /* a member on the publisher's own node comes first */
    HEAR("all");
    each_came_once(0, 200);
    ck_assert_int_eq(atomic_load(&got_by[2]), 200);

    order_and_wait(2, LEAVE);
    expect(200);
    instruct(2, PUBLISH, "0 200");
    HEAR("all");
    ck_assert_int_eq(atomic_load(&got_by[1]), 200);

    order_and_wait(1, LEAVE);
    instruct(0, PUBLISH, "0 1");
    HEAR("a published to 0");
    net_close();
}
END_TEST

START_TEST(a_queue_group_loses_and_doubles_no_message_while_members_come_and_go)
{
    three_nodes();
    order_and_wait(1, JOIN);
    order_and_wait(2, JOIN);
    expect(900);
    instruct(1, CHURN, "300");
    instruct(0, PUBLISH, "0 300");
    instruct(0, PUBLISH, "300 300");
    instruct(2, PUBLISH, "600 300");
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
    instruct(0, PUBLISH, "0 100");
    HEAR("all");
    each_came_once(0, 100);
    ck_assert_int_eq(atomic_load(&got_by[2]), 100);
    net_cut(0, 1, false);
    HEAR("nodea up nodeb");
    HEAR("nodeb up nodea");
    order_and_wait(1, LEAVE);
    order_and_wait(1, JOIN);
    expect(100);
    instruct(0, PUBLISH, "0 100");
    HEAR("all");
    each_came_once(0, 100);
    ck_assert_int_eq(atomic_load(&got_by[1]), 50);
    node_down(net.node[1]);
    net.node[1] = NULL;
    expect(100);
    instruct(2, PUBLISH, "0 100");
    HEAR("all");
    each_came_once(0, 100);
    net_close();
}
END_TEST

/* ---- Retained messages ----------------------------------------------------------------------------------------- */

/* Orders are not in order with each other: each is carried out before the next. */
static void act(int node, uint32_t tag, const char *text, const char *answer)
{
    forget_all();
    instruct(node, tag, text);
    HEAR(answer);
}

/* A new subscriber there gets just these, each once. */
static void node_keeps(int node, const char *first, const char *second)
{
    char line[64];
    forget_all();
    instruct(node, READ, "");
    snprintf(line, sizeof line, "%c read", 'a' + node);
    HEAR(line);
    snprintf(line, sizeof line, "%c kept", 'a' + node);
    ck_assert_int_eq(heard(line, 0), (first != NULL) + (second != NULL));
    const char *both[] = {first, second};
    for (int i = 0; i < 2; i++) {
        if (both[i] == NULL) continue;
        snprintf(line, sizeof line, "%c kept %s", 'a' + node, both[i]);
        ck_assert_int_eq(heard(line, 0), 1);
    }
}

START_TEST(a_new_subscriber_on_any_node_gets_what_is_retained)
{
    three_nodes();
    act(1, SUBSCRIBE, "state.>", "b subscribed 0");
    node_keeps(1, NULL, NULL);
    act(0, RETAIN, "state.x 1", "a retained 1");
    HEAR("b heard state.x 1"); /* it was there before */
    act(0, RETAIN, "state.y 1", "a retained 1");
    order_and_wait(0, PASS);
    for (int i = 0; i < 3; i++) node_keeps(i, "state.x 1", "state.y 1");
    act(2, RETAIN, "state.x 2", "c retained 1");
    order_and_wait(2, PASS);
    for (int i = 0; i < 3; i++) node_keeps(i, "state.x 2", "state.y 1");
    act(1, CLEAR, "state.y", "b cleared 1");
    order_and_wait(1, PASS);
    for (int i = 0; i < 3; i++) node_keeps(i, "state.x 2", NULL);
    act(2, CLEAR, "state.y", "c cleared 0");
    net_close();
}
END_TEST

START_TEST(the_newest_retained_message_holds_after_a_partition)
{
    three_nodes();
    act(0, SUBSCRIBE, "state.x", "a subscribed 0");
    act(2, SUBSCRIBE, "state.z", "c subscribed 0");
    act(0, RETAIN, "state.y 1", "a retained 1");
    order_and_wait(0, PASS);
    net_cut(0, 1, true);
    net_cut(0, 2, true);
    HEAR("nodea down nodeb");
    HEAR("nodea down nodec");
    HEAR("nodeb down nodea");
    HEAR("nodec down nodea");
    act(0, RETAIN, "state.x 1", "a retained 1");
    HEAR("a heard state.x 1");
    act(1, RETAIN, "state.x 2", "b retained 1"); /* later */
    act(1, CLEAR, "state.y", "b cleared 1");
    act(0, RETAIN, "state.z 7", "a retained 1");
    net_cut(0, 1, false);
    net_cut(0, 2, false);
    HEAR("a heard state.x 2"); /* it was subscribed all the time */
    HEAR("c heard state.z 7");
    HEAR("nodea up nodeb");
    HEAR("nodea up nodec");
    HEAR("nodeb up nodea");
    order_and_wait(0, PASS);
    order_and_wait(1, PASS);
    for (int i = 0; i < 3; i++) node_keeps(i, "state.x 2", "state.z 7");
    net_close();
}
END_TEST

START_TEST(a_retained_message_outlives_the_node_that_published_it)
{
    three_nodes();
    act(0, RETAIN, "state.x 1", "a retained 1");
    act(0, RETAIN, "state.y 1", "a retained 1");
    order_and_wait(0, PASS);
    node_down(net.node[0]);
    net.node[0] = NULL;
    act(1, CLEAR, "state.y", "b cleared 1");
    net_node(3);
    HEAR("noded up nodeb");
    HEAR("nodeb up noded");
    add_actor(3, puppet, "there");
    act(3, SUBSCRIBE, "state.marked", "d subscribed 0");
    act(1, RETAIN, "state.marked now", "b retained 1");
    HEAR("d heard state.marked now"); /* all that was there before has come, too */
    act(1, CLEAR, "state.marked", "b cleared 1");
    act(3, CLEAR, "state.marked", "d cleared");
    node_keeps(3, "state.x 1", NULL);
    net_close();
}
END_TEST

START_TEST(more_than_an_outbox_holds_comes_in_parts)
{
    net_open();
    net_node(0);
    add_actor(0, puppet, "there");
    act(0, BIG, "", "a retained all");
    expect(BIG_COUNT);
    net_node(1);
    add_actor(1, puppet, "there");
    instruct(1, SUBSCRIBE, "big.>"); /* some are there perhaps, others come */
    HEAR("all");
    ck_assert_int_eq(heard("b cannot", 0), 0);
    net_close();
    ck_assert_int_eq(atomic_load(&got_all), BIG_COUNT);
}
END_TEST

/* Subscribed, and idle. */
static void listener(const void *arg, size_t size)
{
    (void)size;
    int rc = weft_subscribe("job.>", NULL);
    say("%c listens %d", *(const char *)arg, rc);
    (void)weft_sleep(WEFT_FOREVER);
}

START_TEST(a_publisher_is_told_whom_it_has_reached)
{
    three_nodes();
    act(0, REACH, "", "a reached 0: 0 nodes, 0 subscribers, 0 silent");
    order_and_wait(1, JOIN);
    order_and_wait(2, JOIN);
    act(0, REACH, "", "a reached 0: 1 nodes, 1 subscribers, 0 silent"); /* one member */
    add_actor(0, listener, "listens 0");
    forget_all();
    add_actor(0, listener, "listens 0");
    act(0, REACH, "", "a reached 0: 2 nodes, 3 subscribers, 0 silent");
    add_actor(1, listener, "listens 0"); /* on node b or c there is the member, too */
    act(0, REACH_ALL, "", "a reached 0: ");
    ck_assert_int_eq(heard("a reached 0: 2 nodes, 4 subscribers, 0 silent", 0) +
                         heard("a reached 0: 3 nodes, 4 subscribers, 0 silent", 0),
                     1);
    net_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cluster_topics");
    TCase *c = tcase_create("topics");
    tcase_add_test(c, each_message_goes_to_one_member_of_a_queue_group_in_the_cluster);
    tcase_add_test(c, a_queue_group_loses_and_doubles_no_message_while_members_come_and_go);
    tcase_add_test(c, a_lost_node_gets_nothing_more_and_is_back_when_it_is_linked_again);
    tcase_add_test(c, a_new_subscriber_on_any_node_gets_what_is_retained);
    tcase_add_test(c, the_newest_retained_message_holds_after_a_partition);
    tcase_add_test(c, a_retained_message_outlives_the_node_that_published_it);
    tcase_add_test(c, more_than_an_outbox_holds_comes_in_parts);
    tcase_add_test(c, a_publisher_is_told_whom_it_has_reached);
    suite_add_tcase(s, c);
    return run_suite_unforked(s);
}
