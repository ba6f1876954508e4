/* tests/unit/transport/store/sqlite_programs_test.c -- the programs of programs.h on the disk of faulty_vfs.h. After a flipped
 * bit a record is served as it was written, or not at all. */
#include "faulty_vfs.h"
#include "programs.h"
#include "sqlite.h"

static void trouble(void)
{
    switch (faulty_random(3)) {
    case 0: faulty_cut_power(faulty_random(30)); break;
    case 1: faulty_fail_sync(faulty_random(8)); break;
    default: faulty_space(faulty_random(2) == 0 ? SIZE_MAX : (size_t)faulty_random(60000)); break;
    }
}

static void crash_disk(void)
{
    faulty_cut_power(0);
    engine->close(m.store);
    m.store = NULL;
    faulty_power_on();
    faulty_space(SIZE_MAX);
}

/* A bit of the file at rest: served is what was written, or an error. */
/* Limits pass a damaged record; pages that SQLite cannot read stop them. */
static void trim_flipped(int t)
{
    struct wf_store_log log;
    const uint64_t last = m.log[t].last;
    int rc = engine->trim(m.store, topic_of[t], &(struct wf_store_limits){.count = 1}, 0);
    if (last == 0 || rc == WEFT_EFORMAT) return;
    MUST(rc == WEFT_OK, "a trim after a flip: %d", rc);
    rc = engine->find(m.store, topic_of[t], &log);
    MUST(rc == WEFT_OK && log.first == last && log.last == last, "a trim after a flip has not removed all but one");
    read_from(t, last, true);
}

static void flip(void)
{
    struct wf_store_why why;
    engine->close(m.store);
    m.store = NULL;
    if (!faulty_flip_bit("s.db")) return;
    int rc = engine->open(&m.store, "s.db", &(struct wf_store_opening){.vfs = "faulty"}, &why);
    MUST(rc == 0 || why.text[0] != '\0', "no reason is given for %d", rc);
    if (rc < 0) return;
    for (int t = 0; t < TOPICS; t++) {
        struct wf_store_log log;
        rc = engine->find(m.store, topic_of[t], &log);
        MUST(rc == (m.log[t].last == 0 ? WEFT_ENOTFOUND : WEFT_OK), "after a flip: %d", rc);
        MUST(rc < 0 || (log.first == m.log[t].first && log.last == m.log[t].last), "after a flip: other offsets");
        for (uint64_t o = m.log[t].first; o <= m.log[t].last; o++) read_from(t, o, true);
    }
    take_all();
    read_flipped_states();
    for (int t = 0; t < TOPICS; t++) trim_flipped(t);
}

static void end(void)
{
    flip();
    engine->close(m.store);
    m.store = NULL;
    faulty_end();
}

int main(void)
{
    engine = &wf_store_sqlite;
    program.where = "s.db";
    program.vfs = "faulty";
    program.random = faulty_random;
    program.begin = faulty_begin;
    program.end = end;
    program.trouble = trouble;
    program.is_lost = faulty_is_off;
    program.crash = crash_disk;
    program.seconds = 4;
    return run_suite(program_suite("programs of the store"));
}
