/* Each case runs twice: with the other actor on the same node, and on another one. The observations must be the same,
 * or differ as docs/transparency.md says: then a case has two texts, and the table there has its name. */
#include "transport_harness.h"

enum { OBEY = 1, ECHO, LETGO, KEEP, NUMBER, HEARD, DIE = 17 };

static weft_node *na, *nb;

/* ---- The other actor: does what it is told --------------------------------------------------------------------- */

#define ORDER(F) F(str, what) F(int, number) F(str, text) F(pid, whom)
WEFT_MESSAGE(order, OBEY, ORDER)

static void obey(const struct order *o)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", WEFT_STR(o->text));
#define IS(word) (o->what.size == sizeof word - 1 && memcmp(o->what.data, word, sizeof word - 1) == 0)
    if (IS("exit")) weft_exit((int)o->number);
    if (IS("fail")) weft_fail((int)o->number, "%s", text);
    if (IS("numbers"))
        for (int64_t i = 1; i <= o->number; i++) (void)weft_send(o->whom, NUMBER, &i, sizeof i);
    if (IS("register")) (void)weft_register(text);
    if (IS("unregister")) (void)weft_unregister(text);
    if (IS("subscribe")) (void)weft_subscribe(text, NULL);
    if (IS("publish")) (void)weft_publish(text, HEARD, "news", 4);
    if (IS("link")) (void)weft_link(o->whom);
    if (IS("unlink")) (void)weft_unlink(o->whom);
    if (IS("monitor")) (void)weft_monitor(o->whom, NULL);
    if (IS("trap stop")) (void)weft_trap_stop(true);
    if (IS("trap exits")) (void)weft_trap_exits(true);
    if (IS("sleep")) (void)weft_sleep(WEFT_FOREVER);
    if (IS("call")) {
        weft_msg *m = NULL;
        if (weft_call(o->whom, ECHO, "x", 1, &m, patience()) == WEFT_OK) weft_msg_free(m);
    }
}

/* Tells `whom` what it hears. */
static void servant(const struct order *first)
{
    weft_pid whom = first->whom;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        struct order o;
        uint32_t tag = weft_tag(m);
        if (tag == OBEY && order_read(m, &o) == 0) {
            obey(&o);
            if (weft_wants_reply(m)) (void)weft_reply(m, ECHO, NULL, 0);
        } else if (tag == ECHO) {
            (void)weft_reply(m, ECHO, weft_data(m), weft_size(m));
        } else if (tag == KEEP) {
            continue; /* freed when it ends */
        } else if (tag == WEFT_TAG_DOWN || tag == WEFT_TAG_EXIT || tag == WEFT_TAG_STOP) {
            struct weft_down d = {0};
            char text[160];
            (void)weft_down_read(m, &d);
            int size = snprintf(text, sizeof text, "%s %d", tag == WEFT_TAG_DOWN ? "DOWN" : "EXIT", d.reason);
            if (tag == WEFT_TAG_STOP) size = snprintf(text, sizeof text, "STOP");
            (void)weft_send(whom, HEARD, text, (size_t)size);
            if (tag == WEFT_TAG_STOP) weft_exit(DIE);
        } else if (tag == HEARD) {
            (void)weft_send(whom, HEARD, weft_topic(m), 10);
        }
        weft_msg_free(m);
    }
}
WEFT_EXPORT_ACTOR("same.servant", servant, order)

/* Its mailbox holds two, and nobody takes them. */
static void sits(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}
static struct weft_export full[] = {
    {.name = "same.suspend", .body = sits, .options = {.mailbox_max = 2}},
    {.name = "same.fail", .body = sits, .options = {.mailbox_max = 2, .policy = WEFT_FULL_FAIL}},
    {.name = "same.drop", .body = sits, .options = {.mailbox_max = 2, .policy = WEFT_FULL_DROP_NEWEST}},
};

/* ---- The actor that observes ----------------------------------------------------------------------------------- */

static char seen[2000];
static const char *where; /* of the other actor */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    size_t used = strlen(seen);
    va_list args;
    va_start(args, format);
    if (used > 0 && used + 1 < sizeof seen) seen[used++] = ' ', seen[used] = 0;
    vsnprintf(seen + used, sizeof seen - used, format, args);
    va_end(args);
}

static const char *result(int rc)
{
    return rc >= 0 ? "ok" : weft_error_name(rc) + 5;
}

static weft_pid begin(weft_monitor_ref *monitor)
{
    struct order first = {.whom = weft_self()};
    weft_pid pid = weft_nobody();
    weft_remote_options o = {.deadline = patience(), .monitor = monitor};
    int rc = weft_spawn_on(where, "same.servant", &pid, WEFT_ARGS(order, &first), &o);
    if (rc < 0) note("not started %s", result(rc));
    return pid;
}

/* Asks, and waits until it is done. */
static int tell_with(weft_pid whom, struct order o, const char *what)
{
    weft_msg *m;
    o.what = weft_cstr(what);
    int rc = order_call(whom, &o, &m, patience());
    if (rc == WEFT_OK) weft_msg_free(m);
    return rc;
}

static int tell(weft_pid whom, const char *what, int64_t number)
{
    return tell_with(whom, (struct order){.number = number, .text = weft_cstr("told to"), .whom = weft_self()}, what);
}

/* Does not wait. */
static int order(weft_pid whom, const char *what, int64_t number)
{
    struct order o = {weft_cstr(what), number, weft_cstr("told to"), weft_self()};
    return order_send(whom, &o);
}

/* Reports the next message. */
static void hear(void)
{
    weft_msg *m;
    int rc = weft_recv(&m, patience());
    if (rc < 0) {
        note("%s", result(rc));
        return;
    }
    struct weft_down d;
    if (weft_down_read(m, &d) == WEFT_OK) {
        const char *text = strchr(d.text, ' ');
        note("%s %d%s", weft_tag(m) == WEFT_TAG_DOWN ? "DOWN" : "EXIT", d.reason, text == NULL ? "" : text);
    } else if (weft_tag(m) == NUMBER) {
        int64_t n;
        memcpy(&n, weft_data(m), sizeof n);
        note("%d", (int)n);
    } else {
        note("'%.*s'", (int)weft_size(m), (const char *)weft_data(m));
    }
    weft_msg_free(m);
}

/* Checks that no message comes. */
static void no_more(weft_pid other)
{
    weft_msg *m;
    (void)tell(other, "nothing", 0);
    if (weft_recv(&m, WEFT_NOW) == WEFT_OK) {
        note("something");
        weft_msg_free(m);
    } else {
        note("nothing");
    }
}

#include "same_cases.h"

/* ---- Both ways ------------------------------------------------------------------------------------------------- */

static const struct same {
    void (*run)(void);
    const char *name, *here, *there; /* there NULL: the same */
} cases[] = {
#define SAME(name, text)        \
    {                           \
        name, #name, text, NULL \
    }
#define DIFFERS(name, here, there) \
    {                              \
        name, #name, here, there   \
    }
    SAME(monitor_exit, "ok DOWN 17"),
    SAME(monitor_fail_with_text, "DOWN 17 told to"),
    SAME(monitor_stop, "ok DOWN 1"),
    SAME(monitor_kill, "ok DOWN 2"),
    SAME(monitor_gone, "ok DOWN 3"),
    SAME(monitor_twice, "DOWN 17 DOWN 17"),
    SAME(monitor_ended, "ok ECLOSED DOWN 17 nothing"),
    SAME(monitor_from_there, "ok 'DOWN 17'"),
    SAME(mail_before_end, "1 2 3 DOWN 17"),
    SAME(link_failure, "ok EXIT 17 told to"),
    SAME(link_normal, "EXIT 0"),
    SAME(link_gone, "ok EXIT 3"),
    SAME(link_taken_back, "ok ECLOSED DOWN 17 nothing"),
    SAME(link_made_there, "ok EXIT 17"),
    SAME(link_ends_the_other, "DOWN 17"),
    SAME(link_is_trapped_there, "'EXIT 17'"),
    SAME(stop_is_trapped, "'STOP' DOWN 17"),
    DIFFERS(stop_gone, "ENOACTOR ENOACTOR", "ok ok"),
    SAME(send_in_order, "1 2 3 4 5"),
    DIFFERS(send_gone, "ENOACTOR", "ok"),
    SAME(full_suspend, "EFULL EFULL ok"),
    DIFFERS(full_fail, "EFULL EFULL ok", "ok ok ok"),
    SAME(full_drop, "ok ok ok"),
    SAME(sent_later, "ok 1"),
    SAME(call_answered, "ok 5 ok 1048576"),
    SAME(call_let_go, "ENOREPLY"),
    SAME(call_gone, "ENOACTOR"),
    SAME(call_ends_meanwhile, "ENOREPLY"),
    SAME(call_too_late, "ETIMEDOUT"),
    SAME(call_many, "3 0 ENOACTOR"),
    SAME(call_in_a_circle, "over"),
    SAME(request_passed_on, "ok 'ok'"),
    DIFFERS(request_from_there_passed_on, "ok", "EINVAL"),
    SAME(name_is_sent_to, "ok 1 2 ok ENOACTOR"),
    SAME(name_ends_with_its_actor, "DOWN 17 ENOACTOR"),
    DIFFERS(name_missing, "ENOACTOR", "ok"),
    SAME(topic_heard_there, "'same.topic'"),
    SAME(topic_heard_here, "ok same.topic 1"),
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void observes(const void *arg, size_t size)
{
    size_t i;
    memcpy(&i, arg, size);
    cases[i].run();
    say("over");
}

static void observe(size_t i, const char *on, const char *expected)
{
    forget_all();
    seen[0] = 0;
    where = on;
    run_actor(na, observes, &i, sizeof i);
    ck_assert_msg(heard("over", 1) == 1, "%s on %s is not over: %s", cases[i].name, on, seen);
    ck_assert_msg(strcmp(seen, expected) == 0, "%s on %s: \"%s\" instead of \"%s\"", cases[i].name, on, seen,
                  expected);
}

static void setup(void)
{
    forget_all();
    for (size_t i = 0; i < sizeof full / sizeof full[0]; i++) ck_assert_int_eq(weft_export_actor(&full[i]), WEFT_OK);
    nb = node_with((weft_node_options){.name = "b", .send_timeout = WEFT_MS(100)}, "tcp://127.0.0.1:0", NULL);
    na = node_with((weft_node_options){.name = "a", .send_timeout = WEFT_MS(100)}, NULL, weft_node_url(nb, 0));
    watch(na);
    HEAR("a up b");
}

static void teardown(void)
{
    node_down(na);
    node_down(nb);
}

START_TEST(a_local_and_a_remote_actor_are_observed_to_do_the_same)
{
    const struct same *c = &cases[_i];
    observe((size_t)_i, "a", c->here);
    observe((size_t)_i, "b", c->there == NULL ? c->here : c->there);
}
END_TEST

/* The table of what differs is complete, and nothing else is in it. */
START_TEST(the_documented_table_of_differences_is_complete)
{
    const char *path = getenv("TEST_TRANSPARENCY");
    ck_assert_ptr_nonnull(path);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    char line[500], row[100];
    int rows = 0, differ = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "| `", 3) != 0) continue;
        rows++;
        bool known = false;
        for (size_t i = 0; i < CASES; i++) {
            snprintf(row, sizeof row, "| `%s` |", cases[i].name);
            known = known || (cases[i].there != NULL && strncmp(line, row, strlen(row)) == 0);
        }
        ck_assert_msg(known, "no case for %s", line);
    }
    (void)fclose(file);
    for (size_t i = 0; i < CASES; i++) differ += cases[i].there != NULL;
    ck_assert_int_eq(rows, differ);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("same");
    TCase *t = tcase_create("same");
    tcase_add_unchecked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, a_local_and_a_remote_actor_are_observed_to_do_the_same, 0, CASES);
    tcase_add_test(t, the_documented_table_of_differences_is_complete);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
