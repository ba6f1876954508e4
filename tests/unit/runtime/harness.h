/* tests/unit/runtime/harness.h -- workers whose tasks run test functions, without the actor layer.
 *
 * `want` instead of Check's assertions wherever tasks run: those write to a pipe of the runner, which is for one
 * thread. */
#ifndef WF_HARNESS_H
#define WF_HARNESS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../suite.h"
#include "parts.h"
#include "task.h"
#include "wait.h"

#include <weft/time.h>

#define want(condition) ((condition) ? (void)0 : want_failed(#condition, __FILE__, __LINE__, 0))
#define want_int(left, right)                                                           \
    do {                                                                                \
        long long got_ = (long long)(left), asked_ = (long long)(right);                \
        if (got_ != asked_) want_failed(#left " == " #right, __FILE__, __LINE__, got_); \
    } while (0)

__attribute__((noreturn, unused)) static void want_failed(const char *what, const char *file, int line, long long got)
{
    fprintf(stderr, "%s:%d: %s does not hold (got %lld)\n", file, line, what, got);
    abort();
}

struct harness;

/* A thread waits for it until another thread sets it. macOS has no sem_t for this. */
struct test_word {
    pf_mutex *lock;
    pf_cond *changed;
    bool said;
};

__attribute__((unused)) static void word_begin(struct test_word *w)
{
    want_int(pf_mutex_create(&w->lock), 0);
    want_int(pf_cond_create(&w->changed), 0);
    w->said = false;
}

__attribute__((unused)) static void word_say(struct test_word *w)
{
    pf_mutex_lock(w->lock);
    w->said = true;
    pf_cond_broadcast(w->changed);
    pf_mutex_unlock(w->lock);
}

__attribute__((unused)) static void word_await(struct test_word *w)
{
    pf_mutex_lock(w->lock);
    while (!w->said) (void)pf_cond_wait(w->changed, w->lock, WEFT_FOREVER);
    pf_mutex_unlock(w->lock);
}

__attribute__((unused)) static void word_end(struct test_word *w)
{
    pf_cond_destroy(w->changed);
    pf_mutex_destroy(w->lock);
}

struct test_task {
    struct wf_task task;
    struct harness *harness;
    void (*run)(void *arg);
    void *arg;
    bool mail; /* what its mailbox says to weft_on_mailbox */
    bool done; /* its worker's thread only, while that runs */
    bool was_killed;
    uint32_t worker;
    struct wf_call start;
    struct test_task *next; /* harness.all */
};

struct harness {
    struct wf_workers set; /* first: a weft_node * is a struct wf_workers * */
    pf_mutex *lock;
    pf_cond *ended;
    int alive;
    struct test_task *all; /* freed in harness_stop, so that tests may look at what has ended */
};

static struct test_task *test_of(const struct wf_task *t)
{
    return WF_CONTAINER(t, struct test_task, task);
}

static enum wf_turn test_main(struct wf_task *t)
{
    test_of(t)->run(test_of(t)->arg);
    while (wf_task_close_owned(t)) {}
    return WF_TURN_OVER;
}

static void test_done(struct wf_task *t)
{
    struct test_task *test = test_of(t);
    struct harness *h = test->harness;
    test->done = true;
    pf_mutex_lock(h->lock);
    h->alive--;
    pf_cond_broadcast(h->ended);
    pf_mutex_unlock(h->lock);
}

static bool test_unstarted(struct wf_task *t)
{
    test_done(t);
    return true;
}

__attribute__((noreturn)) static void test_killed(struct wf_task *t)
{
    test_of(t)->was_killed = true;
    while (wf_task_close_owned(t)) {}
    wf_task_exit();
}

static void test_describe(const struct wf_task *t, char *out, size_t size)
{
    (void)t;
    snprintf(out, size, "a test's task");
}

static int mail_open(struct wf_wait *s, const weft_wait *from)
{
    (void)s, (void)from;
    return 0;
}

static int mail_look(struct wf_wait *s)
{
    return test_of(s->task)->mail;
}

static int mail_attach(struct wf_wait *s, struct wf_wait *first)
{
    (void)first;
    s->task->wants_mail = WF_MAIL_WAKE;
    return 0;
}

static void mail_close(struct wf_wait *s)
{
    s->task->wants_mail = WF_MAIL_NONE;
}

static const struct wf_wait_kind test_mailbox = {.number = WF_ON_MAILBOX,
                                                 .name = "mailbox",
                                                 .open = mail_open,
                                                 .look = mail_look,
                                                 .attach = mail_attach,
                                                 .close = mail_close};
static const struct wf_wait_kind *const test_wait_kinds[] = {&test_mailbox, NULL};

static void test_post(struct wf_worker *w, struct wf_post *p)
{
    (void)w;
    want(p == NULL); /* tests send calls only */
}

static void test_drop(struct wf_worker *w, struct wf_post *p)
{
    (void)w, (void)p; /* calls lie in slots of the workers or in tasks: nothing of its own to free */
}

static const struct wf_hooks test_hooks = {
    .task_main = test_main,
    .task_done = test_done,
    .task_killed = test_killed,
    .task_unstarted = test_unstarted,
    .task_describe = test_describe,
    .wait_kinds = test_wait_kinds,
    .on_post = {NULL, test_post},
    .drop_post = test_drop,
};

__attribute__((unused)) static void harness_start_in(struct harness *h, uint32_t workers, struct pf_env *env)
{
    memset(h, 0, sizeof *h);
    want_int(pf_mutex_create(&h->lock), 0);
    want_int(pf_cond_create(&h->ended), 0);
    h->set.env = env;
    h->set.hooks = &test_hooks;
    h->set.parts = wf_runtime_parts;
    h->set.count = workers;
    h->set.stack_bytes = WF_STACK_BYTES;
    want_int(wf_workers_init(&h->set), 0);
    want_int(wf_workers_start(&h->set), 0);
}

__attribute__((unused)) static void harness_start(struct harness *h, uint32_t workers)
{
    harness_start_in(h, workers, pf_env_native());
}

static void start_there(struct wf_worker *w, struct wf_call *c)
{
    struct test_task *t = WF_CONTAINER(c, struct test_task, start);
    wf_task_init(&t->task, w, WF_STACK_BYTES);
    wf_task_start(&t->task);
}

/* Any thread. */
__attribute__((unused)) static struct test_task *harness_spawn(struct harness *h, uint32_t worker,
                                                               void (*run)(void *), void *arg)
{
    struct test_task *t = calloc(1, sizeof *t);
    want(t != NULL);
    *t = (struct test_task){.harness = h, .run = run, .arg = arg, .worker = worker};
    t->start = (struct wf_call){.post = {.kind = WF_POST_CALL}, .call = start_there};
    pf_mutex_lock(h->lock);
    h->alive++;
    t->next = h->all;
    h->all = t;
    pf_mutex_unlock(h->lock);
    wf_worker_post(h->set.at[worker], &t->start.post);
    return t;
}

/* Waits until every task has ended. */
__attribute__((unused)) static void harness_join(struct harness *h)
{
    pf_mutex_lock(h->lock);
    while (h->alive > 0) (void)pf_cond_wait(h->ended, h->lock, WEFT_FOREVER);
    pf_mutex_unlock(h->lock);
}

__attribute__((unused)) static void harness_stop(struct harness *h)
{
    harness_join(h);
    wf_workers_stop(&h->set);
    wf_workers_finish(&h->set);
    while (h->all != NULL) {
        struct test_task *t = h->all;
        h->all = t->next;
        free(t);
    }
    pf_cond_destroy(h->ended);
    pf_mutex_destroy(h->lock);
}

/* Runs one task on one worker, from beginning to end. */
__attribute__((unused)) static void run_alone(void (*run)(void *), void *arg)
{
    struct harness h;
    harness_start(&h, 1);
    harness_spawn(&h, 0, run, arg);
    harness_stop(&h);
}

/* In a task: the harness it runs under. */
__attribute__((unused)) static struct harness *harness_here(void)
{
    return test_of(wf_task_self())->harness;
}

/* In a task: spawns another one on this worker. */
__attribute__((unused)) static struct test_task *spawn_here(void (*run)(void *), void *arg)
{
    return harness_spawn(harness_here(), wf_here->index, run, arg);
}

/* In a task: lets others run until the condition, about tasks of this worker only, holds. */
#define until(condition)                      \
    do {                                      \
        while (!(condition)) wf_task_yield(); \
    } while (0)

/* In a task: lets the loop turn, so that what was posted has arrived and what it woke has run. */
__attribute__((unused)) static void pass_turns(uint64_t count)
{
    uint64_t start = wf_here->count.turns;
    until(wf_here->count.turns >= start + count);
}

__attribute__((unused)) static bool is_waiting(const struct test_task *t)
{
    return t->task.state == WF_TASK_WAITING;
}

#define TEST_MAIN(suite_name, ...)                                                    \
    int main(void)                                                                    \
    {                                                                                 \
        const TTest *const tests[] = {__VA_ARGS__};                                   \
        Suite *suite = suite_create(suite_name);                                      \
        TCase *tcase = tcase_create(suite_name);                                      \
        tcase_set_timeout(tcase, 60);                                                 \
        for (size_t i = 0; i < WF_COUNT(tests); i++) tcase_add_test(tcase, tests[i]); \
        suite_add_tcase(suite, tcase);                                                \
        return run_suite(suite);                                                      \
    }

#endif
