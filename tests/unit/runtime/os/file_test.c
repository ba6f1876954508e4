/* tests/unit/runtime/os/file_test.c -- files as actors use them: positions of reads and writes, operations done at
 * once, many in parallel. */
#include "file_gate.h"

#include "../../../capture.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

/* ---- What calls do --------------------------------------------------------------------------------------------- */

static void use_positions(void *arg)
{
    (void)arg;
    char text[32] = "";
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "world", 5, 6, WEFT_FOREVER), 5);
    want_int(weft_file_write(f, "hello ", 6, 0, WEFT_FOREVER), 6);
    want_int(weft_file_read(f, text, 5, 6, WEFT_FOREVER), 5);
    want(memcmp(text, "world", 5) == 0);
    want_int(weft_file_read(f, text, 11, 0, WEFT_FOREVER), 11);
    want(memcmp(text, "hello world", 11) == 0);
    want_int(weft_file_size(f, WEFT_FOREVER), 11);
    want_int(weft_file_sync(f, WEFT_FOREVER), 0);
    want_int(weft_file_truncate(f, 5, WEFT_FOREVER), 0);
    want_int(weft_file_size(f, WEFT_FOREVER), 5);
    want_int(weft_file_read(f, NULL, 0, 0, WEFT_FOREVER), 0);
    want_int(weft_file_close(f), 0);
}

START_TEST(reads_and_writes_are_positioned)
{
    run_alone(use_positions, NULL);
    run_slowly(use_positions, NULL);
}
END_TEST

static void read_to_the_end(void *arg)
{
    (void)arg;
    char text[8];
    weft_file f = open_file(file_path(0), BOTH | WEFT_FILE_TRUNCATE);
    want_int(weft_file_read(f, text, sizeof text, 0, WEFT_FOREVER), 0);
    want_int(weft_file_write(f, "abcde", 5, 0, WEFT_FOREVER), 5);
    int64_t at = 0, n;
    int reads = 0;
    while ((n = weft_file_read(f, text, 2, at, WEFT_FOREVER)) > 0) at += n, reads++;
    want_int(n, 0);
    want_int(at, 5);
    want_int(reads, 3);
    want_int(weft_file_read(f, text, sizeof text, 0, WEFT_FOREVER), 5); /* fewer than asked for, only at the end */
    want_int(weft_file_read(f, text, sizeof text, 1000, WEFT_FOREVER), 0);
    want_int(weft_file_read(f, text, sizeof text, INT64_MAX - 1, WEFT_FOREVER),
             0); /* it would go beyond all offsets */
    want_int(weft_file_read(f, text, sizeof text, INT64_MAX, WEFT_FOREVER), 0);
    weft_file_op op;
    want_int(weft_file_read_start(&op, f, sizeof text, INT64_MAX - 1, WEFT_FOREVER), 0);
    want_int(weft_file_take(op, text, sizeof text, WEFT_FOREVER), 0);
    want_int(weft_file_write(f, text, 2, INT64_MAX - 1, WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_file_write_start(&op, f, text, 2, INT64_MAX - 1, WEFT_FOREVER), WEFT_ETOOBIG);
    want_int(weft_file_size(f, WEFT_FOREVER), 5);
    want_int(weft_file_close(f), 0);
}

START_TEST(the_end_of_a_file_is_a_plain_0)
{
    run_alone(read_to_the_end, NULL);
    run_slowly(read_to_the_end, NULL);
}
END_TEST

#ifdef __linux__
/* The memory of this process is a file in which a part can be read and the next part cannot: a mapping that is longer
 * than the file behind it. */
static void read_what_breaks(void *arg)
{
    (void)arg;
    char log[4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 2 * page;
    char *in = malloc(size);
    int fd = open(file_path(1), O_RDWR | O_CREAT, 0600);
    want(in != NULL && fd >= 0 && ftruncate(fd, (off_t)page) == 0);
    void *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    want(at != MAP_FAILED);
    weft_file f = open_file("/proc/self/mem", WEFT_FILE_READ);
    weft_file_op op;
    want_int(weft_file_read(f, in, page, (intptr_t)at, WEFT_FOREVER), (int64_t)page);
    capture_state c = capture_start();
    int64_t at_once = weft_file_read(f, in, size, (intptr_t)at, WEFT_FOREVER);
    int rc = weft_file_read_start(&op, f, size, (intptr_t)at, WEFT_FOREVER);
    int64_t taken = rc < 0 ? rc : weft_file_take(op, in, size, WEFT_FOREVER);
    (void)capture_end(&c, log, sizeof log);
    want_int(at_once, WEFT_ESYSTEM);
    want_int(taken, WEFT_ESYSTEM);
    want(strstr(log, "pf_file_read failed: ") != NULL && strstr(log, " (system error 5)") != NULL); /* EIO */
    want_int(weft_file_close(f), 0);
    want(munmap(at, size) == 0 && close(fd) == 0);
    free(in);
}

START_TEST(an_error_after_a_part_is_returned_and_not_a_short_count)
{
    run_alone(read_what_breaks, NULL);
    run_slowly(read_what_breaks, NULL);
}
END_TEST
#endif

static int submit_nothing(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    op->result = 0;
    return WEFT_OK;
}

static void write_nothing(void *arg)
{
    (void)arg;
    char log[4096];
    weft_file f = open_file(file_path(0), BOTH);
    weft_file_op op;
    capture_state c = capture_start();
    int64_t at_once = weft_file_write(f, "abc", 3, 0, WEFT_FOREVER);
    int rc = weft_file_write_start(&op, f, "abc", 3, 0, WEFT_FOREVER);
    int64_t taken = rc < 0 ? rc : weft_file_take(op, NULL, 0, WEFT_FOREVER);
    (void)capture_end(&c, log, sizeof log);
    want_int(at_once, WEFT_ESYSTEM);
    want_int(taken, WEFT_ESYSTEM);
    want(strstr(log, "a write to a file failed: the system took none of 3 bytes, and gave no error") != NULL);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_write_that_takes_nothing_is_an_error)
{
    slow_env.file_submit = submit_nothing;
    run_slowly(write_nothing, NULL);
}
END_TEST

/* Larger than what one operation copies. */
static void move_much(void *arg)
{
    (void)arg;
    enum { MUCH = 3 * 1024 * 1024 + 5 };
    char *out = malloc(MUCH), *in = calloc(1, MUCH);
    want(out != NULL && in != NULL);
    for (int i = 0; i < MUCH; i++) out[i] = (char)(i * 7 + i / 4096);
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, out, MUCH, 3, WEFT_FOREVER), MUCH);
    want_int(weft_file_read(f, in, MUCH, 3, WEFT_FOREVER), MUCH);
    want(memcmp(in, out, MUCH) == 0);
    want_int(weft_file_read(f, in, MUCH, 0, WEFT_FOREVER), MUCH);
    want(memcmp(in, "\0\0", 3) == 0 && memcmp(in + 3, out, MUCH - 3) == 0);
    want_int(weft_file_close(f), 0);
    free(out);
    free(in);
}

START_TEST(large_reads_and_writes_go_in_pieces)
{
    run_alone(move_much, NULL);
    run_slowly(move_much, NULL);
}
END_TEST

static void append(void *arg)
{
    (void)arg;
    char text[8];
    weft_file one = open_file(file_path(0), BOTH | WEFT_FILE_APPEND),
              other = open_file(file_path(0), BOTH | WEFT_FILE_APPEND);
    want_int(weft_file_write(one, "ab", 2, WEFT_FILE_END, WEFT_FOREVER), 2);
    want_int(weft_file_write(other, "cd", 2, WEFT_FILE_END, WEFT_FOREVER), 2);
    want_int(weft_file_write(one, "ef", 2, WEFT_FILE_END, WEFT_FOREVER), 2);
    want_int(weft_file_write(one, "x", 1, 0, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_read(one, text, sizeof text, 0, WEFT_FOREVER), 6);
    want(memcmp(text, "abcdef", 6) == 0);
    want_int(weft_file_close(one), 0);
    want_int(weft_file_close(other), 0);
    one = open_file(file_path(0), BOTH);
    want_int(weft_file_write(one, "x", 1, WEFT_FILE_END, WEFT_FOREVER), WEFT_EINVAL);
    want_int(weft_file_close(one), 0);
}

START_TEST(appended_bytes_go_to_the_end)
{
    run_alone(append, NULL);
}
END_TEST

/* ---- At once --------------------------------------------------------------------------------------------------- */

/* Whether this file system can tell what is in memory. */
static bool can_read_at_once(weft_file f, size_t size)
{
    char *text = malloc(size);
    int64_t n = weft_file_read(f, text, size, 0, WEFT_NOW);
    free(text);
    return n == (int64_t)size;
}

static bool ran;

static void note_run(void *arg)
{
    *(bool *)arg = true;
}

static void read_what_is_in_memory(void *arg)
{
    (void)arg;
    char out[4096], in[4096];
    memset(out, 'x', sizeof out);
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, out, sizeof out, 0, WEFT_FOREVER), sizeof out);
    if (can_read_at_once(f, sizeof out)) {
        int before = gate_count(&gate.arrived);
        ran = false;
        spawn_here(note_run, &ran);
        want_int(weft_file_read(f, in, sizeof in, 0, WEFT_FOREVER), sizeof in);
        want(!ran);
        want(memcmp(in, out, sizeof in) == 0);
        want_int(weft_file_read(f, in, sizeof in, sizeof out, WEFT_FOREVER), 0); /* its end, too */
        want(!ran);
        want_int(gate_count(&gate.arrived), before);
        until(ran);
    } else {
        fprintf(stderr, "this file system does not say what is in memory: not tested\n");
    }
    want_int(weft_file_close(f), 0);
}

START_TEST(cached_bytes_are_read_without_suspending)
{
    run_alone(read_what_is_in_memory, NULL);
}
END_TEST

static void read_now(void *arg)
{
    (void)arg;
    char text[4] = "abc";
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, "123", 3, 0, WEFT_FOREVER), 3);
    want_int(weft_file_read(f, text, 3, 0, WEFT_NOW), WEFT_ETIMEDOUT);
    want(memcmp(text, "abc", 3) == 0);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_read_that_would_block_is_not_begun_with_the_deadline_now)
{
    run_slowly(read_now, NULL);
}
END_TEST

static void read_for_ever(void *arg)
{
    char text[64];
    weft_file f = *(weft_file *)arg;
    while (!ran) want_int(weft_file_read(f, text, sizeof text, 0, WEFT_FOREVER), sizeof text);
}

static void share_the_worker(void *arg)
{
    (void)arg;
    char text[64] = "";
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, text, sizeof text, 0, WEFT_FOREVER), sizeof text);
    ran = false;
    struct test_task *reader = spawn_here(read_for_ever, &f);
    spawn_here(note_run, &ran);
    until(reader->done);
    want_int(weft_file_close(f), 0);
}

START_TEST(a_reader_that_never_has_to_wait_gives_others_a_turn)
{
    run_alone(share_the_worker, NULL);
}
END_TEST

static bool done;
static int turns;

static void count_turns(void *arg)
{
    (void)arg;
    for (; !done; wf_task_yield()) turns++;
}

static void read_much(void *arg)
{
    (void)arg;
    enum { MEGABYTES = 8, MUCH = MEGABYTES * 1024 * 1024 };
    char *data = calloc(1, MUCH);
    want(data != NULL);
    weft_file f = open_file(file_path(0), BOTH);
    want_int(weft_file_write(f, data, MUCH, 0, WEFT_FOREVER), MUCH);
    bool at_once = can_read_at_once(f, MUCH);
    done = false;
    turns = 0;
    struct test_task *other = spawn_here(count_turns, NULL); /* in the inbox until the turn ends */
    want_int(weft_file_read(f, data, MUCH, 0, WEFT_FOREVER), MUCH);
    want(!at_once || turns >= MEGABYTES / 2);
    done = true;
    until(other->done);
    want_int(weft_file_close(f), 0);
    free(data);
}

START_TEST(a_large_read_from_memory_gives_others_their_turns)
{
    run_alone(read_much, NULL);
}
END_TEST

/* ---- Many ------------------------------------------------------------------------------------------------------ */

enum { MANY = 32 };

/* Which of them a wait has found. */
static int find_op(const weft_file_op *ops, weft_wait found)
{
    for (int i = 0; i < MANY; i++) {
        if (ops[i].done.id == found.id) return i;
    }
    return -1;
}

static void read_many(void *arg)
{
    (void)arg;
    weft_file files[MANY];
    weft_file_op ops[MANY];
    weft_wait waits[MANY];
    char text[16], expected[16];
    for (int i = 0; i < MANY; i++) {
        int n = snprintf(text, sizeof text, "file %d", i);
        files[i] = open_file(file_path(i), BOTH);
        want_int(weft_file_write_start(&ops[i], files[i], text, (size_t)n, 0, WEFT_FOREVER), 0);
        waits[i] = weft_on_file(ops[i]);
    }
    want_int(weft_wait_all(waits, MANY, WEFT_FOREVER), 0);
    for (int i = 0; i < MANY; i++) want_int(weft_file_take(ops[i], NULL, 0, WEFT_NOW), i < 10 ? 6 : 7);
    for (int i = 0; i < MANY; i++) {
        want_int(weft_file_read_start(&ops[i], files[i], sizeof text, 0, WEFT_FOREVER), 0);
        waits[i] = weft_on_file(ops[i]);
    }
    for (int left = MANY; left > 0; left--) {
        int at = weft_wait_any(waits, (size_t)left, WEFT_FOREVER);
        want(at >= 0);
        int which = find_op(ops, waits[at]);
        int64_t n = weft_file_take(ops[which], text, sizeof text, WEFT_NOW);
        want_int(n, snprintf(expected, sizeof expected, "file %d", which));
        want(memcmp(text, expected, (size_t)n) == 0);
        want_int(weft_file_take(ops[which], text, sizeof text, WEFT_NOW), WEFT_ECLOSED);
        waits[at] = waits[left - 1];
    }
    for (int i = 0; i < MANY; i++) want_int(weft_file_close(files[i]), 0);
}

START_TEST(many_operations_are_under_way_in_parallel)
{
    run_alone(read_many, NULL);
    run_slowly(read_many, NULL);
}
END_TEST

struct shared {
    weft_file *file;
    int64_t at;
};

static void write_part(void *arg)
{
    const struct shared *s = arg;
    char text[64];
    for (int i = 0; i < 50; i++) {
        int64_t at = (s->at + i * 4) * (int64_t)sizeof text;
        memset(text, (int)('a' + s->at), sizeof text);
        want_int(weft_file_write(*s->file, text, sizeof text, at, WEFT_FOREVER), sizeof text);
        text[0] = text[63] = '?';
        want_int(weft_file_read(*s->file, text, sizeof text, at, WEFT_FOREVER), sizeof text);
        want(text[0] == 'a' + s->at && text[63] == 'a' + s->at);
    }
}

static void open_shared(void *arg)
{
    *(weft_file *)arg = open_file(file_path(0), BOTH);
}

static void close_shared(void *arg)
{
    want_int(weft_file_close(*(weft_file *)arg), 0);
    want_int(weft_file_close(*(weft_file *)arg), WEFT_ECLOSED);
}

static void share_a_file(struct pf_env *env)
{
    struct harness h;
    weft_file f;
    struct shared parts[4];
    harness_start_in(&h, 2, env);
    harness_spawn(&h, 0, open_shared, &f);
    harness_join(&h);
    for (int i = 0; i < 4; i++) {
        parts[i] = (struct shared){&f, i};
        harness_spawn(&h, (uint32_t)i % 2, write_part, &parts[i]);
    }
    harness_join(&h);
    harness_spawn(&h, 1, close_shared, &f);
    harness_stop(&h);
    want_int(h.set.files_under_way, 0);
}

START_TEST(actors_of_all_workers_use_a_file_at_once)
{
    share_a_file(pf_env_native());
    share_a_file(&slow_env);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, reads_and_writes_are_positioned);
    tcase_add_test(t, the_end_of_a_file_is_a_plain_0);
    tcase_add_test(t, a_write_that_takes_nothing_is_an_error);
#ifdef __linux__
    tcase_add_test(t, an_error_after_a_part_is_returned_and_not_a_short_count);
#endif
    tcase_add_test(t, large_reads_and_writes_go_in_pieces);
    tcase_add_test(t, appended_bytes_go_to_the_end);
    tcase_add_test(t, cached_bytes_are_read_without_suspending);
    tcase_add_test(t, a_read_that_would_block_is_not_begun_with_the_deadline_now);
    tcase_add_test(t, a_reader_that_never_has_to_wait_gives_others_a_turn);
    tcase_add_test(t, a_large_read_from_memory_gives_others_their_turns);
    tcase_add_test(t, many_operations_are_under_way_in_parallel);
    tcase_add_test(t, actors_of_all_workers_use_a_file_at_once);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
