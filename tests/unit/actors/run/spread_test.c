/* weft_spawn_options.worker: on the parent's worker, on a given one, on each in turn, beside the parent; and the
 * workers of children of a computing parent. Time decides whether a parent computes, so its thread has a clock that
 * the test sets. */
#include <check.h>

#include <weft.h>

#include "all_features.h"
#include "actor.h"
#include "node.h"
#include "../../../suite.h"

enum { WORKERS = 3, CHILDREN = 30 };

static _Thread_local int64_t stopped_at, ahead; /* 0: it runs */

static int64_t clock_of_thread(struct pf_env *env)
{
    (void)env;
    return stopped_at != 0 ? stopped_at : pf_env_native()->now(pf_env_native()) + ahead;
}

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
        (void)weft_yield(); /* a new turn, perhaps; from its beginning to the last child no time passes */
        stopped_at = wf_actor_self()->task.worker->now;
        for (int i = 0; i < CHILDREN; i++)
            if (weft_spawn(NULL, child, &self, sizeof self, &options) < 0) return;
        stopped_at = 0;
        for (int i = 0; i < CHILDREN; i++) {
            weft_msg *m;
            if (weft_recv(&m, weft_after(WEFT_SEC(20))) < 0) return;
            on[kind][wf_id_worker(weft_from(m).actor)]++;
            weft_msg_free(m);
        }
    }
    refused_below = weft_spawn(NULL, child, &self, sizeof self, &(weft_spawn_options){.worker = WEFT_BESIDE - 1});
    refused_above = weft_spawn(NULL, child, &self, sizeof self, &(weft_spawn_options){.worker = WORKERS + 1});
}

static void run_on_first(weft_actor *body)
{
    weft_node *node;
    weft_node_options options = {.workers = WORKERS};
    weft_spawn_options first = {.worker = 1};
    struct pf_env env = *pf_env_native();
    env.now = clock_of_thread;
    ck_assert_int_eq(wf_node_create(&node, &options, &env), WEFT_OK);
    ck_assert_int_eq(wf_node_run(node), WEFT_OK);
    ck_assert_int_eq(weft_node_spawn(node, NULL, body, NULL, 0, &first), WEFT_OK);
    ck_assert_int_eq(weft_node_wait(node, weft_after(WEFT_SEC(20))), WEFT_OK);
    wf_node_finish_actors(node);
    wf_node_destroy(node);
}

START_TEST(children_run_where_they_are_put)
{
    run_on_first(parent);
    static const int expected[3][WORKERS] = {{CHILDREN, 0, 0}, {0, CHILDREN, 0}, {10, 10, 10}};
    for (int kind = 0; kind < 3; kind++)
        for (int w = 0; w < WORKERS; w++) ck_assert_int_eq(on[kind][w], expected[kind][w]);
    ck_assert_int_eq(refused_below, WEFT_EINVAL);
    ck_assert_int_eq(refused_above, WEFT_EINVAL);
}
END_TEST

/* ---- One that computes ----------------------------------------------------------------------------------------- */

static int lent[WORKERS], beside[WORKERS];

static bool all_others_sleep(const struct wf_worker *w)
{
    for (uint32_t i = 0; i < w->set->count; i++) {
        if (i != w->index && atomic_load(&w->set->at[i]->state) == WF_RUNNING) return false;
    }
    return true;
}

static void compute_and_spawn(int worker, int count[WORKERS])
{
    weft_pid self = weft_self();
    struct wf_worker *w = wf_actor_self()->task.worker;
    while (!all_others_sleep(w)) pf_cpu_relax();
    ahead += WEFT_SEC(1);
    for (int i = 0; i < CHILDREN; i++)
        if (weft_spawn(NULL, child, &self, sizeof self, &(weft_spawn_options){.worker = worker}) < 0) return;
    for (int i = 0; i < CHILDREN; i++) {
        weft_msg *m;
        if (weft_recv(&m, weft_after(WEFT_SEC(20))) < 0) return;
        count[wf_id_worker(weft_from(m).actor)]++;
        weft_msg_free(m);
    }
}

static void computing_parent(const void *arg, size_t size)
{
    (void)arg, (void)size;
    compute_and_spawn(0, lent);
}

static void computing_parent_of_neighbours(const void *arg, size_t size)
{
    (void)arg, (void)size;
    compute_and_spawn(WEFT_BESIDE, beside);
}

START_TEST(an_actor_that_computes_shares_its_children_with_an_idle_worker)
{
    run_on_first(computing_parent);
    ck_assert_int_eq(lent[0], CHILDREN / 2);
    ck_assert_int_eq(lent[1], CHILDREN / 2);
    ck_assert_int_eq(lent[2], 0);
}
END_TEST

START_TEST(a_child_may_run_beside_its_parent_even_if_other_workers_are_idle)
{
    run_on_first(computing_parent_of_neighbours);
    ck_assert_int_eq(beside[0], CHILDREN);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("spread");
    TCase *c = tcase_create("spread");
    tcase_add_test(c, children_run_where_they_are_put);
    tcase_add_test(c, an_actor_that_computes_shares_its_children_with_an_idle_worker);
    tcase_add_test(c, a_child_may_run_beside_its_parent_even_if_other_workers_are_idle);
    suite_add_tcase(s, c);
    return run_suite(s);
}
