/* Publish and subscribe. */
#include "rows.h"

static void publish(const char *topic, uint32_t tag)
{
    weft_publish(topic, tag, NULL, 0);
}

ROW(topic_order)
{
    weft_subscribe("t.*", NULL);
    publish("t.a", 1);
    publish("t.b", 2);
    publish("t.a", 3);
    say_mail();
}

ROW(topic_subscribed_late)
{
    publish("t", 1);
    weft_subscribe("t", NULL);
    say_mail();
}

ROW(topic_two_patterns)
{
    weft_subscribe("t.*", NULL);
    weft_subscribe("t.a", NULL);
    publish("t.a", 1);
    say_mail();
}

ROW(topic_unsubscribed)
{
    weft_subscription s;
    weft_subscribe("t", &s);
    publish("t", 1);
    weft_unsubscribe(s);
    publish("t", 2);
    say_mail();
}

ROW(topic_unsubscribed_twice)
{
    weft_subscription s;
    weft_subscribe("t", &s);
    say_result(weft_unsubscribe(s));
    say_result(weft_unsubscribe(s));
}

ROW(topic_nobody)
{
    say_result(weft_publish("t", 1, NULL, 0));
}

static void subscribed(void)
{
    weft_subscribe("t", NULL);
    tell(1);
    weft_sleep(weft_after(WEFT_SEC(1)));
    say_mail();
}

ACTOR(subscriber)
{
    subscribed();
}

ROW(topic_full)
{
    weft_spawn(NULL, subscriber, NULL, 0, &(weft_spawn_options){.mailbox_max = 2});
    weft_expect(1, WEFT_SEC(1), NULL);
    for (uint32_t i = 1; i <= 4; i++) publish("t", i);
    weft_advance(WEFT_SEC(120));
}

ROW(topic_with_mail)
{
    weft_subscribe("t", NULL);
    publish("t", 1);
    weft_send(weft_self(), 2, NULL, 0);
    publish("t", 3);
    say_mail();
}

ACTOR(in_queue)
{
    weft_subscribe_with("t", &(weft_subscribe_options){.queue = "q"}, NULL);
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0;) say_message(m);
}

ROW(topic_queue)
{
    start(in_queue);
    start(in_queue);
    settle();
    publish("t", 1);
    publish("t", 2);
    settle();
}

ROW(topic_queue_member_ends)
{
    weft_pid a = start(in_queue);
    start(in_queue);
    settle();
    weft_kill(a);
    settle();
    publish("t", 1);
    publish("t", 2);
    settle();
}

ACTOR(slow)
{
    weft_subscribe_with("t", &(weft_subscribe_options){.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_SEC(2)}, NULL);
    tell(1);
    weft_sleep(weft_after(WEFT_SEC(1)));
    say_mail();
}

ROW(topic_full_waits)
{
    weft_spawn(NULL, slow, NULL, 0, &(weft_spawn_options){.mailbox_max = 2});
    weft_expect(1, WEFT_SEC(1), NULL);
    for (uint32_t i = 1; i <= 4; i++) publish("t", i);
    weft_advance(WEFT_SEC(120));
}
