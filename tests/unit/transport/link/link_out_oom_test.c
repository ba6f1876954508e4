/* Sends of actors to another node without memory: each call returns an error, or the message was sent; messages
 * without a result are counted as lost; and the link stays. */
#include "links.h"
#include "send_queue.h"
#include "peer_link.h"
#include "linked.h"

#include "../../alloc_faults.h"

enum { TRIES = 6 };

static bool of_the_node(void)
{
    return world.scarce;
}

/* Uses up the spare batches of the send queue, so that each batch is an allocation. */
static void drop_spares(void)
{
    struct wf_link *l = wf_links_find(cluster(), there.node);
    while (l->spares > 0) wf_batch_free(wf_batch_new(l, 1));
}

static int says(int how)
{
    struct weft_reach reach;
    weft_msg *m;
    int rc;
    switch (how) {
    case 0: return weft_send_name("x@peer", 1, "x", 1);
    case 1: return weft_send(there, 1, "x", 1);
    case 2: return weft_send(there, 1, large, 100000);
    case 3: return weft_group_send("full", 1, "x", 1);
    case 4: return weft_group_send("full", 1, large, 100000);
    case 5: return weft_publish("full.topic", 1, "x", 1);
    case 6: return weft_publish("full.topic", 1, large, 100000);
    case 7: return weft_publish_reach("full.topic", 1, "x", 1, &reach, weft_after(WEFT_MS(1)));
    case 8: return weft_publish_retained("full.topic", 1, "x", 1);
    case 9: return weft_group_join("another");
    case 10: return weft_group_leave("another");
    case 11: return weft_watch_nodes();
    case 12: return weft_send_name("x@peer", 1, large, 100000);
    default:
        rc = weft_call_name("x@peer", 1, "x", 1, &m, weft_after(WEFT_MS(1)));
        return rc == WEFT_ETIMEDOUT ? WEFT_OK : rc;
    }
}

enum { WAYS = 14 };

/* Each as if it were the first of a batch, with the n-th allocation failing, and everything after it. */
static void says_all(const void *arg, size_t size)
{
    int *results = result;
    (void)arg, (void)size;
    wf_here->pool.bypass = true;
    for (int how = 0; how < WAYS; how++) {
        for (int n = 0; n < TRIES; n++) {
            weft_yield(); /* what was written has gone */
            drop_spares();
            faults_arm(n, true);
            int rc = says(how);
            faults_disarm();
            if (rc < 0 && rc != WEFT_ENOMEM && rc != WEFT_EEXIST && rc != WEFT_ENOACTOR) results[how] = rc;
        }
    }
    over = true;
}

START_TEST(each_call_without_memory_returns_an_error_or_has_sent)
{
    static const uint64_t without[] = {WF_CAN_CREDIT, WF_CAN_CREDIT | WF_CAN_TOPICS};
    struct wf_entry member = {.table = WF_TABLE_GROUPS, .key = weft_cstr("full"), .actor = 5};
    struct wf_entry queue = {.table = WF_TABLE_QUEUES, .key = weft_cstr("full.*"), .queue = weft_cstr("q")};
    faults.concerns = of_the_node;
    open_with(without[_i], false);
    say_entry(peer, WF_TABLE_SET, member);
    if (_i == 0) say_entry(peer, WF_TABLE_SET, queue);
    wf_put_interest(&out, WF_INTEREST_ADD, 1);
    weft_put_str(&out, weft_cstr("full.topic"));
    speak(peer);
    world.host[NODE].scarce_by = WEFT_FOREVER;
    ck_assert_int_eq(weft_node_spawn(node, NULL, says_all, NULL, 0, NULL), WEFT_OK);
    for (int i = 0; !over && i < 100; i++) pass(WEFT_MS(20));
    ck_assert(over);
    for (int i = 0; i < WAYS; i++) ck_assert_msg(result[i] == 0, "call %d: %d", i, result[i]);
    /* The carrier may have found none, too: then the link waits for another connection. */
    ck_assert_ptr_nonnull(wf_links_find(cluster(), there.node));
    world.host[NODE].scarce_by = 0;
    close_script();
}
END_TEST

/* ---- Answers --------------------------------------------------------------------------------------------------- */

enum { BY_COPY, BY_MESSAGE, BY_ITSELF, NOT_AT_ALL, ENDINGS };

static int answer_in(weft_msg *ask, int how)
{
    weft_msg *m = how == BY_MESSAGE ? weft_msg_new(1, 1) : ask;
    int rc = WEFT_OK;
    drop_spares();
    faults_arm(how == BY_COPY, true); /* that has made its copy by then */
    if (how == BY_COPY) rc = weft_reply(ask, 1, "x", 1);
    else if (how == NOT_AT_ALL) weft_msg_free(ask);
    else rc = weft_reply_msg(ask, m);
    faults_disarm();
    return rc;
}

/* Gets one request while there is no memory, and answers it later if that is possible. */
static void answers_late(const void *arg, size_t size)
{
    int how = *(const int *)arg;
    weft_msg *ask;
    (void)size;
    ck_assert_int_eq(weft_register("late"), WEFT_OK);
    ck_assert_int_eq(weft_recv(&ask, WEFT_FOREVER), WEFT_OK);
    wf_here->pool.bypass = true;
    result[0] = answer_in(ask, how);
    if (how < BY_ITSELF) {
        result[1] = weft_wants_reply(ask);
        result[2] = weft_reply(ask, 1, "x", 1);
        weft_msg_free(ask);
    }
    over = true;
}

/* A caller gets a reply, or learns that there will be none: at least that the link has ended. */
START_TEST(a_caller_of_a_node_without_memory_is_answered_or_loses_the_link)
{
    faults.concerns = of_the_node;
    open_with(WF_CAN_CREDIT, false);
    world.host[NODE].scarce_by = WEFT_FOREVER;
    ck_assert_int_eq(weft_node_spawn(node, NULL, answers_late, &_i, sizeof _i, NULL), WEFT_OK);
    pass(WEFT_MS(5));
    wf_put_to_name(&out, true, weft_cstr("late"), 5, 1, 42, "x", 1, WF_FRAME_NO_DEADLINE);
    speak(peer);
    ck_assert(over);
    ck_assert_int_eq(result[0], _i == NOT_AT_ALL ? WEFT_OK : WEFT_ENOMEM);
    const struct heard *h = heard(peer, wf_frame_of(WF_MSG_REPLY));
    if (_i < BY_ITSELF) {
        ck_assert_int_eq(result[1], true);
        ck_assert_int_eq(result[2], WEFT_OK);
        ck_assert(h != NULL && h->ref == 42);
        ck_assert_ptr_nonnull(wf_links_find(cluster(), there.node));
    } else {
        ck_assert_ptr_null(h);
        ck_assert_ptr_null(wf_links_find(cluster(), there.node));
    }
    world.host[NODE].scarce_by = 0;
    close_script();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("what goes out, without memory");
    TCase *t = tcase_create("calls");
    tcase_add_loop_test(t, each_call_without_memory_returns_an_error_or_has_sent, 0, 2);
    tcase_add_loop_test(t, a_caller_of_a_node_without_memory_is_answered_or_loses_the_link, 0, ENDINGS);
    suite_add_tcase(s, t);
    return run_suite(s);
}
