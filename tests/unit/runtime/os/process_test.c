/* tests/unit/runtime/os/process_test.c -- child processes: streams, ends, faults, and that nothing is left of
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "../folder.h"
#include "../../../capture.h"

/* The linker puts this in between: a child may be one that this process has no right to signal, as under sudo. */
static bool may_signal = true;
int __real_pf_process_signal(struct pf_process *c, int number);
int __wrap_pf_process_signal(struct pf_process *c, int number);
int __wrap_pf_process_signal(struct pf_process *c, int number)
{
    return may_signal ? __real_pf_process_signal(c, number) : WEFT_EACCESS;
}

#define SHELL(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

/* ---- Streams and ends ------------------------------------------------------------------------------------------ */

static void use_streams(void *arg)
{
    (void)arg;
    weft_process p = start(&(weft_process_options){
        .argv = SHELL("read line; echo \"out: $line\"; echo \"err: $line\" >&2; cat; exit 3"),
        .in = PIPE,
        .out = PIPE,
        .err = PIPE,
    });
    want(weft_process_id(p) > 0);
    want_int(weft_write(weft_process_in(p), "first\nsecond\n", 13, WEFT_FOREVER), 13);
    want_int(weft_process_wait(p, NULL, WEFT_NOW), WEFT_ETIMEDOUT); /* it reads on */
    want_int(weft_close(weft_process_in(p)), 0);
    want_text(weft_process_out(p), "out: first\nsecond\n");
    want_text(weft_process_err(p), "err: first\n");
    weft_process_status s = wait_for(p);
    want_int(s.code, 3);
    want_int(s.signal, 0);
    want_int(wait_for(p).code, 3); /* as often as one likes */
    want_int(weft_process_id(p), 0);
    want_int(weft_process_signal(p, SIGTERM), WEFT_ECLOSED);
    want_int(weft_process_close(p), 0);
    want_int(weft_process_close(p), WEFT_ECLOSED);
    want_int(weft_process_wait(p, NULL, WEFT_NOW), WEFT_ECLOSED);
    want_int((int64_t)weft_process_out(p).id, 0);
}

START_TEST(a_child_has_three_streams_and_an_exit_code)
{
    run_alone(use_streams, NULL);
}
END_TEST

static void run_in_a_place(void *arg)
{
    (void)arg;
    char expected[256];
    weft_process p = start(&(weft_process_options){
        .argv = SHELL("pwd; echo \"$NAME\"; echo \"$HOME\""),
        .env = (const char *const[]){"NAME=a value", NULL},
        .directory = folder_path,
        .in = NOTHING,
        .out = PIPE,
    });
    snprintf(expected, sizeof expected, "%s\na value\n\n", folder_path);
    want_text(weft_process_out(p), expected);
    want_int(wait_for(p).code, 0);
    p = start(&(weft_process_options){.argv = SHELL("test -n \"$PATH\" && exit 7")}); /* this process's */
    want_int(wait_for(p).code, 7);
    p = start(&(weft_process_options){.argv = (const char *const[]){"true", NULL}}); /* by PATH */
    want_int(wait_for(p).code, 0);
}

START_TEST(a_child_has_a_directory_and_an_environment)
{
    run_alone(run_in_a_place, NULL);
}
END_TEST

static void end_by_signal(void *arg)
{
    (void)arg;
    weft_process p = start(&(weft_process_options){.argv = (const char *const[]){"sleep", "1000", NULL}});
    want_int(weft_process_wait(p, NULL, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_process_wait(p, NULL, weft_after(WEFT_MS(5))), WEFT_ETIMEDOUT);
    want_int(weft_process_signal(p, -1), WEFT_EINVAL);
    want_int(weft_process_signal(p, SIGTERM), 0);
    weft_process_status s = wait_for(p);
    want_int(s.code, -1);
    want_int(s.signal, SIGTERM);
}

START_TEST(a_child_is_ended_by_a_signal)
{
    run_alone(end_by_signal, NULL);
}
END_TEST

/* Our threads block all signals, and a program ignores those that its parent ignored, as nohup does. */
static void look_at_signals(void *arg)
{
    static const int ignored[] = {SIGPIPE, SIGHUP, SIGINT, SIGUSR1};
    (void)arg;
    weft_process p = start(&(weft_process_options){.argv = SHELL("kill -TERM $$; exit 0")});
    want_int(wait_for(p).signal, SIGTERM);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
        char script[64];
        snprintf(script, sizeof script, "kill -%d $$; exit 0", ignored[i]);
        signal(ignored[i], SIG_IGN);
        p = start(&(weft_process_options){.argv = SHELL(script)});
        want_int(wait_for(p).signal, ignored[i]);
        signal(ignored[i], SIG_DFL);
    }
}

START_TEST(signals_are_to_a_child_as_a_program_expects)
{
    run_alone(look_at_signals, NULL);
}
END_TEST

enum { MANY = 24 };

static void start_many(void *arg)
{
    (void)arg;
    weft_process p[MANY];
    weft_wait waits[MANY];
    char script[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(script, sizeof script, "exit %d", i);
        p[i] = start(&(weft_process_options){.argv = SHELL(script)});
        waits[i] = weft_on_process(p[i]);
    }
    want_int(weft_wait_all(waits, MANY, WEFT_FOREVER), 0);
    for (int i = 0; i < MANY; i++) want_int(wait_for(p[i]).code, i);
}

START_TEST(many_children_run_at_a_time)
{
    run_alone(start_many, NULL);
}
END_TEST

static void wait_for_any(void *arg)
{
    (void)arg;
    weft_event other;
    want_int(weft_event_open(&other), 0);
    weft_process p = start(&(weft_process_options){.argv = SHELL("read line"), .in = PIPE});
    weft_wait both[] = {weft_on_process(p), weft_on_event(other)};
    want_int(weft_wait_any(both, 2, WEFT_NOW), WEFT_ETIMEDOUT);
    want_int(weft_event_set(other), 0);
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 1);
    want_int(weft_event_take(other), 1);
    want_int(weft_close(weft_process_in(p)), 0);
    want_int(weft_wait_any(both, 2, WEFT_FOREVER), 0);
    want_int(weft_wait_any(both, 2, WEFT_NOW), 0);
}

START_TEST(the_end_is_waited_for_together_with_others)
{
    run_alone(wait_for_any, NULL);
}
END_TEST

static void use_descriptors(void *arg)
{
    (void)arg;
    char text[16];
    int out = open(file_path(0), O_RDWR | O_CREAT, 0600);
    want(out >= 0);
    const weft_process_stdio file = {WEFT_STDIO_FD, out};
    weft_process p = start(
        &(weft_process_options){.argv = SHELL("echo out; echo err >&2"), .out = file, .err = file});
    want_int(wait_for(p).code, 0);
    want_int(pread(out, text, sizeof text, 0), 8);
    want(memcmp(text, "out\nerr\n", 8) == 0);
    want_int(close(out), 0); /* still the caller's */
    want_int((int64_t)weft_process_out(p).id, 0);
}

START_TEST(a_stream_may_be_any_descriptor)
{
    run_alone(use_descriptors, NULL);
}
END_TEST

/* ---- What is left ---------------------------------------------------------------------------------------------- */

static void count_descriptors(void *arg)
{
    (void)arg;
    int leaks[8];
    for (int i = 0; i < 8; i++) leaks[i] = open("/dev/null", O_RDONLY); /* no close-on-exec: somebody else's */
    weft_process other = start(&(weft_process_options){.argv = SHELL("read line"), .in = PIPE, .out = PIPE});
    weft_process p = start(&(weft_process_options){
        .argv = SHELL("i=3; while [ $i -lt 100 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i+1)); done; echo end"),
        .in = PIPE,
        .out = PIPE,
        .err = PIPE});
    want_text(weft_process_out(p), "end\n");
    want_int(weft_process_close(other), 0);
    for (int i = 0; i < 8; i++) close(leaks[i]);
}

START_TEST(no_other_descriptor_gets_into_a_child)
{
    run_alone(count_descriptors, NULL);
}
END_TEST

struct left {
    pid_t pid;
    int pidfd;
};

static void leave_child(void *arg)
{
    struct left *left = arg;
    weft_process p = start(&(weft_process_options){.argv = (const char *const[]){"sleep", "1000", NULL}});
    left->pid = (pid_t)weft_process_id(p);
    left->pidfd = (int)syscall(SYS_pidfd_open, left->pid, 0);
    want(left->pidfd >= 0);
}

static void see_it_gone(void *arg)
{
    const struct left *left = arg;
    weft_wait end = weft_on_fd(left->pidfd, false);
    want_int(weft_wait_any(&end, 1, WEFT_FOREVER), 0);
    siginfo_t info;
    until(waitid(P_PID, (id_t)left->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD);
}

START_TEST(the_end_of_an_actor_kills_and_reaps_its_children)
{
    struct harness h;
    struct left left;
    harness_start(&h, 1);
    harness_spawn(&h, 0, leave_child, &left);
    harness_join(&h);
    harness_spawn(&h, 0, see_it_gone, &left); /* while the node goes on */
    harness_stop(&h);
    close(left.pidfd);
}
END_TEST

START_TEST(the_end_of_a_node_leaves_no_zombies)
{
    struct harness h;
    struct left left[8];
    harness_start(&h, 2);
    for (uint32_t i = 0; i < 8; i++) harness_spawn(&h, i % 2, leave_child, &left[i]);
    harness_stop(&h);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(waitpid(left[i].pid, NULL, WNOHANG), -1);
        ck_assert_int_eq(errno, ECHILD);
        close(left[i].pidfd);
    }
}
END_TEST

static void wait_killed(void *arg)
{
    struct left *left = arg;
    leave_child(left);
    (void)weft_wait_any(NULL, 0, WEFT_FOREVER);
}

static void kill_its_actor(void *arg)
{
    struct test_task *t = spawn_here(wait_killed, arg);
    until(is_waiting(t));
    until(((struct left *)arg)->pidfd > 0 && is_waiting(t));
    wf_task_kill(&t->task);
    until(t->done);
    see_it_gone(arg);
}

START_TEST(a_killed_actor_takes_its_children_with_it)
{
    struct left left = {0};
    run_alone(kill_its_actor, &left);
    close(left.pidfd);
}
END_TEST

static void detach_child(void *arg)
{
    struct left *left = arg;
    weft_process p = start(
        &(weft_process_options){.argv = (const char *const[]){"sleep", "1000", NULL}, .in = PIPE, .detached = true});
    left->pid = (pid_t)weft_process_id(p);
    left->pidfd = (int)syscall(SYS_pidfd_open, left->pid, 0);
    want(left->pidfd >= 0);
}

static void end_what_is_left(struct left *left)
{
    ck_assert_int_eq(kill(left->pid, SIGKILL), 0);
    struct pollfd end = {.fd = left->pidfd, .events = POLLIN};
    ck_assert_int_eq(poll(&end, 1, -1), 1);
    siginfo_t info; /* its reaper is a thread of this process */
    while (waitid(P_PID, (id_t)left->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) sched_yield();
    ck_assert_int_eq(errno, ECHILD);
    close(left->pidfd);
}

START_TEST(a_detached_child_outlives_its_node)
{
    struct left left;
    run_alone(detach_child, &left);
    ck_assert_int_eq(kill(left.pid, 0), 0);
    ck_assert_int_eq(getsid(left.pid), left.pid);
    end_what_is_left(&left);
}
END_TEST

static void leave_unkillable(void *arg)
{
    struct left *left = arg;
    weft_process p = start(&(weft_process_options){.argv = (const char *const[]){"sleep", "1000", NULL}, .in = PIPE});
    left->pid = (pid_t)weft_process_id(p);
    left->pidfd = (int)syscall(SYS_pidfd_open, left->pid, 0);
    want(left->pidfd >= 0);
}

START_TEST(a_child_that_may_not_be_killed_holds_up_nothing)
{
    struct left left;
    may_signal = false;
    run_alone(leave_unkillable, &left);
    ck_assert_int_eq(kill(left.pid, 0), 0);
    end_what_is_left(&left);
}
END_TEST

/* ---- Faults ---------------------------------------------------------------------------------------------------- */

static void start_badly(void *arg)
{
    (void)arg;
    weft_process p;
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){"/no/such/program", NULL}}),
             WEFT_ENOTFOUND);
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){"no-such-program", NULL}}),
             WEFT_ENOTFOUND);
    want_int(try_to_start(&(weft_process_options){.argv = SHELL("exit"), .directory = "/no/such/folder"}),
             WEFT_ENOTFOUND);
    FILE *f = fopen(file_path(0), "w");
    want(f != NULL && fputs("no program\n", f) >= 0 && fclose(f) == 0);
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){file_path(0), NULL}}), WEFT_EACCESS);
    want_int(chmod(file_path(0), 0700), 0);
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){file_path(0), NULL}}), WEFT_EFORMAT);
    want_int(try_to_start(&(weft_process_options){.argv = SHELL("exit"), .out = {WEFT_STDIO_FD, 999}}), WEFT_ECLOSED);
    want_int(try_to_start(&(weft_process_options){.argv = SHELL("exit"), .out = {(weft_stdio)4, 0}}), WEFT_EINVAL);
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){NULL}}), WEFT_EINVAL);
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){"", NULL}}), WEFT_EINVAL);
    want_int(try_to_start(&(weft_process_options){0}), WEFT_EINVAL);
    want_int(try_to_start(NULL), WEFT_EINVAL);
    want_int(weft_process_start(&p, &(weft_process_options){.argv = SHELL("exit")}, WEFT_NOW), WEFT_ETIMEDOUT);
}

START_TEST(starting_says_why_it_fails)
{
    run_alone(start_badly, NULL);
    weft_process p = {{0}};
    ck_assert_int_eq(weft_process_start(&p, &(weft_process_options){.argv = SHELL("exit")}, WEFT_NOW),
                     WEFT_ENOTACTOR);
    ck_assert_int_eq(weft_process_wait(p, NULL, WEFT_NOW), WEFT_ENOTACTOR);
}
END_TEST

static void say_too_much(void *arg)
{
    (void)arg;
    char *text = malloc(WEFT_PROCESS_TEXT_MAX + 1);
    want(text != NULL);
    memset(text, 'x', WEFT_PROCESS_TEXT_MAX);
    text[WEFT_PROCESS_TEXT_MAX] = '\0';
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){"true", text, NULL}}), WEFT_ETOOBIG);
    text[1024 * 1024] = '\0'; /* the system's own bound for one argument is less */
    want_int(try_to_start(&(weft_process_options){.argv = (const char *const[]){"true", text, NULL}}), WEFT_ETOOBIG);
    free(text);
}

START_TEST(arguments_have_a_bound)
{
    run_alone(say_too_much, NULL);
}
END_TEST

/* A child that ended before it was asked for. */
static void reap_elsewhere(void *arg)
{
    (void)arg;
    weft_process p = start(&(weft_process_options){.argv = (const char *const[]){"sleep", "1000", NULL}});
    pid_t pid = (pid_t)weft_process_id(p);
    want_int(kill(pid, SIGKILL), 0);
    want_int(waitpid(pid, NULL, 0), pid); /* what a program must not do */
    char log[1024];
    capture_state c = capture_start();
    int rc = weft_process_wait(p, NULL, WEFT_FOREVER);
    (void)capture_end(&c, log, sizeof log);
    want_int(rc, WEFT_ESYSTEM);
    want(strstr(log, "level=warn module=runtime msg=\"waitpid failed: No child process") != NULL);
    want(strstr(log, "(system error 10)\"") != NULL);
}

START_TEST(a_child_that_the_program_reaped_itself_has_an_unknown_result)
{
    run_alone(reap_elsewhere, NULL);
}
END_TEST

int main(void)
{
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (self < 0) return 77; /* a kernel before 5.3, Valgrind, some emulators: skipped */
    close(self);
    Suite *suite = suite_create("process");
    TCase *t = tcase_create("process");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, a_child_has_three_streams_and_an_exit_code);
    tcase_add_test(t, a_child_has_a_directory_and_an_environment);
    tcase_add_test(t, a_child_is_ended_by_a_signal);
    tcase_add_test(t, signals_are_to_a_child_as_a_program_expects);
    tcase_add_test(t, many_children_run_at_a_time);
    tcase_add_test(t, the_end_is_waited_for_together_with_others);
    tcase_add_test(t, a_stream_may_be_any_descriptor);
    tcase_add_test(t, no_other_descriptor_gets_into_a_child);
    tcase_add_test(t, the_end_of_an_actor_kills_and_reaps_its_children);
    tcase_add_test(t, the_end_of_a_node_leaves_no_zombies);
    tcase_add_test(t, a_killed_actor_takes_its_children_with_it);
    tcase_add_test(t, a_detached_child_outlives_its_node);
    tcase_add_test(t, a_child_that_may_not_be_killed_holds_up_nothing);
    tcase_add_test(t, starting_says_why_it_fails);
    tcase_add_test(t, arguments_have_a_bound);
    if (!THROUGH_LIBKQUEUE) tcase_add_test(t, a_child_that_the_program_reaped_itself_has_an_unknown_result);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
