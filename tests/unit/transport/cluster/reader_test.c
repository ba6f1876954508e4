/* A link does not count as silent if this node has just not read it: links.c, wf_links_heard_until. */
#include "../../../suite.h"
#include "channel.h"
#include "links.h"
#include "peer_link.h"
#include "stuck.h"

static struct wf_workers workers = {.count = 2, .users = 1}; /* one is of weft's own actors, which judge */
static struct wf_worker worker;
static struct wf_conn conn;
static struct wf_channel channel;
static struct wf_link the_link;

#define AT(seconds) (WF_CLOCK_BEGIN + WEFT_SEC(seconds))

static void begin(struct wf_worker *reader)
{
    memset(&worker, 0, sizeof worker);
    worker.set = &workers;
    memset(&channel, 0, sizeof channel);
    conn.worker = reader;
    channel.conn = &conn;
    the_link.channel = &channel;
}

START_TEST(a_worker_that_sleeps_has_read_all)
{
    begin(&worker);
    atomic_store(&worker.pace.polled, AT(1));
    ck_assert_int_eq(wf_links_heard_until(&the_link, AT(9)), AT(9));
}
END_TEST

START_TEST(a_worker_that_is_held_up_has_read_until_its_last_look)
{
    begin(&worker);
    atomic_store(&worker.pace.polled, AT(1));
    atomic_store(&worker.pace.began, AT(2));
    ck_assert_int_eq(wf_links_heard_until(&the_link, AT(9)), AT(1));
    atomic_store(&worker.pace.polled, AT(8)); /* it goes on */
    ck_assert_int_eq(wf_links_heard_until(&the_link, AT(9)), AT(8));
}
END_TEST

START_TEST(a_channel_that_waits_for_a_congested_worker_has_read_until_it_began_to_wait)
{
    begin(NULL); /* of NNG's threads */
    ck_assert_int_eq(wf_links_heard_until(&the_link, AT(9)), AT(9));
    atomic_store(&channel.held_at, AT(3));
    ck_assert_int_eq(wf_links_heard_until(&the_link, AT(9)), AT(3));
}
END_TEST

START_TEST(a_worker_that_judges_itself_is_not_late)
{
    begin(&worker);
    workers.users = workers.count;
    atomic_store(&worker.pace.polled, AT(1));
    atomic_store(&worker.pace.began, AT(2));
    ck_assert_int_eq(wf_links_heard_until(&the_link, AT(9)), AT(9));
    workers.users = 1;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reader");
    TCase *c = tcase_create("reader");
    tcase_add_test(c, a_worker_that_sleeps_has_read_all);
    tcase_add_test(c, a_worker_that_is_held_up_has_read_until_its_last_look);
    tcase_add_test(c, a_channel_that_waits_for_a_congested_worker_has_read_until_it_began_to_wait);
    tcase_add_test(c, a_worker_that_judges_itself_is_not_late);
    suite_add_tcase(s, c);
    return run_suite(s);
}
