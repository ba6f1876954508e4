/* actors/topics/publish_report.c: the number of subscribers that a publication has reached, on one node. */
#include "../node_harness.h"

#include "publish_report.h"

enum { NEWS = 1, READY = 2, GO = 3, KIDS = 8 };

/* n: 1: of a queue group; 2: its publishers wait for space. */
static void subscriber(const void *arg, size_t size)
{
    (void)size;
    struct kid k = *(const struct kid *)arg;
    const weft_subscribe_options ways[] = {{.max = 0}, {.queue = "q"}, {.slow = WEFT_SLOW_SUSPEND}};
    want_int(weft_subscribe_with("job.*", &ways[k.n], NULL), 0);
    want_int(say(k.parent, READY, 0), 0);
    for (bool go = false; !go;) {
        weft_msg *m;
        want_int(weft_recv(&m, WEFT_FOREVER), 0);
        go = weft_tag(m) == GO;
        weft_msg_free(m);
    }
}

static void reaches(int subscribers)
{
    struct weft_reach r = {.silent = 9};
    want_int(weft_publish_reach("job.new", NEWS, "x", 1, &r, weft_after(WEFT_SEC(20))), 0);
    want_int(r.nodes, subscribers > 0);
    want_int((int64_t)r.subscribers, subscribers);
    want_int(r.silent, 0);
}

static void count_body(const void *arg, size_t size)
{
    static const int ways[KIDS] = {0, 0, 1, 1, 2, 2, 0, 1}, reached[KIDS] = {1, 2, 3, 3, 4, 5, 6, 6};
    (void)arg, (void)size;
    struct weft_reach r;
    weft_pid kids[KIDS];
    reaches(0);
    for (int i = 0; i < KIDS; i++) {
        kids[i] = kid_on(1 + i % 2, subscriber, ways[i]);
        hear(READY);
        reaches(reached[i]);
    }
    want_int(weft_publish_reach("job.*", NEWS, "x", 1, &r, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_publish_reach("job.new", NEWS, "x", 1, NULL, WEFT_FOREVER), WEFT_EINVAL);
    want(wf_actor_self()->asking == NULL);
    for (int i = 0; i < KIDS; i++) want_int(say(kids[i], GO, 0), 0);
    for (int i = 0; i < KIDS; i++) await_end(kids[i]);
    reaches(0);
}

START_TEST(every_subscriber_is_counted_once)
{
    struct weft_reach r;
    ck_assert_int_eq(weft_publish_reach("job.new", NEWS, "x", 1, &r, WEFT_FOREVER), WEFT_ENOTACTOR);
    run_on(2, count_body);
}
END_TEST

/* ---- Nodes that do not answer ---------------------------------------------------------------------------------- */

static void silent_body(const void *arg, size_t size)
{
    (void)arg, (void)size;
    struct wf_actor *self = wf_actor_self();
    struct wf_publish_report reach;
    struct weft_reach out;
    want_int(wf_publish_report_begin(&reach, self, 3), 0);
    uint64_t own = wf_publish_report_ask(&reach, wf_actor_pid(self).node);
    uint64_t lost = wf_publish_report_ask(&reach, 5), mute = wf_publish_report_ask(&reach, 6),
             down = wf_publish_report_ask(&reach, 7);
    want(own != 0 && lost == own + 1 && mute == own + 2 && down == own + 3);
    want_int((int64_t)wf_publish_report_ask(&reach, 8), 0); /* no slot is left */
    struct wf_publish_count *t = wf_publish_count_new(wf_actor_pid(self), own);
    wf_publish_count_keep(t);
    wf_publish_count_end(wf_here, t, 4);
    wf_publish_count_end(wf_here, t, 3);
    wf_publish_report_lost(&reach, lost);
    wf_publish_report_lost(&reach, 0);
    wf_publish_report_lost(NULL, 0);
    reach.here = 1;
    want_int(wf_publish_report_end(&reach, &out, WEFT_NOW), 0);
    want_int(out.nodes, 1);
    want_int((int64_t)out.subscribers, 8);
    want_int(out.silent, 4);

    want_int(wf_publish_report_begin(&reach, self, 0), 0);
    want(wf_publish_report_ask(&reach, wf_actor_pid(self).node) != 0); /* its other workers have not counted yet */
    want_int(wf_publish_report_end(&reach, &out, WEFT_NOW), 0);
    want_int(out.silent, 1);
}

START_TEST(actors_that_do_not_answer_are_counted_separately)
{
    run_on(1, silent_body);
}
END_TEST

TEST_MAIN("topic_reach", every_subscriber_is_counted_once, actors_that_do_not_answer_are_counted_separately)
