/* Two nodes in a simulated world, and a link that comes up, carries all kinds of messages, loses its connection,
 * resumes, ends, and comes up again: with each allocation of the nodes failing in turn. Messages may be lost
 * meanwhile, but in the end the state is as if there had been memory, and nothing is left behind. */
#include "../../../suite.h"
#include "../../alloc_faults.h"

#include "hash.h"
#include "sim_world.h"
#include "transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { A, B, NODES };
enum { PING = 1, ECHO, NEWS, JOB, STATE, LAST, LARGE = 300 * 1024 };

static struct wf_sim_world world;
static struct {
    weft_pid keeper;
    unsigned last;
} at[NODES];

/* ---- Faults: of the nodes' own code alone ---------------------------------------------------------------------- */

enum { DEPTH = 9, PLACES = 32768, SHORTAGE = 30, PARTS = 6 };

/* Which of the allocations are tried: in each phase of a run the first of those of a place, which is who asked and
 * who called whom until then. */
static struct {
    bool on;
    uint64_t phase, seen[PLACES];
    unsigned count, tried_count;
    long tried[PLACES];
} survey;

/* Everything is built with frame pointers, and those of a coroutine end with NULL. */
static uint64_t place_here(void)
{
    uint64_t place = survey.phase;
    void *const *frame = __builtin_frame_address(0);
    for (int i = 0; i < DEPTH && frame != NULL; i++, frame = *frame) place = wf_mix(place ^ (uintptr_t)frame[1]);
    return place;
}

static void note_place(void)
{
    uint64_t place = place_here();
    unsigned i = 0;
    while (i < survey.count && survey.seen[i] != place) i++;
    if (i == survey.count) survey.tried[survey.tried_count++] = survey.count;
    survey.seen[survey.count++] = place;
}

static bool of_a_node(void)
{
    if (faults.lasting && faults.failed >= SHORTAGE) faults.until = -1;
    if (!world.scarce || faults.until < 0) return false;
    if (survey.on && survey.count < PLACES) note_place();
    return true;
}

char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = __wrap_malloc(size);
    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* ---- What runs on each node ------------------------------------------------------------------------------------ */

static unsigned self(void)
{
    return weft_node_name(weft_here())[0] == 'a' ? A : B;
}

static const char *other(void)
{
    return self() == A ? "b" : "a";
}

/* Again, until there is memory for it. */
#define INSIST(call)   \
    while ((call) < 0) \
        if (weft_sleep(weft_after(WEFT_MS(20))) == WEFT_ECANCELED) return

static void visitor(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(weft_after(WEFT_MS(500)));
}
WEFT_EXPORT_PLAIN("oom.visitor", visitor)

/* The actor to which the others send. It counts what it receives. */
static void keeper(const void *arg, size_t size)
{
    char name[16], topic[16];
    unsigned me = self();
    weft_msg *m;
    (void)arg, (void)size;
    snprintf(name, sizeof name, "keeper-%s", weft_node_name(weft_here()));
    snprintf(topic, sizeof topic, "state.%s", weft_node_name(weft_here()));
    at[me].keeper = weft_self();
    INSIST(weft_register_global(name));
    INSIST(weft_group_join("all"));
    INSIST(weft_subscribe("news.>", NULL));
    INSIST(weft_subscribe_with("jobs.*", &(weft_subscribe_options){.queue = "q"}, NULL));
    INSIST(weft_subscribe("state.*", NULL));
    INSIST(weft_publish_retained(topic, STATE, name, sizeof name));
    for (int rc; (rc = weft_recv(&m, WEFT_FOREVER)) == WEFT_OK; weft_msg_free(m)) {
        at[me].last += weft_tag(m) == LAST;
        if (weft_wants_reply(m)) (void)weft_reply(m, ECHO, weft_data(m), weft_size(m));
    }
}

/* Says something of each kind. Whatever comes of it, it comes. */
static void talk(const char *large)
{
    char name[32], node[16];
    weft_msg *m;
    weft_pid there, kid;
    snprintf(name, sizeof name, "keeper-%s", other());
    snprintf(node, sizeof node, "keeper-%s@%s", other(), other());
    int64_t soon = weft_after(WEFT_MS(500));
    if (weft_call_name(name, ECHO, "hello", 5, &m, soon) == WEFT_OK) weft_msg_free(m);
    if (weft_call_name(node, ECHO, "hello", 5, &m, soon) == WEFT_OK) weft_msg_free(m);
    if (weft_whereis(name, &there) == WEFT_OK) {
        weft_monitor_ref ref;
        (void)weft_try_send(there, NEWS, large, LARGE);
        for (int i = 0; i < 40; i++) (void)weft_try_send(there, 0, name, sizeof name);
        if (weft_call(there, ECHO, "hello", 5, &m, soon) == WEFT_OK) weft_msg_free(m);
        if (weft_monitor(there, &ref) == WEFT_OK) (void)weft_demonitor(ref);
    }
    (void)weft_group_send("all", PING, "to all", 6);
    (void)weft_group_send("all", PING, large, LARGE);
    (void)weft_publish("news.now", NEWS, "listen", 6);
    (void)weft_publish("news.more", NEWS, large, LARGE);
    (void)weft_publish("jobs.one", JOB, "do it", 5);
    uint32_t reached;
    (void)reached;
    if (weft_spawn_on(other(), "oom.visitor", &kid, NULL, NULL, &(weft_remote_options){.deadline = soon}) == WEFT_OK)
        (void)weft_monitor(kid, NULL);
    while (weft_recv(&m, WEFT_NOW) == WEFT_OK) weft_msg_free(m);
}

static void talker(const void *arg, size_t size)
{
    static char large[LARGE];
    (void)arg, (void)size;
    INSIST(weft_watch_nodes());
    INSIST(weft_group_watch("all"));
    while (weft_sleep(weft_after(WEFT_MS(300))) != WEFT_ECANCELED) {
        weft_subscription s;
        bool listens = weft_subscribe(self() == A ? "a.passing" : "b.passing", &s) == WEFT_OK;
        talk(large);
        if (listens) (void)weft_unsubscribe(s);
    }
}

/* ---- In the end all is as it should be ------------------------------------------------------------------------- */

static const char *wrong; /* or NULL */

static void check_there(const void *arg, size_t size)
{
    char name[16];
    weft_pid found, pids[4];
    weft_msg *m;
    (void)arg, (void)size;
    snprintf(name, sizeof name, "keeper-%s", other());
    unsigned there = self() == A ? B : A, heard = at[there].last;
    if (weft_whereis(name, &found) != WEFT_OK) wrong = "the name there is not known";
    else if (!weft_pid_equal(found, at[there].keeper)) wrong = "the name is another's";
    else if (weft_call(found, ECHO, NULL, 0, &m, weft_after(WEFT_SEC(5))) != WEFT_OK) wrong = "no answer";
    else weft_msg_free(m);
    if (weft_group_members("all", pids, 4) != 2) wrong = "not both are in the group";
    if (weft_publish("news.last", LAST, NULL, 0) < 0) wrong = "not published";
    (void)weft_sleep(weft_after(WEFT_SEC(1)));
    if (at[there].last != heard + 1) wrong = "what is published does not come";
    if (weft_subscribe("state.*", NULL) != WEFT_OK) wrong = "no subscription";
    for (int i = 0; i < 2; i++) {
        if (weft_recv(&m, weft_after(WEFT_SEC(1))) != WEFT_OK) wrong = "what is retained is not there";
        else weft_msg_free(m);
    }
}

/* ---- A run ----------------------------------------------------------------------------------------------------- */

static void start(unsigned host, const char *name, const char *join)
{
    char url[WF_URL_TEXT];
    const char *listen[] = {url};
    wf_sim_url(host, url);
    const weft_node_options o = {.name = name,
                                 .listen = listen,
                                 .listen_count = 1,
                                 .join = &join,
                                 .join_count = join != NULL,
                                 .record_events = -1,
                                 .actors_max = 64,
                                 .heartbeat = WEFT_MS(500),
                                 .resume_window = WEFT_SEC(1)};
    ck_assert_int_eq(wf_sim_start(&world, host, &o), WEFT_OK);
    const struct wf_transport *t = world.host[host].node->transport;
    while (!t->listening) wf_sim_run(&world, 1); /* a node that cannot start says so: tests/calls */
    world.host[host].worker->pool.bypass = true;
    world.host[host].scarce_by = WEFT_FOREVER;
    ck_assert_int_eq(weft_node_spawn(world.host[host].node, NULL, keeper, NULL, 0, NULL), WEFT_OK);
    ck_assert_int_eq(weft_node_spawn(world.host[host].node, NULL, talker, NULL, 0, NULL), WEFT_OK);
}

static void run(long n, bool lasting)
{
    char url[WF_URL_TEXT];
    memset(at, 0, sizeof at);
    survey.phase = 0;
    wrong = NULL;
    wf_sim_world_init(&world, 7);
    wf_sim_url(A, url);
    start(A, "a", NULL);
    start(B, "b", url);
    faults.concerns = of_a_node;
    faults_arm(n, lasting);
    wf_sim_run(&world, WEFT_MS(700));
    survey.phase = 1;
    wf_sim_reset(&world, A, B);
    wf_sim_run(&world, WEFT_MS(400));
    survey.phase = 2;
    wf_sim_cut(&world, A, B, WEFT_SEC(4));
    wf_sim_run(&world, WEFT_SEC(7));
}

static long endure(long n, bool lasting)
{
    long live = faults.live;
    run(n, lasting);
    long failed = faults_disarm();
    wf_sim_run(&world, WEFT_SEC(5));
    for (unsigned host = A; host < NODES; host++) {
        ck_assert_int_eq(weft_node_spawn(world.host[host].node, NULL, check_there, NULL, 0, NULL), WEFT_OK);
        wf_sim_run(&world, WEFT_SEC(4));
        ck_assert_msg(wrong == NULL, "allocation %ld: seen from %c: %s", n, "ab"[host], wrong);
    }
    (void)wf_sim_stop(&world, A, weft_after(WEFT_SEC(9)));
    (void)wf_sim_stop(&world, B, weft_after(WEFT_SEC(9)));
    wf_sim_world_finish(&world);
    long left = faults.live - live; /* Check allocates, too */
    ck_assert_msg(survey.tried_count == 0 || left == 0, "allocation %ld: %ld blocks have leaked", n, left);
    return failed;
}

static void setup(void)
{
    weft_log_set(getenv("LINK_LOG") != NULL ? WEFT_INFO : WEFT_SILENT, false);
    faults.concerns = of_a_node;
    (void)endure(PLACES, false); /* what is made once for the process */
    memset(&survey, 0, sizeof survey);
    survey.on = true;
    (void)endure(PLACES, false);
    survey.on = false;
    ck_assert_uint_gt(survey.tried_count, 100);
}

/* LINK_ONE=N: that alone; LINK_LOG: with what the nodes say. */
static void try_each(bool lasting, unsigned from, unsigned step)
{
    setup();
    const char *one = getenv("LINK_ONE");
    if (one != NULL) (void)endure(atol(one), lasting);
    for (unsigned i = from; one == NULL && i < survey.tried_count; i += step)
        ck_assert_int_ge(endure(survey.tried[i], lasting), 1);
}

START_TEST(a_link_survives_the_failure_of_each_allocation)
{
    try_each(false, (unsigned)_i, under_tools() ? 61 : PARTS); /* the others where that takes less time */
}
END_TEST

START_TEST(a_link_survives_many_failed_allocations_at_a_time)
{
    try_each(true, (unsigned)_i, under_tools() ? 97 : 3 * PARTS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("links without memory");
    TCase *t = tcase_create("links");
    tcase_set_timeout(t, 60);                    /* it computes, for more than the usual 4 s where others do, too */
    const int parts = under_tools() ? 1 : PARTS; /* each begins with one run that looks for the places */
    tcase_add_loop_test(t, a_link_survives_the_failure_of_each_allocation, 0, parts);
    tcase_add_loop_test(t, a_link_survives_many_failed_allocations_at_a_time, 0, parts);
    suite_add_tcase(s, t);
    return run_suite(s);
}
