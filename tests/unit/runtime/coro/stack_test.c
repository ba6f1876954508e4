/* tests/unit/runtime/coro/stack_test.c -- the arena: reuse, colours, memory given back, guards on kernels new and
 * old. */
#include <check.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizer.h"
#include "stack.h"
#include "../../../suite.h"

static struct wf_stack_arena *arena;

static void set_up(void)
{
    ck_assert_int_eq(wf_stack_arena_create(&arena), WEFT_OK);
}

static void tear_down(void)
{
    wf_stack_arena_destroy(arena);
    wf_stack_arena_destroy(NULL);
}

static struct wf_stack take(size_t bytes)
{
    struct wf_stack s;
    ck_assert_int_eq(wf_stack_take(arena, bytes, &s), WEFT_OK);
    return s;
}

/* The size of the smallest class. */
static size_t small_bytes(void)
{
    return wf_is_sanitized() || pf_page_size() > 16 << 10 ? 64 << 10 : 16 << 10;
}

static size_t guard_of(const struct wf_stack *s)
{
    return (size_t)(wf_stack_low(s) - s->base);
}

START_TEST(sizes_are_rounded_up_to_a_class)
{
    const size_t small = small_bytes();
    const struct {
        size_t asked, given, guard;
    } SIZES[] = {{0, small, small},
                 {1, small, small},
                 {16 << 10, small, small},
                 {(16 << 10) + 1, 64 << 10, 64 << 10},
                 {64 << 10, 64 << 10, 64 << 10},
                 {(64 << 10) + 1, 256 << 10, 64 << 10},
                 {256 << 10, 256 << 10, 64 << 10},
                 {1 << 20, 1 << 20, 64 << 10},
                 {(1 << 20) + 1, 8 << 20, 64 << 10},
                 {8 << 20, 8 << 20, 64 << 10}};
    for (size_t i = 0; i < WF_COUNT(SIZES); i++) {
        struct wf_stack s = take(SIZES[i].asked);
        ck_assert_uint_eq(wf_stack_slot_bytes(&s), SIZES[i].given + SIZES[i].guard + pf_page_size());
        ck_assert_uint_eq(wf_stack_bytes(&s), SIZES[i].given);
        ck_assert_uint_eq(guard_of(&s), SIZES[i].guard);
        ck_assert_uint_eq((uintptr_t)s.base % pf_page_size(), 0);
        ck_assert_uint_eq((uintptr_t)wf_stack_top(&s) % 16, 0);
        ck_assert(wf_stack_top(&s) > s.base + wf_stack_slot_bytes(&s) - 4096 &&
                  wf_stack_top(&s) <= s.base + wf_stack_slot_bytes(&s));
        memset(wf_stack_low(&s), 0x55, (size_t)(wf_stack_top(&s) - wf_stack_low(&s)));
        wf_stack_give(arena, &s);
        ck_assert_ptr_null(s.base);
    }
    struct wf_stack s;
    ck_assert_int_eq(wf_stack_take(arena, (8 << 20) + 1, &s), WEFT_EINVAL);
    ck_assert_int_eq(wf_stack_take(arena, SIZE_MAX, &s), WEFT_EINVAL);
}
END_TEST

START_TEST(the_last_one_back_is_the_first_one_out)
{
    struct wf_stack a = take(1), b = take(1), c = take(1);
    char *base_a = a.base, *base_c = c.base;
    size_t in_use, ever;
    wf_stack_give(arena, &c);
    wf_stack_give(arena, &a);
    wf_stack_counts(arena, &in_use, &ever);
    ck_assert_uint_eq(in_use, 1);
    ck_assert_uint_eq(ever, 3);
    a = take(1);
    c = take(1);
    ck_assert_ptr_eq(a.base, base_a);
    ck_assert_ptr_eq(c.base, base_c);
    wf_stack_counts(arena, &in_use, &ever);
    ck_assert_uint_eq(in_use, 3);
    ck_assert_uint_eq(ever, 3);
    wf_stack_give(arena, &a);
    wf_stack_give(arena, &b);
    wf_stack_give(arena, &c);
}
END_TEST

START_TEST(neighbours_have_different_colours)
{
    struct wf_stack s[48];
    uint64_t seen = 0;
    for (int i = 0; i < 48; i++) {
        s[i] = take(1);
        size_t below = (size_t)(s[i].base + wf_stack_slot_bytes(&s[i]) - wf_stack_top(&s[i]));
        ck_assert_uint_eq(below % 64, 0);
        ck_assert_uint_eq(below / 64, (size_t)i * 7 % 48); /* wherever the kernel has put them */
        seen |= (uint64_t)1 << below / 64;
    }
    ck_assert_uint_eq(seen, ((uint64_t)1 << 48) - 1);
    for (int i = 0; i < 48; i++) wf_stack_give(arena, &s[i]);
}
END_TEST

START_TEST(a_slot_used_deeply_gives_its_memory_back)
{
    size_t page = pf_page_size();
    struct wf_stack s = take(1);
    ck_assert_uint_le(wf_stack_resident(&s), page);
    memset(wf_stack_low(&s), 1, (size_t)(wf_stack_top(&s) - wf_stack_low(&s)));
    ck_assert_uint_eq(wf_stack_resident(&s), wf_stack_slot_bytes(&s) - guard_of(&s));
    wf_stack_give(arena, &s);
    s = take(1);
    ck_assert_uint_eq(wf_stack_resident(&s), page); /* the top one is kept for its next user */
    wf_stack_give(arena, &s);
}
END_TEST

START_TEST(a_stack_pointer_seen_below_the_top_page_is_enough)
{
    size_t page = pf_page_size();
    struct wf_stack s = take(1);
    char *deep = s.base + wf_stack_slot_bytes(&s) - 5 * page;
    *deep = 1; /* as under a large buffer that was not written: the markers stand */
    ck_assert_uint_eq(wf_stack_resident(&s), 2 * page);
    wf_stack_seen(&s, wf_stack_top(&s) - 100);
    ck_assert(!s.grown);
    wf_stack_seen(&s, deep);
    wf_stack_give(arena, &s);
    s = take(1);
    ck_assert_uint_eq(wf_stack_resident(&s), page);
    ck_assert(!s.grown);
    wf_stack_give(arena, &s);
}
END_TEST

static void trim_at(int64_t now, int64_t next)
{
    int64_t at;
    do at = wf_stack_trim_free(arena, now);
    while (at == WEFT_NOW);
    ck_assert_int_eq(at, next);
}

START_TEST(slots_far_down_the_free_list_hold_no_memory_after_a_while)
{
    enum { COUNT = 1200, KEPT = 1024 };
    static struct wf_stack s[COUNT], was[COUNT];
    const int64_t begin = WEFT_SEC(100), next = begin + WF_STACK_KEPT;
    size_t page = pf_page_size();
    trim_at(begin, WEFT_FOREVER);
    for (int i = 0; i < COUNT; i++) {
        s[i] = was[i] = take(1);
        s[i].base[wf_stack_slot_bytes(&s[i]) - 3 * page] = 1; /* unnoticed growth */
    }
    for (int i = 0; i < COUNT; i++) wf_stack_give(arena, &s[i]);
    trim_at(begin, next);
    trim_at(next - 1, next);
    for (int i = 0; i < COUNT; i++) ck_assert_uint_eq(wf_stack_resident(&was[i]), 2 * page);
    trim_at(next, WEFT_FOREVER);
    for (int i = 0; i < COUNT; i++) ck_assert_uint_eq(wf_stack_resident(&was[i]), i < COUNT - KEPT ? 0 : 2 * page);
    /* Back in use, growth of a cold one is noticed as ever. */
    for (int i = 0; i < COUNT; i++) s[i] = take(1);
    struct wf_stack cold = s[COUNT - 1];
    ck_assert_ptr_eq(cold.base, was[0].base);
    wf_stack_give(arena, &s[COUNT - 1]);
    ck_assert_uint_eq(wf_stack_resident(&cold), page);
    s[COUNT - 1] = take(1);
    memset(wf_stack_low(&s[COUNT - 1]), 1, (size_t)(wf_stack_top(&s[COUNT - 1]) - wf_stack_low(&s[COUNT - 1])));
    wf_stack_give(arena, &s[COUNT - 1]);
    ck_assert_uint_eq(wf_stack_resident(&cold), page);
    for (int i = 0; i < COUNT - 1; i++) wf_stack_give(arena, &s[i]);
}
END_TEST

START_TEST(slots_that_were_used_in_the_meantime_keep_their_memory)
{
    enum { COUNT = 1200, KEPT = 1024, USED = 100 };
    static struct wf_stack s[COUNT], was[COUNT];
    int64_t now = WEFT_SEC(100);
    size_t page = pf_page_size();
    for (int i = 0; i < COUNT; i++) s[i] = was[i] = take(1);
    for (int i = 0; i < COUNT; i++) wf_stack_give(arena, &s[i]);
    trim_at(now, now + WF_STACK_KEPT);
    for (int i = 0; i < USED; i++) s[i] = take(1);
    trim_at(now + 1, now + WF_STACK_KEPT);
    for (int i = 0; i < USED; i++) wf_stack_give(arena, &s[i]);
    now += WF_STACK_KEPT;
    trim_at(now, now + WF_STACK_KEPT); /* only what was free all the time */
    for (int i = 0; i < COUNT; i++) ck_assert_uint_eq(wf_stack_resident(&was[i]), i < COUNT - KEPT - USED ? 0 : page);
    now += WF_STACK_KEPT;
    trim_at(now, WEFT_FOREVER);
    for (int i = 0; i < COUNT; i++) ck_assert_uint_eq(wf_stack_resident(&was[i]), i < COUNT - KEPT ? 0 : page);
}
END_TEST

START_TEST(any_number_of_ranges_is_trimmed_at_once)
{
    size_t page = pf_page_size();
    struct pf_range ranges[PF_RANGES_MAX];
    for (int count = 1; count <= PF_RANGES_MAX; count *= 4) {
        char *at = pf_pages_reserve((size_t)count * 3 * page, page);
        ck_assert_ptr_nonnull(at);
        memset(at, 1, (size_t)count * 3 * page);
        for (int i = 0; i < count; i++) ranges[i] = (struct pf_range){at + (size_t)(3 * i + 1) * page, page};
        pf_pages_close(ranges, count, PF_GUARD_NONE);
        for (int i = 0; i < count; i++) {
            const char *first = at + (size_t)(3 * i) * page;
            ck_assert(first[0] == 1 && first[page] == 0 && first[2 * page] == 1);
        }
        pf_pages_release(at, (size_t)count * 3 * page);
    }
}
END_TEST

START_TEST(a_hundred_thousand_stacks)
{
    int count = RUNNING_ON_VALGRIND ? 3000 : 100000;
#if defined(WF_ASAN) || defined(WF_TSAN)
    count = 3000;
#endif
    struct wf_stack *s = calloc((size_t)count, sizeof *s);
    for (int i = 0; i < count; i++) {
        s[i] = take(1);
        *(int *)(void *)(wf_stack_top(&s[i]) - 16) = i;
    }
    size_t in_use, ever;
    wf_stack_counts(arena, &in_use, &ever);
    ck_assert_uint_eq(in_use, (size_t)count);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(*(int *)(void *)(wf_stack_top(&s[i]) - 16), i);
        wf_stack_give(arena, &s[i]);
    }
    free(s);
}
END_TEST

START_TEST(each_of_the_stacks_of_many_segments_is_found)
{
    enum { COUNT = 8 * 40 }; /* a segment of the largest class has 8; under sanitizers it has one */
    struct wf_stack *s = calloc(COUNT, sizeof *s), found;
    for (int i = 0; i < COUNT; i++) s[i] = take(WF_STACK_BYTES_MAX);
    for (int i = 0; i < COUNT; i++) {
        ck_assert(wf_stack_slot(arena, wf_stack_top(&s[i]) - 16, &found));
        ck_assert_ptr_eq(found.base, s[i].base);
    }
    for (int i = 0; i < COUNT; i++) wf_stack_give(arena, &s[i]);
    free(s);
}
END_TEST

START_TEST(owners_of_addresses)
{
    struct wf_stack a = take(1), b = take(1), found;
    ck_assert(wf_stack_slot(arena, b.base, &found));
    ck_assert_ptr_eq(found.base, b.base);
    ck_assert_uint_eq(wf_stack_slot_bytes(&found), wf_stack_slot_bytes(&b));
    ck_assert(wf_stack_slot(arena, wf_stack_low(&a) - 1, &found));
    ck_assert_ptr_eq(found.base, a.base);
    ck_assert(wf_stack_slot(arena, wf_stack_top(&a) - 1, &found));
    ck_assert_ptr_eq(found.base, a.base);
    ck_assert(!wf_stack_slot(arena, WF_MAX(a.base, b.base) + wf_stack_slot_bytes(&a), &found)); /* never taken */
    ck_assert(!wf_stack_slot(arena, &a, &found));
    ck_assert(!wf_stack_slot(arena, NULL, &found));
    wf_stack_give(arena, &a);
    wf_stack_give(arena, &b);
}
END_TEST

/* ---- Faults, each in a process of its own ---------------------------------------------------------------------- */

struct ending {
    int status;
    char said[4096]; /* on standard error */
};

static struct ending run_child(void (*body)(void))
{
    struct ending e = {.status = 0};
    int pipe_ends[2];
    size_t size = 0;
    ssize_t n;
    ck_assert_int_eq(pipe(pipe_ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        body();
        _exit(0);
    }
    close(pipe_ends[1]);
    while ((n = read(pipe_ends[0], e.said + size, sizeof e.said - 1 - size)) > 0) size += (size_t)n;
    close(pipe_ends[0]);
    ck_assert_int_eq(waitpid(child, &e.status, 0), child);
    return e;
}

/* Of the smallest class, and of the one whose guard is the largest: the index of a loop test. */
static const size_t GUARDED[] = {1, 64 << 10};
static size_t guarded;

static bool report(const struct pf_fault *f)
{
    struct wf_stack s;
    if (!wf_stack_slot(arena, f->address, &s) || (const char *)f->address >= wf_stack_low(&s)) return false;
    pf_stderr("overflow\n", 9);
    _exit(wf_stack_bytes(&s) == WF_MAX(guarded, small_bytes()) ? 42 : 43);
}

static void touch_guard(void)
{
    pf_fault_watch(report);
    struct wf_stack s = take(guarded);
    *(volatile char *)(wf_stack_low(&s) - 8) = 1;
}

START_TEST(a_guard_is_noticed_and_named)
{
    guarded = GUARDED[_i];
    struct ending e = run_child(touch_guard);
    ck_assert_msg(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 42, "status %x, said: %s", e.status, e.said);
    ck_assert_str_eq(e.said, "overflow\n");
}
END_TEST

static void touch_guard_after_reuse(void)
{
    pf_fault_watch(report);
    struct wf_stack s = take(guarded);
    memset(wf_stack_low(&s), 1, 4096);
    wf_stack_seen(&s, wf_stack_low(&s));
    wf_stack_give(arena, &s); /* trims */
    s = take(guarded);
    *(volatile char *)s.base = 1;
}

START_TEST(guards_survive_trimming)
{
    guarded = GUARDED[_i];
    struct ending e = run_child(touch_guard_after_reuse);
    ck_assert_msg(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 42, "status %x, said: %s", e.status, e.said);
}
END_TEST

/* A kernel without guard regions: madvise(MADV_GUARD_INSTALL) gives EINVAL. With `no_protection`,
 * mprotect(PROT_NONE) fails, too, as if all mappings were used up. */
static void become_old_kernel(bool no_protection)
{
    const uint32_t call = offsetof(struct seccomp_data, nr), argument = offsetof(struct seccomp_data, args[2]);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, call),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 102, 0, 5),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 22 /* EINVAL */),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, no_protection ? __NR_mprotect : 0xFFFFFFFF, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_NONE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 12 /* ENOMEM */),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = (unsigned short)WF_COUNT(code), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

static void touch_guard_on_old_kernel(void)
{
    become_old_kernel(false);
    touch_guard();
}

static void overflow_into_canary(void)
{
    become_old_kernel(true);
    struct wf_stack a = take(guarded), b = take(guarded);
    memset(wf_stack_low(&a), 1, 4096); /* used up, but not more */
    wf_stack_give(arena, &a);
    wf_stack_low(&b)[-8] = 1;
    wf_stack_give(arena, &b);
}

START_TEST(old_kernels_have_protected_pages)
{
    guarded = GUARDED[_i];
    struct ending e = run_child(touch_guard_on_old_kernel);
    if (RUNNING_ON_VALGRIND || (WIFEXITED(e.status) && WEXITSTATUS(e.status) == 77)) return; /* no seccomp here */
    ck_assert_msg(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 42, "status %x, said: %s", e.status, e.said);
}
END_TEST

START_TEST(without_any_guard_a_canary_tells)
{
    guarded = GUARDED[_i];
    struct ending e = run_child(overflow_into_canary);
    if (RUNNING_ON_VALGRIND || (WIFEXITED(e.status) && WEXITSTATUS(e.status) == 77)) return;
    ck_assert_int_ne(e.status, 0);
    const char *warning = strstr(e.said, "no guard pages left");
    ck_assert_msg(warning != NULL && strstr(warning + 1, "no guard pages left") == NULL, "said: %s",
                  e.said); /* once */
    ck_assert_ptr_nonnull(strstr(e.said, "stack_did_not_overflow"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack");
    TCase *c = tcase_create("stack");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, sizes_are_rounded_up_to_a_class);
    tcase_add_test(c, the_last_one_back_is_the_first_one_out);
    tcase_add_test(c, neighbours_have_different_colours);
    tcase_add_test(c, a_slot_used_deeply_gives_its_memory_back);
    tcase_add_test(c, a_stack_pointer_seen_below_the_top_page_is_enough);
    tcase_add_test(c, slots_far_down_the_free_list_hold_no_memory_after_a_while);
    tcase_add_test(c, slots_that_were_used_in_the_meantime_keep_their_memory);
    tcase_add_test(c, any_number_of_ranges_is_trimmed_at_once);
    tcase_add_test(c, a_hundred_thousand_stacks);
    tcase_add_test(c, each_of_the_stacks_of_many_segments_is_found);
    tcase_add_test(c, owners_of_addresses);
    tcase_add_loop_test(c, a_guard_is_noticed_and_named, 0, WF_COUNT(GUARDED));
    tcase_add_loop_test(c, guards_survive_trimming, 0, WF_COUNT(GUARDED));
    tcase_add_loop_test(c, old_kernels_have_protected_pages, 0, WF_COUNT(GUARDED));
    tcase_add_loop_test(c, without_any_guard_a_canary_tells, 0, WF_COUNT(GUARDED));
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
