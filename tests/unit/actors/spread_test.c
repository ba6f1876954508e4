/* weft_spawn_options.worker: on the parent's worker, on a named one, on each in turn. */
#include <check.h>

#include <weft.h>

#include "node.h"

enum { WORKERS = 3, CHILDREN = 30 };

static int refused_below, refused_above;
static int on[3][WORKERS]; /* by kind of request, then by worker: children that ran there */

static void child(const void *arg, size_t size)
{
    (void)size;
    weft_send(*(const weft_pid *)arg, 1, NULL, 0);
}

static void parent(const void *arg, size_t size)
{
    static const int wanted[3] = {0, 2, WEFT_SPREAD};
    weft_pid self = weft_self();
    (void)arg, (void)size;
    for (int kind = 0; kind < 3; kind++) {
        weft_spawn_options options = {.worker = wanted[kind]};
        for (int i = 0; i < CHILDREN; i++)
            if (weft_spawn(NULL, child, &self, sizeof self, &options) < 0) return;
        for (int i = 0; i < CHILDREN; i++) {
            weft_msg *m;
            if (weft_recv(&m, weft_after(WEFT_SEC(20))) < 0) return;
            on[kind][wf_id_worker(weft_from(m).actor)]++;
            weft_msg_free(m);
        }
    }
    refused_below = weft_spawn(NULL, child, &self, sizeof self, &(weft_spawn_options){.worker = WEFT_SPREAD - 1});
    refused_above = weft_spawn(NULL, child, &self, sizeof self, &(weft_spawn_options){.worker = WORKERS + 1});
}

START_TEST(children_run_where_they_are_put)
{
    weft_node *node;
    weft_node_options options = {.workers = WORKERS};
    weft_spawn_options first = {.worker = 1};
    ck_assert_int_eq(wf_node_create(&node, &options, NULL), WEFT_OK);
    ck_assert_int_eq(wf_node_run(node), WEFT_OK);
    ck_assert_int_eq(weft_node_spawn(node, NULL, parent, NULL, 0, &first), WEFT_OK);
    ck_assert_int_eq(weft_node_wait(node, weft_after(WEFT_SEC(20))), WEFT_OK);
    wf_node_finish_actors(node);
    wf_node_destroy(node);
    static const int expected[3][WORKERS] = {{CHILDREN, 0, 0}, {0, CHILDREN, 0}, {10, 10, 10}};
    for (int kind = 0; kind < 3; kind++)
        for (int w = 0; w < WORKERS; w++) ck_assert_int_eq(on[kind][w], expected[kind][w]);
    ck_assert_int_eq(refused_below, WEFT_EINVAL);
    ck_assert_int_eq(refused_above, WEFT_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spread");
    TCase *c = tcase_create("spread");
    tcase_add_test(c, children_run_where_they_are_put);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed == 0 ? 0 : 1;
}
