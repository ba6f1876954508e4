/* runtime/coro.c -- see coro.h.
 *
 * Design notes: what each tool must hear.
 * (1) ASan keeps the bounds of the stack in use, and for detect_stack_use_after_return a fake stack per coroutine.
 *     Before a switch we name the target's bounds and say where to keep our fake stack (nowhere when we leave for
 *     good, which frees it); after it, the one who arrives takes its own back. The bounds of a thread's own stack
 *     are learnt from its first switch.
 * (2) TSan keeps a call stack and a clock per fiber. A fiber cannot destroy itself, so whoever arrives after
 *     wf_coro_leave does it.
 * (3) Valgrind knows stacks by their address: runtime/stack.c registers them, a switch needs nothing.
 * (4) Succession keeps the stack, so ASan's bounds and TSan's fiber move to the successor with it. Without tools
 *     the switch is a tail call into platform/context_*.S. */
#include "coro.h"

#include "context.h"

#ifdef WF_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WF_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(WF_ASAN) || defined(WF_TSAN)

/* At the top of each stack: what its first run needs. */
struct first_run {
    void (*entry)(void *arg);
    void *arg;
};

/* Who has just left this thread's processor. */
static _Thread_local struct {
    struct wf_coro *coro; /* NULL: left for good */
    void *dead_fiber;
} left;

static void departing(struct wf_coro *from, struct wf_coro *to, bool for_good)
{
    left.coro = for_good ? NULL : from;
#ifdef WF_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->asan_fake_stack, to->asan_bottom, to->asan_size);
#endif
#ifdef WF_TSAN
    if (for_good) {
        left.dead_fiber = from->tsan_fiber;
        from->tsan_fiber = NULL;
    }
    __tsan_switch_to_fiber(to->tsan_fiber, 0);
#endif
    (void)to;
}

static void arrived(void *fake_stack)
{
#ifdef WF_ASAN
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
    if (left.coro != NULL) {
        left.coro->asan_bottom = bottom;
        left.coro->asan_size = size;
    }
#endif
#ifdef WF_TSAN
    if (left.dead_fiber != NULL) __tsan_destroy_fiber(left.dead_fiber);
    left.dead_fiber = NULL;
#endif
    (void)fake_stack;
}

static void first_run(void *arg)
{
    struct first_run run = *(struct first_run *)arg;
    arrived(NULL);
    run.entry(run.arg);
}

void wf_coro_prepare(struct wf_coro *c, struct wf_stack stack, void (*entry)(void *arg), void *arg)
{
    struct first_run *run = (struct first_run *)(void *)(stack.top - sizeof *run);
    *run = (struct first_run){.entry = entry, .arg = arg};
    c->stack = stack;
#ifdef WF_ASAN
    c->asan_fake_stack = NULL;
    c->asan_bottom = stack.base + WF_GUARD_BYTES;
    c->asan_size = stack.slot_bytes - WF_GUARD_BYTES;
#endif
#ifdef WF_TSAN
    c->tsan_fiber = __tsan_create_fiber(0);
#endif
    c->sp = pf_context_make((char *)run, first_run, run);
    pf_context_bounds(c->sp, stack.base, stack.top);
}

void wf_coro_switch(struct wf_coro *from, struct wf_coro *to)
{
    departing(from, to, false);
    pf_context_switch(&from->sp, to->sp);
#ifdef WF_ASAN
    arrived(from->asan_fake_stack);
#else
    arrived(NULL);
#endif
}

void wf_coro_leave(struct wf_coro *from, struct wf_coro *to)
{
    departing(from, to, true);
    pf_context_jump(to->sp);
}

#else

void wf_coro_prepare(struct wf_coro *c, struct wf_stack stack, void (*entry)(void *arg), void *arg)
{
    c->stack = stack;
    c->sp = pf_context_make(stack.top, entry, arg);
    pf_context_bounds(c->sp, stack.base, stack.top);
}

void wf_coro_switch(struct wf_coro *from, struct wf_coro *to)
{
    pf_context_switch(&from->sp, to->sp);
}

void wf_coro_leave(struct wf_coro *from, struct wf_coro *to)
{
    (void)from;
    pf_context_jump(to->sp);
}

#endif

void wf_coro_adopt_thread(struct wf_coro *c)
{
    *c = (struct wf_coro){.sp = NULL};
#ifdef WF_TSAN
    c->tsan_fiber = __tsan_get_current_fiber();
#endif
}

void wf_coro_release_thread(struct wf_coro *c)
{
    *c = (struct wf_coro){.sp = NULL};
}

size_t wf_coro_succeed(struct wf_coro *from, struct wf_coro *to)
{
    WF_ASSERT(from->stack.base != NULL && to->stack.base == NULL);
    size_t used = wf_stack_pass_on(&from->stack, from->sp);
    to->stack = from->stack;
    to->sp = NULL;
    from->stack = (struct wf_stack){.base = NULL};
#ifdef WF_ASAN
    to->asan_fake_stack = NULL;
    to->asan_bottom = from->asan_bottom;
    to->asan_size = from->asan_size;
#endif
#ifdef WF_TSAN
    to->tsan_fiber = from->tsan_fiber;
    from->tsan_fiber = NULL;
#endif
    return used;
}
