/* A weft_gather of many actors of one fake peer, which counts the searches for cycles (PROBE) that it receives. */
#include "by_hand.h"

enum { ASKED = 1, MANY = 1000, DONE = 9, SEEK = 2 };

static int asked;
static uint64_t caller_id, refs[MANY];
static int requests, probes;

static void setup(void)
{
    forget_all();
    requests = probes = 0;
    node = node_with((weft_node_options){.name = "n", .heartbeat = WEFT_SEC(60), .workers = 1}, "tcp://127.0.0.1:0",
                     NULL);
    watch(node);
    asked = link_by_hand("asked");
    HEAR("n up asked");
}

static void teardown(void)
{
    close(asked);
    node_down(node);
}

/* Asks actors 1 to MANY there, and says when it is over. */
static void gathers(const void *arg, size_t size)
{
    static struct weft_answer answers[MANY];
    (void)arg, (void)size;
    for (int i = 0; i < MANY; i++) answers[i] = (struct weft_answer){.from = {ASKED, (uint64_t)i + 1}};
    ck_assert_int_eq(weft_gather(answers, MANY, MANY, 1, NULL, 0, WEFT_FOREVER), MANY);
    weft_answers_free(answers, MANY);
    (void)weft_send((weft_pid){ASKED, 1}, DONE, NULL, 0);
}

static void hear_one(struct wf_frame *f)
{
    ck_assert(get_frame(asked, f));
    if (f->kind == wf_frame_of(WF_MSG_PROBE)) probes++;
    if (f->kind != wf_frame_of(WF_MSG_CALL)) return;
    caller_id = f->from;
    refs[requests++] = f->ref;
}

/* Runs until all have been asked, and each was probed once. */
static void begin(void)
{
    struct wf_frame f;
    run_actor(node, gathers, NULL, 0);
    while (requests < MANY || probes < MANY) hear_one(&f);
}

/* Answers in parts of 50: the node gets them one after the other, whatever it does for each. */
static void answer_all(void)
{
    static uint8_t out[1 << 16];
    struct wf_frame f;
    for (int i = 0; i < MANY;) {
        weft_writer w = weft_writer_on(out, sizeof out);
        for (int k = 0; k < 50; k++, i++)
            wf_put_to_actor(&w, WF_MSG_REPLY, caller_id, (uint64_t)i + 1, 1, refs[i], NULL, 0, WF_FRAME_NO_DEADLINE);
        put_batch(asked, &w, out);
    }
    do hear_one(&f);
    while (f.kind != wf_frame_of(WF_MSG_SEND));
}

START_TEST(the_answers_of_a_gather_set_off_searches_in_proportion_to_its_requests)
{
    begin();
    answer_all();
    ck_assert_int_le(probes, 3 * MANY);
}
END_TEST

/* Each of them says that an actor there waits for the one who gathers. */
START_TEST(searches_that_come_set_off_few)
{
    static uint8_t out[1 << 18], body[128];
    begin();
    weft_writer p = weft_writer_on(body, sizeof body), w = weft_writer_on(out, sizeof out);
    weft_put_array(&p, 3);
    weft_put_uint(&p, 0);
    weft_put_uint(&p, 1024); /* credit: as much as there may be */
    weft_put_array(&p, 1);
    weft_put_array(&p, 5);
    weft_put_uint(&p, ASKED);
    weft_put_uint(&p, MANY + 1);
    weft_put_uint(&p, 1);
    weft_put_uint(&p, 0);
    weft_put_str(&p, weft_cstr("x"));
    for (int i = 0; i < MANY; i++)
        wf_put_to_actor(&w, WF_MSG_PROBE, caller_id, MANY + 1, SEEK, 0, body, p.size, WF_FRAME_NO_DEADLINE);
    put_batch(asked, &w, out);
    struct wf_frame f;
    while (probes < 2 * MANY) hear_one(&f); /* what they wanted to know is looked for, once for all of them */
    answer_all();
    ck_assert_int_le(probes, 100 * MANY); /* one round in a second, whatever came: it was one for each */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport_gather");
    TCase *t = tcase_create("probes");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, the_answers_of_a_gather_set_off_searches_in_proportion_to_its_requests);
    tcase_add_test(t, searches_that_come_set_off_few);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
