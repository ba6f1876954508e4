/* include/weft/typed.h on a running node: every generated function, from one actor to another and back. */
#include <check.h>
#include <string.h>

#include <weft.h>

#include "all_features.h"
#include "node.h"
#include "../../../suite.h"

#define ADD(F) F(int, a) F(int, b) F(str, note)
WEFT_MESSAGE(add, 1, ADD)
#define SUM(F) F(int, value) F(str, note) F(pid, by)
WEFT_MESSAGE(sum, 2, SUM)
#define HELLO(F)
WEFT_MESSAGE(hello, 3, HELLO)

enum { STEPS = 5 }; /* sent, tried, named, published, and the end */

static struct {
    int64_t sums[STEPS];
    int64_t called, called_by_name;
    int errors;
    bool noted;
} seen;

/* Answers what wants an answer; counts up the rest until it is 0 + 0. */
static void adder(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_register("adder") < 0 || weft_subscribe("sums.*", NULL) < 0) seen.errors++;
    weft_msg *m;
    for (int i = 0; weft_recv(&m, WEFT_FOREVER) == 0;) {
        struct add v;
        if (add_read(m, &v) < 0) seen.errors++;
        struct sum answer = {v.a + v.b, v.note, weft_self()};
        if (weft_wants_reply(m)) {
            if (sum_reply(m, &answer) < 0) seen.errors++;
        } else if (i < STEPS) {
            seen.sums[i++] = answer.value;
        }
        weft_msg_free(m);
        if (i == STEPS) return;
    }
}

static int64_t value_of(int rc, weft_msg *answer, weft_pid by)
{
    struct sum got;
    if (rc < 0 || sum_read(answer, &got) < 0) return rc < 0 ? rc : -1;
    if (!weft_pid_equal(got.by, by)) seen.errors++;
    seen.noted = got.note.size == 1000 && got.note.data[999] == 'x';
    weft_msg_free(answer);
    return got.value;
}

static void asker(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static char note[1000];
    memset(note, 'x', sizeof note);
    weft_pid to;
    weft_msg *answer = NULL;
    if (weft_spawn(&to, adder, NULL, 0, NULL) < 0) seen.errors++;
    while (weft_whereis("adder", &to) < 0 && weft_yield() == 0) {}
    struct add v = {1, 2, weft_str(note, sizeof note)};
    int rc = add_call(to, &v, &answer, WEFT_FOREVER);
    seen.called = value_of(rc, answer, to);
    v.a = 10;
    rc = add_call_name("adder", &v, &answer, WEFT_FOREVER);
    seen.called_by_name = value_of(rc, answer, to);
    v.note.size = 3;
    if (add_send(to, &v) < 0) seen.errors++;
    v.a = 20;
    if (add_try_send(to, &v) < 0) seen.errors++;
    v.a = 30;
    if (add_send_name("adder", &v) < 0) seen.errors++;
    v.a = 40;
    if (add_publish("sums.large", &v) != 1) seen.errors++;
    struct add end = {0, 0, weft_cstr("")};
    if (weft_send_msg(to, add_new(&end)) < 0) seen.errors++;
}

static void expect_hello(bool retained)
{
    weft_msg *m;
    struct hello v;
    if (weft_recv(&m, WEFT_FOREVER) < 0 || !hello_is(m) || hello_read(m, &v) < 0 || weft_size(m) != 1 ||
        weft_is_retained(m) != retained || !weft_pid_equal(weft_from(m), weft_self()))
        seen.errors++;
    weft_msg_free(m);
}

static void answer_hello(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) < 0 || !hello_is(m) || hello_reply_msg(m, hello_new(NULL)) < 0) seen.errors++;
}

static void says_hello(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct weft_answer answers[2];
    if (hello_send(weft_self(), NULL) < 0) seen.errors++;
    expect_hello(false);
    if (hello_publish_retained("hello", NULL) != 0 || weft_subscribe("hello", NULL) < 0) seen.errors++;
    expect_hello(true);
    if (weft_group_join("hellos") < 0 || hello_group_send("hellos", NULL) != 1) seen.errors++;
    expect_hello(false);
    if (hello_send_after(WEFT_NOW, weft_self(), NULL, NULL) < 0) seen.errors++;
    expect_hello(false);
    for (int i = 0; i < 2; i++)
        if (weft_spawn(&answers[i].from, answer_hello, NULL, 0, NULL) < 0) seen.errors++;
    if (hello_gather(answers, 2, 2, NULL, WEFT_FOREVER) != 2 || !hello_is(answers[1].answer)) seen.errors++;
    weft_answers_free(answers, 2);
}

static void run(weft_actor *body)
{
    weft_node *node = NULL;
    weft_node_options options;
    memset(&options, 0, sizeof options);
    options.workers = 1;
    ck_assert_int_eq(wf_node_create(&node, &options, NULL), 0);
    ck_assert_int_eq(wf_node_run(node), 0);
    ck_assert_int_eq(weft_node_spawn(node, NULL, body, NULL, 0, NULL), 0);
    ck_assert_int_eq(weft_node_wait(node, WEFT_FOREVER), 0);
    wf_node_finish_actors(node);
    wf_node_destroy(node);
    ck_assert_int_eq(seen.errors, 0);
}

START_TEST(a_message_without_fields_goes_every_way)
{
    run(says_hello);
}
END_TEST

START_TEST(from_actor_to_actor_and_back)
{
    run(asker);
    ck_assert_int_eq(seen.called, 3);
    ck_assert_int_eq(seen.called_by_name, 12);
    ck_assert(seen.noted);
    static const int64_t sums[STEPS] = {12, 22, 32, 42, 0};
    for (int i = 0; i < STEPS; i++) ck_assert_int_eq(seen.sums[i], sums[i]);

    /* Outside of actors. */
    struct add v = {1, 2, weft_cstr("")};
    weft_msg *answer = NULL;
    ck_assert_int_eq(add_send(weft_nobody(), &v), WEFT_ENOTACTOR);
    ck_assert_int_eq(add_call_name("adder", &v, &answer, WEFT_NOW), WEFT_ENOTACTOR);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("typed_live");
    TCase *t = tcase_create("typed_live");
    tcase_add_test(t, from_actor_to_actor_and_back);
    tcase_add_test(t, a_message_without_fields_goes_every_way);
    suite_add_tcase(s, t);
    return run_suite(s);
}
