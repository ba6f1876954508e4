/* runtime/sched/task.c: the order in which tasks run, and that no task starves: see task.h, note (4). */
#include "../harness.h"

enum { LOG_MAX = 64 };
static char order[LOG_MAX];
static size_t logged;

static void note(char who)
{
    want(logged < LOG_MAX - 1);
    order[logged++] = who;
    order[logged] = 0;
}

/* In a task: starts a task that is in the queue at once. */
static struct test_task *start(void (*run)(void *), void *arg)
{
    struct harness *h = harness_here();
    struct test_task *t = calloc(1, sizeof *t);
    want(t != NULL);
    *t = (struct test_task){.harness = h, .run = run, .arg = arg};
    pf_mutex_lock(h->lock);
    h->alive++;
    t->next = h->all;
    h->all = t;
    pf_mutex_unlock(h->lock);
    wf_task_init(&t->task, wf_here, WF_STACK_BYTES);
    wf_task_start(&t->task);
    return t;
}

/* ---- Depth first ----------------------------------------------------------------------------------------------- */

static void node(void *arg)
{
    const char *name = arg;
    note(name[0]);
    for (int i = 0; i < 2 && name[0] >= 'A' && name[0] <= 'C'; i++)
        start(node, (void *)(uintptr_t)&name[4 * (i + 1)]);
}

static void grow_tree(void *arg)
{
    (void)arg;
    static const char a[] = "A   1   2   ", b[] = "B   3   4   ", c[] = "C   5   6   ";
    logged = 0;
    start(node, (void *)(uintptr_t)a);
    start(node, (void *)(uintptr_t)b);
    start(node, (void *)(uintptr_t)c);
    wf_task_yield();
    note('.'); /* fresh ones go before the one that has yielded */
}

START_TEST(a_tree_runs_depth_first_and_siblings_in_order)
{
    run_alone(grow_tree, NULL);
    ck_assert_str_eq(order, "A12B34C56.");
}
END_TEST

static long begun, begun_with_stack, peak;

struct branch {
    struct test_task *parent;
    int height;
};

static void leaf_or_branch(void *arg)
{
    struct branch *given = arg, child = {WF_CONTAINER(wf_task_self(), struct test_task, task), given->height - 1};
    begun++;
    begun_with_stack++;
    peak = WF_MAX(peak, begun_with_stack);
    struct test_task *kids[10];
    for (int i = 0; i < 10 && given->height > 0; i++) kids[i] = start(leaf_or_branch, &child);
    for (int i = 0; i < 10 && given->height > 0; i++) {
        while (!kids[i]->done) (void)wf_task_wait(WEFT_FOREVER, "children");
    }
    begun_with_stack--;
    wf_task_wake(&given->parent->task); /* it runs when this one is done */
}

static void grow_forest(void *arg)
{
    (void)arg;
    struct branch root = {WF_CONTAINER(wf_task_self(), struct test_task, task), 4};
    begun = peak = 0;
    struct test_task *t = start(leaf_or_branch, &root);
    while (!t->done) (void)wf_task_wait(WEFT_FOREVER, "the tree");
}

START_TEST(few_of_a_large_tree_have_begun_at_a_time)
{
    run_alone(grow_forest, NULL);
    ck_assert_int_eq(begun, 11111);
    /* Only the tasks on the way down have begun, on one way more for each task that got its turn as the oldest, and
     * those that end within two turns; breadth first it would be 1,111 tasks. */
    ck_assert_int_le(peak, 4 * (1 + begun / WF_FRESH_RUN) + 2 * WF_TURN_BUDGET / 10);
}
END_TEST

/* ---- Nobody starves -------------------------------------------------------------------------------------------- */

static bool stop;

static void chain(void *arg)
{
    begun++;
    if (!stop) start(chain, arg);
}

static void beside_a_chain(void *arg)
{
    (void)arg;
    stop = false;
    begun = 0;
    start(chain, NULL);
    for (int i = 0; i < 50; i++) {
        long before = begun;
        wf_task_yield();
        want(begun > before); /* fresh ones go first */
        want(begun - before <= 2 * WF_TURN_BUDGET);
    }
    stop = true;
}

START_TEST(a_ready_task_is_due_after_two_turns_of_fresh_ones)
{
    run_alone(beside_a_chain, NULL);
}
END_TEST

static void note_begun(void *arg)
{
    *(long *)arg = begun;
    stop = true;
}

static void below_a_chain(void *arg)
{
    (void)arg;
    long at = 0;
    stop = false;
    begun = 0;
    start(chain, NULL);
    struct test_task *last = start(note_begun, &at); /* all of the chain's tasks stand before it */
    while (!last->done) wf_task_yield();
    want(at > WF_TURN_BUDGET);
    want(at <= WF_FRESH_RUN + 4 * WF_TURN_BUDGET);
}

START_TEST(the_oldest_fresh_task_gets_its_turn)
{
    run_alone(below_a_chain, NULL);
}
END_TEST

static long yields;

static void yields_for_ever(void *arg)
{
    (void)arg;
    while (!stop) {
        yields++;
        wf_task_yield();
    }
}

static void note_yields(void *arg)
{
    *(long *)arg = yields;
}

static void among_the_ready(void *arg)
{
    (void)arg;
    stop = false;
    yields = 0;
    for (int i = 0; i < 1000; i++) start(yields_for_ever, NULL);
    while (yields < 5000) wf_task_yield();
    for (int i = 0; i < 20; i++) {
        long before = yields, at = 0;
        struct test_task *t = start(note_yields, &at);
        while (!t->done) wf_task_yield();
        want(at - before <= WF_DUE_RUN);
    }
    stop = true;
}

START_TEST(a_fresh_task_waits_for_few_of_many_ready_ones)
{
    run_alone(among_the_ready, NULL);
}
END_TEST

/* ---- A simulation picks another -------------------------------------------------------------------------------- */

static void note_and_yield(void *arg)
{
    note(*(const char *)arg);
    while (!stop) {
        wf_task_yield();
        note(*(const char *)arg);
    }
}

/* Runs one task a turn, by hand: R and S are ready again, a and b are fresh. */
static void prefer(uint32_t place, char *out)
{
    struct harness h;
    memset(&h, 0, sizeof h);
    h.set = (struct wf_workers){.env = pf_env_native(),
                                .hooks = &test_hooks,
                                .parts = wf_runtime_parts,
                                .count = 1,
                                .turn_budget = 1,
                                .stack_bytes = WF_STACK_BYTES};
    want_int(pf_mutex_create(&h.lock), 0);
    want_int(pf_cond_create(&h.ended), 0);
    want_int(wf_workers_init(&h.set), 0);
    struct wf_worker *w = h.set.at[0];
    static struct test_task tasks[4];
    static const char *const names[] = {"R", "S", "a", "b"};
    stop = false;
    logged = 0;
    wf_here_set(w);
    wf_coro_adopt_thread(&w->loop);
    for (int i = 0; i < 4; i++) {
        tasks[i] = (struct test_task){.harness = &h, .run = note_and_yield, .arg = (void *)(uintptr_t)names[i]};
        wf_task_init(&tasks[i].task, w, WF_STACK_BYTES);
        wf_task_start(&tasks[i].task);
        h.alive++;
        while (i == 1 && (w->fresh_count > 0 || w->ready_first != &tasks[0].task)) wf_worker_turn(w, WEFT_NOW);
    }
    w->due = w->due_run = 0;
    want_int(w->ready_count, 4);
    logged = 0;
    wf_task_prefer(w, place);
    wf_worker_turn(w, WEFT_NOW);
    *out = order[0];
    stop = true;
    while (w->ready_count > 0) wf_worker_turn(w, WEFT_NOW);
    wf_coro_release_thread(&w->loop);
    wf_here_set(NULL);
    wf_workers_finish(&h.set);
    pf_cond_destroy(h.ended);
    pf_mutex_destroy(h.lock);
}

START_TEST(every_runnable_task_can_be_preferred)
{
    char out[5] = "";
    for (uint32_t place = 1; place < 4; place++) prefer(place, &out[place - 1]);
    ck_assert_str_eq(out, "RbS");
}
END_TEST

TEST_MAIN("order", a_tree_runs_depth_first_and_siblings_in_order, few_of_a_large_tree_have_begun_at_a_time,
          a_ready_task_is_due_after_two_turns_of_fresh_ones, the_oldest_fresh_task_gets_its_turn,
          a_fresh_task_waits_for_few_of_many_ready_ones, every_runnable_task_can_be_preferred)
