/* A file of a store, opened by the engine: the bytes of an input, or a real one whose rows, tables and bytes the input
 * changes. Then the input reads and changes the store. What is served is what was stored; a row that was changed is found by
 * check, or the file is refused.
 *
 * The first byte of an input chooses: FORGED takes the checksums away, so that each changed row is believed (the functions
 * must be safe with any numbers, and nothing is known of what they serve); BYTES makes the rest the file itself. */
#include "fuzz.h"

#include <sqlite3.h>

#include "../unit/transport/store/faulty_vfs.h"

#include "crc32c.h"
#include "engine.h"
#include "shared_record.h"
#include "sqlite.h"

enum { FORGED = 1, BYTES = 2 };
enum { FILE_MAX = 1 << 20, NOW = 1000000, STEPS_MAX = 300 };

/* ---- Checksums ------------------------------------------------------------------------------------------------- */

static bool forged;

uint32_t __real_wf_crc32c(uint32_t sum, const void *data, size_t size);
uint32_t __wrap_wf_crc32c(uint32_t sum, const void *data, size_t size);

/* The linker puts it in the place of wf_crc32c. */
uint32_t __wrap_wf_crc32c(uint32_t sum, const void *data, size_t size)
{
    return forged ? 0 : __real_wf_crc32c(sum, data, size);
}

/* ---- A real store ---------------------------------------------------------------------------------------------- */

static struct wf_store *store;
static const struct wf_store_engine *const engine = &wf_store_sqlite;
static const char *const topics[] = {"a", "b.c", "d", "new", "new.b"};
static const char *const queues[] = {"q", "q.x", WF_SHARED_PREFIX "s", "new"};
static const char *const keys[] = {"k", "r", "p", "new"};
static const char *const states[] = {"s.1", "s.2", "s.3", "new"};
#define CHOOSE(list, byte) ((list)[(byte) % (sizeof(list) / sizeof *(list))])

static int open_it(bool read_only)
{
    struct wf_store_why why = {.text = ""};
    int rc = engine->open(&store, "s.db", &(struct wf_store_opening){.read_only = read_only, .vfs = "faulty"}, &why);
    MUST((rc == WEFT_OK) == (store != NULL));
    MUST(memchr(why.text, '\0', sizeof why.text) != NULL && (rc == WEFT_OK || why.text[0] != '\0'));
    return rc;
}

static void close_it(void)
{
    engine->close(store);
    store = NULL;
}

/* Errors are those of weft, whatever the file has. */
static int known(int rc)
{
    MUST(rc > -200 || rc >= 0);
    return rc;
}

/* The bytes say where the record belongs. */
static size_t body_of(const char *topic, uint64_t number, char out[64])
{
    return (size_t)snprintf(out, 64, "%s/%llu/abcdefgh", topic, (unsigned long long)number);
}

static void append(const char *topic, uint64_t number, uint64_t keep)
{
    char body[64];
    const struct wf_store_limits limits = {.count = keep};
    struct wf_store_append a = {.topic = topic, .time = NOW, .tag = 7, .data = body, .limits = &limits};
    a.size = body_of(topic, number, body);
    if (known(engine->append(store, &a, 1)) == WEFT_OK) known(a.error);
}

/* What was taken last, for later changes. */
static uint64_t taken_id, taken_lease;

static int change_one(struct wf_store_change x)
{
    char body[64];
    x.tag = 8;
    x.data = body;
    x.size = body_of(x.queue, 0, body);
    x.jobs_max = 100;
    int rc = known(engine->change(store, &x, 1));
    if (rc == WEFT_OK) rc = known(x.error);
    if (rc == WEFT_OK && x.kind == WF_JOB_TAKE) {
        MUST(x.body != NULL && x.job.size <= WF_STORE_BODY_MAX);
        struct wf_shared_record r;
        if (wf_shared_is(x.queue) && wf_shared_read(x.body, x.job.size, &r)) MUST(r.size <= x.job.size);
        else if (!forged) MUST(x.job.size == x.size && memcmp(x.body, body, x.size) == 0);
        taken_id = x.job.id;
        taken_lease = x.job.lease;
    }
    free(x.body);
    return rc;
}

static void change_state(enum wf_store_state_kind kind, const char *key, uint64_t owner, uint64_t number)
{
    char body[64];
    struct wf_store_state_change x = {
        .kind = kind, .key = key, .owner = owner, .number = number, .now = NOW, .tag = 9, .version = 1, .data = body};
    x.size = body_of(key, number, body);
    if (known(engine->change_states(store, &x, 1)) == WEFT_OK) known(x.error);
}

static bool find_owner(void *arg, const struct wf_store_state *state)
{
    struct wf_store_state *out = arg;
    MUST(strlen(state->key) <= WF_STORE_TOPIC_MAX);
    if (strcmp(state->key, out->key) == 0) *out = *state;
    return true;
}

static struct wf_store_state look_at_state(const char *key)
{
    struct wf_store_state is = {.owner = 1};
    snprintf(is.key, sizeof is.key, "%s", key);
    known(engine->states(store, NULL, find_owner, &is));
    return is;
}

static void fill(void)
{
    for (uint64_t i = 1; i <= 6; i++) append("a", i, i == 6 ? 5 : 0);
    for (uint64_t i = 1; i <= 3; i++) append("b.c", i, 0);
    append("d", 1, 0);
    struct wf_store_advance to = {.name = "c", .topic = "a", .to = {0, 3}};
    struct wf_store_log log;
    MUST(engine->find(store, "a", &log) == WEFT_OK);
    to.to.epoch = log.epoch;
    MUST(engine->advance(store, &to, 1) == WEFT_OK && to.error == WEFT_OK);
    for (int i = 0; i < 4; i++)
        MUST(change_one((struct wf_store_change){
                 .kind = WF_JOB_PUT, .queue = "q", .now = NOW, .key = i == 0 ? "k" : NULL, .key_age = 10 * NOW}) ==
             0);
    MUST(change_one((struct wf_store_change){.kind = WF_JOB_PUT, .queue = "q.x", .now = NOW, .delay = NOW}) == 0);
    MUST(change_one((struct wf_store_change){
             .kind = WF_JOB_TAKE, .queue = "q", .now = NOW, .delay = NOW, .node = 3, .actor = 5}) == 0);
    MUST(change_one((struct wf_store_change){.kind = WF_JOB_TAKE, .queue = "q", .now = NOW, .delay = NOW}) == 0);
    MUST(change_one((struct wf_store_change){
             .kind = WF_JOB_RETURN, .queue = "q", .now = NOW, .id = taken_id, .lease = taken_lease, .attempts = 1}) ==
         0);
    MUST(change_one((struct wf_store_change){
             .kind = WF_JOB_SET, .queue = "q", .now = NOW, .key = "r", .at = NOW + 5, .period = 10}) == 0);
    MUST(change_one((struct wf_store_change){
             .kind = WF_JOB_SET, .queue = "q.x", .now = NOW, .key = "p", .at = NOW - 5}) == 0);
    MUST(change_one((struct wf_store_change){.kind = WF_JOB_SHARE,
                                             .queue = WF_SHARED_PREFIX "s",
                                             .topic = "b.c",
                                             .now = NOW,
                                             .ahead = 10,
                                             .most = 2}) == 0);
    for (int i = 0; i < 2; i++) {
        change_state(WF_STATE_OPEN, states[i], 0, 0);
        const struct wf_store_state is = look_at_state(states[i]);
        for (uint64_t n = 1; n <= 3; n++) {
            change_state(WF_STATE_APPEND, states[i], is.owner, n);
            if (i == 0 && n == 1) change_state(WF_STATE_SAVE, states[i], is.owner, n);
        }
    }
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

static void write_file(const uint8_t *bytes, size_t size)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("faulty");
    sqlite3_file *f = calloc(1, (size_t)vfs->szOsFile);
    int flags = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    MUST(f != NULL && vfs->xOpen(vfs, "s.db", f, flags, &flags) == SQLITE_OK);
    MUST(f->pMethods->xTruncate(f, 0) == SQLITE_OK);
    MUST(size == 0 || f->pMethods->xWrite(f, bytes, (int)size, 0) == SQLITE_OK);
    MUST(f->pMethods->xSync(f, SQLITE_SYNC_FULL) == SQLITE_OK);
    MUST(f->pMethods->xClose(f) == SQLITE_OK);
    free(f);
}

/* The bytes of a store that has one of everything; with and without checksums. */
static const uint8_t *real_file(size_t *size)
{
    static uint8_t bytes[2][FILE_MAX];
    static size_t sizes[2];
    if (sizes[forged] == 0) {
        faulty_begin(1);
        MUST(open_it(false) == WEFT_OK);
        fill();
        close_it();
        const uint8_t *is = faulty_bytes("s.db", &sizes[forged]);
        MUST(is != NULL && sizes[forged] <= FILE_MAX);
        memcpy(bytes[forged], is, sizes[forged]);
        faulty_end();
    }
    *size = sizes[forged];
    return bytes[forged];
}

/* ---- Changes by hand -------------------------------------------------------------------------------------------- */

struct table {
    const char *name, *columns, *key;
};
static const struct table tables[] = {
    {"logs", "id, topic, epoch, first, last, bytes, sum", "id"},
    {"log_count", "id, count, sum", "id"},
    {"records", "id, time, tag, body, sum", "id"},
    {"cursors", "name, topic, epoch, last, sum", "name, topic"},
    {"jobs", "id, queue, dead, due, lease, attempts, time, tag, sum", "id"},
    {"job_bodies", "id, body, sum", "id"},
    {"job_keys", "queue, name, job, until, sum", "queue, name"},
    {"job_count", "id, last, sum", "id"},
    {"job_workers", "id, lease, node, actor, sum", "id"},
    {"job_reminders", "queue, name, job, planned, period, sum", "queue, name"},
    {"states", "key, id, opening, owner, first, last, bytes, size, sum", "key"},
    {"state_count", "id, count, last, sum", "id"},
    {"state_snapshots", "state, number, time, tag, version, body, sum", "state"},
    {"state_events", "state, number, time, tag, version, body, sum", "state, number"},
};

/* What a hostile file may have besides. */
static const char *const schemas[] = {
    "DROP INDEX jobs_due",
    "DROP TABLE records",
    "DROP TABLE jobs",
    "DROP TABLE states",
    "ALTER TABLE records ADD COLUMN more",
    "ALTER TABLE records RENAME COLUMN body TO flesh",
    "DROP TABLE cursors; CREATE VIEW cursors AS SELECT 'c' name, 'a' topic, 1 epoch, 1 last, 0 sum",
    "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM logs; END",
    "CREATE TRIGGER t BEFORE UPDATE ON jobs BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t AFTER INSERT ON records BEGIN UPDATE logs SET last = last + 1; END",
    "PRAGMA user_version = 1",
    "PRAGMA user_version = 6",
    "PRAGMA user_version = -1",
    "PRAGMA application_id = 0",
    "PRAGMA journal_mode = DELETE",
    "CREATE TABLE more(x); INSERT INTO more SELECT zeroblob(9000) FROM records",
    "DROP TABLE logs; CREATE TABLE logs(id, topic, epoch, first, last, bytes, sum)",
    "VACUUM",
    "DROP TABLE state_events; CREATE TABLE state_events(state, number, time, tag, version, body, sum)",
    "UPDATE records SET body = CAST(body AS TEXT)",
};

static struct {
    sqlite3 *db;
    bool sums_are_known; /* the input may have found a right one */
    bool changed;        /* a value of a row */
    bool others;         /* anything else */
} hand;

static void hand_begin(void)
{
    if (hand.db != NULL) return;
    int rc = sqlite3_open_v2("s.db", &hand.db, SQLITE_OPEN_READWRITE, "faulty");
    if (rc == SQLITE_OK)
        (void)sqlite3_exec(hand.db, "PRAGMA synchronous=OFF; PRAGMA writable_schema=ON", NULL, NULL, NULL);
}

static void hand_end(void)
{
    if (hand.db != NULL) MUST(sqlite3_close(hand.db) == SQLITE_OK);
    hand.db = NULL;
}

static void column_of(const struct table *t, unsigned which, char out[16])
{
    unsigned count = 1;
    for (const char *at = t->columns; *at != '\0'; at++) count += *at == ',';
    const char *at = t->columns;
    for (which %= count; which > 0; which--) at = strchr(at, ',') + 2;
    snprintf(out, 16, "%.*s", (int)strcspn(at, ","), at);
}

static void bind_value(sqlite3_stmt *row, struct input *in)
{
    static const int64_t numbers[] = {
        0, 1, -1, INT64_MAX, INT64_MIN, UINT32_MAX, (INT64_C(1) << 40) - 1, INT64_C(1) << 40};
    unsigned type = input_byte(in) % 6;
    size_t size = type == 4 || type == 5 ? input_byte(in) : type == 1 ? 8 : 0;
    uint8_t *bytes = input_copy(in, &size);
    int64_t number = 0;
    for (size_t i = 0; i < size && type == 1; i++) number = (int64_t)((uint64_t)number << 8 | bytes[i]);
    if (type == 2) number = (int8_t)input_byte(in);
    if (type == 3) number = CHOOSE(numbers, input_byte(in));
    if (type == 0) sqlite3_bind_null(row, 1);
    else if (type <= 3) sqlite3_bind_int64(row, 1, number);
    else if (type == 4) sqlite3_bind_text(row, 1, (const char *)bytes, (int)size, SQLITE_TRANSIENT);
    else sqlite3_bind_blob(row, 1, bytes, (int)size, SQLITE_TRANSIENT);
    free(bytes);
}

/* Runs a statement with a value of the input. Returns how many rows it has changed. */
static int run_by_hand(struct input *in, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int changes = 0;
    hand_begin();
    if (sqlite3_prepare_v2(hand.db, sql, -1, &row, NULL) == SQLITE_OK) {
        if (in != NULL) bind_value(row, in);
        if (sqlite3_step(row) == SQLITE_DONE) changes = sqlite3_changes(hand.db);
    } else if (in != NULL) {
        (void)input_byte(in);
    }
    sqlite3_finalize(row);
    return changes;
}

static void set_cell(struct input *in)
{
    char sql[512], column[16];
    const struct table *t = &CHOOSE(tables, input_byte(in));
    column_of(t, input_byte(in), column);
    unsigned row = input_byte(in) % 8;
    snprintf(sql, sizeof sql,
             "UPDATE OR IGNORE %s SET %s = ?1 WHERE (%s) = (SELECT %s FROM %s LIMIT 1 OFFSET %u) AND %s IS NOT ?1",
             t->name, column, t->key, t->key, t->name, row, column);
    if (run_by_hand(in, sql) > 0) hand.changed = true;
    hand.sums_are_known |= strcmp(column, "sum") == 0;
}

static void delete_row(struct input *in)
{
    char sql[256];
    const struct table *t = &CHOOSE(tables, input_byte(in));
    snprintf(sql, sizeof sql, "DELETE FROM %s WHERE (%s) = (SELECT %s FROM %s LIMIT 1 OFFSET %u)", t->name, t->key,
             t->key, t->name, input_byte(in) % 8);
    if (run_by_hand(NULL, sql) > 0) hand.others = true;
}

/* A row stands in the place of another one, or has another key. */
static void copy_row(struct input *in)
{
    char sql[512];
    const struct table *t = &CHOOSE(tables, input_byte(in));
    const char *others = strchr(t->columns, ',');
    snprintf(sql, sizeof sql, "INSERT OR REPLACE INTO %s(%s) SELECT ?1%s FROM %s LIMIT 1 OFFSET %u", t->name,
             t->columns, others, t->name, input_byte(in) % 8);
    if (run_by_hand(in, sql) > 0) hand.others = true;
}

static void change_bytes(struct input *in)
{
    static uint8_t bytes[FILE_MAX];
    hand_end();
    size_t size, at = (size_t)input_byte(in) << 16 | input_size(in);
    const uint8_t *is = faulty_bytes("s.db", &size);
    if (is == NULL || size == 0 || size > FILE_MAX) return;
    memcpy(bytes, is, size);
    unsigned count = input_byte(in);
    if (count == 255) size = at % size;
    for (unsigned i = 0; i < count && count < 255 && at + i < size; i++) bytes[at + i] = (uint8_t)input_byte(in);
    write_file(bytes, size);
    hand.others = hand.sums_are_known = true;
}

/* ---- Uses of the store ------------------------------------------------------------------------------------------ */

static bool see_record(void *arg, const struct wf_store_record *r)
{
    char body[64];
    MUST(r->size <= WF_STORE_RECORD_MAX && (r->data != NULL || r->size == 0));
    uint8_t sum = 0;
    for (size_t i = 0; i < r->size; i++) sum ^= ((const uint8_t *)r->data)[i];
    (void)sum;
    if (hand.sums_are_known || forged) return true;
    const size_t size = body_of(arg, r->offset, body);
    MUST(r->tag == 7 && r->time == NOW && r->size == size && memcmp(r->data, body, size) == 0);
    return true;
}

static bool see_log(void *arg, const struct wf_store_log *log)
{
    (void)arg;
    MUST(strlen(log->topic) <= WF_STORE_TOPIC_MAX && log->first >= 1 && log->first <= log->last + 1);
    return true;
}

static bool see_cursor(void *arg, const char *name, const char *topic, struct wf_store_cursor at)
{
    (void)arg, (void)at;
    MUST(strlen(name) <= WF_STORE_TOPIC_MAX && strlen(topic) <= WF_STORE_TOPIC_MAX);
    return true;
}

static bool see_lease(void *arg, const struct wf_store_lease *l)
{
    (void)arg;
    MUST(strlen(l->queue) <= WF_STORE_TOPIC_MAX);
    return true;
}

static bool see_queue(void *arg, const struct wf_store_queue *q)
{
    (void)arg;
    MUST(strlen(q->name) <= WF_STORE_TOPIC_MAX);
    return true;
}

static bool see_job(void *arg, const struct wf_store_job *job, const void *body)
{
    char own[64];
    MUST(job->size <= WF_STORE_BODY_MAX && (body != NULL || job->size == 0));
    if (hand.sums_are_known || forged || wf_shared_is(arg)) return true;
    MUST(job->size == body_of(arg, 0, own) && memcmp(body, own, job->size) == 0);
    return true;
}

static bool see_reminder(void *arg, const struct wf_store_reminder *r)
{
    (void)arg;
    MUST(strlen(r->key) <= WF_STORE_KEY_MAX && strlen(r->queue) <= WF_STORE_TOPIC_MAX && r->period >= 0);
    return true;
}

static bool see_state(void *arg, const struct wf_store_state *state)
{
    (void)arg;
    MUST(strlen(state->key) <= WF_STORE_TOPIC_MAX);
    return true;
}

static bool see_item(void *arg, const struct wf_store_item *item)
{
    char body[64];
    MUST(item->size <= WF_STORE_RECORD_MAX && (item->data != NULL || item->size == 0));
    if (hand.sums_are_known || forged) return true;
    const size_t size = body_of(arg, item->number, body);
    MUST(item->tag == 9 && item->version == 1 && item->size == size && memcmp(item->data, body, size) == 0);
    return true;
}

static void see_fault(void *arg, const char *topic, uint64_t offset, const char *text)
{
    (void)offset;
    MUST(text != NULL && text[0] != '\0' && (topic == NULL || strlen(topic) <= WF_STORE_TOPIC_MAX));
    ++*(int *)arg;
}

static void read_log(const char *topic, uint64_t from)
{
    struct wf_store_log log = {.first = 0};
    known(engine->read(store, topic, from, 1 + from % 5, 1000, see_record, (void *)(uintptr_t)topic, &log));
}

static void list_all(void)
{
    known(engine->list(store, NULL, see_log, NULL));
    known(engine->cursors(store, "", "", see_cursor, NULL));
    known(engine->leases(store, NOW, see_lease, NULL));
    known(engine->queues(store, "", NOW + 1, see_queue, NULL));
    known(engine->reminders(store, "", "", see_reminder, NULL));
    known(engine->states(store, NULL, see_state, NULL));
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        for (int dead = 0; dead < 2; dead++)
            known(engine->jobs(store, queues[i], dead != 0, see_job, (void *)(uintptr_t)queues[i]));
    for (size_t i = 0; i < 3; i++) read_log(topics[i], 1);
    for (size_t i = 0; i < 2; i++)
        known(engine->read_state(store, states[i], look_at_state(states[i]).owner, 0, 10, 1000, see_item,
                                 (void *)(uintptr_t)states[i]));
}

static int check(void)
{
    int said = 0, faults = known(engine->check(store, see_fault, &said));
    MUST(faults < 0 || faults == said);
    return faults;
}

/* The log's own end, so that what is appended has the bytes of its offset. */
static void append_next(const char *topic, uint64_t keep)
{
    struct wf_store_log log = {.last = 0};
    (void)engine->find(store, topic, &log);
    append(topic, log.last + 1, keep);
}

static void advance(struct input *in)
{
    struct wf_store_log log = {.epoch = 1};
    struct wf_store_advance x = {.name = input_byte(in) % 2 == 0 ? "c" : "new",
                                 .topic = CHOOSE(topics, input_byte(in))};
    (void)engine->find(store, x.topic, &log);
    x.to.offset = input_byte(in);
    x.to.epoch = x.to.offset == 0 ? 0 : log.epoch;
    if (known(engine->advance(store, &x, 1)) == WEFT_OK) known(x.error);
}

static void change(struct input *in)
{
    struct wf_store_change x = {.kind = (enum wf_store_change_kind)(input_byte(in) % (WF_JOB_DROP + 1)), .now = NOW};
    unsigned id = input_byte(in);
    x.queue = CHOOSE(queues, input_byte(in));
    x.topic = CHOOSE(topics, id);
    x.id = id == 255 ? taken_id : id;
    x.lease = taken_lease;
    x.now = id % 3 == 2 ? 3 * NOW : NOW;
    x.delay = id % 5;
    x.attempts = id % 4;
    x.ahead = 10;
    x.most = 4;
    x.key = id % 2 == 0 ? CHOOSE(keys, id / 2) : NULL;
    x.key_age = NOW;
    x.at = NOW + id;
    x.period = id % 7;
    x.node = x.actor = id % 2;
    (void)change_one(x);
}

static void change_any_state(struct input *in)
{
    const char *key = CHOOSE(states, input_byte(in));
    unsigned kind = input_byte(in), number = input_byte(in);
    const struct wf_store_state is = look_at_state(key);
    if (number > 200) number = (unsigned)is.last + (kind % 4 == WF_STATE_APPEND);
    change_state((enum wf_store_state_kind)(kind % 4), key, is.owner, number);
}

static void use_store(struct input *in)
{
    switch (input_byte(in) % 9) {
    case 0: (void)check(); break;
    case 1: {
        const char *topic = CHOOSE(topics, input_byte(in));
        read_log(topic, input_byte(in));
        break;
    }
    case 2: {
        const char *topic = CHOOSE(topics, input_byte(in));
        append_next(topic, input_byte(in) % 16);
        break;
    }
    case 3: advance(in); break;
    case 4: {
        const struct wf_store_limits limits = {
            .count = input_byte(in) % 4, .bytes = input_byte(in), .age = input_byte(in)};
        known(engine->trim(store, CHOOSE(topics, input_byte(in)), &limits, NOW + 100));
        break;
    }
    case 5: change(in); break;
    case 6: change_any_state(in); break;
    case 7: list_all(); break;
    case 8:
        close_it();
        (void)open_it(input_byte(in) % 4 == 3);
        break;
    }
}

/* ---- Inputs ---------------------------------------------------------------------------------------------------- */

static void change_by_hand(struct input *in, unsigned how)
{
    if (how < 16) {
        set_cell(in);
    } else if (how < 20) {
        delete_row(in);
    } else if (how < 26) {
        copy_row(in);
    } else if (how < 28) {
        hand_begin();
        (void)sqlite3_exec(hand.db, CHOOSE(schemas, input_byte(in)), NULL, NULL, NULL);
        hand.others = true;
    } else {
        change_bytes(in);
    }
}

static void use_file(struct input *in)
{
    int rc = open_it(false);
    const bool is_told = hand.changed && !hand.others && !hand.sums_are_known && !forged;
    if (rc == WEFT_OK && is_told) MUST(check() != 0);
    for (int i = 0; i < STEPS_MAX && input_left(in) > 0; i++) {
        if (store == NULL && open_it(false) < 0) break;
        use_store(in);
    }
    if (store == NULL) (void)open_it(false);
    if (store != NULL) list_all();
    if (store != NULL) (void)check();
    close_it();
    if (open_it(true) == WEFT_OK) list_all();
    close_it();
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    unsigned mode = input_byte(&in);
    size_t real_size;
    forged = (mode & FORGED) != 0;
    memset(&hand, 0, sizeof hand);
    taken_id = taken_lease = 1;
    const uint8_t *real = real_file(&real_size);
    faulty_begin(1);
    if (mode & BYTES) {
        write_file(in.at, input_left(&in));
        hand.others = hand.sums_are_known = true;
        in.at = in.end;
    } else {
        write_file(real, real_size);
        for (unsigned how; input_left(&in) > 0 && (how = input_byte(&in)) < 32;) change_by_hand(&in, how);
    }
    hand_end();
    use_file(&in);
    faulty_end();
    forged = false;
    return 0;
}
