/* runtime/coro/coro.c -- see coro.h.
 *
 * Design notes: what each tool must be told, if it is in the process.
 * (1) ASan keeps the bounds of the stack in use, and for detect_stack_use_after_return a fake stack per coroutine.
 *     Before a switch the leaving coroutine tells the target's bounds and where to store its own fake stack (nowhere
 *     if it leaves for good, which frees it); after the switch, the arriving one restores its own. The bounds of a
 *     thread's own stack are learnt from its first switch. A stack that was left for good is poisoned until it is
 *     taken again.
 * (2) TSan keeps a call stack and a clock per fiber. A fiber cannot destroy itself, so the coroutine that runs after
 *     a wf_coro_leave does it.
 * (3) The tools' data of a coroutine is at the top of its stack; the data of a thread's own stack is in a
 *     thread-local variable. A coroutine's stack pointer tells which of the two it uses.
 * (4) Valgrind knows stacks by their address: runtime/coro/stack.c registers them, a switch needs nothing.
 * (5) Succession keeps the stack, and with it what the tools know. Without tools the switch is a tail call into
 *     platform/context_*.S. */
#include "coro.h"

struct known {
    void *fake_stack, *fiber;
    const void *bottom;
    size_t size;
    void (*entry)(void *arg); /* for the first run */
    void *arg;
};
_Static_assert(sizeof(struct known) % 16 == 0, "what is below it on the stack is aligned to 16");

static _Thread_local struct {
    struct known *running; /* NULL: the thread's own stack, before the first switch */
    struct known *left;    /* the coroutine that has just left this thread; NULL: it has ended */
    struct known dead;     /* the last data of the coroutine that has ended */
    struct known own;      /* of the thread's own stack */
} here;

static struct known *running(void)
{
    if (here.running != NULL) return here.running;
    WF_IF_TSAN(here.own.fiber = __tsan_get_current_fiber());
    return here.running = &here.own;
}

/* A coroutine without a stack stands for what has adopted the thread: wf_coro_adopt_thread. */
static struct known *known_of(const struct wf_coro *c)
{
    if (c->stack.base == NULL) return c->stack.thread;
    return (struct known *)(void *)wf_stack_top(&c->stack) - 1;
}

static __attribute__((noinline)) void departing(const struct wf_coro *to, bool for_good)
{
    struct known *from = running(), *next = known_of(to);
    here.left = for_good ? NULL : from;
    if (for_good) here.dead = *from;
    here.running = next;
    WF_IF_ASAN(__sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, next->bottom, next->size));
    WF_IF_TSAN(__tsan_switch_to_fiber(next->fiber, 0));
}

static __attribute__((noinline)) void arrived(void *fake_stack)
{
    const void *bottom = NULL;
    size_t size = 0;
    (void)fake_stack;
    WF_IF_ASAN(__sanitizer_finish_switch_fiber(fake_stack, &bottom, &size));
    if (here.left != NULL) {
        here.left->bottom = bottom;
        here.left->size = size;
        return;
    }
    WF_IF_ASAN(__asan_poison_memory_region(here.dead.bottom, here.dead.size));
    WF_IF_TSAN(__tsan_destroy_fiber(here.dead.fiber));
}

static void first_run(void *arg)
{
    struct known *k = arg;
    arrived(NULL);
    k->entry(k->arg);
}

static __attribute__((noinline)) void prepare_sanitized(struct wf_coro *c, void (*entry)(void *arg), void *arg)
{
    struct known *k = known_of(c);
    const char *low = wf_stack_low(&c->stack);
    *k = (struct known){.bottom = low,
                        .size = (size_t)(c->stack.base + wf_stack_slot_bytes(&c->stack) - low),
                        .entry = entry,
                        .arg = arg};
    WF_IF_TSAN(k->fiber = __tsan_create_fiber(0));
    c->sp = pf_context_make((char *)k, first_run, k);
}

void wf_coro_prepare(struct wf_coro *c, struct wf_stack stack, void (*entry)(void *arg), void *arg)
{
    c->stack = stack;
    if (WF_UNLIKELY(wf_is_sanitized())) prepare_sanitized(c, entry, arg);
    else c->sp = pf_context_make(wf_stack_top(&stack), entry, arg);
    pf_context_bounds(c->sp, stack.base, wf_stack_top(&stack));
}

void wf_coro_switch_sanitized(struct wf_coro *from, struct wf_coro *to)
{
    struct known *self = running();
    departing(to, false);
    pf_context_switch(&from->sp, to->sp);
    arrived(self->fake_stack);
}

void wf_coro_leave(struct wf_coro *from, struct wf_coro *to)
{
    (void)from;
    if (WF_UNLIKELY(wf_is_sanitized())) departing(to, true);
    pf_context_jump(to->sp);
}

void wf_coro_adopt_thread(struct wf_coro *c)
{
    *c = (struct wf_coro){.sp = NULL};
    if (WF_UNLIKELY(wf_is_sanitized())) c->stack.thread = running();
}

void wf_coro_release_thread(struct wf_coro *c)
{
    *c = (struct wf_coro){.sp = NULL};
}
