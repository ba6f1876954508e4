/* actors/names/tables.c and the copies in queue_groups.c: the entries that a node sends to others and keeps of them,
 * and their limits. */
#include "../node_harness.h"

#include "tables.h"
#include "queue_groups.h"

enum { READY = 1 };

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

static void bound_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_node *node = weft_here();
    weft_subscribe_options o = {.queue = "q"};
    weft_subscription s;
    want_int(weft_register_global("boss"), 0);
    want_int(weft_group_join("room"), 0);
    want_int(weft_subscribe_with("job", &o, &s), 0);
    want_int(node->entries, 3);
    node->entries = WF_TABLE_ENTRIES_MAX;
    want_int(weft_register_global("other"), WEFT_EFULL);
    want_int(weft_group_join("hall"), WEFT_EFULL);
    want_int(weft_subscribe_with("work", &o, NULL), WEFT_EFULL);
    want_int(weft_group_members("hall", NULL, 0), 0);
    want_int(wf_actors_of(wf_here)->subscription_slab.used, 1);
    want_int(weft_register("other"), 0); /* of this node only */
    want_int(weft_group_leave("room"), 0);
    want_int(weft_group_join("hall"), 0);
    want_int(weft_group_join("room"), WEFT_EFULL);
    node->entries = 3;
    want_int(weft_subscribe_with("job", &o, NULL), 0); /* a second member: nothing new for other nodes */
    want_int(node->entries, 3);
    want_int(weft_unsubscribe(s), 0);
    want_int(node->entries, 3);
}

START_TEST(the_entries_of_a_node_are_bounded)
{
    run_on(1, bound_body);
}
END_TEST

/* ---- Copies of other nodes' queue groups ----------------------------------------------------------------------- */

struct chosen {
    bool space;       /* of members of this node */
    uint64_t missing; /* not reached */
    uint64_t node, actor;
    int lost;
};

static bool space(uint64_t actor, void *arg)
{
    (void)actor;
    return ((struct chosen *)arg)->space;
}

static void take(const struct wf_queue_member *m, void *arg)
{
    struct chosen *c = arg;
    if (m == NULL) c->lost++;
    else c->actor = m->actor;
}

static bool reaches(uint64_t node, void *arg)
{
    return node != ((struct chosen *)arg)->missing;
}

static void pass(uint64_t node, weft_text pattern, weft_text queue, void *arg)
{
    ((struct chosen *)arg)->node = node;
    ck_assert(pattern.size == 5 && memcmp(pattern.data, "job.*", 5) == 0);
    ck_assert(queue.size == 1 && queue.data[0] == 'q');
}

static const weft_text PATTERN = {"job.*", 5}, TOPIC = {"job.1", 5}, QUEUE = {"q", 1};

static struct chosen choose(struct wf_topics *t, struct chosen c, bool far)
{
    struct wf_queue_choice ask = {space, take, far ? reaches : NULL, pass, &c};
    ck_assert_uint_eq(wf_queue_groups_choose(t, TOPIC, &ask), wf_queue_groups_any(t) != 0);
    return c;
}

/* The entries that nodes 5 and 6 have announced. */
static struct wf_copies *from(uint64_t node)
{
    static struct wf_copies all[2];
    struct wf_copies *c = &all[node - 5];
    if (c->node == 0) wf_copies_init(c, node);
    return c;
}

static void lose(struct wf_topics *t, uint64_t node)
{
    uint32_t work = 10;
    from(node)->round++;
    wf_queue_groups_clear_copies(t, from(node), &work);
    ck_assert_uint_gt(work, 0);
}

static struct wf_topics *topics(void)
{
    struct wf_topics *t;
    ck_assert_int_eq(wf_topics_create(&t, 7, 100, 1 << 20, WEFT_FOREVER), 0);
    return t;
}

START_TEST(members_here_come_first_then_nodes_in_turn)
{
    struct wf_topics *t = topics();
    struct wf_queue_member member = {.actor = 77};
    char pattern[WF_TOPIC_MAX + 1], queue[WF_QUEUE_MAX + 1];
    ck_assert_int_eq(wf_queue_groups_any(t), 0);
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(5), PATTERN, QUEUE), 1);
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(5), PATTERN, QUEUE), 0);
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(6), PATTERN, QUEUE), 1);
    uint32_t before = wf_queue_groups_any(t);
    ck_assert_uint_ne(before, 0);
    ck_assert_uint_eq(choose(t, (struct chosen){.lost = 0}, true).node, 5);
    ck_assert_uint_eq(choose(t, (struct chosen){.lost = 0}, true).node, 6);
    ck_assert_uint_eq(choose(t, (struct chosen){.missing = 5}, true).node, 6); /* it keeps its turn */
    ck_assert_uint_eq(choose(t, (struct chosen){.lost = 0}, true).node, 5);
    ck_assert_int_eq(choose(t, (struct chosen){.lost = 0}, false).lost, 0); /* nobody here, none of our business */
    ck_assert_int_eq(wf_queue_groups_add(t, PATTERN, "q", 0, &member), 1);
    ck_assert_uint_eq(choose(t, (struct chosen){.space = true}, true).actor, 77);
    ck_assert_uint_eq(choose(t, (struct chosen){.space = false}, true).node, 6);
    ck_assert_int_eq(choose(t, (struct chosen){.space = false}, false).lost, 1);
    ck_assert(wf_queue_groups_take_copy(t, from(5), PATTERN, QUEUE));
    ck_assert(!wf_queue_groups_take_copy(t, from(5), PATTERN, QUEUE));
    ck_assert_int_eq(choose(t, (struct chosen){.missing = 6}, true).lost, 1);
    ck_assert(wf_queue_groups_remove(t, &member, pattern, queue));
    ck_assert_str_eq(pattern, "job.*");
    ck_assert_str_eq(queue, "q");
    lose(t, 6);
    ck_assert_uint_eq(wf_queue_groups_any(t), 0);
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(6), PATTERN, QUEUE), 1);
    ck_assert_uint_ne(wf_queue_groups_any(t), before);
    lose(t, 6);
    wf_topics_destroy(t);
}
END_TEST

START_TEST(a_queue_group_is_chosen_by_its_name)
{
    struct wf_topics *t = topics();
    struct chosen c = {.space = true};
    struct wf_queue_choice here = {space, take, NULL, pass, &c}, anywhere = {space, take, reaches, pass, &c};
    wf_queue_groups_choose_in(t, PATTERN, QUEUE, &here);
    ck_assert_int_eq(c.lost, 1); /* there is no such group */
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(5), PATTERN, QUEUE), 1);
    wf_queue_groups_choose_in(t, PATTERN, QUEUE, &here);
    ck_assert_int_eq(c.lost, 2); /* its last member here has gone */
    wf_queue_groups_choose_in(t, PATTERN, QUEUE, &anywhere);
    ck_assert_uint_eq(c.node, 5);
    c.missing = 5;
    wf_queue_groups_choose_in(t, PATTERN, QUEUE, &anywhere);
    ck_assert_int_eq(c.lost, 3);
    lose(t, 5);
    wf_topics_destroy(t);
}
END_TEST

START_TEST(queue_groups_of_a_node_go_in_parts)
{
    struct wf_topics *t = topics();
    char queue[16];
    for (int i = 0; i < 100; i++) {
        snprintf(queue, sizeof queue, "q%d", i);
        ck_assert_int_eq(wf_queue_groups_put_copy(t, from(5), PATTERN, weft_cstr(queue)), 1);
    }
    from(5)->round++;
    uint32_t work = 60;
    wf_queue_groups_clear_copies(t, from(5), &work);
    ck_assert_uint_eq(work, 0);
    ck_assert(!wf_queue_groups_take_copy(t, from(5), PATTERN, weft_cstr("q70"))); /* it was over */
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(5), PATTERN, weft_cstr("q80")), 1);
    ck_assert_int_eq(wf_queue_groups_put_copy(t, from(5), PATTERN, weft_cstr("q80")), 0);
    work = 60;
    wf_queue_groups_clear_copies(t, from(5), &work);
    ck_assert_uint_eq(work, 60 - 38);
    ck_assert_uint_ne(wf_queue_groups_any(t), 0);
    lose(t, 5);
    ck_assert_uint_eq(wf_queue_groups_any(t), 0);
    wf_topics_destroy(t);
}
END_TEST

TEST_MAIN("tables", queue_groups_of_a_node_go_in_parts, the_entries_of_a_node_are_bounded,
          members_here_come_first_then_nodes_in_turn, a_queue_group_is_chosen_by_its_name)
