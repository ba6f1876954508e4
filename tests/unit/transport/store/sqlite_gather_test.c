/* tests/unit/transport/store/sqlite_gather_test.c -- the VFS of the writer: files have what was written to them, few writes
 * reach the disk, and the log grows in large steps. */
#include "faulty_store.h"

enum { WRITTEN_MAX = 2 * SQ_LOG_STEP, FILE_MAX = 3 * SQ_LOG_STEP, PROGRAMS = 300, STEPS = 60, PAGE = 4096 };

static struct sq_gather gather;
static struct {
    sqlite3_file *file;
    uint8_t bytes[FILE_MAX]; /* what it should have */
    size_t size;
} model;

static void begin_gather(void)
{
    faulty_begin(1);
    ck_assert_int_eq(sq_gather_begin(&gather, "faulty"), SQLITE_OK);
}

static void end_gather(void)
{
    sq_gather_end(&gather);
    faulty_end();
}

static void open_log(void)
{
    model.file = calloc(1, (size_t)gather.vfs.szOsFile);
    model.size = 0;
    const int flags = SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    ck_assert_int_eq(gather.vfs.xOpen(&gather.vfs, "file", model.file, flags, NULL), SQLITE_OK);
}

static void close_model(void)
{
    ck_assert_int_eq(model.file->pMethods->xClose(model.file), SQLITE_OK);
    free(model.file);
}

/* ---- Any calls in any order ------------------------------------------------------------------------------------ */

static void write_somewhere(size_t *next)
{
    static uint8_t data[2 * SQ_GATHER_MAX];
    size_t most = faulty_random(8) == 0 ? sizeof data : 2 * PAGE;
    size_t size = 1 + faulty_random(most), at = faulty_random(4) == 0 ? faulty_random(model.size + 1) : *next;
    if (at + size > WRITTEN_MAX) return;
    memset(data, (int)faulty_random(256), size);
    ck_assert_int_eq(model.file->pMethods->xWrite(model.file, data, (int)size, (sqlite3_int64)at), SQLITE_OK);
    if (at > model.size) memset(model.bytes + model.size, 0, at - model.size);
    memcpy(model.bytes + at, data, size);
    if (at + size > model.size) model.size = at + size;
    *next = at + size;
}

static void truncate_somewhere(void)
{
    size_t size = faulty_random(model.size + 1);
    ck_assert_int_eq(model.file->pMethods->xTruncate(model.file, (sqlite3_int64)size), SQLITE_OK);
    model.size = size;
}

static void read_somewhere(void)
{
    static uint8_t got[FILE_MAX];
    if (model.size == 0) return;
    size_t at = faulty_random(model.size), size = 1 + faulty_random(model.size - at);
    ck_assert_int_eq(model.file->pMethods->xRead(model.file, got, (int)size, (sqlite3_int64)at), SQLITE_OK);
    ck_assert_mem_eq(got, model.bytes + at, size);
}

/* The file may have zeroes behind what was written. */
static void expect_size(size_t size)
{
    ck_assert_uint_ge(size, model.size);
    ck_assert_uint_le(size, FILE_MAX);
    memset(model.bytes + model.size, 0, size - model.size);
    model.size = size;
}

static void ask_for_size(void)
{
    sqlite3_int64 size;
    ck_assert_int_eq(model.file->pMethods->xFileSize(model.file, &size), SQLITE_OK);
    expect_size((size_t)size);
}

static void sync_it(void)
{
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    size_t size;
    const uint8_t *disk = faulty_bytes("file", &size);
    expect_size(size);
    if (size > 0) ck_assert_mem_eq(disk, model.bytes, size);
}

START_TEST(a_file_has_what_was_written)
{
    faulty_begin((uint64_t)_i);
    open_log();
    size_t next = 0;
    for (int i = 0; i < STEPS; i++) {
        uint64_t what = faulty_random(16);
        if (what == 0) truncate_somewhere();
        else if (what == 1) read_somewhere();
        else if (what == 2) ask_for_size();
        else if (what == 3) sync_it();
        else write_somewhere(&next);
    }
    sync_it();
    close_model();
}
END_TEST

/* ---- What reaches the disk ------------------------------------------------------------------------------------- */

static void write_pages(int first, int count)
{
    static const uint8_t page[PAGE] = {1};
    for (int i = first; i < first + count; i++)
        ck_assert_int_eq(model.file->pMethods->xWrite(model.file, page, PAGE, (sqlite3_int64)i * PAGE), SQLITE_OK);
}

START_TEST(neighbours_are_one_write)
{
    open_log();
    faulty_cut_power(2);
    write_pages(0, SQ_GATHER_MAX / PAGE);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    ck_assert_int_ne(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK); /* the third change */
    close_model();
}
END_TEST

START_TEST(a_sync_reports_the_write_that_failed)
{
    open_log();
    faulty_space(PAGE);
    write_pages(0, 2);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_FULL);
    faulty_space(SIZE_MAX);
    write_pages(0, 2); /* as SQLite does in the next transaction */
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    close_model();
}
END_TEST

START_TEST(a_log_grows_in_large_steps)
{
    size_t size;
    open_it();
    append_ok("a", "x");
    ck_assert_ptr_nonnull(faulty_bytes("s.db-wal", &size));
    ck_assert_uint_eq(size, SQ_LOG_STEP);
    for (int i = 0; i < 100; i++) append_ok("a", "x");
    ck_assert_ptr_nonnull(faulty_bytes("s.db-wal", &size));
    ck_assert_uint_eq(size, 2 * SQ_LOG_STEP);
    close_it();
}
END_TEST

/* The power may be cut before the header of a log that is begun anew is on disk. Then all frames behind the old header have to
 * be there still, or none: some of them would take pages of the file back to what they were. */
START_TEST(a_log_does_not_grow_before_its_header_is_synced)
{
    static const uint8_t header[32] = {1};
    size_t size;
    open_log();
    ck_assert_int_eq(model.file->pMethods->xWrite(model.file, header, sizeof header, 0), SQLITE_OK);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    ck_assert_ptr_nonnull(faulty_bytes("file", &size));
    ck_assert_uint_eq(size, sizeof header);
    ck_assert_int_eq(model.file->pMethods->xWrite(model.file, header, sizeof header, sizeof header), SQLITE_OK);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    ck_assert_ptr_nonnull(faulty_bytes("file", &size));
    ck_assert_uint_eq(size, SQ_LOG_STEP);
    close_model();
}
END_TEST

/* What another process has appended stays. */
START_TEST(a_log_that_another_has_let_grow_is_left_as_it_is)
{
    size_t size;
    open_log();
    write_pages(1, 1);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    sqlite3_vfs *below = sqlite3_vfs_find("faulty");
    sqlite3_file *other = calloc(1, (size_t)below->szOsFile);
    ck_assert_int_eq(below->xOpen(below, "file", other, SQLITE_OPEN_WAL | SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    ck_assert_int_eq(other->pMethods->xWrite(other, "theirs", 6, SQ_LOG_STEP * 3 / 2), SQLITE_OK);
    write_pages(1, SQ_LOG_STEP / PAGE);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    const uint8_t *disk = faulty_bytes("file", &size);
    ck_assert_uint_eq(size, SQ_LOG_STEP * 3 / 2 + 6);
    ck_assert_mem_eq(disk + SQ_LOG_STEP * 3 / 2, "theirs", 6);
    (void)other->pMethods->xClose(other);
    free(other);
    close_model();
}
END_TEST

START_TEST(a_log_on_a_full_disk_grows_by_what_it_has)
{
    size_t size;
    open_log();
    faulty_space(3 * PAGE);
    write_pages(1, 2);
    ck_assert_int_eq(model.file->pMethods->xSync(model.file, SQLITE_SYNC_NORMAL), SQLITE_OK);
    ck_assert_ptr_nonnull(faulty_bytes("file", &size));
    ck_assert_uint_eq(size, 3 * PAGE);
    close_model();
}
END_TEST

int main(void)
{
    use_faulty_disk();
    Suite *suite = suite_create("writes of the store that are passed on together");
    TCase *c = tcase_create("gathered");
    suite_add_tcase(suite, c);
    tcase_add_checked_fixture(c, begin_gather, end_gather);
    tcase_add_loop_test(c, a_file_has_what_was_written, 0, repeats(PROGRAMS));
    tcase_add_test(c, neighbours_are_one_write);
    tcase_add_test(c, a_sync_reports_the_write_that_failed);
    tcase_add_test(c, a_log_grows_in_large_steps);
    tcase_add_test(c, a_log_does_not_grow_before_its_header_is_synced);
    tcase_add_test(c, a_log_that_another_has_let_grow_is_left_as_it_is);
    tcase_add_test(c, a_log_on_a_full_disk_grows_by_what_it_has);
    return run_suite(suite);
}
