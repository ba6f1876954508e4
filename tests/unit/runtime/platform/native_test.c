/* tests/unit/runtime/platform/native_test.c -- threads, waiting with deadlines, sockets, faults and output. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "native.h"
#include "platform.h"
#include "../../../suite.h"

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static struct {
    pf_mutex *mutex;
    pf_cond *cond;
    int count;
    bool user_signals_blocked, fault_signals_open;
} shared;

static void thread_main(void *arg)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    pf_mutex_lock(shared.mutex);
    shared.user_signals_blocked = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) &&
                                  sigismember(&mask, SIGPIPE);
    shared.fault_signals_open = !sigismember(&mask, SIGSEGV) && !sigismember(&mask, SIGBUS);
    shared.count += *(int *)arg;
    pf_cond_broadcast(shared.cond);
    pf_mutex_unlock(shared.mutex);
}

START_TEST(threads_start_signal_and_end)
{
    pf_thread *threads[8];
    int one = 1;
    ck_assert_int_eq(pf_mutex_create(&shared.mutex), WEFT_OK);
    ck_assert_int_eq(pf_cond_create(&shared.cond), WEFT_OK);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pf_thread_start(&threads[i], "a name that is too long", thread_main, &one), WEFT_OK);
    pf_mutex_lock(shared.mutex);
    while (shared.count < 8) ck_assert_int_eq(pf_cond_wait(shared.cond, shared.mutex, WEFT_FOREVER), WEFT_OK);
    pf_mutex_unlock(shared.mutex);
    for (int i = 0; i < 8; i++) pf_thread_join(threads[i]);
    ck_assert(shared.user_signals_blocked);
    ck_assert(shared.fault_signals_open);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    ck_assert(!sigismember(&mask, SIGINT)); /* the caller's mask is as it was */
    pf_cond_destroy(shared.cond);
    pf_mutex_destroy(shared.mutex);
    pf_cond_destroy(NULL);
    pf_mutex_destroy(NULL);
}
END_TEST

/* Counts the pieces of work that another thread does between a call of pf_mutex_lock and its return. */
enum { ROUNDS = 101, PIECE_US = 50 };
static _Atomic int pieces;
static _Atomic bool enough;

static void work_in_pieces(void *arg)
{
    pf_mutex *m = arg;
    struct pf_env *env = pf_env_native();
    while (!atomic_load(&enough)) {
        pf_mutex_lock_behind(m);
        int64_t until = env->now(env) + WEFT_US(PIECE_US);
        while (env->now(env) < until) pf_cpu_relax();
        atomic_fetch_add(&pieces, 1);
        pf_mutex_unlock(m);
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

START_TEST(a_thread_that_works_in_pieces_lets_others_have_the_mutex)
{
    pf_mutex *m;
    pf_thread *thread;
    int waited[ROUNDS];
    ck_assert_int_eq(pf_mutex_create(&m), WEFT_OK);
    ck_assert_int_eq(pf_thread_start(&thread, "pieces", work_in_pieces, m), WEFT_OK);
    for (int i = 0; i < ROUNDS; i++) {
        int before = atomic_load(&pieces);
        while (atomic_load(&pieces) == before) sched_yield();
        before = atomic_load(&pieces);
        pf_mutex_lock(m);
        waited[i] = atomic_load(&pieces) - before;
        pf_mutex_unlock(m);
    }
    atomic_store(&enough, true);
    pf_thread_join(thread);
    pf_mutex_destroy(m);
    qsort(waited, ROUNDS, sizeof waited[0], by_value);
    ck_assert_int_le(waited[ROUNDS / 2], 2); /* the processor can be taken from a thread in some of the rounds */
}
END_TEST

/* ---- Sockets --------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/weft-platform-XXXXXX";
static char unix_text[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/weft-platform-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(unix_text, sizeof unix_text, "unix:%s/socket", folder);
}

static void remove_folder(void)
{
    unlink(unix_text + 5);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* Waits until the handle is ready: the kernel may take a moment on loopback. */
static void await(pf_handle h, bool for_write)
{
    struct pf_env *env = pf_env_native();
    struct pf_poller *p;
    struct pf_ready r;
    ck_assert_int_eq(env->poller_create(env, &p), WEFT_OK);
    ck_assert_int_eq(env->poller_add(p, h, 1), WEFT_OK);
    while (pf_is_ready(h, for_write) == 0) env->poller_wait(p, &r, 1, WEFT_FOREVER);
    env->poller_destroy(p);
}

START_TEST(a_conversation_through_a_socket_file)
{
    struct pf_address at, bound, a, b;
    pf_handle listener, client, server;
    char buffer[64];
    ck_assert_int_eq(pf_address_parse(unix_text, &at), WEFT_OK);
    ck_assert_int_eq(pf_listen(&listener, &at, 16, false), WEFT_OK);
    ck_assert_int_eq(pf_accept(listener, &server), PF_AGAIN);
    ck_assert_int_eq(server, PF_NO_HANDLE);
    ck_assert_int_eq(pf_local_address(listener, &bound), WEFT_OK);
    int rc = pf_connect(&client, &bound);
    if (rc == PF_AGAIN) {
        await(client, true);
        rc = pf_connect_result(client);
    }
    ck_assert_int_eq(rc, WEFT_OK);
    ck_assert_int_eq(pf_connect_result(client), WEFT_OK);
    await(listener, false);
    ck_assert_int_eq(pf_accept(listener, &server), WEFT_OK);
    ck_assert_int_eq(pf_peer_address(client, &a), WEFT_OK);
    ck_assert_int_eq(pf_local_address(server, &b), WEFT_OK);
    ck_assert_uint_eq(a.size, b.size);
    ck_assert_mem_eq(a.bytes, b.bytes, a.size);
    ck_assert_int_eq(pf_read(server, buffer, sizeof buffer), PF_AGAIN);
    struct pf_slice parts[] = {{"one ", 4}, {"", 0}, {"two", 3}};
    ck_assert_int_eq(pf_write(client, parts, 3), 7);
    await(server, false);
    ck_assert_int_eq(pf_read(server, buffer, sizeof buffer), 7);
    ck_assert_mem_eq(buffer, "one two", 7);
    ck_assert_int_eq(pf_shutdown(client), WEFT_OK);
    await(server, false);
    ck_assert_int_eq(pf_read(server, buffer, sizeof buffer), 0);
    pf_close(client);
    pf_close(server);
    pf_listen_close(listener, &at);
    ck_assert_int_ne(access(unix_text + 5, F_OK), 0);
}
END_TEST

START_TEST(an_address_in_use_is_refused_and_a_stale_one_is_taken)
{
    struct pf_address at, tcp;
    pf_handle first, second;
    ck_assert_int_eq(pf_address_parse(unix_text, &at), WEFT_OK);
    ck_assert_int_eq(pf_listen(&first, &at, 1, false), WEFT_OK);
    ck_assert_int_eq(pf_listen(&second, &at, 1, false), WEFT_EINUSE);
    ck_assert_int_eq(second, PF_NO_HANDLE);
    pf_close(first); /* as a process that dies does: the file stays */
    ck_assert_int_eq(pf_listen(&second, &at, 1, false), WEFT_OK);
    pf_listen_close(second, &at);

    ck_assert_int_eq(pf_address_parse("127.0.0.1:0", &tcp), WEFT_OK);
    ck_assert_int_eq(pf_listen(&first, &tcp, 1, true), WEFT_OK);
    ck_assert_int_eq(pf_local_address(first, &tcp), WEFT_OK);
    ck_assert_int_eq(pf_listen(&second, &tcp, 1, false), WEFT_EINUSE);
    ck_assert_int_eq(pf_listen(&second, &tcp, 1, true), WEFT_OK); /* both share the port */
    pf_close(second);
    pf_close(first);
    pf_handle client;
    int rc = pf_connect(&client, &tcp);
    if (rc == PF_AGAIN) {
        await(client, true);
        rc = pf_connect_result(client);
        pf_close(client);
    }
    ck_assert_int_eq(rc, WEFT_EREFUSED);
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_left_alone)
{
    struct pf_address at;
    pf_handle h;
    FILE *f = fopen(unix_text + 5, "w");
    fclose(f);
    ck_assert_int_eq(pf_address_parse(unix_text, &at), WEFT_OK);
    ck_assert_int_eq(pf_listen(&h, &at, 1, false), WEFT_EINUSE);
    ck_assert_int_eq(access(unix_text + 5, F_OK), 0);
    ck_assert_int_eq(pf_address_parse("unix:/nonexistent/folder/socket", &at), WEFT_OK);
    ck_assert_int_eq(pf_listen(&h, &at, 1, false), WEFT_EADDRESS);
    ck_assert_int_eq(pf_connect(&h, &at), WEFT_EREFUSED);
    ck_assert_int_eq(h, PF_NO_HANDLE);
}
END_TEST

START_TEST(pipes_can_be_read_and_written)
{
    pf_handle ends[2];
    char byte;
    struct pf_slice s = {"x", 1};
    ck_assert_int_eq(pf_pipe(&ends[0], &ends[1], true, true), 0);
    ck_assert_int_eq(pf_read(ends[0], &byte, 1), PF_AGAIN);
    ck_assert_int_eq(pf_write(ends[1], &s, 1), 1);
    ck_assert_int_eq(pf_read(ends[0], &byte, 1), 1);
    pf_close(ends[0]);
    pf_close(ends[1]);
    ck_assert_int_eq(pf_read(ends[0], &byte, 1), WEFT_ECLOSED);
}
END_TEST

/* ---- Faults that are not the runtime's business ---------------------------------------------------------------- */

static bool not_ours(const struct pf_fault *f)
{
    return f == NULL;
}

static void earlier_handler(int number, siginfo_t *info, void *context)
{
    (void)context;
    _exit(number == SIGSEGV && info->si_addr == (void *)16 ? 7 : 8);
}

static void fault(void *arg)
{
    (void)arg;
    static volatile uintptr_t nowhere = 16; /* volatile: the compiler must not know */
    *(volatile char *)nowhere = 1;
}

static int status_of(bool with_earlier_handler, bool in_thread)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        pf_thread *t;
        struct sigaction earlier = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
        earlier.sa_sigaction = earlier_handler;
        if (with_earlier_handler) sigaction(SIGSEGV, &earlier, NULL);
        else signal(SIGSEGV, SIG_DFL);
        pf_fault_watch(not_ours);
        if (in_thread && pf_thread_start(&t, "fault", fault, NULL) == 0) pf_thread_join(t);
        fault(NULL);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

START_TEST(other_faults_reach_the_handler_that_was_there)
{
    if (RUNNING_ON_VALGRIND) return; /* which reports the fault as an error, rightly */
    int status = status_of(true, _i == 1);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x", status);
    status = status_of(false, _i == 1);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status %x", status);
}
END_TEST

/* The pipe, too, where this system has something better. */
#define pf_flag_open pipe_flag_open
#define pf_flag_close pipe_flag_close
#define pf_flag_raise pipe_flag_raise
#define pf_flag_lower pipe_flag_lower
int pipe_flag_open(struct pf_flag *f);
void pipe_flag_close(struct pf_flag *f);
void pipe_flag_raise(const struct pf_flag *f);
void pipe_flag_lower(const struct pf_flag *f);
#include "posix/flag_pipe.c"
#undef pf_flag_open
#undef pf_flag_close
#undef pf_flag_raise
#undef pf_flag_lower

static const struct flag_kind {
    int (*open)(struct pf_flag *f);
    void (*close)(struct pf_flag *f);
    void (*raise)(const struct pf_flag *f);
    void (*lower)(const struct pf_flag *f);
    int many;
} flag_kinds[] = {{pf_flag_open, pf_flag_close, pf_flag_raise, pf_flag_lower, 100},
                  {pipe_flag_open, pipe_flag_close, pipe_flag_raise, pipe_flag_lower, 70000}};

START_TEST(a_flag_is_readable_while_it_is_up)
{
    const struct flag_kind *kind = &flag_kinds[_i];
    struct pf_flag f;
    ck_assert_int_eq(kind->open(&f), WEFT_OK);
    ck_assert_int_eq(pf_is_ready(f.reading, false), 0);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < kind->many; i++) kind->raise(&f); /* a pipe is full by then */
        ck_assert_int_eq(pf_is_ready(f.reading, false), 1);
        kind->lower(&f);
        ck_assert_int_eq(pf_is_ready(f.reading, false), 0);
        kind->lower(&f);
        ck_assert_int_eq(pf_is_ready(f.reading, false), 0);
    }
    ck_assert_int_ne(fcntl((int)f.reading, F_GETFD) & FD_CLOEXEC, 0);
    kind->close(&f);
    ck_assert_int_eq(pf_is_ready(f.reading, false), WEFT_ECLOSED);
    ck_assert_int_eq(pf_is_ready(f.writing, false), WEFT_ECLOSED);
}
END_TEST

START_TEST(errors_are_translated)
{
    ck_assert_int_eq(pf_error(EAGAIN), PF_AGAIN);
    ck_assert_int_eq(pf_error(ECONNRESET), WEFT_ERESET);
    ck_assert_int_eq(pf_error(EMFILE), WEFT_EFULL);
    ck_assert_int_eq(pf_error(12345), WEFT_ESYSTEM);
    for (int e = 1; e < 200; e++) ck_assert_int_lt(pf_error(e), 0);
}
END_TEST

START_TEST(functions_of_a_library_are_found_and_what_is_missing_is_named)
{
    int (*random_number)(void) = NULL;
    void (*other)(void) = NULL;
    struct pf_code code;
    char why[256] = "";
    struct pf_library_row rows[] = {{"rand", &random_number}, {"weft_no_such_function", &other}};
    ck_assert(pf_code_at((uintptr_t)rand, &code));
    ck_assert(pf_library(code.file, rows, 1, why, sizeof why));
    ck_assert(random_number == rand);
    ck_assert_str_eq(why, "");
    ck_assert(!pf_library(code.file, rows, 2, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "weft_no_such_function"));
    ck_assert(!pf_library("libweft-no-such-library.so", rows, 1, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "libweft-no-such-library.so"));
}
END_TEST

/* Other code of the program has reaped the child, and the system has given its number to another one. */
START_TEST(a_signal_for_a_child_that_is_gone_reaches_no_other)
{
    const char *const ends[] = {"true", NULL}, *const stays[] = {"cat", NULL};
    struct pf_process gone, other;
    struct pf_process_options o = {.argv = ends, .stdio = {PF_STDIO_NULL, PF_STDIO_NULL, PF_STDIO_NULL}};
    struct pf_exit how;
    pf_handle its_in, in;
    if (RUNNING_ON_VALGRIND) return; /* it knows no pidfd */
    ck_assert_int_eq(pf_process_start(&gone, &o), WEFT_OK);
    ck_assert_int_eq(waitpid((pid_t)gone.id, NULL, 0), gone.id);
    ck_assert_int_eq(pf_pipe(&its_in, &in, false, true), WEFT_OK);
    o.argv = stays;
    o.stdio[0] = PF_STDIO_HANDLE;
    o.handle[0] = its_in;
    ck_assert_int_eq(pf_process_start(&other, &o), WEFT_OK);
    gone.id = other.id;
    /* A kqueue has no handle for it, so there only its number is known. */
    if (gone.handle != PF_NO_HANDLE) ck_assert_int_eq(pf_process_signal(&gone, PF_SIGKILL), WEFT_ECLOSED);
    pf_close(in);
    pf_close(its_in);
    ck_assert_int_eq(pf_process_wait(&other, &how), WEFT_OK);
    ck_assert_int_eq(how.signal, 0);
    pf_process_free(&gone);
    pf_process_free(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("platform");
    TCase *c = tcase_create("threads");
    tcase_add_test(c, threads_start_signal_and_end);
    tcase_add_test(c, a_thread_that_works_in_pieces_lets_others_have_the_mutex);
    tcase_add_loop_test(c, other_faults_reach_the_handler_that_was_there, 0, 2);
    tcase_add_test(c, errors_are_translated);
    tcase_add_test(c, functions_of_a_library_are_found_and_what_is_missing_is_named);
    tcase_add_test(c, a_signal_for_a_child_that_is_gone_reaches_no_other);
    tcase_add_loop_test(c, a_flag_is_readable_while_it_is_up, 0, 2);
    suite_add_tcase(suite, c);
    c = tcase_create("sockets");
    tcase_add_checked_fixture(c, make_folder, remove_folder);
    tcase_add_test(c, a_conversation_through_a_socket_file);
    tcase_add_test(c, an_address_in_use_is_refused_and_a_stale_one_is_taken);
    tcase_add_test(c, a_file_that_is_no_socket_is_left_alone);
    tcase_add_test(c, pipes_can_be_read_and_written);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
