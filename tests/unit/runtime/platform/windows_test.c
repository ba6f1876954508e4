/* tests/unit/runtime/platform/windows_test.c -- pipes, child processes and listings on Windows, which has no shell
 * for tests: a child is this program with another role as its first argument. The test reads the output of the
 * child. */
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <windows.h>

#include "../os/children.h"
#include "../folder.h"

#include <weft/dir.h>
#include <weft/pipe.h>

static char self_path[512];

#define SELF(...) ((const char *const[]){self_path, __VA_ARGS__, NULL})

/* ---- The child ------------------------------------------------------------------------------------------------- */

enum { MUCH = 300000 };

/* Lines, and much at the end, which nothing waits for in here. */
static void copy_by_streams(void *arg)
{
    (void)arg;
    weft_stream in, out, err;
    char line[256];
    int64_t n;
    want_int(weft_stdin(&in), 0);
    want_int(weft_stdout(&out), 0);
    want_int(weft_stderr(&err), 0);
    want_int(weft_write(err, "to stderr", 9, WEFT_FOREVER), 9);
    while ((n = weft_read_until(in, line, sizeof line, '\n', WEFT_FOREVER)) > 0)
        want_int(weft_write(out, line, (size_t)n, WEFT_FOREVER), n);
    char *much = malloc(MUCH);
    want(n == 0 && much != NULL);
    memset(much, 'x', MUCH);
    want_int(weft_write(out, much, MUCH, WEFT_FOREVER), MUCH);
    free(much);
}

static int role(int argc, char **argv)
{
    char line[256];
    (void)_setmode(0, 0x8000); /* O_BINARY */
    (void)_setmode(1, 0x8000);
    (void)_setmode(2, 0x8000);
    if (strcmp(argv[1], "copy") == 0) {
        fputs("to stderr", stderr);
        while (fgets(line, sizeof line, stdin) != NULL) fputs(line, stdout);
        return 3;
    }
    if (strcmp(argv[1], "arguments") == 0) {
        for (int i = 2; i < argc; i++) printf("<%s>", argv[i]);
        return 0;
    }
    if (strcmp(argv[1], "place") == 0) {
        const char *value = getenv("WEFT_NAME"), *other = getenv("WEFT_OTHER");
        printf("%s %s %s", value, other == NULL ? "none" : other, _getcwd(line, sizeof line));
        return 0;
    }
    if (strcmp(argv[1], "streams") == 0) {
        run_alone(copy_by_streams, NULL);
        return 4;
    }
    if (strcmp(argv[1], "wait") == 0) Sleep(INFINITE);
    if (strcmp(argv[1], "fault") == 0) ExitProcess((UINT)EXCEPTION_ACCESS_VIOLATION); /* without a debugger */
    return argc == 2 ? atoi(argv[1]) : 99;
}

/* ---- Children -------------------------------------------------------------------------------------------------- */

static void use_streams(void *arg)
{
    (void)arg;
    weft_process p = start(&(weft_process_options){.argv = SELF("copy"), .in = PIPE, .out = PIPE, .err = PIPE});
    want(weft_process_id(p) > 0);
    want_int(weft_write(weft_process_in(p), "first\nsecond\n", 13, WEFT_FOREVER), 13);
    want_int(weft_process_wait(p, NULL, WEFT_NOW), WEFT_ETIMEDOUT); /* it reads on */
    want_int(weft_close(weft_process_in(p)), 0);
    want_text(weft_process_out(p), "first\nsecond\n");
    want_text(weft_process_err(p), "to stderr");
    weft_process_status s = wait_for(p);
    want_int(s.code, 3);
    want_int(s.signal, 0);
    want_int(weft_process_id(p), 0);
    want_int(weft_process_signal(p, SIGTERM), WEFT_ECLOSED);
    want_int(weft_process_close(p), 0);
}

START_TEST(a_child_has_three_streams_and_an_exit_code)
{
    run_alone(use_streams, NULL);
}
END_TEST

static void pass_arguments(void *arg)
{
    (void)arg;
    weft_process p = start(&(weft_process_options){
        .argv = SELF("arguments", "", "two words", "a\"quote", "back\\slash", "end\\ ", "end of\\", "\\\"\\\\",
                     "%PATH%"),
        .in = NOTHING,
        .out = PIPE,
    });
    want_text(weft_process_out(p), "<><two words><a\"quote><back\\slash><end\\ ><end of\\><\\\"\\\\><%PATH%>");
    want_int(wait_for(p).code, 0);
}

START_TEST(arguments_arrive_as_they_were_given)
{
    run_alone(pass_arguments, NULL);
}
END_TEST

static void run_in_a_place(void *arg)
{
    (void)arg;
    char root[64], place[512], expected[600];
    snprintf(root, sizeof root, "SystemRoot=%s", getenv("SystemRoot"));
    want(_fullpath(place, folder_path, sizeof place) != NULL);
    want_int(_putenv_s("WEFT_OTHER", "inherited"), 0);
    weft_process p = start(&(weft_process_options){
        .argv = SELF("place"),
        .env = (const char *const[]){"WEFT_NAME=a value", root, NULL},
        .directory = folder_path,
        .out = PIPE,
    });
    snprintf(expected, sizeof expected, "a value none %s", place);
    want_text(weft_process_out(p), expected);
    want_int(wait_for(p).code, 0);
    p = start(&(weft_process_options){.argv = (const char *const[]){"cmd", "/c", "exit 7", NULL}}); /* by PATH */
    want_int(wait_for(p).code, 7);
}

START_TEST(a_child_has_a_directory_and_an_environment)
{
    run_alone(run_in_a_place, NULL);
}
END_TEST

static void end_children(void *arg)
{
    (void)arg;
    weft_process p = start(&(weft_process_options){.argv = SELF("wait"), .out = PIPE});
    want_int(weft_process_wait(p, NULL, weft_after(WEFT_MS(5))), WEFT_ETIMEDOUT);
    want_int(weft_process_signal(p, -1), WEFT_EINVAL);
    want_int(weft_process_signal(p, SIGINT), WEFT_ENOTSUP);
    want_int(weft_process_signal(p, SIGTERM), 0);
    weft_process_status s = wait_for(p);
    want_int(s.code, -1);
    want_int(s.signal, SIGTERM);
    want_text(weft_process_out(p), "");
    p = start(&(weft_process_options){.argv = SELF("fault"), .err = NOTHING});
    want_int(wait_for(p).signal, SIGSEGV);
    (void)start(&(weft_process_options){.argv = SELF("wait")}); /* ends with its actor, or the node would wait */
}

START_TEST(a_child_is_ended_by_a_signal)
{
    run_alone(end_children, NULL);
}
END_TEST

enum { MANY = 6 };

static void start_many(void *arg)
{
    (void)arg;
    weft_process p[MANY];
    char code[8];
    for (int i = 0; i < MANY; i++) {
        snprintf(code, sizeof code, "%d", i);
        p[i] = start(&(weft_process_options){.argv = SELF(code)});
    }
    for (int i = 0; i < MANY; i++) want_int(wait_for(p[i]).code, i);
}

START_TEST(many_children_run_at_a_time)
{
    run_alone(start_many, NULL);
}
END_TEST

static void write_file(int n, const char *text)
{
    FILE *f = fopen(file_path(n), "wb");
    want(f != NULL && fputs(text, f) >= 0);
    want_int(fclose(f), 0);
}

static void start_badly(void *arg)
{
    (void)arg;
    char batch[128];
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){"no-such-program", NULL}}),
             WEFT_ENOTFOUND);
    want_int(try_to_start(&(weft_process_options){.argv = SELF("0"), .directory = "no-such-folder"}), WEFT_ENOTFOUND);
    write_file(1, "no program at all");
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){file_path(1), NULL}}), WEFT_EFORMAT);
    snprintf(batch, sizeof batch, "%s/1.bat", folder_path);
    want_int(rename(file_path(1), batch), 0);
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){batch, "\"&calc", NULL}}),
             WEFT_EFORMAT);
    want_int(remove(batch), 0);
    char *text = calloc(1, 40000);
    want(text != NULL);
    memset(text, 'x', 39999);
    want_int(try_to_start(&(weft_process_options){.argv = SELF(text)}), WEFT_ETOOBIG);
    free(text);
}

START_TEST(starting_says_why_it_fails)
{
    run_alone(start_badly, NULL);
}
END_TEST

/* ---- Pipes and listings ---------------------------------------------------------------------------------------- */

static void use_pipe(void *arg)
{
    (void)arg;
    weft_stream in, out;
    char text[8];
    want_int(weft_pipe(&in, &out), 0);
    want_int(weft_read(in, text, sizeof text, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_write(out, "hello", 5, WEFT_FOREVER), 5);
    want_int(weft_close(out), 0);
    want_text(in, "hello");
    want_int(weft_close(in), 0);
}

START_TEST(a_pipe_is_two_streams)
{
    run_alone(use_pipe, NULL);
}
END_TEST

static void use_standard_streams(void *arg)
{
    (void)arg;
    char line[8];
    weft_process p = start(&(weft_process_options){.argv = SELF("streams"), .in = PIPE, .out = PIPE, .err = PIPE});
    want_int(weft_write(weft_process_in(p), "first\n", 6, WEFT_FOREVER), 6);
    want_int(weft_read_exact(weft_process_out(p), line, 6, WEFT_FOREVER), 6); /* while its input is open */
    want(memcmp(line, "first\n", 6) == 0);
    want_int(weft_close(weft_process_in(p)), 0);
    char *much = malloc(MUCH + 1);
    want(much != NULL);
    want_int(weft_read_exact(weft_process_out(p), much, MUCH + 1, WEFT_FOREVER), MUCH);
    free(much);
    want_text(weft_process_err(p), "to stderr");
    want_int(wait_for(p).code, 4);
}

/* The child's input and output are files. */
static void use_standard_files(void *arg)
{
    (void)arg;
    char got[16];
    write_file(1, "a\nb\n");
    write_file(2, "");
    intptr_t from = _get_osfhandle(_open(file_path(1), _O_RDONLY | _O_BINARY));
    intptr_t to = _get_osfhandle(_open(file_path(2), _O_WRONLY | _O_BINARY));
    want(from != -1 && to != -1);
    weft_process p = start(&(weft_process_options){
        .argv = SELF("streams"), .in = {WEFT_STDIO_FD, (int)from}, .out = {WEFT_STDIO_FD, (int)to}, .err = NOTHING});
    want_int(wait_for(p).code, 4);
    FILE *f = fopen(file_path(2), "rb");
    want(f != NULL && fread(got, 1, 5, f) == 5 && memcmp(got, "a\nb\nx", 5) == 0);
    want_int(fseek(f, 0, SEEK_END), 0);
    want_int(ftell(f), MUCH + 4);
    want_int(fclose(f), 0);
    want(CloseHandle((HANDLE)from) && CloseHandle((HANDLE)to));
}

START_TEST(standard_streams_are_streams)
{
    run_alone(use_standard_streams, NULL);
    run_alone(use_standard_files, NULL);
}
END_TEST

static void list(void *arg)
{
    (void)arg;
    weft_dir d;
    weft_dir_entry e;
    bool seen[FOLDER_FILES] = {false};
    for (int i = 1; i < FOLDER_FILES; i++) write_file(i, "");
    want_int(_mkdir(file_path(0)), 0);
    want_int(weft_dir_open(&d, folder_path, WEFT_FOREVER), 0);
    int rc;
    while ((rc = weft_dir_next(d, &e, WEFT_FOREVER)) == 1) {
        int n = atoi(e.name);
        want(!seen[n]);
        seen[n] = true;
        want_int(e.kind, n == 0 ? WEFT_DIR_DIRECTORY : WEFT_DIR_FILE);
    }
    want_int(rc, 0);
    for (int i = 0; i < FOLDER_FILES; i++) want(seen[i]);
    want_int(weft_dir_close(d), 0);
    want_int(_rmdir(file_path(0)), 0);
    want_int(weft_dir_open(&d, file_path(0), WEFT_FOREVER), WEFT_ENOTFOUND);
    want_int(weft_dir_open(&d, file_path(1), WEFT_FOREVER), WEFT_ENOTFOUND);
}

START_TEST(a_directory_is_listed)
{
    run_alone(list, NULL);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1) return role(argc, argv);
    GetModuleFileNameA(NULL, self_path, sizeof self_path);
    Suite *suite = suite_create("windows");
    TCase *t = tcase_create("windows");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, a_child_has_three_streams_and_an_exit_code);
    tcase_add_test(t, arguments_arrive_as_they_were_given);
    tcase_add_test(t, a_child_has_a_directory_and_an_environment);
    tcase_add_test(t, a_child_is_ended_by_a_signal);
    tcase_add_test(t, many_children_run_at_a_time);
    tcase_add_test(t, starting_says_why_it_fails);
    tcase_add_test(t, a_pipe_is_two_streams);
    tcase_add_test(t, standard_streams_are_streams);
    tcase_add_test(t, a_directory_is_listed);
    suite_add_tcase(suite, t);
    return run_suite_unforked(suite);
}
