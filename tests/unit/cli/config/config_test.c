/* The text of a configuration file: which lines are accepted and refused, and which one overrides which. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "../../../capture.h"
#include "../../../suite.h"

static const struct cli_verb verbs[] = {
    {.name = "run",
     .options = {CLI_NAME, CLI_LISTEN, CLI_WORKERS, CLI_CLUSTER, CLI_LOG, CLI_CARRIER, CLI_INSECURE,
                 CLI_RESUME_WINDOW, CLI_CONFIG, CLI_END}},
    {.name = "ps", .options = {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TAG, CLI_CONFIG, CLI_END}},
    {.name = "certs init", .options = {CLI_DIR, CLI_CLUSTER, CLI_CONFIG, CLI_END}},
};
enum { RUN, PS };

static struct cli_config *file;
static char said[8192];

static void tell(void *arg, int line, const char *key, const char *why)
{
    size_t n = strlen(said);
    (void)arg;
    snprintf(said + n, sizeof said - n, "%d:%s: %s\n", line, key, why);
}

static int parse_bytes(const char *bytes, size_t size)
{
    file = calloc(1, sizeof *file);
    ck_assert_ptr_nonnull(file);
    file->text = malloc(size + 1);
    ck_assert_ptr_nonnull(file->text);
    memcpy(file->text, bytes, size);
    file->text[size] = '\0';
    snprintf(file->path, sizeof file->path, "F");
    said[0] = '\0';
    return cli_config_parse(file, file->text, size, tell, NULL);
}

static int parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void forget(void)
{
    free(file->text);
    free(file);
}

START_TEST(lines_of_all_kinds)
{
    ck_assert_int_eq(parse("\xEF\xBB\xBF# first\r\n"
                           "; also a comment\n"
                           "\n"
                           "\t cluster\t=  tea room \t# of tea\r\n"
                           "name = \" a # b \"   # quoted\n"
                           "log = warn#ing\n"
                           "listen=tcp://a:1\n"
                           "listen=tcp://b:2\n"
                           "[ certs init ]  # two words\n"
                           "dir = \"\"\n"
                           "[ps]\n"
                           "timeout = 3"),
                     0);
    static const struct {
        int number, section;
        enum cli_option_id id;
        const char *value;
    } lines[] = {{4, CLI_CONFIG_EVERY, CLI_CLUSTER, "tea room"},
                 {5, CLI_CONFIG_EVERY, CLI_NAME, " a # b "},
                 {6, CLI_CONFIG_EVERY, CLI_LOG, "warn#ing"},
                 {7, CLI_CONFIG_EVERY, CLI_LISTEN, "tcp://a:1"},
                 {8, CLI_CONFIG_EVERY, CLI_LISTEN, "tcp://b:2"},
                 {10, 2, CLI_DIR, ""},
                 {12, PS, CLI_TIMEOUT, "3"}};
    ck_assert_uint_eq(file->count, WF_COUNT(lines));
    for (size_t i = 0; i < WF_COUNT(lines); i++) {
        ck_assert_int_eq(file->line[i].number, lines[i].number);
        ck_assert_int_eq(file->line[i].section, lines[i].section);
        ck_assert_int_eq(file->line[i].id, lines[i].id);
        ck_assert_str_eq(file->line[i].value, lines[i].value);
    }
    forget();
}
END_TEST

static const struct {
    const char *text, *said;
} refused[] = {
    {"workers", "1:workers: is not followed by '='; write: workers = VALUE\n"},
    {"workers: 4", "1:workers: is not followed by '='; write: workers = 4\n"},
    {"\nworkers 4", "2:workers: is not followed by '='; write: workers = 4\n"},
    {"workers =", "1:workers: has no value; leave the line out, or begin it with '#'\n"},
    {"workers = # four", "1:workers: has no value"},
    {"= 4", "1:: there is no key in front of '='\n"},
    {"wrokers = 4", "1:wrokers: there is no such key; did you mean 'workers'?\n"},
    {"resume_window = 4", "1:resume_window: there is no such key; did you mean 'resume-window'?\n"},
    {"WEFT_WORKERS = 4", "did you mean 'workers'?"},
    {"--workers = 4", "did you mean 'workers'?"},
    {"colour = red", "1:colour: there is no such key; 'weft config show' lists them\n"},
    {"[ps]\ncolour = red", "2:colour: there is no such key; 'weft config show ps' lists them\n"},
    {"[ps]\nworkers = 4", "2:workers: weft ps has no such option\n"},
    {"tag = 4", "1:tag: is valid for one command only; give it on the command line: --tag\n"},
    {"config = x", "1:config: is valid for one command only"},
    {"workers = 1\nworkers = 2", "2:workers: was given in line 1 already\n"},
    {"name = \"a", "1:name: the value has no second '\"'\n"},
    {"name = \"a\"b", "1:name: there is text after the second '\"'\n"},
    {"[rnu]\nnothing = 1", "1:: there is no verb 'rnu'; did you mean [run]?\n"},
    {"[nothing at all]", "1:: there is no verb 'nothing at all'; 'weft help' lists them\n"},
    {"[run", "1:: a section is a verb in brackets, such as [run]\n"},
    {"[run] x", "1:: a section is a verb in brackets"},
    {"[", "1:: a section is"},
    {"name = a\x01", "1:: byte 9 of the line is a control character\n"},
};

START_TEST(a_refused_line_has_its_message)
{
    ck_assert_int_eq(parse(refused[_i].text), 1);
    ck_assert_msg(strstr(said, refused[_i].said) != NULL, "'%s' is not in: %s", refused[_i].said, said);
    forget();
}
END_TEST

START_TEST(every_mistake_is_told)
{
    ck_assert_int_eq(parse("a = 1\nworkers = 2\nb = 2\n[x]\nc = 3\n[run]\nd = 4\n"), 4);
    ck_assert_ptr_nonnull(strstr(said, "1:a: "));
    ck_assert_ptr_nonnull(strstr(said, "3:b: "));
    ck_assert_ptr_nonnull(strstr(said, "4:: "));
    ck_assert_ptr_nonnull(strstr(said, "7:d: "));
    ck_assert_uint_eq(file->count, 1);
    forget();
    ck_assert_int_eq(parse_bytes("name = a\nlog\0 = b\nc", 20), 1);
    ck_assert_str_eq(said, "2:: contains a zero byte, so it is not a text file\n");
    forget();
}
END_TEST

START_TEST(values_are_bounded_in_number)
{
    char text[CLI_CONFIG_LINES * 11 + 32] = "";
    for (int i = 0; i < CLI_CONFIG_LINES; i++) strcat(text, "listen = a\n");
    ck_assert_int_eq(parse(text), 0);
    ck_assert_uint_eq(file->count, CLI_CONFIG_LINES);
    forget();
    strcat(text, "listen = a\n");
    ck_assert_int_eq(parse(text), 1);
    ck_assert_str_eq(said, "257:listen: more than 256 values\n");
    forget();
}
END_TEST

START_TEST(values_are_tried)
{
    ck_assert_int_eq(parse("workers = 65\nlog = inof\ncarrier = smoke\ninsecure = perhaps\nname = a\n"
                           "[ps]\ntimeout = soon\njson = on\n[run]\nworkers = 4"),
                     0);
    ck_assert_int_eq(cli_config_try(file, tell, NULL), 5);
    ck_assert_str_eq(
        said, "1:workers: '65' is not a number from 1 to 63\n"
              "2:log: 'inof' is not LEVEL (debug, info, warn, error, silent), MODULE=LEVEL, json or json:LEVEL, "
              "with commas between; did you mean 'info'?\n"
              "3:carrier: 'smoke' is not nng or tcp\n"
              "4:insecure: 'perhaps' is not 1 or 0\n"
              "7:timeout: 'soon' is not a number of seconds from 0 to 86400, such as 2.5\n");
    forget();
}
END_TEST

/* A list is continued by further lines of its section, and by no others. */
START_TEST(items_of_a_list_are_counted_over_its_lines)
{
    ck_assert_int_eq(parse("listen = ipc://a, ipc://b\n[run]\nlisten = ipc://a, ipc://b, ipc://c\nname = n\n"
                           "listen = ipc://d, ipc://e, ipc://f\nlisten = ipc://g, ipc://h\n"),
                     0);
    ck_assert_int_eq(cli_config_try(file, tell, NULL), 0);
    forget();
    ck_assert_int_eq(parse("listen = ipc://a, ipc://b, ipc://c, ipc://d, ipc://e\n"
                           "listen = ipc://f, ipc://g, ipc://h, ipc://i\n[run]\nlisten = ipc://a\n"),
                     0);
    ck_assert_int_eq(cli_config_try(file, tell, NULL), 1);
    ck_assert_str_eq(said, "2:listen: more than 8 of them; leave some out\n");
    forget();
}
END_TEST

/* Applies the parsed file to a verb. */
static int apply(struct cli *c, int verb, int count, char **words)
{
    *c = (struct cli){0};
    ck_assert_int_eq(cli_parse_options(c, &cli_verbs[verb], count, words), CLI_OK);
    c->file = file;
    capture_state out = capture_start();
    int rc = cli_config_apply(c);
    (void)capture_end(&out, said, sizeof said);
    return rc;
}

START_TEST(flags_override_the_environment_which_overrides_the_file)
{
    char *flag[] = {(char[]){"--workers"}, (char[]){"2"}};
    char where[CLI_WHERE];
    struct cli c;
    unsetenv("WEFT_INSECURE");
    setenv("WEFT_NAME", "e", 1);
    ck_assert_int_eq(parse("workers = 3\nname = f\ncluster = every\nlisten = ipc://a\nlisten = ipc://b,ipc://c "
                           "ipc://d\ninsecure = no\n"
                           "[run]\ncluster = mine\n[ps]\ncluster = theirs\ntimeout = .5"),
                     0);
    ck_assert_int_eq(apply(&c, RUN, 2, flag), CLI_OK);
    ck_assert_int_eq(c.workers, 2);
    ck_assert_str_eq(c.name, "e");
    ck_assert_str_eq(c.cluster, "mine");
    ck_assert_uint_eq(c.listen.count, 4);
    ck_assert_str_eq(c.listen.item[2], "ipc://c");
    ck_assert(!c.insecure && !c.has_timeout);
    ck_assert_str_eq(cli_where(&c, CLI_WORKERS, where), "--workers");
    ck_assert_str_eq(cli_where(&c, CLI_NAME, where), "WEFT_NAME");
    ck_assert_str_eq(cli_where(&c, CLI_CLUSTER, where), "F:8: cluster");
    ck_assert_int_eq(c.origin[CLI_INSECURE].from, CLI_BY_FILE);
    ck_assert_int_eq(c.origin[CLI_LOG].from, CLI_BY_DEFAULT);
    ck_assert_int_eq(apply(&c, PS, 0, NULL), CLI_OK);
    ck_assert_str_eq(c.cluster, "theirs");
    ck_assert_int_eq(c.timeout, WEFT_MS(500));
    cli_finish(&c);
}
END_TEST

START_TEST(a_list_of_the_verb_replaces_that_of_all)
{
    struct cli c;
    ck_assert_int_eq(parse("listen = ipc://a ipc://b\n[run]\nlisten = ipc://c"), 0);
    ck_assert_int_eq(apply(&c, RUN, 0, NULL), CLI_OK);
    ck_assert_uint_eq(c.listen.count, 1);
    ck_assert_str_eq(c.listen.item[0], "ipc://c");
    cli_finish(&c);
}
END_TEST

START_TEST(a_wrong_value_says_its_line)
{
    struct cli c;
    ck_assert_int_eq(parse("\n[run]\nworkers = many"), 0);
    ck_assert_int_eq(apply(&c, RUN, 0, NULL), CLI_USAGE);
    ck_assert_str_eq(said, "weft run: F:3: workers: 'many' is not a number from 1 to 63\nSee 'weft run --help'.\n");
    memset(file->path, 'x', CLI_WHERE);
    ck_assert_str_eq(cli_where(&c, CLI_WORKERS, (char[CLI_WHERE]){0}), "line 3: workers");
    cli_finish(&c);
}
END_TEST

int main(void)
{
    cli_verbs = verbs;
    cli_verb_count = WF_COUNT(verbs);
    Suite *s = suite_create("config");
    TCase *t = tcase_create("config");
    tcase_add_test(t, lines_of_all_kinds);
    tcase_add_loop_test(t, a_refused_line_has_its_message, 0, (int)WF_COUNT(refused));
    tcase_add_test(t, every_mistake_is_told);
    tcase_add_test(t, values_are_bounded_in_number);
    tcase_add_test(t, values_are_tried);
    tcase_add_test(t, items_of_a_list_are_counted_over_its_lines);
    tcase_add_test(t, flags_override_the_environment_which_overrides_the_file);
    tcase_add_test(t, a_list_of_the_verb_replaces_that_of_all);
    tcase_add_test(t, a_wrong_value_says_its_line);
    suite_add_tcase(s, t);
    return run_suite(s);
}
