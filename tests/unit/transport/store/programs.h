/* tests/unit/transport/store/programs.h -- random programs of appends, reads, trims, changes of queues and crashes, each
 * from a seed, compared with a model in memory. A program that includes it sets `program` for its engine.
 *
 * After each crash every acknowledged record is there, in order, without a hole. Behind these may be records whose
 * append was not acknowledged, in the order in which they were appended together, and nothing else. No cursor goes
 * back behind what was acknowledged. The queues have exactly the jobs that the acknowledged changes make, in the states
 * that these make: no job that was put is lost, and none that is done comes again. The states of actors have exactly the
 * acknowledged events, in order, and refuse what an earlier owner writes.
 *
 * STORE_SEEDS=N runs N seeds, STORE_SEED=N that seed alone. */
#ifndef WF_STORE_PROGRAMS_H
#define WF_STORE_PROGRAMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/time.h>

#include "engine.h"
#include "suite.h"

enum { TOPICS = 3, CURSORS = 2, RECORDS_MAX = 1024, BATCH = 6, STEPS = 120 };

static const char *const topic_of[TOPICS] = {"a", "room.tea", "x.y.z"};
static const char *const cursor_of[CURSORS] = {"c", "d"};

/* A record is known by its number; its bytes follow from it. */
struct model_log {
    uint64_t epoch, first, last;
    uint32_t number[RECORDS_MAX]; /* by offset */
};

/* What an append or a trim would make of a log. */
struct doubt {
    uint64_t first, last, begin; /* the new records are begin ... last */
    uint32_t number[BATCH];
};

static struct {
    uint64_t seed;
    uint32_t numbers;
    struct wf_store *store;
    struct model_log log[TOPICS];
    /* The store is opened again after each commit that failed, so at most one is in doubt. */
    struct doubt doubt[TOPICS];
    uint64_t cursor[CURSORS], cursor_doubt[CURSORS];
} m;

#define MUST(condition, ...)                                                                  \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "STORE_SEED=%llu: %s: ", (unsigned long long)m.seed, #condition); \
            fprintf(stderr, __VA_ARGS__);                                                     \
            fputc('\n', stderr);                                                              \
            abort();                                                                          \
        }                                                                                     \
    } while (0)

static const struct wf_store_engine *engine;

static struct {
    const char *where, *vfs;
    uint64_t (*random)(uint64_t below); /* the next number of the seed, from 0 to below - 1 */
    void (*begin)(uint64_t seed), (*end)(void);
    void (*trouble)(void); /* a later call may fail */
    bool (*is_lost)(void); /* whether all calls fail from now on */
    /* After a call that failed, or at any time: the store ends as in a crash, and is closed, or it goes on by itself. */
    void (*crash)(void);
    int64_t seconds; /* that the programs take */
} program;

static uint64_t program_random(uint64_t below)
{
    return program.random(below);
}

static int open_program(struct wf_store_why *why)
{
    return engine->open(&m.store, program.where, &(struct wf_store_opening){.vfs = program.vfs}, why);
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static size_t body_of(uint32_t number, uint8_t *out)
{
    uint32_t x = number * UINT32_C(2654435761) + 1;
    size_t size = number % 7 == 0 ? 3000 + x % 9000 : x % 200;
    if (size < sizeof number) size = sizeof number;
    memcpy(out, &number, sizeof number);
    for (size_t i = sizeof number; i < size; i++) out[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
    return size;
}

enum { BODY_MAX = 12000 };

struct reading {
    int topic;
    uint64_t next;
};

static bool compare(void *arg, const struct wf_store_record *r)
{
    struct reading *in = arg;
    static uint8_t body[BODY_MAX];
    const struct model_log *log = &m.log[in->topic];
    MUST(r->offset == in->next && r->offset <= log->last, "%s: offset %llu, not %llu of %llu", topic_of[in->topic],
         (unsigned long long)r->offset, (unsigned long long)in->next, (unsigned long long)log->last);
    uint32_t number = log->number[r->offset];
    size_t size = body_of(number, body);
    MUST(r->size == size && memcmp(r->data, body, size) == 0 && r->tag == number && r->time == (int64_t)number,
         "%s: record %llu is not what was written", topic_of[in->topic], (unsigned long long)r->offset);
    in->next++;
    return true;
}

/* `may_stop`: a bit was flipped. */
static void read_from(int topic, uint64_t from, bool may_stop)
{
    const struct model_log *log = &m.log[topic];
    struct reading in = {topic, from < log->first ? log->first : from};
    while (in.next <= log->last) {
        int rc = engine->read(m.store, topic_of[topic], in.next, 1 + (size_t)program_random(20), 30000, compare, &in,
                              NULL);
        if (may_stop && rc == WEFT_EFORMAT) return;
        MUST(rc > 0, "%s: reading from %llu: %d", topic_of[topic], (unsigned long long)in.next, rc);
    }
}

/* ---- Appending ------------------------------------------------------------------------------------------------- */

static void note(struct doubt *d, uint32_t number, uint64_t keep)
{
    d->number[d->last + 1 - d->begin] = number;
    d->last++;
    if (keep > 0 && d->last - d->first + 1 > keep) d->first = d->last - keep + 1;
}

static void no_doubt(void)
{
    for (int t = 0; t < TOPICS; t++)
        m.doubt[t] = (struct doubt){.first = m.log[t].first, .last = m.log[t].last, .begin = m.log[t].last + 1};
}

static void acknowledge(void)
{
    for (int t = 0; t < TOPICS; t++) {
        const struct doubt *d = &m.doubt[t];
        struct model_log *log = &m.log[t];
        MUST(d->last < RECORDS_MAX, "too many records");
        for (uint64_t o = d->begin; o <= d->last; o++) log->number[o] = d->number[o - d->begin];
        log->first = d->first;
        log->last = d->last;
    }
    no_doubt();
}

/* Returns true if the program goes on: the commit is on disk, or surely not. */
static bool is_decided(int rc)
{
    if (rc == WEFT_OK) acknowledge();
    if (rc == WEFT_ENOSPC) no_doubt();
    return rc == WEFT_OK || rc == WEFT_ENOSPC;
}

static bool append_some(void)
{
    static uint8_t body[BATCH][BODY_MAX];
    struct wf_store_append batch[BATCH];
    struct wf_store_limits limits = {.count = program_random(3) == 0 ? 1 + program_random(10) : 0};
    size_t count = 1 + (size_t)program_random(BATCH);
    int topic_at[BATCH];
    for (size_t i = 0; i < count; i++) {
        uint32_t number = ++m.numbers;
        int t = topic_at[i] = (int)program_random(TOPICS);
        batch[i] = (struct wf_store_append){.topic = topic_of[t],
                                            .time = number,
                                            .tag = number,
                                            .data = body[i],
                                            .size = body_of(number, body[i]),
                                            .limits = &limits};
        note(&m.doubt[t], number, limits.count);
    }
    int rc = engine->append(m.store, batch, count);
    for (size_t i = 0; i < count && rc == WEFT_OK; i++) {
        struct model_log *log = &m.log[topic_at[i]];
        MUST(batch[i].error == 0, "record %zu: %d", i, batch[i].error);
        MUST(log->epoch == 0 || log->epoch == batch[i].epoch, "another epoch");
        log->epoch = batch[i].epoch;
    }
    return is_decided(rc);
}

static bool trim_one(void)
{
    int t = (int)program_random(TOPICS);
    struct wf_store_limits limits = {.count = 1 + program_random(8)};
    struct doubt *d = &m.doubt[t];
    if (d->last == 0) return true;
    if (d->last - d->first + 1 > limits.count) d->first = d->last - limits.count + 1;
    return is_decided(engine->trim(m.store, topic_of[t], &limits, 0));
}

/* Some advances of the batch are to earlier offsets, which changes nothing. */
static bool advance(void)
{
    struct wf_store_advance batch[BATCH];
    size_t count = 1 + (size_t)program_random(BATCH);
    memcpy(m.cursor_doubt, m.cursor, sizeof m.cursor);
    for (size_t i = 0; i < count; i++) {
        int which = (int)program_random(CURSORS);
        uint64_t *at = &m.cursor_doubt[which], to = *at + program_random(5);
        to = to > 2 ? to - 2 : to + 1;
        batch[i] = (struct wf_store_advance){.name = cursor_of[which], .topic = "a", .to = {1, to}};
        if (to > *at) *at = to;
    }
    int rc = engine->advance(m.store, batch, count);
    for (size_t i = 0; i < count; i++) MUST(batch[i].error == rc, "advance %zu: %d", i, batch[i].error);
    if (rc == WEFT_OK) memcpy(m.cursor, m.cursor_doubt, sizeof m.cursor);
    else if (rc == WEFT_ENOSPC) memcpy(m.cursor_doubt, m.cursor, sizeof m.cursor);
    return rc == WEFT_OK || rc == WEFT_ENOSPC;
}

/* ---- Queues ---------------------------------------------------------------------------------------------------- */

#include "queue_model.h"

/* ---- States of actors ------------------------------------------------------------------------------------------ */

#include "state_model.h"

/* ---- After a crash --------------------------------------------------------------------------------------------- */

/* A commit in doubt is there as a whole, or not at all. */
static void decide(const char *when)
{
    struct wf_store_log found[TOPICS];
    bool is_old = true, is_new = true;
    for (int t = 0; t < TOPICS; t++) {
        const struct model_log *log = &m.log[t];
        int rc = engine->find(m.store, topic_of[t], &found[t]);
        if (rc == WEFT_ENOTFOUND) found[t] = (struct wf_store_log){.first = 1};
        else MUST(rc == 0, "%s: find: %d", when, rc);
        is_old = is_old && found[t].last == log->last && found[t].first == log->first;
        is_new = is_new && found[t].last == m.doubt[t].last && found[t].first == m.doubt[t].first;
        MUST(log->epoch == 0 || log->epoch == found[t].epoch, "%s: another epoch", when);
        m.log[t].epoch = found[t].epoch;
    }
    for (int t = 0; t < TOPICS && !is_old; t++)
        MUST(is_new, "%s: %s has %llu-%llu, acknowledged: %llu-%llu, in doubt: %llu-%llu", when, topic_of[t],
             (unsigned long long)found[t].first, (unsigned long long)found[t].last,
             (unsigned long long)m.log[t].first, (unsigned long long)m.log[t].last,
             (unsigned long long)m.doubt[t].first, (unsigned long long)m.doubt[t].last);
    if (is_old) no_doubt();
    else acknowledge();
}

/* A batch in doubt is there as a whole, or not at all. */
static void decide_cursors(const char *when)
{
    uint64_t found[CURSORS];
    for (int i = 0; i < CURSORS; i++) {
        struct wf_store_cursor at;
        int rc = engine->cursor(m.store, cursor_of[i], "a", &at);
        MUST(rc == 0, "%s: cursor: %d", when, rc);
        found[i] = at.offset;
    }
    bool is_old = memcmp(found, m.cursor, sizeof found) == 0;
    MUST(is_old || memcmp(found, m.cursor_doubt, sizeof found) == 0,
         "%s: the cursors are at %llu and %llu, not %llu and %llu", when, (unsigned long long)found[0],
         (unsigned long long)found[1], (unsigned long long)m.cursor[0], (unsigned long long)m.cursor[1]);
    memcpy(m.cursor, found, sizeof found);
    memcpy(m.cursor_doubt, found, sizeof found);
}

/* A store that goes on shows with its next change that it does: it changes nothing. */
static void go_on(const char *when)
{
    int rc = WEFT_ESYSTEM;
    for (int i = 0; i < 5 && rc == WEFT_ESYSTEM; i++) {
        struct wf_store_advance none = {.name = "none", .topic = "a"};
        rc = engine->advance(m.store, &none, 1);
    }
    MUST(rc == 0, "%s: it does not go on: %d", when, rc);
}

static void open_again(const char *when)
{
    struct wf_store_why why = {.text = ""};
    if (m.store != NULL) go_on(when);
    else MUST(open_program(&why) == 0, "%s: %s", when, why.text);
    decide(when);
    decide_cursors(when);
    decide_queues(when);
    decide_states(when);
    for (int t = 0; t < TOPICS; t++) read_from(t, 1, false);
}

static void crash(void)
{
    program.crash();
    open_again("after a crash");
}

/* ---- Programs -------------------------------------------------------------------------------------------------- */

static void step(void)
{
    bool goes_on = true;
    switch (program_random(24)) {
    case 0: crash(); return;
    case 1:
    case 2:
    case 3: program.trouble(); break;
    case 4: read_from((int)program_random(TOPICS), program_random(50), false); break;
    case 5: goes_on = trim_one(); break;
    case 6:
    case 7: goes_on = advance(); break;
    case 8:
    case 9:
    case 10:
    case 11: goes_on = append_some(); break;
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17: goes_on = change_some_states(); break;
    default: goes_on = change_some(); break;
    }
    if (!goes_on || program.is_lost()) crash();
}

static void run_program(uint64_t seed)
{
    struct wf_store_why why = {.text = ""};
    program.begin(seed);
    memset(&m, 0, sizeof m);
    memset(&queues.is, 0, sizeof queues.is);
    queues.doubt = queues.is;
    queues.now = 1;
    memset(states.is, 0, sizeof states.is);
    memset(states.doubt, 0, sizeof states.doubt);
    memset(states.old_owner, 0, sizeof states.old_owner);
    m.seed = seed;
    for (int t = 0; t < TOPICS; t++) m.log[t].first = 1;
    no_doubt();
    MUST(open_program(&why) == 0, "%s", why.text);
    for (int i = 0; i < STEPS; i++) step();
    crash();
    program.end();
    engine->close(m.store);
    m.store = NULL;
}

START_TEST(no_acknowledged_change_is_lost)
{
    const char *one = getenv("STORE_SEED"), *many = getenv("STORE_SEEDS");
    if (one != NULL) {
        run_program(strtoull(one, NULL, 10));
        return;
    }
    uint64_t seeds = many != NULL ? strtoull(many, NULL, 10) : UINT64_MAX;
    int64_t end = weft_after(WEFT_SEC(program.seconds));
    uint64_t seed = 0;
    while (seed < seeds && (many != NULL || weft_now() < end)) run_program(++seed);
    printf("%llu seeds; %zu jobs given, %zu done, %zu died\n", (unsigned long long)seed, queues.given, queues.done,
           queues.died);
    printf("%zu reminders set, %zu repeated; %zu times counted\n", queues.set, queues.repeated, queues.counted);
    printf("%zu events appended, %zu writes refused, %zu openings of states\n", states.appended, states.refused,
           states.opened);
    ck_assert(seed < 20 || (queues.given > 0 && queues.done > 0 && queues.died > 0));
    ck_assert(seed < 20 || (queues.set > 0 && queues.repeated > 0 && queues.counted > 0));
    ck_assert(seed < 20 || (states.appended > 0 && states.refused > 0 && states.opened > 0));
}
END_TEST

static Suite *program_suite(const char *name)
{
    Suite *suite = suite_create(name);
    TCase *c = tcase_create("programs");
    suite_add_tcase(suite, c);
    tcase_set_timeout(c, 7200);
    tcase_add_test(c, no_acknowledged_change_is_lost);
    return suite;
}

#endif
