/* Nodes with 100,000 entries that other nodes are sent: members of one group, queue groups, retained messages. */
#include "transport_harness.h"

#define HEARTBEAT WEFT_SEC(10) /* five may be lost: others may have the processor for as long */
enum { MANY = 100000, ASKED = 1000, COUNT = 1, ASK, LEAVE };

static weft_node *first, *second;
static _Atomic int got, joined, heard_of;

/* ---- Members of one group -------------------------------------------------------------------------------------- */

static void on_message(void *state, weft_msg *m)
{
    (void)state;
    if (weft_tag(m) == COUNT) got++;
    else if (weft_tag(m) == LEAVE) joined -= weft_group_leave("crowd") == WEFT_OK;
    else if (weft_wants_reply(m)) weft_ignore(weft_reply(m, ASK, NULL, 0));
}

static void member(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_group_join("crowd") == WEFT_OK) joined++;
    (void)weft_handle(on_message, NULL, 0);
}

static void starts_members(const void *arg, size_t size)
{
    int count;
    memcpy(&count, arg, size);
    for (int i = 0; i < count; i++) {
        int rc = weft_spawn(NULL, member, NULL, 0, NULL);
        if (rc < 0) say("spawned %d: %s", i, weft_error_name(rc));
        if (i % 100 == 0 && weft_yield() < 0) return;
    }
}

static void start_members(weft_node *n, int count)
{
    int before = joined;
    run_actor(n, starts_members, &count, sizeof count);
    UNTIL(joined == before + count);
}

/* Waits until its node knows of so many members, then sends to all of them, and asks some. */
static void sees_members(const void *arg, size_t size)
{
    int count;
    memcpy(&count, arg, size);
    while (weft_group_members("crowd", NULL, 0) != count)
        if (weft_yield() < 0) return;
    if (count == 0) {
        say("sees none");
        return;
    }
    say("sees %d, sent to %d", count, weft_group_send("crowd", COUNT, "12345678", 8));
    static weft_pid pids[ASKED];
    static struct weft_answer answers[ASKED];
    int all = weft_group_members("crowd", pids, ASKED);
    for (int i = 0; i < ASKED; i++) answers[i] = (struct weft_answer){.from = pids[i]};
    say("of %d, %d answered", all, weft_gather(answers, ASKED, ASKED, ASK, NULL, 0, weft_after(WEFT_SEC(60))));
    weft_answers_free(answers, ASKED);
}

static void all_are_seen(weft_node *n, int count)
{
    char line[64];
    forget_all();
    int before = got;
    run_actor(n, sees_members, &count, sizeof count);
    snprintf(line, sizeof line, "sees %d, sent to %d", count, count);
    HEAR(line);
    snprintf(line, sizeof line, "of %d, %d answered", count, ASKED);
    HEAR(line);
    UNTIL(got == before + count);
}

static void none_is_seen(weft_node *n)
{
    int none = 0;
    forget_all();
    run_actor(n, sees_members, &none, sizeof none);
    HEAR("sees none");
}

static void leaves_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_group_send("crowd", LEAVE, NULL, 0);
}

static void hears_of_members(void *state, weft_msg *m)
{
    (void)state;
    if (weft_tag(m) == WEFT_TAG_GROUP_JOIN) heard_of++;
    else if (weft_tag(m) == WEFT_TAG_GROUP_LEAVE) heard_of--;
}

static void watches_members(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_group_watch("crowd") == WEFT_OK) say("watches");
    (void)weft_handle(hears_of_members, NULL, 0);
}

static void second_up(void)
{
    second = node_up("b", NULL, weft_node_url(first, 0), HEARTBEAT);
    run_actor(second, watches_members, NULL, 0);
    HEAR("watches");
}

START_TEST(a_group_may_have_very_many_members_on_one_node)
{
    forget_all();
    got = joined = heard_of = 0;
    first = node_up("a", "tcp://127.0.0.1:0", NULL, HEARTBEAT);
    start_members(first, MANY);
    second_up(); /* the link begins with them there */
    all_are_seen(second, MANY);
    UNTIL(heard_of == MANY);
    start_members(first, 10);
    all_are_seen(second, MANY + 10);
    node_down(second);
    heard_of = 0;
    second_up();
    all_are_seen(second, MANY + 10);
    run_actor(first, leaves_all, NULL, 0);
    UNTIL(joined == 0);
    none_is_seen(second);
    UNTIL(heard_of == 0);
    start_members(first, MANY);
    all_are_seen(second, MANY);
    node_down(first); /* its members end, and so does the link */
    none_is_seen(second);
    UNTIL(heard_of == 0);
    node_down(second);
}
END_TEST

/* ---- Queue groups ---------------------------------------------------------------------------------------------- */

/* Long ones: all of them are more than an outbox holds. */
static weft_text long_topic(char out[200], int i)
{
    snprintf(out, 200, "a-topic-with-a-long-name.%0128d.%d", 0, i);
    return weft_cstr(out);
}

static void works(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const weft_subscribe_options queue = {.queue = "workers"};
    char text[200];
    int failed = 0;
    for (int i = 0; i < MANY; i++) failed += weft_subscribe_with(long_topic(text, i).data, &queue, NULL) < 0;
    say("subscribed, %d failed", failed);
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) say("got %u", weft_tag(m));
}

static void publishes(const void *arg, size_t size)
{
    int number;
    char text[200];
    memcpy(&number, arg, size);
    while (weft_publish(long_topic(text, number).data, (uint32_t)number, NULL, 0) == 0)
        if (weft_yield() < 0) return;
}

START_TEST(a_new_link_hears_of_very_many_queue_groups)
{
    forget_all();
    first = node_up("a", "tcp://127.0.0.1:0", NULL, HEARTBEAT);
    run_actor(first, works, NULL, 0);
    HEAR("subscribed, 0 failed");
    second = node_up("b", NULL, weft_node_url(first, 0), HEARTBEAT);
    for (int i = 0; i < MANY; i += MANY / 50 - 1) {
        char line[32];
        snprintf(line, sizeof line, "got %d", i);
        run_actor(second, publishes, &i, sizeof i);
        HEAR(line);
    }
    node_down(second);
    node_down(first);
}
END_TEST

/* ---- Retained messages ----------------------------------------------------------------------------------------- */

enum { BODY = 300 };

static void retains(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static const char body[BODY] = "kept";
    char text[32];
    int failed = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "kept.%d", i);
        failed += weft_publish_retained(text, COUNT, body, sizeof body) < 0;
    }
    say("retained, %d failed", failed);
}

static void on_retained(void *state, weft_msg *m)
{
    (void)state;
    got += weft_tag(m) == COUNT && weft_size(m) == BODY;
}

static void subscribes(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_subscribe(">", NULL) == WEFT_OK) say("subscribed");
    (void)weft_handle(on_retained, NULL, 0);
}

static void subscribe(void)
{
    forget_all();
    const weft_spawn_options o = {.mailbox_max = 2 * MANY};
    ck_assert_int_eq(weft_node_spawn(second, NULL, subscribes, NULL, 0, &o), WEFT_OK);
    HEAR("subscribed");
}

START_TEST(a_new_link_hears_of_very_many_retained_messages)
{
    const weft_node_options o = {.retained_max = 2 * MANY, .retained_bytes_max = 256 << 20};
    weft_node_options a = o, b = o;
    a.name = "a";
    b.name = "b";
    forget_all();
    got = 0;
    first = node_with(a, "tcp://127.0.0.1:0", NULL);
    run_actor(first, retains, NULL, 0);
    HEAR("retained, 0 failed");
    second = node_with(b, NULL, weft_node_url(first, 0));
    subscribe(); /* it gets them as they come */
    UNTIL(got == MANY);
    subscribe(); /* and this one at once */
    UNTIL(got == 2 * MANY);
    node_down(second);
    node_down(first);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("very many");
    TCase *t = tcase_create("crowd");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_group_may_have_very_many_members_on_one_node);
    tcase_add_test(t, a_new_link_hears_of_very_many_queue_groups);
    tcase_add_test(t, a_new_link_hears_of_very_many_retained_messages);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
