/* Groups on three nodes: members on all nodes, one copy of a message for each node, notifications with reasons. */
#include "puppets.h"

enum { JOIN = 1, LEAVE, MEMBERS, SEND, NOTE, FAIL };

static int members_by_node(const char *group, int *local)
{
    weft_pid all[64];
    int n = weft_group_members(group, all, 64);
    *local = 0;
    for (int i = 0; i < n && i < 64; i++) {
        if (all[i].node != weft_self().node) continue;
        ck_assert_int_eq(*local, i); /* those of this node come first */
        ++*local;
    }
    return n;
}

static void obey(char label, weft_msg *m, const char *text)
{
    int local, all;
    switch (weft_tag(m)) {
    case JOIN: say("%c join %d", label, weft_group_join(text)); break;
    case LEAVE: say("%c leave %d", label, weft_group_leave(text)); break;
    case SEND: say("%c sent to %d", label, weft_group_send(text, NOTE, &label, 1)); break;
    case MEMBERS:
        all = members_by_node(text, &local);
        say("%c sees %d, %d here", label, all, local);
        break;
    case NOTE: say("%c note from %.1s", label, text); break;
    case FAIL: weft_fail(33, "told to"); break;
    default: break;
    }
}

/* Says what it is told of the group, with the number of members that this makes. */
static void watching(const void *arg, size_t size)
{
    (void)size;
    char label = *(const char *)arg;
    ck_assert_int_eq(weft_group_watch("room"), 0);
    int count = 0;
    say("%c watches", label);
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct weft_group_news news;
        if (weft_group_news_read(m, &news) == 0) {
            bool join = weft_tag(m) == WEFT_TAG_GROUP_JOIN;
            count += join ? 1 : -1;
            if (join) say("%c news: join, %d", label, count);
            else say("%c news: %s %d, %d", label, news.ended ? "ended" : "left", news.reason, count);
        }
        weft_msg_free(m);
    }
}

static void three_watched(void)
{
    three_nodes();
    for (int i = 0; i < 3; i++) add_actor(i, watching, "watches");
}

static void all_join(void)
{
    for (int i = 0; i < 3; i++) instruct(i, JOIN, "room");
    HEAR("a news: join, 3");
    HEAR("b news: join, 3");
    HEAR("c news: join, 3");
}

START_TEST(members_of_all_nodes_get_what_is_sent)
{
    three_watched();
    all_join();
    for (int i = 0; i < 3; i++) instruct(i, MEMBERS, "room");
    HEAR("a sees 3, 1 here");
    HEAR("b sees 3, 1 here");
    HEAR("c sees 3, 1 here");
    instruct(0, SEND, "room");
    HEAR("a sent to 3");
    for (char c = 'a'; c <= 'c'; c++) {
        char line[32];
        snprintf(line, sizeof line, "%c note from a", c);
        ck_assert_int_eq(heard(line, 1), 1);
    }
    instruct(1, LEAVE, "room");
    HEAR("a news: left 0, 2");
    HEAR("c news: left 0, 2");
    instruct(1, SEND, "room"); /* who is no member sends too */
    HEAR("b sent to 2");
    HEAR("a note from b");
    HEAR("c note from b");
    ck_assert_int_eq(heard("b note from b", 0), 0);
    instruct(2, FAIL, "");
    HEAR("a news: ended 33, 1");
    HEAR("b news: ended 33, 1");
    net_close();
}
END_TEST

START_TEST(a_lost_node_leaves_and_comes_back)
{
    three_watched();
    all_join();
    net_cut(0, 1, true);
    net_cut(2, 1, true);
    HEAR("a news: ended 4, 2");
    HEAR("c news: ended 4, 2");
    HEAR("b news: ended 4, 1"); /* it has lost both of them */
    instruct(1, SEND, "room");
    HEAR("b sent to 1");
    instruct(1, LEAVE, "room");
    HEAR("b leave 0");
    instruct(1, JOIN, "room");
    ck_assert_int_ge(heard("b join 0", 2), 2);
    net_cut(0, 1, false);
    net_cut(2, 1, false);
    ck_assert_int_ge(heard("a news: join, 3", 2), 2);
    ck_assert_int_ge(heard("c news: join, 3", 2), 2);
    ck_assert_int_ge(heard("b news: join, 3", 2), 2);
    instruct(0, SEND, "room");
    HEAR("a sent to 3");
    HEAR("b note from a");
    node_down(net.node[1]);
    net.node[1] = NULL;
    net_close();
}
END_TEST

/* ---- Many ------------------------------------------------------------------------------------------------------ */

enum { MANY = 3000 };

static void many(const void *arg, size_t size)
{
    (void)size;
    int groups = *(const int *)arg;
    for (int i = 0; i < groups; i++) {
        char name[32];
        snprintf(name, sizeof name, "g%d", i);
        ck_assert_int_eq(weft_group_join(name), 0);
        snprintf(name, sizeof name, "many%d", i);
        ck_assert_int_eq(weft_register_global(name), 0);
    }
    say("many there");
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        bool over = weft_tag(m) == END;
        if (weft_tag(m) == JOIN) ck_assert_int_eq(weft_register_global("behind-the-snapshot"), 0);
        weft_msg_free(m);
        if (over) break;
    }
}

static void counting(const void *arg, size_t size)
{
    (void)size;
    char label = *(const char *)arg;
    weft_pid p, last;
    char name[32];
    ck_assert_int_eq(weft_await_name("behind-the-snapshot", &last, patience()), 0);
    int names = 0, members = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many%d", i);
        names += weft_whereis(name, &p) == 0;
        snprintf(name, sizeof name, "g%d", i);
        members += weft_group_members(name, NULL, 0);
    }
    say("%c counts %d names, %d members", label, names, members);
    ck_assert_int_eq(weft_monitor(last, NULL), 0);
    weft_msg *m;
    ck_assert_int_eq(weft_recv(&m, patience()), 0);
    weft_msg_free(m);
    names = members = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many%d", i);
        names += weft_whereis(name, &p) == 0;
        snprintf(name, sizeof name, "g%d", i);
        members += weft_group_members(name, NULL, 0);
    }
    say("%c counts %d names, %d members then", label, names, members);
}

static void order_many(const void *arg, size_t size)
{
    uint32_t tag;
    memcpy(&tag, arg, size);
    (void)weft_send_name("many0", tag, NULL, 0);
}

START_TEST(a_snapshot_of_thousands_and_their_end)
{
    int count = MANY;
    net_open();
    net_node(0);
    run_actor(net.node[0], many, &count, sizeof count);
    HEAR("many there");
    net_node(1); /* gets it as a snapshot */
    net_node(2);
    ck_assert_int_ge(heard("nodea up", 2), 2);
    uint32_t tag = JOIN;
    run_actor(net.node[0], order_many, &tag, sizeof tag);
    for (int i = 1; i < 3; i++) {
        char label = (char)('a' + i), line[64];
        run_actor(net.node[i], counting, &label, 1);
        snprintf(line, sizeof line, "%c counts %d names, %d members", label, MANY, MANY);
        HEAR(line);
    }
    tag = END;
    run_actor(net.node[1], order_many, &tag, sizeof tag);
    HEAR("b counts 0 names, 0 members then"); /* before it hears of the end */
    HEAR("c counts 0 names, 0 members then");
    net_close();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cluster_groups");
    TCase *c = tcase_create("groups");
    tcase_add_test(c, members_of_all_nodes_get_what_is_sent);
    tcase_add_test(c, a_lost_node_leaves_and_comes_back);
    tcase_add_test(c, a_snapshot_of_thousands_and_their_end);
    suite_add_tcase(s, c);
    return run_suite_unforked(s);
}
