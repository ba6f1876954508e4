/* The events of members that a program receives, and the requests that a node refuses while it is in a minority.
 * members_test.py and cut_test.py test the same with processes. */
#include "partition.h"

static void plain(const void *arg, size_t size)
{
    (void)arg, (void)size;
}
WEFT_EXPORT_PLAIN("test.plain", plain)

/* Says what came of it: `arg` is the name of the node that it runs on. */
static void registers(const void *arg, size_t size)
{
    (void)size;
    say("%s register %d", (const char *)arg, weft_register_global("boss"));
}

/* The same; the last letter of `arg` is that of the node where it wants an actor. */
static void spawns(const void *arg, size_t size)
{
    (void)size;
    char to[] = "nodex";
    const char *order = arg;
    struct weft_why why;
    to[4] = order[strlen(order) - 1];
    int rc = weft_spawn_packed_on(to, "test.plain", NULL, NULL, 0, &(weft_remote_options){.why = &why});
    say("%s %d %s", order, rc, why.text);
}

#define RUN(node, body, text) run_actor(node, body, text, sizeof text)

/* The member of that name; `all` is to be freed. */
static const struct weft_member *member(weft_node *of, const char *name, struct weft_member **all)
{
    size_t count;
    ck_assert_int_eq(weft_members(of, all, &count), WEFT_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp((*all)[i].name, name) == 0) return &(*all)[i];
    return NULL;
}

static void expect_member(weft_node *of, const char *name, weft_member_state state, const char *reason)
{
    struct weft_member *all;
    const struct weft_member *m = member(of, name, &all);
    ck_assert_ptr_nonnull(m);
    ck_assert_int_eq(m->state, state);
    ck_assert_str_eq(m->reason, reason);
    ck_assert_int_eq(m->self, m == all);
    free(all);
}

START_TEST(members_are_listed)
{
    net_open();
    weft_node *a = net_node(0), *b = net_node(1);
    HEAR("nodea up nodeb");
    HEAR("nodeb up nodea");
    expect_member(a, "nodea", WEFT_MEMBER_UP, "");
    expect_member(b, "nodea", WEFT_MEMBER_UP, "");
    struct weft_member *all;
    ck_assert_uint_eq(member(a, "nodeb", &all)->incarnation, weft_node_incarnation(b));
    free(all);
    node_down(b);
    net.node[1] = NULL;
    HEAR("nodea down nodeb: left");
    expect_member(a, "nodeb", WEFT_MEMBER_LEFT, "left");
    net_close();
}
END_TEST

START_TEST(metadata_have_bounds)
{
    net_open();
    const char *first[] = {"zone=east", "role=", "zone=west"}, *no_entry[] = {"zone"};
    weft_node *none = NULL;
    ck_assert_int_eq(weft_node_start(&none, &(weft_node_options){.meta = no_entry, .meta_count = 1}), WEFT_EINVAL);
    weft_node *a = net_node_with(0, (weft_node_options){.meta = first, .meta_count = 3});
    char value[130] = "", key[34] = "";
    memset(value, 'v', 129);
    memset(key, 'k', 33);
    ck_assert_int_eq(weft_set_meta(a, "color", "red"), WEFT_OK);
    ck_assert_int_eq(weft_set_meta(a, "role", NULL), WEFT_OK);
    ck_assert_int_eq(weft_set_meta(a, "never there", NULL), WEFT_OK);
    ck_assert_int_eq(weft_set_meta(a, "", "red"), WEFT_EINVAL);
    ck_assert_int_eq(weft_set_meta(a, "color", "a\nb"), WEFT_EINVAL);
    ck_assert_int_eq(weft_set_meta(a, "color", value), WEFT_ETOOBIG);
    ck_assert_int_eq(weft_set_meta(a, key, "red"), WEFT_ETOOBIG);
    struct weft_member *all;
    const struct weft_member *m = member(a, "nodea", &all);
    ck_assert_uint_eq(m->meta_count, 2);
    ck_assert_str_eq(weft_member_meta(m, "zone"), "west");
    ck_assert_str_eq(weft_member_meta(m, "color"), "red");
    ck_assert_ptr_null(weft_member_meta(m, "role"));
    free(all);
    value[128] = '\0';
    for (int i = 0; i < 3; i++) {
        key[1] = '\0', key[0] = (char)('0' + i);
        ck_assert_int_eq(weft_set_meta(a, key, value), WEFT_OK);
    }
    ck_assert_int_eq(weft_set_meta(a, "4", value), WEFT_ETOOBIG); /* all together */
    net_close();
}
END_TEST

START_TEST(without_its_quorum_a_node_refuses)
{
    net_open();
    weft_node *a = net_node_with(0, (weft_node_options){.partition = WEFT_PARTITION_QUORUM, .quorum = 2});
    ck_assert(weft_in_minority(a));
    expect_member(a, "nodea", WEFT_MEMBER_UP, "in a minority: 1 of 2 nodes are there");
    HEAR("nodea minority nodea: in a minority: 1 of 2 nodes are there");
    RUN(a, registers, "nodea");
    HEAR("nodea register -25");
    weft_node *b = net_node(1);
    HEAR("nodea majority nodea");
    HEAR("nodeb up nodea");
    ck_assert(!weft_in_minority(a));
    expect_member(a, "nodea", WEFT_MEMBER_UP, "");
    RUN(a, registers, "nodea");
    HEAR("nodea register 0");
    RUN(a, spawns, "a spawns on b");
    HEAR("a spawns on b 0");
    forget_all();
    net_cut(0, 1, true);
    HEAR("nodea minority");
    ck_assert(weft_in_minority(a));
    RUN(a, spawns, "again a spawns on b");
    HEAR("again a spawns on b -25 node nodea is in a minority of its cluster");
    RUN(b, spawns, "b spawns on b"); /* that is no other node */
    HEAR("b spawns on b 0");
    HEAR("nodea down nodeb");
    net_cut(0, 1, false);
    HEAR("nodea majority");
    ck_assert(!weft_in_minority(a));
    net_close();
}
END_TEST

START_TEST(a_node_in_a_minority_starts_no_actors_for_others)
{
    net_open();
    weft_node *a = net_node(0),
              *b = net_node_with(1, (weft_node_options){.partition = WEFT_PARTITION_QUORUM, .quorum = 3});
    ck_assert(weft_in_minority(b));
    HEAR("nodea up nodeb");
    RUN(a, spawns, "a spawns on b");
    HEAR("a spawns on b -25 node nodeb is in a minority of its cluster");
    net_close();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport members");
    TCase *t = tcase_create("members");
    tcase_add_test(t, members_are_listed);
    tcase_add_test(t, metadata_have_bounds);
    tcase_add_test(t, without_its_quorum_a_node_refuses);
    tcase_add_test(t, a_node_in_a_minority_starts_no_actors_for_others);
    suite_add_tcase(suite, t);
    return run_suite_unforked(suite);
}
