/* The arguments of a command line, and the environment: which are accepted and refused, and the messages about
 * them. */
#include "options.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft.h>

#include "values.h"
#include "../../../capture.h"
#include "../../../suite.h"

/* strdup is the C library's own affair: the linker puts this before it. */
static bool no_memory;
char *__wrap_strdup(const char *text);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    return no_memory ? NULL : __real_strdup(text);
}

static const struct cli_verb plain = {.name = "plain",
                                      .arguments = "WORD",
                                      .summary = "a verb",
                                      .about = "About it.",
                                      .example = "weft plain word",
                                      .options = {CLI_NAME, CLI_LISTEN, CLI_WORKERS, CLI_HEARTBEAT, CLI_JSON,
                                                  CLI_COUNT, CLI_DRAIN, CLI_TAG, CLI_DISCOVER, CLI_END},
                                      .args_min = 1,
                                      .args_max = 2};
static const struct cli_verb rest = {.name = "rest",
                                     .arguments = "",
                                     .summary = "takes what stands behind --",
                                     .options = {CLI_END},
                                     .args_max = 1,
                                     .takes_rest = true};

static struct cli c;
static char said[4096];

static int parse(const struct cli_verb *verb, int count, const char *const *words)
{
    static char *copy[64];
    for (int i = 0; i < count; i++) copy[i] = (char *)(uintptr_t)words[i];
    memset(&c, 0, sizeof c);
    capture_state out = capture_start();
    int rc = cli_parse(&c, verb, count, copy);
    (void)capture_end(&out, said, sizeof said);
    return rc;
}

#define PARSE(verb, ...) parse(&(verb), WF_COUNT(((const char *[]){__VA_ARGS__})), (const char *const[]){__VA_ARGS__})

static void finish(void)
{
    cli_finish(&c);
}

START_TEST(options_in_all_their_forms)
{
    ck_assert_int_eq(PARSE(plain, "--name", "a", "one", "-l", "tcp://x:1", "--listen=tcp://y:2", "--workers=3",
                           "--json", "--json", "-", "--heartbeat", ".5", "--drain", "2.5"),
                     CLI_OK);
    ck_assert_str_eq(said, "");
    ck_assert_str_eq(c.name, "a");
    ck_assert_uint_eq(c.listen.count, 2);
    ck_assert_str_eq(c.listen.item[0], "tcp://x:1");
    ck_assert_str_eq(c.listen.item[1], "tcp://y:2");
    ck_assert_int_eq(c.workers, 3);
    ck_assert(c.json);
    ck_assert_int_eq(c.heartbeat, WEFT_MS(500));
    ck_assert(c.has_drain);
    ck_assert_int_eq(c.drain, WEFT_MS(2500));
    ck_assert_int_eq(c.argc, 2);
    ck_assert_str_eq(c.argv[0], "one");
    ck_assert_str_eq(c.argv[1], "-"); /* a word: so is a number */
    finish();
    ck_assert_int_eq(PARSE(plain, "-5", "--discover=tcp://x:1"), CLI_OK);
    ck_assert_str_eq(c.argv[0], "-5");
    ck_assert_uint_eq(c.discover.count, 1);
    ck_assert_str_eq(c.discover.item[0], "tcp://x:1");
    ck_assert(!c.has_drain);
    finish();
}
END_TEST

static const struct {
    const char *words[3];
    const char *said;
} refused[] = {
    {{"w", "--workers=", NULL}, "--workers: '' is not a number from 1 to 63"},
    {{"w", "--workers=x", NULL}, "'x' is not a number"},
    {{"w", "--workers= 1", NULL}, "' 1' is not a number"},
    {{"w", "--workers=1x", NULL}, "'1x' is not a number"},
    {{"w", "--workers=0", NULL}, "'0' is not a number"},
    {{"w", "--workers=64", NULL}, "'64' is not a number"},
    {{"w", "--count", "99999999999999999999"}, "is not a number of at least 1"},
    {{"w", "--heartbeat=", NULL}, "'' is not a number of seconds from 0 to 3600, such as 2.5"},
    {{"w", "--heartbeat=-1", NULL}, "'-1' is not a number of seconds"},
    {{"w", "--heartbeat=1s", NULL}, "'1s' is not"},
    {{"w", "--heartbeat=.", NULL}, "'.' is not"},
    {{"w", "--heartbeat=nan", NULL}, "'nan' is not"},
    {{"w", "--heartbeat=1e999", NULL}, "'1e999' is not"},
    {{"w", "--heartbeat=3601", NULL}, "'3601' is not"},
    {{"w", "--json=1", NULL}, "--json takes no value"},
    {{"w", "--name=a", "--name=b"}, "--name is given twice; leave one of them out"},
    {{"w", "--workers=1", "--workers=1"}, "--workers is given twice"},
    {{"w", "--drain=1", "--drain=2"}, "--drain is given twice"},
    {{"w", "--name", NULL}, "--name needs a value: --name NAME"},
    {{"w", "--name", ".a"},
     "--name: '.a' is not a node's name: 1 to 64 letters, digits, '_', '-' and '.', no leading dot"},
    {{"w", "-l", NULL}, "--listen needs a value"},
    {{"w", "-l", "127.0.0.1:4001"}, "'127.0.0.1:4001' is not a URL, such as tcp://127.0.0.1:4001"},
    {{"w", "--discover=", NULL}, "--discover: '': unknown; known are URLs"},
    {{"w", "--nmae", "x"}, "there is no option '--nmae'; did you mean '--name'?"},
    {{"w", "--quite-something-else", NULL}, "there is no option '--quite-something-else'\n"},
    {{"w", "--a-word-of-more-letters-than-any-option", NULL}, "there is no option"},
    {{"w", "-x", NULL}, "there is no option '-x'\n"},
    {{"w", "-nx", NULL}, "there is no option '-nx'\n"},
    {{"w", "--=x", NULL}, "there is no option '--=x'"},
    {{NULL}, "too few arguments: weft plain WORD"},
    {{"1", "2", "3"}, "unexpected argument '3'"},
    {{"1", "", NULL}, "an argument is empty: weft plain WORD"},
    {{"1", "--", "x"}, "unexpected argument 'x'"},
};

START_TEST(a_refused_command_line_has_its_message)
{
    int count = 0;
    while (count < 3 && refused[_i].words[count] != NULL) count++;
    ck_assert_int_eq(parse(&plain, count, refused[_i].words), CLI_USAGE);
    ck_assert_msg(strstr(said, refused[_i].said) != NULL, "'%s' is not in: %s", refused[_i].said, said);
    ck_assert_int_eq(strncmp(said, "weft plain: ", 12), 0);
    finish();
}
END_TEST

START_TEST(numbers_at_their_bounds)
{
    ck_assert_int_eq(PARSE(plain, "w", "--workers", "63", "--tag", "4294967039", "--heartbeat", "3600"), CLI_OK);
    ck_assert_int_eq(c.workers, 63);
    ck_assert_int_eq(c.tag, 0xFFFFFEFF);
    ck_assert_int_eq(c.heartbeat, WEFT_SEC(3600));
    ck_assert_int_eq(PARSE(plain, "w", "--count", "9223372036854775807", "--heartbeat", "0", "--tag", "0"), CLI_OK);
    ck_assert_int_eq(c.count, INT64_MAX);
    ck_assert(c.has_count && c.has_tag);
    ck_assert_int_eq(PARSE(plain, "w", "--tag", "4294967040"), CLI_USAGE);
    finish();
}
END_TEST

START_TEST(a_list_is_bounded)
{
    const char *words[2 * (CLI_LIST_MAX + 1) + 1] = {"w"};
    for (size_t i = 0; i <= CLI_LIST_MAX; i++) words[2 * i + 1] = "--discover", words[2 * i + 2] = "tcp://x:1";
    ck_assert_int_eq(parse(&plain, 2 * CLI_LIST_MAX + 1, words), CLI_OK);
    ck_assert_uint_eq(c.discover.count, CLI_LIST_MAX);
    ck_assert_int_eq(parse(&plain, 2 * CLI_LIST_MAX + 3, words), CLI_USAGE);
    ck_assert_str_eq(said, "weft plain: --discover: more than 16 of them; leave some out\n");
    finish();
    for (size_t i = 0; i <= 8; i++) words[2 * i + 1] = "-l"; /* an option with a limit of its own */
    ck_assert_int_eq(parse(&plain, 2 * 8 + 1, words), CLI_OK);
    ck_assert_int_eq(parse(&plain, 2 * 8 + 3, words), CLI_USAGE);
    ck_assert_str_eq(said, "weft plain: --listen: more than 8 of them; leave some out\n");
    finish();
}
END_TEST

START_TEST(the_rest_belongs_to_somebody_else)
{
    ck_assert_int_eq(PARSE(rest, "one", "--", "--name", "-x"), CLI_OK);
    ck_assert_int_eq(c.argc, 1);
    ck_assert_int_eq(c.rest_count, 2);
    ck_assert_str_eq(c.rest[0], "--name");
    ck_assert_int_eq(PARSE(rest, "--"), CLI_OK);
    ck_assert_int_eq(c.rest_count, 0);
    finish();
}
END_TEST

START_TEST(the_environment_says_what_no_flag_does)
{
    setenv("WEFT_NAME", "e", 1);
    setenv("WEFT_WORKERS", "7", 1);
    setenv("WEFT_LISTEN", " tcp://a:1,tcp://b:1\ttcp://c:1 ,", 1);
    setenv("WEFT_HEARTBEAT", "", 1); /* as if it were not there */
    ck_assert_int_eq(PARSE(plain, "w", "--workers", "2"), CLI_OK);
    ck_assert_str_eq(c.name, "e");
    ck_assert_int_eq(c.workers, 2);
    ck_assert_int_eq(c.heartbeat, 0);
    ck_assert_uint_eq(c.listen.count, 3);
    ck_assert_str_eq(c.listen.item[2], "tcp://c:1");
    finish();
    setenv("WEFT_WORKERS", "many", 1);
    ck_assert_int_eq(PARSE(plain, "w"), CLI_USAGE);
    ck_assert_ptr_nonnull(strstr(said, "WEFT_WORKERS: 'many' is not a number from 1 to 63"));
    finish();
    unsetenv("WEFT_WORKERS");
    setenv("WEFT_LISTEN", "ipc://a ipc://b ipc://c ipc://d ipc://e ipc://f ipc://g ipc://h ipc://i", 1);
    ck_assert_int_eq(PARSE(plain, "w"), CLI_USAGE);
    ck_assert_ptr_nonnull(strstr(said, "WEFT_LISTEN: more than 8"));
    finish();
    setenv("WEFT_LISTEN", "ipc://a", 1);
    no_memory = true;
    ck_assert_int_eq(PARSE(plain, "w"), CLI_FAILED);
    no_memory = false;
    ck_assert_ptr_nonnull(strstr(said, "out of memory"));
    finish();
}
END_TEST

START_TEST(flags_in_the_environment)
{
    static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < 4; i++) {
        setenv("WEFT_JSON", yes[i], 1);
        ck_assert_int_eq(PARSE(plain, "w"), CLI_OK);
        ck_assert(c.json);
        finish();
        setenv("WEFT_JSON", no[i], 1);
        ck_assert_int_eq(PARSE(plain, "w"), CLI_OK);
        ck_assert(!c.json);
        finish();
    }
    setenv("WEFT_JSON", "perhaps", 1);
    ck_assert_int_eq(PARSE(plain, "w"), CLI_USAGE);
    ck_assert_ptr_nonnull(strstr(said, "WEFT_JSON: 'perhaps' is not 1 or 0"));
    finish();
    ck_assert_int_eq(PARSE(plain, "w", "--json"), CLI_OK); /* not looked at */
    finish();
}
END_TEST

/* ---- Values of several parts ----------------------------------------------------------------------------------- */

START_TEST(limits_of_peers_are_read_and_refused)
{
    static const char *const wrong[] = {"frames",
                                        "frames=",
                                        "frames=x",
                                        "frames=:",
                                        "frames=-1",
                                        "messages=1",
                                        "frames=1x",
                                        "frames=1kk",
                                        "frames=/",
                                        "bytes=1,frames",
                                        "frames=1000000000000",
                                        "bytes=12345678901G",
                                        "spawns=99999999999999999999"};
    struct cli_limits l = {.frames = 7, .bytes = 8, .spawns = 9};
    ck_assert(cli_read_limits("", &l));
    ck_assert(l.frames == 7 && l.bytes == 8 && l.spawns == 9);
    ck_assert(cli_read_limits("bytes=3M,frames=20k,spawns=0", &l));
    ck_assert(l.frames == 20000 && l.bytes == 3000000 && l.spawns == 0);
    ck_assert(cli_read_limits("bytes=999G,spawns=999999999999,", &l));
    ck_assert(l.bytes == 999000000000 && l.spawns == 999999999999);
    for (size_t i = 0; i < WF_COUNT(wrong); i++) ck_assert_msg(!cli_read_limits(wrong[i], &l), "%s", wrong[i]);
}
END_TEST

START_TEST(policies_of_partitions_are_read_and_refused)
{
    static const char *const wrong[] = {"", "0", "-1", "+1", "4097", "3 ", "3x", ":", "half", "majority "};
    struct cli_partition p;
    ck_assert(cli_read_partition("none", &p) && p.policy == WEFT_PARTITION_NONE);
    ck_assert(cli_read_partition("majority", &p) && p.policy == WEFT_PARTITION_MAJORITY);
    ck_assert(cli_read_partition("4096", &p) && p.policy == WEFT_PARTITION_QUORUM && p.quorum == 4096);
    for (size_t i = 0; i < WF_COUNT(wrong); i++) ck_assert_msg(!cli_read_partition(wrong[i], &p), "%s", wrong[i]);
}
END_TEST

START_TEST(the_closest_word)
{
    static const char *const known[] = {"send", "spawn", "ls", "a-word-of-more-letters-than-31-of-them"};
    static const char *const close[][2] = {{"sned", "send"},  {"sedn", "send"},    {"sen", "send"}, {"snd", "send"},
                                           {"spwn", "spawn"}, {"spaawn", "spawn"}, {"l", "ls"},     {"sl", "ls"}};
    static const char *const none[] = {"x", "", "something", "lsxxx", "a-word-of-more-letters-than-31-of-thex"};
    for (size_t i = 0; i < WF_COUNT(close); i++) {
        const char *found = cli_closest(close[i][0], known, WF_COUNT(known));
        ck_assert_msg(found != NULL && strcmp(found, close[i][1]) == 0, "%s: %s", close[i][0], found);
    }
    for (size_t i = 0; i < WF_COUNT(none); i++) ck_assert_ptr_null(cli_closest(none[i], known, WF_COUNT(known)));
}
END_TEST

static const char *help_of(const struct cli_verb *verb)
{
    static char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    ck_assert_ptr_nonnull(out);
    cli_help(out, verb);
    fclose(out);
    return text;
}

START_TEST(help)
{
    ck_assert_int_eq(PARSE(plain, "--help"), -1);
    ck_assert_int_eq(PARSE(plain, "w", "-h"), -1);
    const char *text = help_of(&plain);
    ck_assert_ptr_nonnull(strstr(text, "usage: weft plain WORD [OPTIONS]\n\na verb.\n\nAbout it.\n"));
    ck_assert_ptr_nonnull(strstr(text, "  -n, --name NAME"));
    ck_assert_ptr_nonnull(strstr(text, "      --json               one JSON object a line [WEFT_JSON]\n"));
    ck_assert_ptr_nonnull(strstr(text, "end after N messages\n"));
    ck_assert_ptr_nonnull(strstr(text, "example:\n  weft plain word\n"));
    text = help_of(&rest);
    ck_assert_ptr_nonnull(strstr(text, "usage: weft rest [-- ARGS]\n"));
    ck_assert_ptr_null(strstr(text, "example"));
}
END_TEST

START_TEST(a_failure_names_its_verb_if_there_is_one)
{
    capture_state out = capture_start();
    ck_assert_int_eq(cli_fail(NULL, CLI_FAILED, "%d", 1), CLI_FAILED);
    ck_assert_int_eq(cli_fail(&(struct cli){.verb = NULL}, 0, "2"), 0);
    ck_assert_int_eq(cli_fail(&(struct cli){.verb = &plain}, 7, "3"), 7);
    (void)capture_end(&out, said, sizeof said);
    ck_assert_str_eq(said, "weft: 1\nweft: 2\nweft plain: 3\n");
}
END_TEST

START_TEST(output_that_was_lost_before_the_last_flush_counts_as_lost)
{
    static char block[1 << 20];
    int out = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY), null = open("/dev/null", O_WRONLY);
    if (full < 0) return;
    fflush(stdout);
    dup2(full, STDOUT_FILENO);
    weft_ignore((int64_t)fwrite(block, 1, sizeof block, stdout));
    dup2(null, STDOUT_FILENO); /* now there is space again */
    bool failed = cli_output_failed(), gone = cli_reader_has_gone();
    dup2(out, STDOUT_FILENO);
    clearerr(stdout);
    ck_assert(failed && !gone);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("options");
    TCase *t = tcase_create("options");
    tcase_add_test(t, options_in_all_their_forms);
    tcase_add_loop_test(t, a_refused_command_line_has_its_message, 0, WF_COUNT(refused));
    tcase_add_test(t, numbers_at_their_bounds);
    tcase_add_test(t, a_list_is_bounded);
    tcase_add_test(t, the_rest_belongs_to_somebody_else);
    tcase_add_test(t, the_environment_says_what_no_flag_does);
    tcase_add_test(t, flags_in_the_environment);
    tcase_add_test(t, the_closest_word);
    tcase_add_test(t, limits_of_peers_are_read_and_refused);
    tcase_add_test(t, policies_of_partitions_are_read_and_refused);
    tcase_add_test(t, help);
    tcase_add_test(t, a_failure_names_its_verb_if_there_is_one);
    tcase_add_test(t, output_that_was_lost_before_the_last_flush_counts_as_lost);
    suite_add_tcase(s, t);
    return run_suite(s);
}
