/* Nodes with more topic patterns, names and groups than go into one frame, one outbox, or one older node. */
#include "../unit/actors/groups_count.h"
#include "cluster.h"
#include "peers.h"
#include "peer_link.h"
#include "transport.h"
#include "transport_harness.h"

enum { MANY = 70000, TAG = 3 };

/* Under tools a node takes seconds to read all that, and the subject is not how fast it is. */
#define HEARTBEAT WEFT_SEC(10)

static weft_node *first, *second;

struct wish {
    int from, count;
};

/* Subscribes to so many patterns, and says what came. */
static void subscriber(const void *arg, size_t size)
{
    struct wish w;
    memcpy(&w, arg, size);
    char pattern[200];
    for (int i = w.from; i < w.from + w.count; i++) {
        /* long ones: all of them are more than an outbox holds */
        snprintf(pattern, sizeof pattern, "a-pattern-with-a-long-name.%0128d.%d", 0, i);
        int rc = weft_subscribe(pattern, NULL);
        if (rc < 0) {
            say("subscribed to %d: %s", i - w.from, weft_error_name(rc));
            break;
        }
    }
    say("subscribed");
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) say("got %u", weft_tag(m));
}

/* Publishes under the pattern of that number as soon as another node is known to want it. */
static void publisher(const void *arg, size_t size)
{
    int number;
    char topic[200];
    memcpy(&number, arg, size);
    snprintf(topic, sizeof topic, "a-pattern-with-a-long-name.%0128d.%d", 0, number);
    while (weft_publish(topic, (uint32_t)number, NULL, 0) == 0)
        if (weft_yield() < 0) return;
}

static void publish_on(weft_node *n, int number)
{
    char line[32];
    snprintf(line, sizeof line, "got %d", number);
    run_actor(n, publisher, &number, sizeof number);
    HEAR(line);
}

static void subscribe_on(weft_node *n, int from, int count)
{
    struct wish w = {from, count};
    run_actor(n, subscriber, &w, sizeof w);
    HEAR("subscribed");
}

/* The link with the one node that is linked; its outbox may be looked at. */
static struct wf_link *link_of(weft_node *n)
{
    struct wf_link *found = NULL;
    struct wf_transport *t = n->transport;
    pf_mutex_lock(t->lock);
    WF_LIST_EACH(k, &t->cluster->peers) {
        struct wf_peer *p = WF_CONTAINER(k, struct wf_peer, in_cluster);
        if (p->link != NULL) found = p->link;
    }
    pf_mutex_unlock(t->lock);
    return found;
}

START_TEST(a_node_may_have_more_patterns_than_a_node_of_before_took)
{
    forget_all();
    first = node_up("a", "tcp://127.0.0.1:0", NULL, HEARTBEAT);
    watch(first);
    subscribe_on(first, 0, MANY);
    second = node_up("b", NULL, weft_node_url(first, 0), HEARTBEAT);
    watch(second);
    HEAR("b up a");
    publish_on(second, MANY - 1); /* told when the link came up */
    subscribe_on(first, MANY, 10);
    publish_on(second, MANY + 9); /* and what came later */
    ck_assert_int_eq(heard("a down", 0) + heard("b down", 0), 0);
    node_down(second);
    node_down(first);
}
END_TEST

/* It is told that everything is wanted, in a few bytes. */
START_TEST(a_node_of_the_version_before_and_a_tool_get_what_is_published)
{
    weft_node_options o = {.name = "b", .wire_version = _i == 0, .client = _i == 1, .heartbeat = HEARTBEAT};
    forget_all();
    first = node_up("a", "tcp://127.0.0.1:0", NULL, HEARTBEAT);
    subscribe_on(first, 0, MANY);
    second = node_with(o, NULL, weft_node_url(first, 0));
    watch(second);
    HEAR("b up a");
    publish_on(second, MANY - 1);
    publish_on(second, 0);
    ck_assert_int_eq(heard("b down", 0), 0);
    uint64_t bytes = atomic_load(&link_of(second)->bytes_in);
    if (_i == 1) ck_assert_uint_lt(bytes, 100000);
    node_down(second);
    node_down(first);
}
END_TEST

START_TEST(an_actor_and_a_node_have_a_bound)
{
    forget_all();
    first = node_with((weft_node_options){.name = "a", .subscriptions_max = 100, .patterns_max = 150}, NULL, NULL);
    subscribe_on(first, 0, 101);
    HEAR("subscribed to 100: WEFT_EFULL");
    forget_all();
    subscribe_on(first, 0, 20); /* others have these patterns, too */
    ck_assert_int_eq(heard("subscribed to", 0), 0);
    forget_all();
    subscribe_on(first, 1000, 80);
    HEAR("subscribed to 50: WEFT_EFULL");
    node_down(first);
}
END_TEST

/* How often links of that node were closed for its faults. */
static uint32_t faults(weft_node *n)
{
    uint32_t count = 0;
    struct wf_transport *t = n->transport;
    pf_mutex_lock(t->lock);
    WF_LIST_EACH(k, &t->cluster->peers) count += WF_CONTAINER(k, struct wf_peer, in_cluster)->faults;
    pf_mutex_unlock(t->lock);
    return count;
}

/* It is dialled, and takes part, again and again, but each time later; both sides say why. */
START_TEST(a_node_with_more_than_its_peer_takes_is_linked_with_ever_more_seldom)
{
    forget_all();
    first = node_with((weft_node_options){.name = "a", .patterns_max = 1000}, "tcp://127.0.0.1:0", NULL);
    watch(first);
    second = node_with((weft_node_options){.name = "b"}, NULL, weft_node_url(first, 0));
    watch(second);
    HEAR("b up a");
    subscribe_on(second, 0, 1001);
    HEAR("a down b: connection lost: too many topic patterns, more than --max-patterns 1000 of node a");
    UNTIL(faults(first) >= 3);
    HEAR("b down a");
    struct wf_transport *t = first->transport;
    struct wf_peer *p = NULL;
    pf_mutex_lock(t->lock);
    WF_LIST_EACH(k, &t->cluster->peers) p = WF_CONTAINER(k, struct wf_peer, in_cluster);
    int64_t held = p->held_until - p->linked_at;
    pf_mutex_unlock(t->lock);
    ck_assert_int_ge(held, 2 * WF_FAULT_HOLD);
    node_down(second);
    node_down(first);
}
END_TEST

/* ---- Names and groups ------------------------------------------------------------------------------------------ */

/* Their names alone are more than an outbox holds at a time. */
enum { NAMES = 200000, GROUPS = 5000, CHANGE = 1 };

static weft_text long_name(char out[65], const char *what, int i)
{
    snprintf(out, 65, "a-%s-with-a-long-name-of-which-there-are-many-%012d", what, i);
    return weft_cstr(out);
}

/* Has all the names and is in all the groups; then it changes one in ten: while others are told of them. */
static void owner(const void *arg, size_t size)
{
    char text[65];
    int failed = 0;
    (void)arg, (void)size;
    for (int i = 0; i < NAMES; i++) failed += weft_register_global(long_name(text, "name", i).data) < 0;
    for (int i = 0; i < GROUPS; i++) failed += weft_group_join(long_name(text, "group", i).data) < 0;
    failed += weft_register("owner") < 0;
    say("registered, %d failed", failed);
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    failed = 0;
    for (int i = 0; i < NAMES; i += 10) {
        failed += weft_unregister(long_name(text, "name", i).data) < 0;
        failed += weft_register_global(long_name(text, "name", NAMES + i).data) < 0;
    }
    for (int i = 0; i < GROUPS; i += 10) {
        failed += weft_group_leave(long_name(text, "group", i).data) < 0;
        failed += weft_group_join(long_name(text, "group", GROUPS + i).data) < 0;
    }
    say("changed, %d failed", failed);
    (void)weft_sleep(WEFT_FOREVER);
}

static void let_change(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_send_name("owner", CHANGE, NULL, 0);
}

static bool knows(weft_node *n, int i)
{
    char text[65];
    weft_pid pid;
    return wf_names_find_any(wf_names_of(n), long_name(text, "name", i), &pid) == WEFT_OK;
}

START_TEST(a_new_link_hears_of_all_names_and_groups_while_they_change)
{
    forget_all();
    first = node_up("a", "tcp://127.0.0.1:0", NULL, HEARTBEAT);
    run_actor(first, owner, NULL, 0);
    HEAR("registered, 0 failed");
    second = node_up("b", NULL, weft_node_url(first, 0), HEARTBEAT);
    watch(second);
    HEAR("b up a");
    run_actor(first, let_change, NULL, 0);
    HEAR("changed, 0 failed");
    for (int i = 0; i < NAMES; i++) {
        bool stayed = i % 10 != 0;
        UNTIL(knows(second, i) == stayed);
        UNTIL(stayed || knows(second, NAMES + i));
    }
    UNTIL(groups_count(second) == GROUPS);
    ck_assert_int_eq(heard("b down", 0), 0);
    node_down(second);
    node_down(first);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("patterns of nodes");
    TCase *t = tcase_create("patterns");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_node_may_have_more_patterns_than_a_node_of_before_took);
    tcase_add_loop_test(t, a_node_of_the_version_before_and_a_tool_get_what_is_published, 0, 2);
    tcase_add_test(t, an_actor_and_a_node_have_a_bound);
    tcase_add_test(t, a_node_with_more_than_its_peer_takes_is_linked_with_ever_more_seldom);
    tcase_add_test(t, a_new_link_hears_of_all_names_and_groups_while_they_change);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
