/* tests/unit/runtime/os/changes_kqueue_test.c -- changes with kqueue, turn by turn: the waits of the thread of
 * changes_vnode.c go through a gate, and can be made to fail; so can the waits of a worker.
 *
 * Design notes. (1) A turn is one wait of that thread and its work after it. The gate lets it through without waiting
 * for the kernel, because the kernel has the changes of the test by then. (2) Folders fill the pipe: they are
 * reported like files, but take no descriptor, of which libkqueue could watch only some. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "../folder.h"
#include "platform.h"
#include "../../../suite.h"

enum { FILLERS = 400 }; /* records; a pipe holds 128 on Linux, fewer elsewhere */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;   /* nobody is held up */
    int turns;   /* that may begin */
    int arrived; /* at the gate */
    int failing; /* how many of the next waits fail, and what with: */
    int error;
    int failed;
    int adding; /* how many watches may be added before that is refused, and with what: */
    int refusal;
    bool plain; /* a change of contents is told as one of attributes */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int __real_kevent(int kq, const struct kevent *changes, int change_count, struct kevent *events, int count,
                  const struct timespec *span);
int __wrap_kevent(int kq, const struct kevent *changes, int change_count, struct kevent *events, int count,
                  const struct timespec *span);

/* Whether this wait is to fail: the errno, or 0. */
static int pass_gate(bool *held)
{
    int error = 0;
    pthread_mutex_lock(&gate.lock);
    gate.arrived++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open && gate.turns == 0) pthread_cond_wait(&gate.changed, &gate.lock);
    *held = !gate.open;
    if (*held) gate.turns--;
    if (gate.failing > 0) {
        gate.failing--;
        error = gate.error;
    }
    pthread_mutex_unlock(&gate.lock);
    return error;
}

int __wrap_kevent(int kq, const struct kevent *changes, int change_count, struct kevent *events, int count,
                  const struct timespec *span)
{
    static const struct timespec at_once;
    bool held;
    if (count == 0 && gate.refusal != 0 && (changes->flags & EV_ADD) != 0 && gate.adding-- <= 0) {
        errno = gate.refusal;
        return -1;
    }
    if (count == 0 || change_count > 0) return __real_kevent(kq, changes, change_count, events, count, span);
    int error = pass_gate(&held);
    int n = error == 0 ? __real_kevent(kq, NULL, 0, events, count, held ? &at_once : span) : -1;
    for (int i = 0; i < n && gate.plain; i++) {
        if (events[i].filter == EVFILT_VNODE && (events[i].fflags & (NOTE_WRITE | NOTE_EXTEND)) != 0)
            events[i].fflags = NOTE_ATTRIB;
    }
    if (error != 0) errno = error;
    if (n < 0 && errno != EINTR) {
        int why = errno;
        pthread_mutex_lock(&gate.lock);
        gate.failed++;
        pthread_cond_broadcast(&gate.changed);
        pthread_mutex_unlock(&gate.lock);
        errno = why;
    }
    return n;
}

/* Runs one turn, from its wait to the next wait. */
static void turn(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.arrived == 0) pthread_cond_wait(&gate.changed, &gate.lock); /* it has only just begun */
    int before = gate.arrived;
    gate.turns = 1;
    pthread_cond_broadcast(&gate.changed);
    while (gate.arrived == before) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void open_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void let_fail(int times, int error)
{
    pthread_mutex_lock(&gate.lock);
    gate.failing = times;
    gate.error = error;
    pthread_mutex_unlock(&gate.lock);
}

/* ---- Files and records ----------------------------------------------------------------------------------------- */

static const char *inside(const char *name)
{
    static char paths[2][128];
    static int which;
    char *path = paths[which++ % 2];
    snprintf(path, sizeof paths[0], "%s/%s", folder_path, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    int fd = open(inside(name), O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static const char *filler(int n)
{
    static char name[16];
    snprintf(name, sizeof name, "f%03d", n);
    return name;
}

static void make_fillers(void)
{
    for (int i = 0; i < FILLERS; i++) ck_assert_int_eq(mkdir(inside(filler(i)), 0700), 0);
}

static void clean(void)
{
    for (int i = 0; i < FILLERS; i++) (void)rmdir(inside(filler(i)));
    (void)unlink(inside("known"));
    (void)unlink(inside("other"));
    folder_remove();
}

static char got[65536]; /* "kind name," for each record that is not a filler's */
static int fillers_told;

/* Takes what is in the pipe. The result of the last read. */
static int64_t take(pf_handle h)
{
    char data[PF_CHANGES_READ];
    int64_t n;
    while ((n = pf_read(h, data, sizeof data)) > 0) {
        for (int64_t at = 0; at < n;) {
            struct pf_change c;
            int64_t size = pf_changes_parse(data + at, (size_t)(n - at), &c);
            ck_assert_int_gt(size, 0);
            at += size;
            size_t have = strlen(got);
            if (c.name[0] == 'f') fillers_told++;
            else snprintf(got + have, sizeof got - have, "%d %s,", (int)c.kind, c.name);
        }
    }
    return n;
}

/* Takes it, and all that still has to come. */
static void take_all(pf_handle h)
{
    for (int before = -1; before != fillers_told;) {
        before = fillers_told;
        ck_assert_int_eq(take(h), PF_AGAIN);
        turn();
    }
    ck_assert_int_eq(take(h), PF_AGAIN);
    ck_assert_int_eq(fillers_told, FILLERS);
}

/* A watch whose pipe is full, and more is to be told than that. */
static pf_handle open_full(void)
{
    pf_handle h;
    write_file("known", "a");
    ck_assert_int_eq(pf_changes_open(&h, folder_path), WEFT_OK);
    make_fillers();
    turn();
    return h;
}

static void replace_by_rename(void)
{
    write_file("other", "bb");
    ck_assert_int_eq(rename(inside("other"), inside("known")), 0);
    turn();
}

static void replace_by_another(void)
{
    write_file("other", "c"); /* or the new one could be where the old one was */
    ck_assert_int_eq(unlink(inside("known")), 0);
    write_file("known", "bb");
    ck_assert_int_eq(unlink(inside("other")), 0);
    turn();
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* libkqueue frees what is closed on a thread of its own; this waits for it. */
__attribute__((weak)) void libkqueue_drain_pending_close(void);

static int descriptors_now(void)
{
    if (libkqueue_drain_pending_close != NULL) libkqueue_drain_pending_close();
    return descriptors();
}

/* ---- While the pipe is full ------------------------------------------------------------------------------------ */

static void (*const REPLACE[])(void) = {replace_by_rename, replace_by_another};

START_TEST(a_known_file_that_is_replaced_and_goes_is_told)
{
    pf_handle h = open_full();
    REPLACE[_i]();
    ck_assert_int_eq(unlink(inside("known")), 0);
    turn();
    take_all(h);
    ck_assert_str_eq(got, "2 known,");
    write_file("known", "d"); /* and then it is as new as any */
    turn();
    take_all(h);
    ck_assert_str_eq(got, "2 known,1 known,");
    open_gate();
    pf_close(h);
}
END_TEST

START_TEST(a_known_file_that_is_replaced_is_told_once_and_watched)
{
    pf_handle h = open_full();
    REPLACE[_i]();
    REPLACE[_i]();
    take_all(h);
    ck_assert_str_eq(got, "1 known,");
    write_file("known", "ccc");
    turn();
    take_all(h);
    ck_assert_str_eq(got, "1 known,3 known,");
    open_gate();
    pf_close(h);
}
END_TEST

START_TEST(a_file_that_comes_and_goes_is_not_reported)
{
    pf_handle h = open_full();
    for (int i = 0; i < 2; i++) {
        write_file("other", "b");
        turn();
        ck_assert_int_eq(unlink(inside("other")), 0);
        turn();
    }
    ck_assert_int_eq(unlink(inside("known")), 0);
    turn();
    write_file("known", "b");
    turn();
    take_all(h);
    ck_assert_str_eq(got, "1 known,");
    open_gate();
    pf_close(h);
}
END_TEST

START_TEST(a_file_that_is_gone_is_not_held_open)
{
    pf_handle h = open_full();
    int before = descriptors();
    ck_assert_int_eq(unlink(inside("known")), 0);
    turn();
    ck_assert_int_lt(descriptors(), before);
    take_all(h);
    ck_assert_str_eq(got, "2 known,");
    open_gate();
    pf_close(h);
}
END_TEST

/* ---- What some kernels tell less of ---------------------------------------------------------------------------- */

/* FreeBSD: of a file that is cut. */
START_TEST(a_change_of_attributes_is_one_of_contents_if_they_differ)
{
    pf_handle h;
    write_file("known", "abc");
    ck_assert_int_eq(pf_changes_open(&h, _i == 0 ? folder_path : inside("known")), WEFT_OK);
    turn();
    gate.plain = true;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(truncate(inside("known"), 2 - i), 0);
        turn();
        ck_assert_int_eq(chmod(inside("known"), i % 2 == 0 ? 0400 : 0600), 0);
        turn();
        ck_assert_int_eq(take(h), PF_AGAIN);
        ck_assert_str_eq(got, _i == 0 ? "3 known," : "3 ,");
        got[0] = '\0';
    }
    open_gate();
    pf_close(h);
}
END_TEST

/* ---- Waits that fail ------------------------------------------------------------------------------------------- */

static const int ERRORS[] = {EINTR, EBADF, ENOMEM};

START_TEST(a_wait_that_fails_is_tried_again)
{
    pf_handle h;
    ck_assert_int_eq(pf_changes_open(&h, folder_path), WEFT_OK);
    turn();
    let_fail(ERRORS[_i] == EINTR ? 100 : 3, ERRORS[_i]);
    write_file("known", "a");
    while (gate.failing > 0) turn();
    turn();
    ck_assert_int_eq(take(h), PF_AGAIN);
    ck_assert_str_eq(got, "1 known,");
    open_gate();
    pf_close(h);
}
END_TEST

/* Continues as soon as all of them have ended. */
static void await_end(pf_handle h)
{
    while (take(h) != 0) sched_yield();
}

static void break_waits(void)
{
    let_fail(1000, EBADF);
    open_gate();
}

START_TEST(waits_that_go_on_failing_end_all_watches)
{
    pf_handle folder, file, again;
    write_file("known", "a");
    ck_assert_int_eq(pf_changes_open(&folder, folder_path), WEFT_OK);
    ck_assert_int_eq(pf_changes_open(&file, inside("known")), WEFT_OK);
    turn();
    int before = descriptors();
    write_file("other", "a"); /* not seen yet */
    break_waits();
    await_end(folder);
    ck_assert_str_eq(got, "1 other,5 ,");
    got[0] = '\0';
    await_end(file);
    ck_assert_str_eq(got, "5 ,");
    pf_close(folder);
    pf_close(file);
    ck_assert_int_lt(descriptors(), before - 2);

    /* The next one has a kqueue of its own. */
    let_fail(0, 0);
    got[0] = '\0';
    ck_assert_int_eq(pf_changes_open(&again, folder_path), WEFT_OK);
    ck_assert_int_eq(unlink(inside("other")), 0);
    while (got[0] == '\0') ck_assert_int_eq(take(again), PF_AGAIN);
    ck_assert_str_eq(got, "2 other,");
    pf_close(again);
}
END_TEST

START_TEST(a_watcher_without_space_for_the_end_finds_the_end_of_its_pipe)
{
    pf_handle h = open_full();
    break_waits();
    while (take(h) != 0) sched_yield(); /* what fits in while it is read may be more than was in it, or all */
    ck_assert(got[0] == '\0' || strcmp(got, "5 ,") == 0);
    ck_assert_int_gt(fillers_told, 0);
    pf_close(h);
}
END_TEST

/* A worker's. */
START_TEST(a_poller_tries_again_as_well)
{
    struct pf_env *env = pf_env_native();
    struct pf_poller *poller;
    struct pf_ready r[4];
    ck_assert_int_eq(env->poller_create(env, &poller), WEFT_OK);
    open_gate();
    let_fail(3, EBADF);
    int64_t deadline = env->now(env) + WEFT_MS(1);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, deadline), 0);
    ck_assert_int_ge(env->now(env), deadline);
    ck_assert_int_eq(gate.failing, 0);
    let_fail(3, EBADF);
    env->poller_wake(poller);
    ck_assert_int_eq(env->poller_wait(poller, r, 4, WEFT_FOREVER), 0);
    env->poller_destroy(poller);
}
END_TEST

/* ---- Watches that are refused ---------------------------------------------------------------------------------- */

START_TEST(a_watch_that_is_refused_says_why)
{
    pf_handle h;
    static const struct {
        int error, rc;
    } CASES[] = {{ENOSPC, WEFT_EFULL}, {EMFILE, WEFT_EFULL}, {ENOMEM, WEFT_ENOMEM}, {EACCES, WEFT_EACCESS}};
    int before = 0;
    for (size_t i = 0; i < 2 * WF_COUNT(CASES); i++) {
        gate.adding = (int)i % 2; /* the directory, or the pipe */
        gate.refusal = CASES[i / 2].error;
        ck_assert_int_eq(pf_changes_open(&h, folder_path), CASES[i / 2].rc);
        if (i == 0) before = descriptors_now(); /* with what a library has for the process */
    }
    gate.adding = 0;
    if (THROUGH_LIBKQUEUE) { /* which keeps the reason to itself */
        gate.refusal = EFAULT;
        ck_assert_int_eq(pf_changes_open(&h, folder_path), WEFT_EFULL);
    }
    ck_assert_int_eq(descriptors_now(), before);
    gate.refusal = 0;
    ck_assert_int_eq(pf_changes_open(&h, folder_path), WEFT_OK);
    open_gate();
    pf_close(h);
}
END_TEST

/* It is said that not all is seen; what is written there shows with the next look. */
START_TEST(a_file_that_cannot_be_watched)
{
    pf_handle h;
    write_file("known", "a");
    gate.adding = 2; /* the directory and the pipe */
    gate.refusal = ENOMEM;
    ck_assert_int_eq(pf_changes_open(&h, folder_path), WEFT_OK);
    turn();
    ck_assert_int_eq(take(h), PF_AGAIN);
    ck_assert_str_eq(got, "4 ,");
    write_file("known", "bb");
    ck_assert_int_eq(mkdir(inside("other"), 0700), 0);
    turn();
    ck_assert_int_eq(take(h), PF_AGAIN);
    ck_assert_str_eq(got, "4 ,3 known,1 other,");
    ck_assert_int_eq(rmdir(inside("other")), 0);
    open_gate();
    pf_close(h);
}
END_TEST

/* ---- The end of the process ------------------------------------------------------------------------------------ */

/* libkqueue's own handler, which is called before this one, has let the wait fail: that it is made again shows that
 * nothing has ended the process by then. */
static void await_next_wait(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.failed == 0) pthread_cond_wait(&gate.changed, &gate.lock);
    while (gate.arrived < 2 + gate.failed) pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    _exit(7);
}

START_TEST(a_process_may_end_while_it_watches)
{
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        pf_handle h;
        (void)atexit(await_next_wait);
        if (pf_changes_open(&h, folder_path) != WEFT_OK) _exit(1);
        turn();
        open_gate();
        exit(0); /* NOLINT(concurrency-mt-unsafe): what is tried */
    }
    int status = -1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("changes with kqueue");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, folder_make, clean);
    tcase_add_loop_test(t, a_known_file_that_is_replaced_and_goes_is_told, 0, 2);
    tcase_add_loop_test(t, a_known_file_that_is_replaced_is_told_once_and_watched, 0, 2);
    tcase_add_test(t, a_file_that_comes_and_goes_is_not_reported);
    tcase_add_test(t, a_file_that_is_gone_is_not_held_open);
    tcase_add_loop_test(t, a_change_of_attributes_is_one_of_contents_if_they_differ, 0, 2);
    tcase_add_loop_test(t, a_wait_that_fails_is_tried_again, 0, 3);
    tcase_add_test(t, waits_that_go_on_failing_end_all_watches);
    tcase_add_test(t, a_watcher_without_space_for_the_end_finds_the_end_of_its_pipe);
    tcase_add_test(t, a_poller_tries_again_as_well);
    tcase_add_test(t, a_watch_that_is_refused_says_why);
    tcase_add_test(t, a_file_that_cannot_be_watched);
    if (THROUGH_LIBKQUEUE) tcase_add_test(t, a_process_may_end_while_it_watches);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
