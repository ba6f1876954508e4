/* tests/platform/source_test.c -- sources of a poller that are not sockets: operations on files, pipes, the ends of
 * children, changes of directories; and listings of directories. */
#include "conformance.h"
#include "../unit/runtime/folder.h"

static const char *self;

static void begin_native_with_folder(void)
{
    begin_native();
    folder_make();
}

static void begin_simulated_with_folder(void)
{
    begin_simulated();
    folder_make();
}

static void end_with_folder(void)
{
    folder_remove();
    end();
}

/* ---- Operations on files --------------------------------------------------------------------------------------- */

enum { OPERATIONS = 32, PART = 4096 };

static pf_handle open_file(int n, unsigned flags)
{
    pf_handle h;
    ck_assert_int_eq(pf_file_open(&h, file_path(n), flags, 0600), WEFT_OK);
    return h;
}

/* As the runtime does: at once, by an entry, or by a call that may block. True: an entry will come. */
static bool begin_operation(struct pf_file_op *op)
{
    forget(op->tag);
    int rc = env->file_submit(poller, op);
    if (rc == PF_AGAIN) return true;
    if (rc == PF_BLOCKING)
        op->result = op->write ? pf_file_write(op->file, op->data, op->size, op->offset)
                               : pf_file_read(op->file, op->data, op->size, op->offset);
    else if (rc != WEFT_OK) op->result = rc;
    return false;
}

static int64_t perform(struct pf_file_op *op)
{
    if (begin_operation(op)) await_hint(&seen[op->tag].done);
    return op->result;
}

static int64_t put(pf_handle h, const char *text, int64_t offset)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%s", text);
    struct pf_file_op op = {
        .file = h, .data = copy, .size = strlen(text), .offset = offset, .write = true, .tag = TAGS - 1};
    return perform(&op);
}

static int64_t get(pf_handle h, void *out, size_t size, int64_t offset)
{
    struct pf_file_op op = {.file = h, .data = out, .size = size, .offset = offset, .tag = TAGS - 1};
    return perform(&op);
}

START_TEST(a_file_is_read_where_it_was_written)
{
    char text[8];
    pf_handle h = open_file(0, PF_FILE_READ | PF_FILE_WRITE | PF_FILE_CREATE);
    ck_assert_int_eq(get(h, text, sizeof text, 0), 0);
    ck_assert_int_eq(put(h, "world", 100000), 5);
    ck_assert_int_eq(put(h, "hello", 0), 5);
    ck_assert_int_eq(get(h, text, 5, 0), 5);
    ck_assert_mem_eq(text, "hello", 5);
    ck_assert_int_eq(get(h, text, sizeof text, 99998), 7);
    ck_assert_mem_eq(text, "\0\0world", 7);
    ck_assert_int_eq(get(h, text, sizeof text, 100005), 0);
    ck_assert_int_eq(get(h, text, sizeof text, 200000), 0);
    ck_assert_int_eq(get(h, text, sizeof text, -1), WEFT_EINVAL);
    pf_file_close(h);
}
END_TEST

START_TEST(appended_bytes_are_at_the_end)
{
    char text[8];
    pf_handle one = open_file(0, PF_FILE_READ | PF_FILE_WRITE | PF_FILE_CREATE | PF_FILE_APPEND);
    pf_handle other = open_file(0, PF_FILE_WRITE | PF_FILE_APPEND);
    ck_assert_int_eq(put(one, "ab", PF_FILE_END), 2);
    ck_assert_int_eq(put(other, "cd", PF_FILE_END), 2);
    ck_assert_int_eq(put(one, "ef", PF_FILE_END), 2);
    ck_assert_int_eq(get(one, text, sizeof text, 0), 6);
    ck_assert_mem_eq(text, "abcdef", 6);
    pf_file_close(one);
    pf_file_close(other);
}
END_TEST

static struct {
    struct pf_file_op op;
    bool expected; /* an entry of it */
    char part[PART];
} many[OPERATIONS];

/* All of them together, each with its own part of one file. */
static void begin_many(pf_handle h, bool write)
{
    for (int i = 0; i < OPERATIONS; i++) {
        memset(many[i].part, write ? 'a' + i % 26 : 0, PART);
        many[i].op = (struct pf_file_op){.file = h,
                                         .data = many[i].part,
                                         .size = PART,
                                         .offset = (int64_t)i * PART,
                                         .write = write,
                                         .tag = (uint64_t)i};
        many[i].expected = begin_operation(&many[i].op);
    }
}

START_TEST(each_of_many_operations_under_way_is_reported_once)
{
    pf_handle h = open_file(0, PF_FILE_READ | PF_FILE_WRITE | PF_FILE_CREATE);
    for (int round = 0; round < 2; round++) {
        char part[PART];
        begin_many(h, round == 0);
        for (int i = 0; i < OPERATIONS; i++) {
            if (many[i].expected) await_hint(&seen[i].done);
            ck_assert_int_eq(many[i].op.result, PART);
            memset(part, 'a' + i % 26, PART);
            ck_assert_mem_eq(many[i].part, part, PART);
            forget((uint64_t)i);
        }
        (void)look();
        for (int i = 0; i < OPERATIONS; i++) ck_assert_msg(!seen[i].done, "the entry of %d came twice", i);
    }
    pf_file_close(h);
}
END_TEST

START_TEST(an_operation_that_is_cancelled_is_done_all_the_same)
{
    pf_handle h = open_file(0, PF_FILE_READ | PF_FILE_WRITE | PF_FILE_CREATE);
    ck_assert_int_eq(put(h, "x", (int64_t)OPERATIONS * PART - 1), 1);
    begin_many(h, false);
    for (int i = 0; i < OPERATIONS; i++)
        if (many[i].expected) env->file_cancel(poller, &many[i].op);
    for (int i = 0; i < OPERATIONS; i++) {
        if (many[i].expected) await_hint(&seen[i].done);
        int64_t n = many[i].op.result;
        ck_assert_msg(n == PART || n == WEFT_ECANCELED, "%d", (int)n);
    }
    pf_file_close(h);
}
END_TEST

START_TEST(operations_for_which_a_file_was_not_opened_are_refused)
{
    char byte;
    pf_file_close(open_file(0, PF_FILE_WRITE | PF_FILE_CREATE));
    pf_handle h = open_file(0, PF_FILE_READ);
    ck_assert_int_eq(put(h, "x", 0), WEFT_EACCESS);
    pf_file_close(h);
    h = open_file(0, PF_FILE_WRITE);
    ck_assert_int_eq(get(h, &byte, 1, 0), WEFT_EACCESS);
    pf_file_close(h);
}
END_TEST

/* ---- Pipes ----------------------------------------------------------------------------------------------------- */

START_TEST(a_pipe_tells_of_bytes_and_of_its_end)
{
    struct end reading = {PF_NO_HANDLE, 0}, writing = {PF_NO_HANDLE, 1};
    char text[8];
    ck_assert_int_eq(pf_pipe(&reading.handle, &writing.handle, true, true), WEFT_OK);
    add(reading.handle, reading.tag);
    add(writing.handle, writing.tag);
    ck_assert_int_eq(pf_read(reading.handle, text, sizeof text), PF_AGAIN);
    for (int i = 0; i < 50; i++) {
        write_text(&writing, "abc");
        read_exactly(&reading, text, 3);
        ck_assert_mem_eq(text, "abc", 3);
    }
    write_text(&writing, "last");
    take_out(&writing);
    read_exactly(&reading, text, 4);
    ck_assert_int_eq(read_some(&reading, text, sizeof text), 0);
    take_out(&reading);
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_is_broken)
{
    struct end reading = {PF_NO_HANDLE, 0}, writing = {PF_NO_HANDLE, 1};
    struct pf_held_off held;
    ck_assert_int_eq(pf_pipe(&reading.handle, &writing.handle, true, true), WEFT_OK);
    add(writing.handle, writing.tag);
    pf_close(reading.handle);
    pf_signals_hold_off(&held);
    int64_t n;
    do n = write_some(&writing, "x", 1); /* where a thread passes it on, the first bytes are taken */
    while (n > 0);
    pf_signals_let_go(&held);
    ck_assert_int_eq(n, WEFT_ERESET);
    take_out(&writing);
}
END_TEST

/* ---- Children -------------------------------------------------------------------------------------------------- */

enum { CHILD = 9, CHILD_CODE = 7 };

/* What this program is where the second word is "child": it says what it hears, and ends with CHILD_CODE. */
static int be_child(void)
{
    for (int c; (c = getchar()) != EOF;)
        if (putchar(c) == EOF || fflush(stdout) != 0) return 1;
    return CHILD_CODE;
}

struct child {
    struct pf_process process;
    struct end in, out; /* ours: of what it reads and what it writes */
};

static void start_child(struct child *c)
{
    const char *const argv[] = {self, "child", NULL};
    pf_handle its_in, its_out;
    c->in = (struct end){PF_NO_HANDLE, 0}, c->out = (struct end){PF_NO_HANDLE, 1};
    ck_assert_int_eq(pf_pipe(&its_in, &c->in.handle, false, true), WEFT_OK);
    ck_assert_int_eq(pf_pipe(&c->out.handle, &its_out, true, false), WEFT_OK);
    struct pf_process_options options = {.argv = argv,
                                         .stdio = {PF_STDIO_HANDLE, PF_STDIO_HANDLE, PF_STDIO_INHERIT},
                                         .handle = {its_in, its_out, PF_NO_HANDLE}};
    ck_assert_int_eq(pf_process_start(&c->process, &options), WEFT_OK);
    pf_close(its_in);
    pf_close(its_out);
    add(c->in.handle, c->in.tag);
    add(c->out.handle, c->out.tag);
}

static struct pf_exit reap(struct child *c)
{
    struct pf_exit how;
    int rc;
    while ((rc = pf_process_reap(&c->process, &how)) == PF_AGAIN) {
        forget(CHILD);
        await_hint(&seen[CHILD].readable);
    }
    ck_assert_int_eq(rc, WEFT_OK);
    return how;
}

static void end_child(struct child *c)
{
    env->process_unwatch(poller, &c->process);
    pf_process_free(&c->process);
    take_out(&c->out);
}

START_TEST(the_end_of_a_child_is_told)
{
    struct child c;
    struct pf_exit how;
    char text[8];
    start_child(&c);
    forget(CHILD);
    ck_assert_int_eq(env->process_watch(poller, &c.process, CHILD), WEFT_OK);
    write_text(&c.in, "hello");
    read_exactly(&c.out, text, 5);
    ck_assert_mem_eq(text, "hello", 5);
    ck_assert_int_eq(pf_process_reap(&c.process, &how), PF_AGAIN);
    ck_assert_msg(!seen[CHILD].readable, "the end was reported before the child has ended");
    take_out(&c.in);
    await_hint(&seen[CHILD].readable);
    how = reap(&c);
    ck_assert_int_eq(how.code, CHILD_CODE);
    ck_assert_int_eq(how.signal, 0);
    ck_assert_int_eq(read_some(&c.out, text, sizeof text), 0);
    end_child(&c);
}
END_TEST

START_TEST(the_end_of_a_child_that_is_over_is_told)
{
    struct child c;
    char byte;
    start_child(&c);
    take_out(&c.in);
    ck_assert_int_eq(read_some(&c.out, &byte, 1), 0); /* it is ending, or has ended */
    forget(CHILD);
    ck_assert_int_eq(env->process_watch(poller, &c.process, CHILD), WEFT_OK);
    await_hint(&seen[CHILD].readable);
    ck_assert_int_eq(reap(&c).code, CHILD_CODE);
    end_child(&c);
}
END_TEST

START_TEST(a_child_can_be_ended)
{
    struct child c;
    start_child(&c);
    forget(CHILD);
    ck_assert_int_eq(env->process_watch(poller, &c.process, CHILD), WEFT_OK);
    ck_assert_int_eq(pf_process_signal(&c.process, PF_SIGKILL), WEFT_OK);
    await_hint(&seen[CHILD].readable);
    struct pf_exit how = reap(&c);
    ck_assert(how.code != 0 && how.code != CHILD_CODE);
    ON_UNIX(ck_assert_int_eq(how.signal, PF_SIGKILL);)
    take_out(&c.in);
    end_child(&c);
}
END_TEST

START_TEST(a_program_that_cannot_be_started_is_refused)
{
    const char *const missing[] = {"no-such-program-anywhere", NULL};
    const char *const fine[] = {self, "child", NULL};
    struct pf_process p;
    struct pf_process_options options = {.argv = missing, .stdio = {PF_STDIO_NULL, PF_STDIO_NULL, PF_STDIO_NULL}};
    ck_assert_int_eq(pf_process_start(&p, &options), WEFT_ENOTFOUND);
    options.argv = fine;
    options.directory = file_path(1);
    ck_assert_int_eq(pf_process_start(&p, &options), WEFT_ENOTFOUND);
}
END_TEST

/* ---- Directories ----------------------------------------------------------------------------------------------- */

START_TEST(a_listing_has_each_name_once)
{
    struct pf_entry e;
    pf_listing *l;
    int times[FOLDER_FILES] = {0};
    for (int i = 0; i < FOLDER_FILES; i++) pf_file_close(open_file(i, PF_FILE_WRITE | PF_FILE_CREATE));
    ck_assert_int_eq(pf_listing_open(&l, folder_path), WEFT_OK);
    int rc;
    while ((rc = pf_listing_next(l, &e)) == 1) {
        int n = atoi(e.name);
        ck_assert_msg(n >= 0 && n < FOLDER_FILES, "%s", e.name);
        ck_assert(e.kind == PF_ENTRY_FILE || e.kind == PF_ENTRY_UNKNOWN);
        times[n]++;
    }
    ck_assert_int_eq(rc, 0);
    pf_listing_close(l);
    pf_listing_close(NULL);
    for (int i = 0; i < FOLDER_FILES; i++) ck_assert_int_eq(times[i], 1);
    ck_assert_int_eq(pf_listing_open(&l, file_path(FOLDER_FILES)), WEFT_ENOTFOUND);
    ck_assert_int_eq(pf_listing_open(&l, file_path(0)), WEFT_ENOTFOUND);
}
END_TEST

/* The next change but those of contents, which may be told at any time. */
static struct pf_change next_change(const struct end *changes)
{
    static char records[PF_CHANGES_READ];
    static size_t from, size;
    struct pf_change c = {.kind = PF_CHANGE_NONE};
    while (c.kind == PF_CHANGE_NONE || c.kind == PF_CHANGE_MODIFIED) {
        int64_t taken = size == 0 ? 0 : pf_changes_parse(records + from, size, &c);
        ck_assert_int_ge(taken, 0);
        if (taken == 0) { /* the rest of a record that was cut comes behind its beginning */
            memmove(records, records + from, size);
            int64_t n = read_some(changes, records + size, sizeof records - size);
            ck_assert_int_gt(n, 0);
            from = 0, size += (size_t)n;
            continue;
        }
        from += (size_t)taken, size -= (size_t)taken;
    }
    return c;
}

START_TEST(changes_of_a_directory_are_told)
{
    struct end changes = {PF_NO_HANDLE, 0};
    ck_assert_int_eq(pf_changes_open(&changes.handle, folder_path), WEFT_OK);
    add(changes.handle, changes.tag);
    for (int i = 0; i < 3; i++) {
        pf_file_close(open_file(1, PF_FILE_WRITE | PF_FILE_CREATE));
        struct pf_change c = next_change(&changes);
        ck_assert_int_eq(c.kind, PF_CHANGE_CREATED);
        ck_assert_str_eq(c.name, "1");
        ck_assert_int_eq(unlink(file_path(1)), 0);
        c = next_change(&changes);
        ck_assert_int_eq(c.kind, PF_CHANGE_REMOVED);
        ck_assert_str_eq(c.name, "1");
    }
    take_out(&changes);
    ck_assert_int_eq(pf_changes_open(&changes.handle, file_path(1)), WEFT_ENOTFOUND);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "child") == 0) return be_child();
    self = argv[0];
    const TTest *const tests[] = {
        a_file_is_read_where_it_was_written,
        appended_bytes_are_at_the_end,
        each_of_many_operations_under_way_is_reported_once,
        an_operation_that_is_cancelled_is_done_all_the_same,
        operations_for_which_a_file_was_not_opened_are_refused,
        a_pipe_tells_of_bytes_and_of_its_end,
        a_pipe_that_nobody_reads_is_broken,
        a_listing_has_each_name_once,
        changes_of_a_directory_are_told,
    };
    const TTest *const of_children[] = {
        the_end_of_a_child_is_told,
        the_end_of_a_child_that_is_over_is_told,
        a_child_can_be_ended,
        a_program_that_cannot_be_started_is_refused,
    };
    Suite *suite = suite_create("conformance: files, pipes, children, directories");
    add_cases_with(suite, begin_native_with_folder, begin_simulated_with_folder, end_with_folder, tests,
                   WF_COUNT(tests));
    if (!RUNNING_ON_VALGRIND) /* it knows no pidfd */
        add_cases_with(suite, begin_native_with_folder, begin_simulated_with_folder, end_with_folder, of_children,
                       WF_COUNT(of_children));
    return run_suite(suite);
}
