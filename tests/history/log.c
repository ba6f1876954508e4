/* tests/history/log.c -- histories of stored topics (weft/store.h) in a simulated cluster with faults: whether they are
 * those of logs.
 *
 *     history_log [SEEDS [FIRST SEED]]
 *
 * Clients on all nodes publish, read what is stored, and ask how long a log is. Each log, which is a topic and an epoch,
 * is linearizable: what is acknowledged is there from then on, once, at its offset; what has failed never is; what is not
 * known may be there, once. Subscribers get each log from its first record, without a gap and without a double, and in
 * the end all of it. In the end the files have nothing else. */
#include "store_world.h"

#include "models.h"

#include "engine.h"
#include "store_file.h"

enum { TOPICS = 2, LOGS = 16, PUBLISHERS = 2, APPENDS_MAX = LOG_MAX - 10 };
enum { ACKNOWLEDGED, UNKNOWN, FOUND, READ, FROM_NOW, MANY_LOGS };

static const char *const states[REACHED_MAX + 1] = {
    "publications acknowledged",     "publications with an unknown result",
    "of these, stored all the same", "records read",
    "subscriptions from now on",     "runs with several epochs of a topic"};
static const char *const topics[TOPICS] = {"room.a", "room.b"};

/* What was published has a number, which is its value. */
struct record {
    size_t op; /* in the history */
    unsigned topic;
    struct weft_position read; /* where it was found first */
};

static struct {
    struct lin_history history;
    struct record record[TOPICS * LOG_MAX];
    unsigned records;
    unsigned of_topic[TOPICS];
    struct {
        uint64_t epoch, next;
    } subscriber[HOSTS][TOPICS];       /* next: the offset that comes next */
    struct weft_position last[TOPICS]; /* as was said when all was quiet */
} is;

/* ---- The history ----------------------------------------------------------------------------------------------- */

static uint64_t key_of(unsigned topic, uint64_t epoch)
{
    return epoch << 1 | topic;
}

static size_t begin(uint32_t what, unsigned topic, uint64_t epoch, uint64_t a, uint64_t b)
{
    struct lin_op op = {.who = host_here(), .what = what, .key = key_of(topic, epoch), .in = {a, b}};
    return lin_begin(&is.history, time_here(), op);
}

static void end(size_t op, enum lin_status status, uint64_t out)
{
    lin_end(&is.history, op, time_here(), status, out);
}

/* The record with that value is at that place. A publication whose result is not known becomes one of that log. */
static void found(unsigned topic, struct weft_position at, const void *data, size_t size, int64_t since)
{
    uint32_t value = 0;
    if (size == sizeof value) memcpy(&value, data, size);
    if (value == 0 || value > is.records || is.record[value - 1].topic != topic)
        fail("a record that nobody has published");
    struct lin_op *op = &is.history.op[is.record[value - 1].op];
    if (op->status == LIN_UNKNOWN && op->key == key_of(topic, 0)) {
        op->key = key_of(topic, at.epoch);
        op->in[1] = at.offset;
        reach(FOUND, 1);
    }
    /* A record stays as it is, so the first reading says all that later ones say. */
    struct weft_position *before = &is.record[value - 1].read;
    if (before->epoch == at.epoch && before->offset == at.offset) return;
    *before = at;
    size_t op_read = lin_begin(
        &is.history, time_here(),
        (struct lin_op){.who = HOSTS, .what = LOG_RECORD, .key = key_of(topic, at.epoch), .in = {at.offset, value}});
    is.history.op[op_read].begin = since; /* its page was read after that */
    lin_end(&is.history, op_read, time_here(), LIN_OK, 0);
}

/* ---- Clients --------------------------------------------------------------------------------------------------- */

static void publish(unsigned topic, int64_t patience)
{
    if (is.of_topic[topic] == APPENDS_MAX) return;
    is.of_topic[topic]++;
    uint32_t value = ++is.records;
    struct weft_position at;
    size_t op = begin(LOG_APPEND, topic, 0, value, 0);
    is.record[value - 1] = (struct record){.op = op, .topic = topic};
    int rc = weft_publish_stored(topics[topic], 1, &value, sizeof value, &at, weft_after(patience));
    enum lin_status status = status_of(rc);
    if (rc == WEFT_OK) is.history.op[op].key = key_of(topic, at.epoch);
    end(op, status, rc == WEFT_OK ? at.offset : 0);
    if (status != LIN_FAIL) reach(rc == WEFT_OK ? ACKNOWLEDGED : UNKNOWN, 1);
}

static void publisher(const void *arg, size_t size)
{
    uint64_t random = random_here();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_MS(2500)))) == WEFT_OK)
        if (!all.is_quiet) publish(random_below(&random, TOPICS), random_between(&random, WEFT_MS(1), WEFT_SEC(3)));
}

/* Asks how long the logs are. */
static void ask_length(void)
{
    struct weft_stored_log log[TOPICS + 1];
    size_t op[TOPICS];
    for (unsigned t = 0; t < TOPICS; t++) op[t] = begin(LOG_LAST, t, 0, 0, 0);
    int n = weft_stored_logs(NULL, log, TOPICS + 1, weft_after(WEFT_SEC(3)));
    for (int i = 0; i < n; i++)
        for (unsigned t = 0; t < TOPICS; t++) {
            if (strcmp(log[i].topic, topics[t]) != 0) continue;
            is.history.op[op[t]].key = key_of(t, log[i].epoch);
            end(op[t], LIN_OK, log[i].last);
            if (all.is_quiet) is.last[t] = (struct weft_position){log[i].epoch, log[i].last};
        }
}

static void prober(const void *arg, size_t size)
{
    uint64_t random = random_here();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(2)))) == WEFT_OK) ask_length();
}

/* Since when the subscription runs, for each topic. */
static void take(const weft_msg *m, const int64_t since[TOPICS])
{
    struct weft_stored got;
    unsigned t = 0, host = host_here();
    if (weft_stored_read(m, &got) < 0) return;
    while (t < TOPICS && strcmp(got.topic, topics[t]) != 0) t++;
    if (t == TOPICS || got.kind == WEFT_STORED_GAP || got.kind == WEFT_STORED_ENDED) fail("a subscription has ended");
    if (got.kind == WEFT_STORED_EPOCH) {
        is.subscriber[host][t].next = 1;
        is.subscriber[host][t].epoch = got.at.epoch;
        return;
    }
    if (is.subscriber[host][t].epoch == 0) is.subscriber[host][t].epoch = got.at.epoch;
    if (got.at.epoch != is.subscriber[host][t].epoch) fail("a subscriber is not told of another epoch");
    if (got.at.offset != is.subscriber[host][t].next++) fail("a subscriber gets records in another order");
    found(t, got.at, got.data, got.size, since[t]);
    reach(READ, 1);
}

static void subscriber(const void *arg, size_t size)
{
    int64_t since[TOPICS];
    unsigned host = host_here();
    weft_msg *m;
    (void)arg, (void)size;
    for (unsigned t = 0; t < TOPICS;) {
        since[t] = time_here();
        is.subscriber[host][t].epoch = 0;
        is.subscriber[host][t].next = 1;
        weft_stored_subscription s;
        int rc = weft_subscribe_from(topics[t], WEFT_FROM_START, &s, weft_after(WEFT_SEC(5)));
        if (rc == WEFT_OK) t++;
        else if (weft_sleep(weft_after(WEFT_MS(300))) < 0) return;
    }
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) take(m, since);
}

/* What the log had when a subscription began "from now on" is in front of the first record that it brings. */
static void from_now(const void *arg, size_t size)
{
    unsigned t;
    weft_msg *m;
    struct weft_stored got;
    (void)size;
    memcpy(&t, arg, sizeof t);
    size_t op = begin(LOG_LAST, t, 0, 0, 0);
    if (weft_subscribe_from(topics[t], WEFT_FROM_NOW, NULL, weft_after(WEFT_SEC(3))) < 0) return;
    end(op, LIN_OK, 0);
    is.history.op[op].status = LIN_UNKNOWN;
    if (weft_recv_tag(&m, WEFT_STORED, weft_after(WEFT_SEC(8))) < 0) return;
    bool good = weft_stored_read(m, &got) == WEFT_OK;
    weft_msg_free(m);
    /* If it is the first one, there may have been no log, so that another epoch is as good. */
    if (!good || got.kind != WEFT_STORED_RECORD || got.at.offset == 1) return;
    struct lin_op *is_known = &is.history.op[op];
    is_known->key = key_of(t, got.at.epoch);
    is_known->status = LIN_OK;
    is_known->out = got.at.offset - 1;
    reach(FROM_NOW, 1);
}

static void keep_subscribing(const void *arg, size_t size)
{
    uint64_t random = random_here();
    weft_monitor_ref ref;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_SEC(2)))) == WEFT_OK) {
        unsigned t = random_below(&random, TOPICS);
        if (weft_spawn(NULL, from_now, &t, sizeof t, &(weft_spawn_options){.monitor = &ref}) < 0) fail("no memory");
        if (weft_recv(&m, WEFT_FOREVER) < 0) return;
        weft_msg_free(m);
    }
}

static void start_clients(unsigned host)
{
    weft_node *node = all.world.host[host].node;
    memset(is.subscriber[host], 0, sizeof is.subscriber[host]);
    int rc = weft_node_spawn(node, NULL, subscriber, NULL, 0, NULL);
    if (rc == WEFT_OK) rc = weft_node_spawn(node, NULL, prober, NULL, 0, NULL);
    if (rc == WEFT_OK) rc = weft_node_spawn(node, NULL, keep_subscribing, NULL, 0, NULL);
    for (int i = 0; i < PUBLISHERS && rc == WEFT_OK; i++) rc = weft_node_spawn(node, NULL, publisher, NULL, 0, NULL);
    if (rc < 0) fail("no memory");
}

/* ---- In the end ------------------------------------------------------------------------------------------------ */

/* Each subscriber has all of the log that the store has now. */
static void check_subscribers(void)
{
    for (unsigned t = 0; t < TOPICS; t++) {
        if (is.last[t].epoch == 0) fail("no store can be asked any more");
        for (unsigned i = 0; i < all.hosts; i++) {
            if (is.subscriber[i][t].epoch != is.last[t].epoch) fail("a subscriber has another epoch in the end");
            if (is.subscriber[i][t].next != is.last[t].offset + 1) fail("a subscriber does not get all");
        }
    }
}

struct on_disk {
    unsigned topic, logs[TOPICS];
    uint64_t epoch;
};

static bool found_on_disk(void *arg, const struct wf_store_record *r)
{
    const struct on_disk *d = arg;
    found(d->topic, (struct weft_position){d->epoch, r->offset}, r->data, r->size, is.history.last);
    return true;
}

static void read_volume(const char *name, struct on_disk *d)
{
    struct wf_store_file *file = open_volume(name);
    const struct wf_store_engine *engine = file->store->engine;
    for (d->topic = 0; d->topic < TOPICS; d->topic++) {
        struct wf_store_log log;
        int rc = engine->find(file->store, topics[d->topic], &log);
        if (rc == WEFT_ENOTFOUND) continue;
        if (rc < 0) fail("a log cannot be found in the end");
        d->logs[d->topic]++;
        d->epoch = log.epoch;
        for (uint64_t from = 1; from <= log.last; from += (uint64_t)rc) {
            rc = engine->read(file->store, topics[d->topic], from, LOG_MAX, 1 << 20, found_on_disk, d, NULL);
            if (rc <= 0) fail("a log cannot be read in the end");
        }
        size_t op = lin_begin(&is.history, 0, (struct lin_op){.what = LOG_LAST, .key = key_of(d->topic, log.epoch)});
        lin_end(&is.history, op, 0, LIN_OK, log.last);
    }
    wf_store_file_release(file);
}

static void read_volumes(void)
{
    struct on_disk d = {0};
    for (unsigned i = 0; i < all.volumes; i++)
        if (i == 0 || strcmp(all.volume[i].name, all.volume[0].name) != 0) read_volume(all.volume[i].name, &d);
    for (unsigned t = 0; t < TOPICS; t++) reach(MANY_LOGS, d.logs[t] > 1);
    /* What was not found on any disk has taken no effect. */
    for (unsigned i = 0; i < is.records; i++) {
        struct lin_op *op = &is.history.op[is.record[i].op];
        if (op->status == LIN_UNKNOWN && op->key == key_of(is.record[i].topic, 0)) op->status = LIN_FAIL;
    }
}

static void run(uint64_t seed)
{
    static const struct weft_stored_topics keep[] = {{.pattern = "room.*"}};
    all.options = (weft_store_options){.topics = keep, .topic_count = 1};
    begin_world(seed, seed % 4 == 0 ? 1 : 2, seed % 4 == 1, start_clients);
    for (unsigned n = 3 + random_below(&all.random, 6); n > 0; n--) fault();
    end_faults();
    check_subscribers();
    end_nodes();
    read_volumes();
    if (lin_check(&is.history, &log_model, stderr) != LIN_LINEARIZABLE) fail("this is not the history of a log");
    lin_free(&is.history);
    volumes_end();
}

int main(int argc, char **argv)
{
    return run_histories(states, run, argc, argv);
}
