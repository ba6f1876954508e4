/* actors/mailbox/mailbox.h, wf_mailbox_hand_over: an actor that waits for messages gets a message of its worker
 * directly. It observes the same as if the message had been in its mailbox. */
#include "mailbox.h"
#include "../node_harness.h"

enum { A = 1, B, ASK, END };

static char heard[16];

static void hears(const void *arg, size_t size)
{
    (void)arg, (void)size;
    size_t n = 0;
    weft_msg *m;
    int rc;
    memset(heard, 0, sizeof heard);
    for (uint32_t tag = 0; tag != END && (rc = weft_recv(&m, WEFT_FOREVER)) == 0; weft_msg_free(m)) {
        tag = weft_tag(m);
        heard[n++] = tag == A ? 'A' : tag == B ? 'B' : tag == ASK ? '?' : tag == WEFT_TAG_NODE_UP ? 'u' : '.';
    }
    if (rc == WEFT_ECANCELED) heard[n] = 'c';
}

/* An actor that waits. The next messages are not timed, as those lie in the mailbox. */
static weft_pid waiting(void)
{
    weft_pid to = kid_on(1, hears, 0);
    await_wait(to, "mailbox");
    wf_actors_of(wf_here)->timer.left = 100;
    return to;
}

static void notify(weft_pid to)
{
    wf_signal_put(peek(to), wf_msg_new(wf_here, 0, 0), WEFT_TAG_NODE_UP);
}

static void want_heard(weft_pid to, const char *expected)
{
    await_end(to);
    want(strcmp(heard, expected) == 0);
}

static void order_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = waiting();
    want_int(say(to, A, 0), 0);
    want(peek(to)->held != NULL);
    want_int(wf_mail_count(peek(to)), 0);
    want_int(say(to, B, 0), 0);
    want_int(wf_mail_count(peek(to)), 1);
    want_int(say(to, END, 0), 0);
    want_heard(to, "AB.");
    to = waiting();
    want_int(say(to, B, 0), 0);
    notify(to);
    want_int(say(to, A, 0), 0);
    want_int(say(to, END, 0), 0);
    want_heard(to, "BuA.");
    to = waiting();
    notify(to);
    want_int(say(to, A, 0), 0);
    want(peek(to)->held == NULL);
    want_int(say(to, END, 0), 0);
    want_heard(to, "uA.");
    /* The actor has waited for long; a message of another size is delivered in another way. */
    static const char large[200];
    to = waiting();
    peek(to)->task.state = WF_TASK_IDLE;
    want_int(say(to, A, 0), 0);
    want_int(weft_send(to, B, large, sizeof large), 0);
    want_int(say(to, A, 0), 0);
    want_int(say(to, END, 0), 0);
    want_heard(to, "ABA.");
    want_int(drops(weft_here(), WF_DROP_UNREAD), 0);
}

START_TEST(messages_and_notifications_keep_their_order)
{
    run_on(1, order_body);
}
END_TEST

static void end_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = waiting();
    want_int(say(to, A, 0), 0);
    notify(to);
    want_int(say(to, B, 0), 0);
    want_int(weft_stop(to), 0);
    want_heard(to, "c");
    want_int(drops(weft_here(), WF_DROP_UNREAD), 2);
    to = waiting();
    want_int(say(to, A, 0), 0);
    want_int(weft_kill(to), 0);
    want_heard(to, "");
    want_int(drops(weft_here(), WF_DROP_UNREAD), 3);
}

START_TEST(an_actor_that_is_asked_to_end_leaves_the_handed_over_message_unread)
{
    run_on(1, end_body);
}
END_TEST

static void asks(const void *arg, size_t size)
{
    (void)size;
    const struct kid *k = arg;
    weft_msg *answer;
    (void)weft_call(k->other, ASK, NULL, 0, &answer, k->n == 0 ? WEFT_FOREVER : weft_after(WEFT_SEC(1000)));
}

/* It has handed its request to `to`, which has not run yet. */
static weft_pid asker_of(weft_pid to, bool has_deadline)
{
    struct kid k = {.other = to, .n = has_deadline};
    weft_pid asker = kid_with(asks, k, &(weft_spawn_options){.worker = 1});
    until(peek(to)->held != NULL);
    return asker;
}

static void expired_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_pid to = waiting(), asker = asker_of(to, true);
    wf_terms(peek(to)->held)->deadline = 1;
    want_int(say(to, END, 0), 0);
    want_heard(to, ".");
    want_int(drops(weft_here(), WF_DROP_EXPIRED), 1);
    want_int(weft_kill(asker), 0);
    await_end(asker);
}

START_TEST(a_request_that_has_expired_meanwhile_is_dropped)
{
    run_on(1, expired_body);
}
END_TEST

/* The order in which a worker runs its actors is known: the asker was woken, by the end that is asked of it, after the
 * receiver. So it is put before it here. */
static void asker_goes_first(weft_pid asker)
{
    struct wf_worker *w = wf_here;
    uint32_t place = 0;
    for (const struct wf_task *t = w->ready_first; t != &peek(asker)->task; t = t->next_ready) place++;
    wf_task_prefer(w, place);
}

static void given_up_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int kill = 0; kill < 2; kill++) {
        weft_pid to = waiting(), asker = asker_of(to, false);
        want_int(say(to, END, 0), 0);
        want_int(kill ? weft_kill(asker) : weft_stop(asker), 0);
        asker_goes_first(asker);
        want_heard(to, ".");
        want_int(drops(weft_here(), WF_DROP_EXPIRED), kill + 1);
        await_end(asker);
    }
}

START_TEST(a_request_whose_caller_was_asked_to_end_or_killed_meanwhile_is_dropped)
{
    run_on(1, given_up_body);
}
END_TEST

static atomic_bool may_end;

/* An actor that subscribes, waits for a message, and takes its time to end. */
static void ends_late(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    want_int(weft_subscribe("news", NULL), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_ECANCELED);
    while (!atomic_load(&may_end)) (void)weft_yield();
}

/* The publications are in one block, which was made while the message was not in the mailbox. */
static void full_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&may_end, false);
    weft_pid to = kid_with(ends_late, (struct kid){0}, &(weft_spawn_options){.worker = 1, .mailbox_max = 3});
    await_wait(to, "mailbox");
    wf_actors_of(wf_here)->timer.left = 100;
    want_int(say(to, A, 0), 0);
    want_int(weft_publish("news", B, NULL, 0), 1);
    want_int(weft_stop(to), 0);
    until(peek(to)->held == NULL);
    want_int(wf_mail_count(peek(to)), 2);
    want_int(weft_publish("news", B, NULL, 0), 1);
    want_int(wf_mail_count(peek(to)), 3);
    want(atomic_load(&peek(to)->full)); /* otherwise senders of other workers believe that there is space */
    want_int(weft_publish("news", B, NULL, 0), 0);
    want_int(wf_mail_count(peek(to)), 3);
    atomic_store(&may_end, true);
    await_end(to);
}

/* The same where bytes are the bound: the block has places for many more publications. */
static void full_of_bytes_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    atomic_store(&may_end, false);
    const weft_spawn_options o = {.worker = 1, .mailbox_bytes = sizeof(weft_msg) + sizeof(int64_t) + 1};
    weft_pid to = kid_with(ends_late, (struct kid){0}, &o);
    await_wait(to, "mailbox");
    wf_actors_of(wf_here)->timer.left = 100;
    want_int(say(to, A, 0), 0);
    want_int(weft_publish("news", B, NULL, 0), 1);
    want(!atomic_load(&peek(to)->full));
    want_int(weft_stop(to), 0);
    until(peek(to)->held == NULL);
    want(atomic_load(&peek(to)->full));
    want_int(weft_publish("news", B, NULL, 0), 0);
    want_int(wf_mail_count(peek(to)), 2);
    atomic_store(&may_end, true);
    await_end(to);
}

START_TEST(a_message_that_is_put_back_counts_for_the_publications_behind_it)
{
    run_on(1, full_body);
    run_on(1, full_of_bytes_body);
}
END_TEST

TEST_MAIN("hand_over", messages_and_notifications_keep_their_order,
          an_actor_that_is_asked_to_end_leaves_the_handed_over_message_unread,
          a_request_that_has_expired_meanwhile_is_dropped,
          a_request_whose_caller_was_asked_to_end_or_killed_meanwhile_is_dropped,
          a_message_that_is_put_back_counts_for_the_publications_behind_it)
