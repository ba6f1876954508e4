/* tests/unit/runtime/os/file_overlapped_test.c -- files on a system with overlapped operations, which reports when
 * they are done: how the runtime handles operations under way. The environment of these tests keeps each operation
 * until a test completes it. */
#include "../folder.h"
#include "../harness.h"

#include <weft/event.h>
#include <weft/file.h>

enum { POLLERS = 4, OPS = 64 };

static struct {
    pf_mutex *lock;
    pf_cond *changed;
    struct pf_poller *poller[POLLERS]; /* by the worker's number */
    int pollers;
    struct pf_file_op *under_way[OPS]; /* oldest first */
    int count, submitted, cancelled;
    struct pf_file_op *done[POLLERS][OPS]; /* entries to come */
    int done_count[POLLERS];
    size_t part; /* no more than that at a time; 0: all of it */
} kernel;

static struct pf_env env;

static int create_poller(struct pf_env *e, struct pf_poller **out)
{
    (void)e;
    int rc = pf_env_native()->poller_create(pf_env_native(), out);
    if (rc == 0) kernel.poller[kernel.pollers++] = *out;
    return rc;
}

static int number_of(const struct pf_poller *p)
{
    int i = 0;
    while (kernel.poller[i] != p) i++;
    return i;
}

static int wait_poller(struct pf_poller *p, struct pf_ready *out, int max, int64_t deadline)
{
    int at = number_of(p), n = 0;
    for (int round = 0; round < 2; round++) {
        pf_mutex_lock(kernel.lock);
        for (; kernel.done_count[at] > 0 && n < max; n++)
            out[n] = (struct pf_ready){.done = true, .tag = kernel.done[at][--kernel.done_count[at]]->tag};
        pf_mutex_unlock(kernel.lock);
        if (n > 0) return n;
        if (round == 0) {
            n = pf_env_native()->poller_wait(p, out, max, deadline);
            if (n > 0) return n;
        }
    }
    return 0;
}

static int submit(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    if (op->at_once) return PF_BLOCKING;
    pf_mutex_lock(kernel.lock);
    kernel.under_way[kernel.count++] = op;
    kernel.submitted++;
    pf_cond_broadcast(kernel.changed);
    pf_mutex_unlock(kernel.lock);
    return PF_AGAIN;
}

/* Takes the operation at `index` and carries it out: its entry goes to this poller. */
static void complete(int index, int poller, int64_t failure)
{
    pf_mutex_lock(kernel.lock);
    want(index < kernel.count);
    struct pf_file_op *op = kernel.under_way[index];
    kernel.count--;
    for (int i = index; i < kernel.count; i++) kernel.under_way[i] = kernel.under_way[i + 1];
    size_t size = kernel.part > 0 ? WF_MIN(kernel.part, op->size) : op->size;
    if (failure < 0) op->result = failure;
    else if (op->write) op->result = pf_file_write(op->file, op->data, size, op->offset);
    else op->result = pf_file_read(op->file, op->data, size, op->offset);
    kernel.done[poller][kernel.done_count[poller]++] = op;
    pf_env_native()->poller_wake(kernel.poller[poller]); /* with the lock: then the poller lives */
    pf_mutex_unlock(kernel.lock);
}

static void cancel(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p, (void)op;
    pf_mutex_lock(kernel.lock);
    kernel.cancelled++;
    pf_mutex_unlock(kernel.lock);
}

static void await_submitted(int n)
{
    pf_mutex_lock(kernel.lock);
    while (kernel.submitted < n) (void)pf_cond_wait(kernel.changed, kernel.lock, WEFT_FOREVER);
    pf_mutex_unlock(kernel.lock);
}

static int under_way(void)
{
    pf_mutex_lock(kernel.lock);
    int n = kernel.count;
    pf_mutex_unlock(kernel.lock);
    return n;
}

static struct harness h;

static void set_up(void)
{
    memset(&kernel, 0, sizeof kernel);
    want_int(pf_mutex_create(&kernel.lock), 0);
    want_int(pf_cond_create(&kernel.changed), 0);
    env = *pf_env_native();
    env.poller_create = create_poller;
    env.poller_wait = wait_poller;
    env.file_submit = submit;
    env.file_cancel = cancel;
    folder_make();
    FILE *f = fopen(file_path(0), "w");
    want(f != NULL && fputs("0123456789", f) >= 0 && fclose(f) == 0);
    harness_start_in(&h, 2, &env);
}

static void tear_down(void)
{
    harness_stop(&h);
    want_int(h.set.files_under_way, 0);
    folder_remove();
    pf_cond_destroy(kernel.changed);
    pf_mutex_destroy(kernel.lock);
}

struct reader {
    weft_file file;
    char text[16];
    int64_t result;
};

static void open_file(void *arg)
{
    weft_file *f = arg;
    want_int(weft_file_open(f, file_path(0), WEFT_FILE_READ | WEFT_FILE_WRITE, 0, WEFT_FOREVER), 0);
}

static void read_into(void *arg)
{
    struct reader *r = arg;
    r->result = weft_file_read(r->file, r->text, 10, 0, WEFT_FOREVER);
}

static void write_from(void *arg)
{
    struct reader *r = arg;
    r->result = weft_file_write(r->file, r->text, 10, 5, WEFT_FOREVER);
}

static struct test_task *start(struct reader *r, void (*run)(void *))
{
    *r = (struct reader){.text = "abcdefghij"};
    harness_spawn(&h, 0, open_file, &r->file);
    harness_join(&h);
    struct test_task *t = harness_spawn(&h, 0, run, r);
    await_submitted(1);
    return t;
}

START_TEST(a_read_ends_when_the_system_says_so)
{
    static struct reader r;
    start(&r, read_into);
    complete(0, 0, 0);
    harness_join(&h);
    ck_assert_int_eq(r.result, 10);
    ck_assert_str_eq(r.text, "0123456789");
}
END_TEST

START_TEST(another_worker_may_hear_of_the_end)
{
    static struct reader r;
    start(&r, read_into);
    complete(0, 1, 0);
    harness_join(&h);
    ck_assert_int_eq(r.result, 10);
    ck_assert_str_eq(r.text, "0123456789");
}
END_TEST

START_TEST(an_operation_that_the_system_does_in_parts_goes_on)
{
    static struct reader r;
    kernel.part = 4;
    start(&r, write_from);
    for (int i = 1; i <= 3; i++) {
        await_submitted(i);
        complete(0, i % 2, 0);
    }
    harness_join(&h);
    ck_assert_int_eq(r.result, 10);
    start(&r, read_into);
    for (int i = 4; i <= 6; i++) {
        await_submitted(i);
        complete(0, i % 2, 0);
    }
    harness_join(&h);
    ck_assert_int_eq(r.result, 10);
    ck_assert_str_eq(r.text, "01234abcde");
}
END_TEST

START_TEST(an_error_of_the_system_is_the_result)
{
    static struct reader r;
    start(&r, write_from);
    complete(0, 0, WEFT_ENOSPC);
    harness_join(&h);
    ck_assert_int_eq(r.result, WEFT_ENOSPC);
}
END_TEST

static void cancel_task(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    wf_task_cancel(&WF_CONTAINER(c, struct test_task, start)->task);
}

static void kill_task(struct wf_worker *w, struct wf_call *c)
{
    (void)w;
    wf_task_kill(&WF_CONTAINER(c, struct test_task, start)->task);
}

static void tell_task(struct test_task *t, void (*call)(struct wf_worker *, struct wf_call *))
{
    t->start.call = call;
    wf_worker_post(h.set.at[0], &t->start.post);
    harness_join(&h);
}

START_TEST(a_cancelled_read_leaves_the_buffer_alone)
{
    static struct reader r;
    tell_task(start(&r, read_into), cancel_task);
    ck_assert_int_eq(r.result, WEFT_ECANCELED);
    ck_assert_int_eq(kernel.cancelled, 1);
    complete(0, 1, 0); /* it was read all the same */
    harness_stop(&h);
    ck_assert_str_eq(r.text, "abcdefghij");
    harness_start_in(&h, 1, pf_env_native());
}
END_TEST

START_TEST(a_waiting_task_may_be_killed)
{
    static struct reader r;
    struct test_task *t = start(&r, read_into);
    tell_task(t, kill_task);
    ck_assert(t->was_killed);
    ck_assert_int_eq(kernel.cancelled, 1);
    complete(0, 0, WEFT_ECANCELED);
    harness_stop(&h);
    ck_assert_str_eq(r.text, "abcdefghij");
    harness_start_in(&h, 1, pf_env_native());
}
END_TEST

static void complete_late(void *arg)
{
    (void)arg;
    /* The workers are told to stop by now, or soon: either way they wait for this one. */
    complete(0, 1, 0);
}

START_TEST(a_node_that_ends_waits_for_what_is_under_way)
{
    static struct reader r;
    tell_task(start(&r, read_into), cancel_task);
    pf_thread *thread;
    ck_assert_int_eq(pf_thread_start(&thread, "late", complete_late, NULL), 0);
    harness_stop(&h);
    ck_assert_int_eq(under_way(), 0);
    pf_thread_join(thread);
    harness_start_in(&h, 1, pf_env_native());
}
END_TEST

static void start_many(void *arg)
{
    weft_file *f = arg;
    weft_file_op ops[8];
    weft_wait waits[8];
    char text[4];
    for (int i = 0; i < 8; i++) {
        want_int(weft_file_read_start(&ops[i], *f, 1, i, WEFT_FOREVER), 0);
        waits[i] = weft_on_file(ops[i]);
    }
    want_int(weft_wait_any(waits, 8, WEFT_NOW), WEFT_ETIMEDOUT);
    complete(5, 0, 0);
    want_int(weft_wait_any(waits, 8, WEFT_FOREVER), 5);
    want_int(weft_file_take(ops[5], text, 1, WEFT_NOW), 1);
    want_int(text[0], '5');
    complete(2, 1, 0);
    want_int(weft_wait_any(waits, 5, WEFT_FOREVER), 2);
    want_int(weft_file_take(ops[0], text, 1, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_file_drop(ops[0]), 0);
    while (under_way() > 0) complete(0, 1, 0);
    for (int i = 1; i < 8; i++) {
        if (i == 5) continue;
        want_int(weft_file_take(ops[i], text, 1, WEFT_FOREVER), 1);
        want_int(text[0], '0' + i);
    }
    want_int(weft_file_close(*f), 0);
}

START_TEST(many_operations_under_way_end_in_any_order)
{
    static weft_file f;
    harness_spawn(&h, 0, open_file, &f);
    harness_join(&h);
    harness_spawn(&h, 0, start_many, &f);
    harness_join(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file, overlapped");
    TCase *t = tcase_create("overlapped");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, a_read_ends_when_the_system_says_so);
    tcase_add_test(t, another_worker_may_hear_of_the_end);
    tcase_add_test(t, an_operation_that_the_system_does_in_parts_goes_on);
    tcase_add_test(t, an_error_of_the_system_is_the_result);
    tcase_add_test(t, a_cancelled_read_leaves_the_buffer_alone);
    tcase_add_test(t, a_waiting_task_may_be_killed);
    tcase_add_test(t, a_node_that_ends_waits_for_what_is_under_way);
    tcase_add_test(t, many_operations_under_way_end_in_any_order);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
