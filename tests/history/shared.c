/* tests/history/shared.c -- histories of a shared cursor (weft/store.h) in a simulated cluster with faults.
 *
 *     history_shared [SEEDS [FIRST SEED [limits]]]
 *
 * Actors on all nodes publish to stored topics. Members of a shared cursor on all nodes acknowledge records, one by
 * one and up to one, give them back, extend their leases, let them end, are killed, and come again. Each giving of
 * a record has a number, its attempts. What is checked, for each record:
 *     - no giving comes twice, to one member or to two;
 *     - after an acknowledgement that was confirmed no later giving comes, and the record is no job any more;
 *     - it is never lost: in the end it was acknowledged (perhaps with an unknown result), or it is a job on disk,
 *       dead or not, or it is behind the cursor. No record is two of these, or two jobs;
 *     - in half of the runs the members go on until all is done: then nothing but dead records is left. */
#include "store_world.h"

#include "engine.h"
#include "shared_record.h"
#include "store_file.h"

#include <weft/queue.h>

enum { TOPICS = 2, MEMBERS = 2, RECORDS = 400, HAS = 8, GIVINGS = 64 };
enum { GIVEN, AGAIN, CONFIRMED, NOT_KNOWN, UP_TO, RETURNED, DIED, KILLED };

static const char *const states[REACHED_MAX + 1] = {"records given",
                                                    "records given again",
                                                    "acknowledgements confirmed",
                                                    "acknowledgements with an unknown result",
                                                    "acknowledgements of several records",
                                                    "records given back",
                                                    "records that are dead in the end",
                                                    "members that were killed"};
static const char *const topics[TOPICS] = {"room.a", "room.b"};

struct record {
    uint32_t value;        /* 0: not known */
    uint64_t given;        /* bit N: giving N has come */
    uint32_t last;         /* the highest of them */
    uint32_t acknowledged; /* the giving whose acknowledgement was confirmed; 0: none */
    unsigned tries;        /* acknowledgements that have begun, and are not known to have failed */
    unsigned jobs;         /* on disk in the end */
};

static struct {
    uint32_t published, of_topic[TOPICS];
    uint64_t stored[TOPICS]; /* the highest offset that was confirmed */
    struct record at[TOPICS][RECORDS + 1];
    weft_pid member[HOSTS][MEMBERS];
    bool drains;
} is;

static unsigned topic_of(const char *text, size_t size)
{
    for (unsigned t = 0; t < TOPICS; t++)
        if (strlen(topics[t]) == size && memcmp(text, topics[t], size) == 0) return t;
    fail("a record of another topic");
}

/* A record stays as it is, and is one that was published. */
static struct record *found(unsigned topic, uint64_t offset, const void *data, size_t size)
{
    uint32_t value = 0;
    if (size == sizeof value) memcpy(&value, data, size);
    if (value == 0 || value > is.published || offset == 0 || offset > RECORDS)
        fail("a record that nobody has published");
    struct record *r = &is.at[topic][offset];
    if (r->value == 0) r->value = value;
    if (r->value != value) fail("a record has changed");
    return r;
}

static void publisher(const void *arg, size_t size)
{
    uint64_t random = random_here();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_SEC(1)))) == WEFT_OK) {
        unsigned topic = random_below(&random, TOPICS);
        struct weft_position at;
        if (all.is_quiet || is.of_topic[topic] == RECORDS) continue;
        is.of_topic[topic]++;
        uint32_t value = ++is.published;
        int rc = weft_publish_stored(topics[topic], 1, &value, sizeof value, &at,
                                     weft_after(random_between(&random, WEFT_MS(5), WEFT_SEC(3))));
        if (status_of(rc) != LIN_OK) continue;
        (void)found(topic, at.offset, &value, sizeof value);
        if (at.offset > is.stored[topic]) is.stored[topic] = at.offset;
    }
}

/* ---- Members --------------------------------------------------------------------------------------------------- */

struct held {
    struct weft_stored got[HAS];
    uint32_t number[HAS]; /* the order in which they came */
    unsigned count;
    uint32_t last, at[TOPICS][RECORDS + 1]; /* the number of the last giving of each record; 0: none came */
};

static struct record *record_of(const struct weft_stored *got)
{
    return &is.at[topic_of(got->topic, strlen(got->topic))][got->at.offset];
}

/* An actor that is killed gets no result, so what it tries counts before. */
static int acknowledge(const struct weft_stored *got, bool up_to, int64_t by)
{
    struct record *r = record_of(got);
    r->tries++;
    int rc = up_to ? weft_shared_done_upto(got, by) : weft_shared_done(got, by);
    if (rc == WEFT_ECLOSED || status_of(rc) == LIN_FAIL) r->tries--;
    if (rc == WEFT_OK && r->acknowledged == 0) r->acknowledged = got->attempts;
    if (r->acknowledged != 0 && r->last > r->acknowledged)
        fail("a record is given again, and was acknowledged before");
    if (rc == WEFT_OK || (rc != WEFT_ECLOSED && status_of(rc) == LIN_UNKNOWN))
        reach(rc == WEFT_OK ? CONFIRMED : NOT_KNOWN, 1);
    return rc;
}

static void given(const struct weft_stored *got)
{
    if (got->kind != WEFT_STORED_RECORD || strcmp(got->shared, "bill") != 0)
        fail("a membership has ended, or has a gap");
    struct record *r = found(topic_of(got->topic, strlen(got->topic)), got->at.offset, got->data, got->size);
    uint32_t n = got->attempts;
    if (n == 0 || n >= GIVINGS) fail("a record is given too often");
    if ((r->given >> n & 1) != 0) fail("a giving comes twice");
    r->given |= UINT64_C(1) << n;
    if (n > r->last) r->last = n;
    if (r->acknowledged != 0 && n > r->acknowledged) fail("a record is given after it was acknowledged");
    reach(n == 1 ? GIVEN : AGAIN, 1);
}

static void forget(struct held *h, unsigned which)
{
    h->count--;
    h->got[which] = h->got[h->count];
    h->number[which] = h->number[h->count];
}

/* Those that came before it, and no others: one that comes again may be in the mailbox. */
static void acknowledge_up_to(struct held *h, const struct weft_stored *got, uint32_t number, int64_t by)
{
    unsigned t = topic_of(got->topic, strlen(got->topic));
    for (uint64_t offset = 1; offset < got->at.offset; offset++)
        if (h->at[t][offset] > 0 && h->at[t][offset] < number) is.at[t][offset].tries++;
    int rc = acknowledge(got, true, by);
    for (unsigned i = h->count; i > 0; i--)
        if (h->number[i - 1] < number && strcmp(h->got[i - 1].topic, got->topic) == 0 &&
            h->got[i - 1].at.offset < got->at.offset)
            forget(h, i - 1);
    if (rc == WEFT_OK) reach(UP_TO, 1);
}

static void end_one(struct held *h, uint64_t *random)
{
    unsigned which = random_below(random, h->count);
    struct weft_stored got = h->got[which];
    uint32_t number = h->number[which];
    int64_t by = weft_after(random_between(random, WEFT_MS(5), WEFT_SEC(2)));
    forget(h, which);
    uint32_t what = is.drains && all.is_quiet ? 9 : random_below(random, 12);
    if (what == 0) return; /* its lease ends by time */
    if (what == 1 || what == 2) {
        int rc = weft_shared_return(&got, random_below(random, 2) == 0 ? 0 : WEFT_MS(300), by);
        if (rc != WEFT_ECLOSED) (void)status_of(rc);
        reach(RETURNED, rc == WEFT_OK);
        return;
    }
    if (what == 3) (void)weft_shared_extend(&got, WEFT_SEC(1), by);
    if (what <= 5) {
        acknowledge_up_to(h, &got, number, by);
        return;
    }
    (void)acknowledge(&got, false, by);
}

static void member(const void *arg, size_t size)
{
    uint64_t random = random_here();
    struct held h = {.count = 0};
    (void)arg, (void)size;
    const weft_shared_options options = {.bound = 1 + random_below(&random, HAS)};
    int rc = weft_subscribe_shared("bill", "room.*", &options, NULL, weft_after(WEFT_SEC(5)));
    if (rc < 0) (void)status_of(rc);
    while (rc == WEFT_OK) {
        weft_msg *m;
        rc = weft_recv(&m, weft_after(random_between(&random, WEFT_MS(1), WEFT_MS(400))));
        if (rc == WEFT_OK) {
            struct weft_stored got;
            if (h.count == HAS) end_one(&h, &random);
            if (weft_stored_read(m, &got) < 0) fail("a member gets another message");
            given(&got);
            h.at[topic_of(got.topic, strlen(got.topic))][got.at.offset] = ++h.last;
            h.number[h.count] = h.last;
            h.got[h.count++] = got;
            weft_msg_free(m);
            if (random_below(&random, 3) == 0) continue;
        }
        if (rc == WEFT_ETIMEDOUT) rc = WEFT_OK;
        if (rc == WEFT_OK && h.count > 0) end_one(&h, &random);
    }
}

static void keep_member(const void *arg, size_t size)
{
    weft_pid *at;
    weft_monitor_ref ref;
    weft_msg *m;
    uint64_t random = random_here();
    (void)size;
    memcpy(&at, arg, sizeof(void *));
    for (;;) {
        if (weft_spawn(at, member, NULL, 0, &(weft_spawn_options){.monitor = &ref}) < 0) fail("no memory");
        int rc = weft_recv(&m, all.is_quiet ? WEFT_FOREVER
                                            : weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(12))));
        if (rc == WEFT_ETIMEDOUT) {
            (void)weft_kill(*at);
            reach(KILLED, 1);
            rc = weft_recv(&m, WEFT_FOREVER);
        }
        if (rc < 0) return;
        weft_msg_free(m);
        if (weft_sleep(weft_after(WEFT_MS(100))) < 0) return;
    }
}

static void start_clients(unsigned host)
{
    weft_node *node = all.world.host[host].node;
    int rc = weft_node_spawn(node, NULL, publisher, NULL, 0, NULL);
    for (unsigned i = 0; i < MEMBERS && rc == WEFT_OK; i++) {
        weft_pid *at = &is.member[host][i];
        rc = weft_node_spawn(node, NULL, keep_member, &at, sizeof(void *), NULL);
    }
    if (rc < 0) fail("no memory");
}

/* ---- In the end ------------------------------------------------------------------------------------------------ */

static bool found_on_disk(void *arg, const struct wf_store_job *j, const void *data)
{
    struct wf_shared_record r;
    const bool *dead = arg;
    if (!wf_shared_read(data, j->size, &r) || r.kind != WF_SHARED_RECORD) fail("a job is no record");
    struct record *at = found(topic_of(r.topic, r.topic_size), r.offset, r.data, r.size);
    if (at->jobs++ > 0) fail("a record is two jobs");
    if (at->acknowledged != 0) fail("a record that was acknowledged is a job");
    if (j->attempts > 0 && j->attempts < at->last) fail("a job was given more often than it knows");
    reach(DIED, *dead);
    return true;
}

static void check_topic(const struct wf_store_file *file, unsigned t)
{
    struct wf_store_cursor c;
    struct wf_store_log log = {.last = 0};
    const struct wf_store_engine *engine = file->store->engine;
    if (engine->cursor(file->store, "$shared.bill", topics[t], &c) < 0) fail("a cursor cannot be read in the end");
    if (engine->find(file->store, topics[t], &log) < 0 && is.stored[t] > 0) fail("a topic is lost");
    if (log.last < is.stored[t] || c.offset > log.last) fail("a log is shorter than it was");
    if (is.drains && c.offset < log.last) fail("records are not given in the end");
    for (uint64_t offset = 1; offset <= log.last; offset++) {
        const struct record *r = &is.at[t][offset];
        bool behind = offset > c.offset;
        if (behind && (r->last > 0 || r->jobs > 0)) fail("a record behind the cursor was given");
        if (behind || r->jobs > 0 || r->tries > 0) continue;
        fprintf(stderr, "%s, offset %llu, given up to %u times\n", topics[t], (unsigned long long)offset, r->last);
        fail("a record is lost");
    }
}

static void read_volume(void)
{
    struct wf_store_file *file = open_volume(all.volume[0].name);
    unsigned left = 0;
    for (int dead = 0; dead < 2; dead++) {
        bool is_dead = dead != 0;
        if (file->store->engine->jobs(file->store, "$shared.bill", is_dead, found_on_disk, &is_dead) < 0)
            fail("the jobs cannot be read in the end");
        for (unsigned t = 0; t < TOPICS && dead == 0; t++)
            for (unsigned i = 1; i <= RECORDS; i++) left += is.at[t][i].jobs;
    }
    if (is.drains && all.keeps_clocks && left > 0) fail("a record is not given in the end");
    for (unsigned t = 0; t < TOPICS; t++) check_topic(file, t);
    wf_store_file_release(file);
}

static void run(uint64_t seed)
{
    static const struct weft_stored_topics keep[] = {{.pattern = "room.*"}};
    static const struct weft_stored_queues queues[] = {{"$shared.>", WEFT_SEC(1), 4, 0},
                                                       {"$shared.>", WEFT_SEC(1), 0, 0}};
    all.options = (weft_store_options){
        .topics = keep, .topic_count = 1, .queues = &queues[seed % 5 == 0], .queue_count = 1};
    all.keeps_clocks = seed % 4 != 0;
    is.drains = seed % 2 != 0;
    begin_world(seed, seed % 3 == 0 ? 2 : 1, true, start_clients);
    for (unsigned n = 3 + random_below(&all.random, 6); n > 0; n--) fault();
    end_faults();
    go(WEFT_SEC(20));
    end_nodes();
    read_volume();
    volumes_end();
}

int main(int argc, char **argv)
{
    return run_histories(states, run, argc, argv);
}
