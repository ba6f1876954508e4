/* actors/topics/topic.c: which actors get a publication, on one worker and across workers. */
#include "mailbox.h"
#include "../node_harness.h"

enum { NEWS = 1, READY = 2, GO = 3 };

static struct {
    _Atomic uintptr_t bodies[4]; /* where each subscriber saw the body */
} seen;

struct reader {
    weft_pid parent;
    const char *pattern;
    int64_t n;
    int index;
};

static void hear_news(int64_t i, int index)
{
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    want_int(weft_tag(m), NEWS);
    want(strcmp(weft_topic(m), "room.lobby") == 0);
    want_int(value_of(m), i);
    want(!weft_wants_reply(m) && (uintptr_t)weft_data(m) % 8 == 0);
    atomic_store(&seen.bodies[index], (uintptr_t)weft_data(m));
    weft_msg_free(m);
}

static void reader(const void *arg, size_t size)
{
    (void)size;
    struct reader r = *(const struct reader *)arg;
    weft_subscription s;
    want_int(weft_subscribe(r.pattern, &s), 0);
    want_int(say(r.parent, READY, 0), 0);
    for (int64_t i = 0; i < r.n; i++) hear_news(i, r.index);
    want_int(say(r.parent, READY, 0), 0);
    hear(GO);
    want_int(weft_unsubscribe(s), 0);
    want_int(weft_unsubscribe(s), WEFT_ECLOSED);
    want_int(say(r.parent, READY, 0), 0);
    hear(GO); /* nothing came in between */
}

static weft_pid reader_on(int worker, const char *pattern, int64_t n, int index)
{
    struct reader r = {weft_self(), pattern, n, index};
    weft_pid pid;
    want_int(weft_spawn(&pid, reader, &r, sizeof r, &(weft_spawn_options){.worker = worker}), 0);
    hear(READY);
    return pid;
}

static int publish_value(int64_t value)
{
    return weft_publish("room.lobby", NEWS, &value, sizeof value);
}

static void publisher(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(publish_value(0), 0);
    weft_pid readers[] = {reader_on(1, "room.lobby", 300, 0), reader_on(1, "room.*", 300, 1),
                          reader_on(2, "room.>", 300, 2),     reader_on(2, ">", 300, 3),
                          reader_on(1, "room", 0, 0),         reader_on(2, "other.*", 0, 0)};
    hear(READY), hear(READY);                                        /* the two that get nothing */
    for (int64_t i = 0; i < 300; i++) want_int(publish_value(i), 3); /* two here, one other worker */
    for (int i = 0; i < 4; i++) hear(READY);
    for (int i = 1; i < 4; i++) want(atomic_load(&seen.bodies[i]) == atomic_load(&seen.bodies[0]));
    for (int i = 0; i < 6; i++) want_int(say(readers[i], GO, 0), 0);
    for (int i = 0; i < 6; i++) hear(READY);
    want_int(publish_value(300), 0);
    for (int i = 0; i < 6; i++) want_int(say(readers[i], GO, 0), 0);
}

START_TEST(publications_reach_each_subscriber_once_in_order)
{
    run_on(2, publisher);
}
END_TEST

static void subscribe_and_end(const void *arg, size_t size)
{
    (void)size;
    want_int(weft_subscribe("room.lobby", NULL), 0);
    want_int(weft_subscribe("room.>", NULL), 0);
    want_int(say(((const struct kid *)arg)->parent, READY, 0), 0);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), WEFT_ECANCELED); /* it is stopped, and ends with two messages unread */
}

static void ended_subscriber(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int worker = 1; worker <= 2; worker++) {
        weft_pid to = kid_on(worker, subscribe_and_end, 0);
        hear(READY);
        want_int(weft_stop(to), 0);
        await_end(to);
        want_int(publish_value(1), 0);
    }
    weft_subscription mine, theirs = {weft_self().actor};
    want_int(weft_subscribe("a..b", NULL), WEFT_EINVAL);
    want_int(weft_subscribe(NULL, NULL), WEFT_EINVAL);
    want_int(weft_publish("a.*", NEWS, NULL, 0), WEFT_EINVAL);
    want_int(weft_publish(NULL, NEWS, NULL, 0), WEFT_EINVAL);
    want_int(weft_publish("a", WEFT_TAG_SYSTEM, NULL, 0), WEFT_EINVAL);
    want_int(weft_publish("a", NEWS, "", (size_t)WEFT_MESSAGE_MAX + 1), WEFT_ETOOBIG);
    want_int(weft_publish_msg("a", NULL), WEFT_EINVAL);
    want_int(weft_unsubscribe(theirs), WEFT_ECLOSED);
    want_int(weft_subscribe("a", &mine), 0);
    want_int(weft_publish_msg("a", weft_msg_new(NEWS, 3)), 1);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_size(m), 3);
    want_int(weft_publish_msg("a", m), 1); /* a received one, whose body is shared */
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want_int(weft_send_msg(weft_self(), m), 0); /* and sent on it keeps its topic */
    want_int(weft_recv(&m, WEFT_NOW), 0);
    want(strcmp(weft_topic(m), "a") == 0);
}

START_TEST(subscriptions_end_with_their_actor_and_arguments_are_checked)
{
    run_on(2, ended_subscriber);
}
END_TEST

static void slow(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    want_int(weft_subscribe("room.*", NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    (void)weft_sleep(WEFT_FOREVER);
    want_int(wf_mail_count(peek(weft_self())), 3);
    wf_mailbox_unpack(peek(weft_self()));
    want_int(value_of(peek(weft_self())->mail.first), k.n);
}

static void slow_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    const weft_full_policy policies[] = {WEFT_FULL_SUSPEND, WEFT_FULL_DROP_NEWEST, WEFT_FULL_DROP_OLDEST};
    for (int worker = 1; worker <= 2; worker++) {
        for (size_t p = 0; p < 3; p++) {
            enum wf_drop why = policies[p] == WEFT_FULL_DROP_OLDEST ? WF_DROP_FULL : WF_DROP_SLOW_READER;
            uint64_t before = drops(weft_here(), why);
            weft_spawn_options o = {.worker = worker, .mailbox_max = 3, .policy = policies[p]};
            weft_pid to = kid_with(slow, (struct kid){.n = p == 2 ? 7 : 0}, &o);
            hear(READY);
            for (int64_t i = 0; i < 10; i++) want_int(publish_value(i), worker == 2 || i < 3 || p == 2 ? 1 : 0);
            until(drops(weft_here(), why) == before + 7);
            want_int(weft_stop(to), 0);
            await_end(to);
        }
    }
    want_int(drops(weft_here(), WF_DROP_UNREAD), 18);
}

START_TEST(a_slow_reader_loses_messages_and_they_are_counted)
{
    run_on(2, slow_body);
}
END_TEST

TEST_MAIN("topic", publications_reach_each_subscriber_once_in_order,
          subscriptions_end_with_their_actor_and_arguments_are_checked,
          a_slow_reader_loses_messages_and_they_are_counted)
