/* tests/unit/transport/store/sqlite_file_test.c -- the engine for SQLite on a file of this machine. */
#include <unistd.h>

#include "conformance.h"
#include "crc32c.h"
#include "sqlite_folder.h"
#include "store_file.h"
#include "stored_topic.h"

START_TEST(another_name_of_the_file_has_the_same_owner)
{
    char path[100];
    int rc;
    snprintf(path, sizeof path, "%s/link.db", folder);
    ck_assert_int_eq(symlink(file, path), 0);
    fixture.where = path;
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_EINUSE);
}
END_TEST

START_TEST(a_folder_that_is_missing)
{
    int rc;
    fixture.where = "/tmp/weft-store-no-such-folder/s.db";
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(why.text, "folder"));
    fixture.where = "";
    ck_assert_ptr_null(open_as(false, &rc));
    ck_assert_int_eq(rc, WEFT_EINVAL);
}
END_TEST

/* So an actor that gets the number, and is killed before it first runs, holds nothing. */
START_TEST(a_file_is_found_by_its_number_while_it_is_open)
{
    struct wf_store_file *f, *other;
    char url[100];
    close_it();
    snprintf(url, sizeof url, "sqlite:%s", file);
    ck_assert_int_eq(wf_store_file_open(&f, url, false, &why), 0);
    const uint64_t number = f->number;
    ck_assert_ptr_eq(wf_store_file_find(number), f);
    ck_assert_ptr_null(wf_store_file_find(number + 1));
    wf_store_file_release(f);
    ck_assert_int_eq(wf_store_file_open(&other, url, false, &why), WEFT_EINUSE);
    wf_store_file_release(f); /* the share that was found */
    ck_assert_ptr_null(wf_store_file_find(number));
    ck_assert_int_eq(wf_store_file_open(&other, url, false, &why), 0);
    ck_assert_uint_ne(other->number, number);
    wf_store_file_release(other);
}
END_TEST

START_TEST(the_checksum_is_crc_32c)
{
    ck_assert_uint_eq(wf_crc32c(0, "123456789", 9), 0xE3069283);
    ck_assert_uint_eq(wf_crc32c(wf_crc32c(0, "1234", 4), "56789", 5), 0xE3069283);
    ck_assert_uint_eq(wf_crc32c(0, "", 0), 0);
    const uint8_t zeroes[32] = {0}; /* RFC 3720, B.4 */
    ck_assert_uint_eq(wf_crc32c(0, zeroes, 32), 0x8A9136AA);
}
END_TEST

START_TEST(patterns)
{
    ck_assert(wf_store_pattern_ok("room.>") && wf_store_pattern_ok("*") && wf_store_pattern_ok("a.*.b"));
    ck_assert(!wf_store_pattern_ok("room.>.a") && !wf_store_pattern_ok("") && !wf_store_pattern_ok("a*"));
    ck_assert(wf_store_topic_matches("room.>", "room.a.b") && !wf_store_topic_matches("room.>", "room"));
    ck_assert(wf_store_topic_matches("room.*", "room.a") && !wf_store_topic_matches("room.*", "room.a.b"));
    ck_assert(wf_store_topic_matches("a", "a") && !wf_store_topic_matches("a", "ab"));
    ck_assert(!wf_store_topic_matches("a.b", "a") && !wf_store_topic_matches("a", "a.b"));
    ck_assert(wf_store_topic_matches("*.b", "x.b") && wf_store_topic_matches(">", "x"));
}
END_TEST

int main(void)
{
    use_a_folder();
    fixture.threads = true;
    Suite *suite = suite_create("the store on a file");
    TCase *files = tcase_create("files");
    suite_add_tcase(suite, conformance_case("conformance"));
    suite_add_tcase(suite, files);
    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, another_name_of_the_file_has_the_same_owner);
    tcase_add_test(files, a_folder_that_is_missing);
    tcase_add_test(files, a_file_is_found_by_its_number_while_it_is_open);
    tcase_add_test(files, the_checksum_is_crc_32c);
    tcase_add_test(files, patterns);
    return run_suite(suite);
}
