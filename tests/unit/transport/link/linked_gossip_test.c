/* transport/link, linked: the costs of gossip for a node and its peer. */
#include "linked.h"
#include "send_queue.h"
#include "swim_table.h"

#include "typed.h"

/* A peer that gossips, and says of itself what `state` is. */
static void say_of_itself(enum wf_swim_state state, uint64_t number)
{
    uint8_t record[WF_SWIM_RECORD_MAX];
    weft_writer w = weft_writer_on(record, sizeof record);
    wf_put_swim_record(&w, &(struct wf_swim_record){.name = weft_cstr("peer")});
    struct wf_swim_message m = {.kind = WF_SWIM_SYNC, .count = 1};
    struct wf_swim_update u = {.node = there.node,
                               .state = state,
                               .number = number,
                               .by = node->incarnation,
                               .record = {(const char *)record, w.size}};
    wf_put_swim(&out, &m);
    wf_put_swim_update(&out, &u);
    speak(peer);
}

static void open_gossip(void)
{
    struct wf_hello h = hello("peer", false);
    h.capabilities |= WF_CAN_GOSSIP;
    open_plainly();
    peer = link_up(&h);
    there = (weft_pid){h.incarnation, 5};
    say_of_itself(WF_SWIM_ALIVE, 1);
}

static unsigned greetings;

static void count_greetings(struct line *l, const struct heard *h)
{
    (void)l;
    greetings += h->kind == WF_SWIM_PING;
}

/* A suspect that is heard is asked to refute it. But whatever comes from it wakes $cluster: if each time it were asked
 * again, and each time answered, a slow node would have no time for anything else. */
START_TEST(a_suspect_that_is_heard_is_greeted_now_and_then)
{
    open_gossip();
    greetings = 0;
    peer->hears = count_greetings;
    say_of_itself(WF_SWIM_SUSPECT, 2);
    ck_assert_int_eq(wf_swim_find(cluster()->swim, there.node)->state, WF_SWIM_SUSPECT);
    ck_assert_uint_ge(greetings, 1);
    for (int i = 0; i < 100; i++) { /* half a second */
        wf_put_swim(&out, &(struct wf_swim_message){.kind = WF_SWIM_SYNC});
        speak(peer);
    }
    ck_assert_uint_ge(greetings, 2); /* the first one may have been lost */
    ck_assert_uint_le(greetings, 6);
    close_script();
}
END_TEST

static void fill(const void *arg, size_t size)
{
    (void)arg, (void)size;
    while (weft_try_send(there, 1, large, 16 * 1024) == WEFT_OK) {}
}

/* Answers to a peer that does not take them lie together, and not each in a block for thousands. */
START_TEST(answers_that_wait_lie_together)
{
    open_gossip();
    const struct wf_link *l = wf_links_find(cluster(), there.node);
    peer->deaf = true;
    ck_assert_int_eq(weft_node_spawn(node, NULL, fill, NULL, 0, NULL), WEFT_OK);
    pass(WEFT_MS(10));
    for (int i = 0; i < 2000; i++) {
        wf_put_swim(&out, &(struct wf_swim_message){.kind = WF_SWIM_PING, .sequence = 1 + (uint64_t)i});
        if (i % 50 == 0) speak(peer);
    }
    speak(peer);
    unsigned blocks = 0;
    size_t bytes = 0;
    for (const struct wf_batch *b = l->urgent; b != NULL; b = b->next) blocks++, bytes += b->size;
    ck_assert_uint_gt(bytes, 10000);
    ck_assert_uint_le(blocks, 3);
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("linked: gossip");
    TCase *t = tcase_create("gossip");
    tcase_add_test(t, a_suspect_that_is_heard_is_greeted_now_and_then);
    tcase_add_test(t, answers_that_wait_lie_together);
    suite_add_tcase(s, t);
    return run_suite(s);
}
