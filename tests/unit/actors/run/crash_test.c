/* tests/unit/actors/run/crash_test.c -- the report of an actor's crash, and the signal that ends the process.
 * Compiled without -fstack-clash-protection: a large frame does not touch the pages that it skips. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../node_harness.h"

enum { KIB = 1024, NEIGHBOURS = 64 };

struct ending {
    int status;
    char said[16384]; /* on standard error */
};

static weft_actor *crashing;
static _Atomic int neighbours_fine;

/* Under a stack that is as good as used up. */
static volatile size_t below_kib, frame_kib;

static int look(const volatile char *frame, size_t size)
{
    return frame[0] + frame[size - 1];
}

/* Variants, as the size of an array has to be known where it stands; from its low end, as strcpy writes. */
#define WITH_ARRAY_OF(kib)                                    \
    static __attribute__((noinline)) int array_of_##kib(void) \
    {                                                         \
        volatile char frame[kib * KIB];                       \
        frame[0] = 1;                                         \
        frame[sizeof frame - 1] = 1;                          \
        return look(frame, sizeof frame);                     \
    }
WITH_ARRAY_OF(20)
WITH_ARRAY_OF(60)
WITH_ARRAY_OF(100)

static __attribute__((noinline)) int go_down(size_t kib)
{
    volatile char frame[KIB];
    frame[0] = 0;
    if (kib > 0) return go_down(kib - 1) + look(frame, sizeof frame);
    switch (frame_kib) {
    case 20: return array_of_20();
    case 60: return array_of_60();
    default: return array_of_100();
    }
}

/* Waits with a part of its stack written, and finds it as it was. */
static void neighbour(const void *arg, size_t size)
{
    volatile char frame[24 * KIB];
    (void)arg, (void)size;
    memset((char *)(uintptr_t)frame, 'n', sizeof frame);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    weft_msg_free(m);
    for (size_t i = 0; i < sizeof frame; i++) want_int(frame[i], 'n');
    atomic_fetch_add(&neighbours_fine, 1);
}

static void with_neighbours(const void *arg, size_t size)
{
    weft_pid all[NEIGHBOURS], victim;
    (void)arg, (void)size;
    for (int i = 0; i < NEIGHBOURS; i++) {
        if (i == NEIGHBOURS / 2)
            want_int(weft_spawn(&victim, crashing, NULL, 0, &(weft_spawn_options){.kind = "diver"}), 0);
        want_int(weft_spawn(&all[i], neighbour, NULL, 0, NULL), 0);
    }
    for (int i = 0; i < 3; i++) weft_yield();
    want_int(weft_try_send(victim, 1, NULL, 0), 0);
    for (int i = 0; i < NEIGHBOURS; i++) want_int(weft_send(all[i], 1, NULL, 0), 0);
}

static void dives(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    want_int(weft_register("the-deep-one"), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    weft_msg_free(m);
    (void)go_down(below_kib);
}

static struct ending ending_of(weft_actor *first, void (*before)(void))
{
    struct ending e = {.status = 0};
    int ends[2];
    size_t size = 0;
    want_int(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        for (int s = 1; s < 32; s++) (void)signal(s, SIG_DFL); /* Check has its own */
        if (before != NULL) before();
        weft_node *n = node_of(1);
        want_int(weft_node_spawn(n, NULL, first, NULL, 0, &(weft_spawn_options){.kind = "mole"}), 0);
        (void)weft_node_wait(n, WEFT_FOREVER);
        _exit(atomic_load(&neighbours_fine));
    }
    close(ends[1]);
    for (ssize_t n; size < sizeof e.said - 1 && (n = read(ends[0], e.said + size, sizeof e.said - 1 - size)) > 0;)
        size += (size_t)n;
    close(ends[0]);
    want_int(waitpid(child, &e.status, 0), child);
    return e;
}

static void died_of(const struct ending *e, int number)
{
    ck_assert_msg(WIFSIGNALED(e->status) && WTERMSIG(e->status) == number, "status %x, said: %s", e->status, e->said);
}

static void has_said(const struct ending *e, const char *text)
{
    ck_assert_msg(strstr(e->said, text) != NULL, "'%s' is missing in: %s", text, e->said);
}

static void has_not_said(const struct ending *e, const char *text)
{
    ck_assert_msg(strstr(e->said, text) == NULL, "'%s' is in: %s", text, e->said);
}

START_TEST(a_large_frame_names_its_actor_and_nobody_else)
{
    static const struct {
        size_t below, frame;
    } CASES[] = {{0, 100}, {20, 60}, {50, 20}, {50, 60}, {60, 60}, {60, 20}};
    if (under_tools()) return; /* they report it themselves */
    below_kib = CASES[_i].below;
    frame_kib = CASES[_i].frame;
    crashing = dives;
    struct ending e = ending_of(with_neighbours, NULL);
    died_of(&e, SIGABRT);
    has_said(&e, "actor the-deep-one (diver 0.");
    has_said(&e, "overflowed its stack of 64 KiB");
    has_said(&e, "weft:   ");
    has_not_said(&e, "parked");
    has_not_said(&e, "SIG");
}
END_TEST

static void dives_at_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)go_down(64);
}

static void small_dives(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_spawn(NULL, dives_at_once, NULL, 0, &(weft_spawn_options){.kind = "small", .stack_bytes = 1}), 0);
}

START_TEST(the_smallest_stack_has_a_guard_too)
{
    if (under_tools()) return;
    struct ending e = ending_of(small_dives, NULL);
    died_of(&e, SIGABRT);
    has_said(&e, "actor small (0.");
    has_said(&e, "overflowed its stack of 16 KiB");
}
END_TEST

START_TEST(a_stack_holds_what_it_promises)
{
    if (under_tools()) return;
    below_kib = 0;
    frame_kib = 60;
    crashing = dives;
    struct ending e = ending_of(with_neighbours, NULL);
    ck_assert_msg(WIFEXITED(e.status) && WEXITSTATUS(e.status) == NEIGHBOURS, "status %x, said: %s", e.status,
                  e.said);
}
END_TEST

/* ---- Crashes of other kinds ------------------------------------------------------------------------------------ */

static weft_msg *from_oneself(uint32_t tag, size_t size)
{
    static char body[4096];
    weft_msg *m;
    want_int(weft_send(weft_self(), tag, body, size), 0);
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    return m;
}

static volatile int zero;

static void write_nowhere(const void *arg, size_t size)
{
    static volatile uintptr_t nowhere = 0x18;
    (void)arg, (void)size;
    want_int(weft_register("digger"), 0);
    weft_msg_free(from_oneself(7, 8));
    *(volatile char *)nowhere = 1;
}

static void give_up(const void *arg, size_t size)
{
    (void)arg, (void)size;
    abort();
}

static void divide(const void *arg, size_t size)
{
    (void)arg, (void)size;
    zero = 1000 / zero;
}

static void trap(const void *arg, size_t size)
{
    (void)arg, (void)size;
    __builtin_trap();
}

START_TEST(a_null_pointer_names_signal_address_actor_and_place)
{
    if (under_tools()) return;
    struct ending e = ending_of(write_nowhere, NULL);
    died_of(&e, SIGSEGV);
    has_said(&e, "weft: SIGSEGV at address 0x18 in actor digger (mole 0.");
    has_said(&e, "weft:   at ");
    has_said(&e, "crash_test+0x");
    has_said(&e, "events on worker 0");
    has_not_said(&e, "overflow");
}
END_TEST

START_TEST(abort_is_named_once_and_dies_of_itself)
{
    if (under_tools()) return;
    struct ending e = ending_of(give_up, NULL);
    died_of(&e, SIGABRT);
    has_said(&e, "weft: SIGABRT in actor mole (0.");
    ck_assert_ptr_null(strstr(strstr(e.said, "SIGABRT") + 1, "SIGABRT"));
}
END_TEST

START_TEST(other_signals_of_crashes_are_named_too)
{
    if (under_tools()) return;
    struct ending e = ending_of(trap, NULL);
    ck_assert(WIFSIGNALED(e.status));
#ifdef __x86_64__ /* others do not trap */
    died_of(&e, SIGILL);
    has_said(&e, "weft: SIGILL in actor mole (0.");
    e = ending_of(divide, NULL);
    died_of(&e, SIGFPE);
    has_said(&e, "weft: SIGFPE in actor mole (0.");
#else
    (void)divide;
#endif
}
END_TEST

static void program_handler(int number)
{
    _exit(number == SIGSEGV ? 7 : 8);
}

static void handle_it(void)
{
    struct sigaction own = {.sa_handler = program_handler, .sa_flags = SA_ONSTACK};
    want_int(sigaction(SIGSEGV, &own, NULL), 0);
}

START_TEST(a_handler_of_the_program_is_asked_and_nothing_is_said)
{
    if (under_tools()) return;
    struct ending e = ending_of(write_nowhere, handle_it);
    ck_assert_msg(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 7, "status %x", e.status);
    ck_assert_str_eq(e.said, "");
}
END_TEST

/* ---- Messages freed twice -------------------------------------------------------------------------------------- */

static void frees_twice(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("digger"), 0);
    weft_msg *m = from_oneself(77, 8);
    weft_msg_free(m);
    weft_msg_free(m);
}

static void frees_what_it_has_sent(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("digger"), 0);
    weft_msg *m = from_oneself(77, 8), *other = from_oneself(78, 8);
    want_int(weft_send_msg(weft_self(), m), 0);
    weft_msg_free(m);
    weft_msg_free(other);
}

static void frees_a_large_one_twice(const void *arg, size_t size)
{
    (void)arg, (void)size;
    want_int(weft_register("digger"), 0);
    weft_msg *other = from_oneself(78, 8), *m = from_oneself(77, 4000);
    weft_msg_free(m);
    weft_msg_free(m);
    weft_msg_free(other);
}

START_TEST(a_message_freed_twice_is_named)
{
    if (under_tools()) return; /* ASan has its own words */
    struct ending e = ending_of(frees_twice, NULL);
    died_of(&e, SIGABRT);
    has_said(&e, "actor digger (mole 0.");
    has_said(&e, "a message that it does not hold (tag 77, from 0.");
    has_said(&e, "freed or sent this message before");
    has_not_said(&e, "assertion");
    e = ending_of(frees_what_it_has_sent, NULL);
    died_of(&e, SIGABRT);
    has_said(&e, "actor digger (mole 0.");
    has_not_said(&e, "assertion");
    e = ending_of(frees_a_large_one_twice, NULL);
    /* musl may give so large a block back to the system at once, so that the second free is a fault. */
    ck_assert_msg(WIFSIGNALED(e.status) && (WTERMSIG(e.status) == SIGABRT || WTERMSIG(e.status) == SIGSEGV),
                  "status %x, said: %s", e.status, e.said);
    has_said(&e, "actor digger (mole 0.");
    has_not_said(&e, "assertion");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("crash");
    TCase *c = tcase_create("crash");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, a_large_frame_names_its_actor_and_nobody_else, 0, 6);
    tcase_add_test(c, the_smallest_stack_has_a_guard_too);
    tcase_add_test(c, a_stack_holds_what_it_promises);
    tcase_add_test(c, a_null_pointer_names_signal_address_actor_and_place);
    tcase_add_test(c, abort_is_named_once_and_dies_of_itself);
    tcase_add_test(c, other_signals_of_crashes_are_named_too);
    tcase_add_test(c, a_handler_of_the_program_is_asked_and_nothing_is_said);
    tcase_add_test(c, a_message_freed_twice_is_named);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
