/* What other nodes say is retained: who tells of it, and that no subscriber hears of it twice. */
#include "linked.h"

/* Of what was published on a third node: if it is linked here, and tells of it itself, we do not. */
START_TEST(what_is_retained_is_told_by_its_node_or_by_all)
{
    open_with(0, false);
    (void)second_peer(2, _i == 1 ? WF_CAN_TOPICS : 0);
    struct wf_body *body = wf_body_new(NULL, "full.topic", 10, "kept", 4);
    wf_body_sign(body, (weft_pid){2, 5}, 1, 1);
    wf_put_retained(&out, body, 1, false);
    wf_body_drop(NULL, body);
    speak(peer);
    struct line *third = second_peer(3, 0);
    ck_assert_int_eq(heard(third, WF_FRAME_RETAINED) != NULL, _i == 1);
    close_script();
}
END_TEST

static char told[16];

static void subscribes(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe("full.topic", NULL) < 0) return;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        strncat(told, weft_data(m), weft_size(m));
        weft_msg_free(m);
    }
}

static void say_retained(struct line *by, uint64_t publisher, const char *text, uint64_t stamp, bool live)
{
    struct wf_body *body = wf_body_new(NULL, "full.topic", 10, text, strlen(text));
    wf_body_sign(body, (weft_pid){publisher, 5}, 1, live);
    wf_put_retained(&out, body, stamp, live);
    wf_body_drop(NULL, body);
    speak(by);
}

/* The third node has told of it meanwhile, as if its publisher had gone; then the link comes back, with what was
 * under way. What others have published is theirs, and is told whatever its stamp. */
START_TEST(what_is_retained_is_told_once_and_in_order)
{
    open_with(0, false);
    struct line *other = second_peer(2, 0);
    told[0] = 0;
    (void)run_on_node(subscribes);
    say_retained(peer, there.node, "a", 10, true);
    say_retained(other, there.node, "c", 12, false);
    say_retained(peer, there.node, "b", 11, true);
    say_retained(peer, there.node, "c", 12, true);
    say_retained(other, 2, "-", 1, true);
    say_retained(peer, there.node, "d", 13, true);
    say_retained(other, there.node, "d", 13, false);
    ck_assert_str_eq(told, "ac-d");
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linked: retained");
    TCase *t = tcase_create("retained");
    tcase_add_loop_test(t, what_is_retained_is_told_by_its_node_or_by_all, 0, 2);
    tcase_add_test(t, what_is_retained_is_told_once_and_in_order);
    suite_add_tcase(s, t);
    return run_suite(s);
}
