/* tests/history/cursor.c -- histories of cursors (weft/store.h) in a simulated cluster with faults: whether those of
 * each cursor are linearizable.
 *
 *     history_cursor [SEEDS [FIRST SEED [limits]]]
 *
 * Actors on all nodes publish to stored topics. Readers with a few cursors read them, also by a pattern; they advance
 * the cursor, also to an earlier position, end, are killed, and are started again on any node. Sometimes a cursor is
 * removed. The history of a cursor is linearizable (cursor_model): an advance that is acknowledged is never lost,
 * none goes back, and one of unknown result is there or not. A reader begins right behind its cursor as it was at a
 * moment since it asked. From there on it gets each record, in order and without a gap, those that others get, and in
 * the end all that the store has. */
#include "store_world.h"

#include "models.h"

#include "engine.h"
#include "store_file.h"

enum { TOPICS = 2, NAMES = 2, READERS = 2, RECORDS = 400, READS_MAX = 64 };
enum { ADVANCED, NOT_KNOWN, REMOVED, RESUMED, BEGUN, READ, BACK, KILLED };

static const char *const states[REACHED_MAX + 1] = {"advances acknowledged",
                                                    "changes with an unknown result",
                                                    "cursors removed",
                                                    "readers that went on at a cursor",
                                                    "readers that began without a cursor",
                                                    "records read",
                                                    "advances to an earlier position",
                                                    "readers that were killed"};
static const char *const topics[TOPICS] = {"room.a", "room.b"};
static const char *const names[NAMES] = {"bill", "ship"};

struct reader {
    weft_pid pid;
    unsigned name;
    bool follows[TOPICS];
    uint64_t next[TOPICS]; /* the offset that comes next; 0: it has got nothing yet */
};

static struct {
    struct lin_history history;
    uint32_t published, of_topic[TOPICS],
        at[TOPICS][RECORDS + 1]; /* at: the value of each offset, once it is known */
    struct weft_position last[TOPICS];
    struct reader reader[HOSTS][READERS];
} is;

/* ---- The history ----------------------------------------------------------------------------------------------- */

static uint64_t key_of(unsigned name, unsigned topic)
{
    return name * TOPICS + topic;
}

static size_t begin(uint32_t what, unsigned name, unsigned topic, uint64_t in)
{
    return lin_begin(&is.history, time_here(),
                     (struct lin_op){.who = host_here(), .what = what, .key = key_of(name, topic), .in = {in}});
}

static void end(size_t op, enum lin_status status, uint64_t out)
{
    lin_end(&is.history, op, time_here(), status, out);
}

/* A record stays as it is, and is one that was published. */
static void found(unsigned topic, uint64_t offset, const void *data, size_t size)
{
    uint32_t value = 0;
    if (size == sizeof value) memcpy(&value, data, size);
    if (value == 0 || value > is.published || offset == 0 || offset > RECORDS)
        fail("a record that nobody has published");
    if (is.at[topic][offset] == 0) is.at[topic][offset] = value;
    if (is.at[topic][offset] != value) fail("a record has changed");
}

/* ---- Publishing ------------------------------------------------------------------------------------------------ */

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
        if (status_of(rc) == LIN_OK) found(topic, at.offset, &value, sizeof value);
    }
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static void advance(unsigned name, unsigned topic, struct weft_position upto, uint64_t *random)
{
    size_t op = begin(CURSOR_ADVANCE, name, topic, upto.offset);
    int rc = weft_cursor_advance(names[name], topics[topic], upto,
                                 weft_after(random_between(random, WEFT_MS(5), WEFT_SEC(2))));
    end(op, status_of(rc), 0);
    if (is.history.op[op].status != LIN_FAIL) reach(rc == WEFT_OK ? ADVANCED : NOT_KNOWN, 1);
}

static void remove_cursor(unsigned name, uint64_t *random)
{
    unsigned topic = random_below(random, TOPICS);
    size_t op = begin(CURSOR_REMOVE, name, topic, 0);
    int rc = weft_cursor_remove(names[name], topics[topic],
                                weft_after(random_between(random, WEFT_MS(5), WEFT_SEC(2))));
    end(op, status_of(rc), 0);
    if (is.history.op[op].status != LIN_FAIL) reach(rc == WEFT_OK ? REMOVED : NOT_KNOWN, 1);
}

/* Returns the topic of the record. The first one says where the cursor was at some time since `since`. */
static unsigned take(struct reader *r, const weft_msg *m, int64_t since, struct weft_position *at)
{
    struct weft_stored got;
    unsigned t = 0;
    if (weft_stored_read(m, &got) < 0) fail("a reader gets another message");
    while (t < TOPICS && strcmp(got.topic, topics[t]) != 0) t++;
    if (t == TOPICS || !r->follows[t] || got.kind != WEFT_STORED_RECORD)
        fail("a subscription has ended, or has a gap");
    found(t, got.at.offset, got.data, got.size);
    if (r->next[t] == 0) {
        size_t op = begin(CURSOR_READ, r->name, t, 0);
        is.history.op[op].begin = since;
        end(op, LIN_OK, got.at.offset - 1);
        reach(got.at.offset > 1 ? RESUMED : BEGUN, 1);
    } else if (got.at.offset != r->next[t]) {
        fail("a reader misses a record, or gets one again");
    }
    r->next[t] = got.at.offset + 1;
    *at = got.at;
    reach(READ, 1);
    return t;
}

static void read_some(struct reader *r, int64_t since, uint64_t *random)
{
    unsigned every = 1 + random_below(random, 6);
    bool stays = all.is_quiet;
    weft_msg *m;
    for (unsigned left = 1 + random_below(random, READS_MAX); left > 0 && (stays || !all.is_quiet);) {
        struct weft_position at;
        int rc = weft_recv(&m, stays ? WEFT_FOREVER : weft_after(WEFT_SEC(3)));
        if (rc == WEFT_ETIMEDOUT) continue;
        if (rc < 0) return;
        unsigned t = take(r, m, since, &at);
        weft_msg_free(m);
        if (stays) continue;
        left--;
        if (left % every != 0) continue;
        if (random_below(random, 6) == 0 && at.offset > 1) {
            at.offset = 1 + random_below(random, (uint32_t)at.offset);
            reach(BACK, 1);
        }
        advance(r->name, t, at, random);
        if (random_below(random, 60) == 0) remove_cursor(r->name, random);
    }
}

static void reader(const void *arg, size_t size)
{
    struct reader *r;
    uint64_t random = random_here();
    weft_stored_subscription s;
    (void)size;
    memcpy(&r, arg, sizeof(void *));
    unsigned which = random_below(&random, TOPICS + 1);
    r->name = random_below(&random, NAMES);
    for (unsigned t = 0; t < TOPICS; t++) {
        r->follows[t] = which == t || which == TOPICS;
        r->next[t] = 0;
    }
    int64_t since = time_here();
    int rc = weft_subscribe_cursor(names[r->name], which == TOPICS ? "room.*" : topics[which], &s,
                                   weft_after(WEFT_SEC(5)));
    if (rc < 0) {
        (void)status_of(rc);
        for (unsigned t = 0; t < TOPICS; t++) r->follows[t] = false;
        return;
    }
    read_some(r, since, &random);
}

static void keep_reader(const void *arg, size_t size)
{
    struct reader *r;
    weft_monitor_ref ref;
    weft_msg *m;
    uint64_t random = random_here();
    memcpy(&r, arg, sizeof(void *));
    for (;;) {
        if (weft_spawn(&r->pid, reader, arg, size, &(weft_spawn_options){.monitor = &ref}) < 0) fail("no memory");
        int rc = weft_recv(&m, all.is_quiet ? WEFT_FOREVER
                                            : weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(12))));
        if (rc == WEFT_ETIMEDOUT) {
            (void)weft_kill(r->pid);
            reach(KILLED, 1);
            rc = weft_recv(&m, WEFT_FOREVER);
        }
        if (rc < 0) return;
        weft_msg_free(m);
        if (weft_sleep(weft_after(WEFT_MS(100))) < 0) return;
    }
}

/* ---- Asking ---------------------------------------------------------------------------------------------------- */

static void ask_cursors(void)
{
    struct weft_cursor c[NAMES * TOPICS + 1];
    size_t op[NAMES * TOPICS];
    for (unsigned k = 0; k < NAMES * TOPICS; k++) op[k] = begin(CURSOR_READ, k / TOPICS, k % TOPICS, 0);
    int n = weft_cursors(NULL, c, NAMES * TOPICS + 1, weft_after(WEFT_SEC(3)));
    if (n > NAMES * TOPICS) fail("there are too many cursors");
    for (unsigned k = 0; k < NAMES * TOPICS && n >= 0; k++) {
        uint64_t at = 0;
        for (int i = 0; i < n; i++)
            if (strcmp(c[i].name, names[k / TOPICS]) == 0 && strcmp(c[i].topic, topics[k % TOPICS]) == 0)
                at = c[i].at.offset;
        end(op[k], LIN_OK, at);
    }
}

static void ask_logs(void)
{
    struct weft_stored_log log[TOPICS];
    int n = weft_stored_logs(NULL, log, TOPICS, weft_after(WEFT_SEC(3)));
    for (int i = 0; i < n; i++)
        for (unsigned t = 0; t < TOPICS; t++)
            if (strcmp(log[i].topic, topics[t]) == 0 && all.is_quiet)
                is.last[t] = (struct weft_position){log[i].epoch, log[i].last};
}

static void prober(const void *arg, size_t size)
{
    uint64_t random = random_here();
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(100), WEFT_SEC(3)))) == WEFT_OK) {
        ask_cursors();
        ask_logs();
    }
}

static void start_clients(unsigned host)
{
    weft_node *node = all.world.host[host].node;
    int rc = weft_node_spawn(node, NULL, publisher, NULL, 0, NULL);
    if (rc == WEFT_OK) rc = weft_node_spawn(node, NULL, prober, NULL, 0, NULL);
    for (unsigned i = 0; i < READERS && rc == WEFT_OK; i++) {
        struct reader *r = &is.reader[host][i];
        memset(r, 0, sizeof *r);
        rc = weft_node_spawn(node, NULL, keep_reader, &r, sizeof(void *), NULL);
    }
    if (rc < 0) fail("no memory");
}

/* ---- In the end ------------------------------------------------------------------------------------------------ */

static void read_volume(uint64_t at[NAMES][TOPICS])
{
    struct wf_store_file *file = open_volume(all.volume[0].name);
    for (unsigned n = 0; n < NAMES; n++)
        for (unsigned t = 0; t < TOPICS; t++) {
            struct wf_store_cursor c;
            size_t op = lin_begin(&is.history, time_here(),
                                  (struct lin_op){.who = HOSTS, .what = CURSOR_READ, .key = key_of(n, t)});
            if (file->store->engine->cursor(file->store, names[n], topics[t], &c) < 0)
                fail("a cursor cannot be read in the end");
            end(op, LIN_OK, at[n][t] = c.offset);
        }
    wf_store_file_release(file);
}

/* Each reader has all that the store has; it gets nothing if its cursor is there already. */
static void check_readers(uint64_t at[NAMES][TOPICS])
{
    for (unsigned i = 0; i < all.hosts * READERS; i++) {
        const struct reader *r = &is.reader[i / READERS][i % READERS];
        if (!r->follows[0] && !r->follows[1]) fail("a reader cannot subscribe in the end");
        for (unsigned t = 0; t < TOPICS; t++) {
            uint64_t has = r->next[t] == 0 ? at[r->name][t] : r->next[t] - 1;
            if (r->follows[t] && has != is.last[t].offset) fail("a reader does not get all");
        }
    }
}

static void run(uint64_t seed)
{
    static const struct weft_stored_topics keep[] = {{.pattern = "room.*"}};
    uint64_t at[NAMES][TOPICS];
    all.options = (weft_store_options){.topics = keep, .topic_count = 1};
    begin_world(seed, seed % 3 == 0 ? 2 : 1, true, start_clients);
    for (unsigned n = 3 + random_below(&all.random, 6); n > 0; n--) fault();
    end_faults();
    go(WEFT_SEC(10));
    if (is.last[0].epoch == 0 || is.last[1].epoch == 0) fail("no store can be asked any more");
    end_nodes();
    read_volume(at);
    check_readers(at);
    if (lin_check(&is.history, &cursor_model, stderr) != LIN_LINEARIZABLE)
        fail("this is not the history of a cursor");
    lin_free(&is.history);
    volumes_end();
}

int main(int argc, char **argv)
{
    return run_histories(states, run, argc, argv);
}
