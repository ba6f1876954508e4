/* runtime/sched/fault.c -- see fault.h. Everything here runs in a signal handler. */
#include "fault.h"

#include "task.h"

#include <stdio.h>
#include <stdlib.h>

enum { WHO = 160, FRAMES = 16, FRAME_MAX = 1 << 30, DUMPED = 64 }; /* DUMPED: events shown after a fault */

/* Code, perhaps on another worker, has used a parked stack: see stack.h, note (6). */
static bool find_parked(const struct wf_worker *w, const void *address, char whose[WHO])
{
    struct wf_stack stack;
    if (w->set->hooks->parked_describe == NULL) return false;
    for (uint32_t i = 0; i < w->set->count; i++) {
        const struct wf_worker *other = w->set->at[i];
        if (wf_stack_slot(other->stacks, address, &stack))
            return w->set->hooks->parked_describe(other, stack.base, whose, WHO);
    }
    return false;
}

/* Set by the thread that ends the process: it has reported the fault, and printed its records. */
static _Atomic bool ending, dumped;

static void last_words(void)
{
    const struct wf_worker *w = wf_here;
    if (!dumped && w != NULL) wf_recorder_dump(&w->recorder, w->index, w->now, DUMPED);
    dumped = true;
}

/* Whether its stack pointer, or the address, is below its stack. A frame that is larger than the guard moves the
 * pointer into another stack, or below all of them. A pointer that is far away belongs to a stack that the program
 * has made. */
static bool overflowed(const struct wf_task *t, const struct pf_fault *f)
{
    const struct wf_stack *s = &t->coro.stack;
    if (!f->is_access || s->base == NULL) return false;
    uintptr_t low = (uintptr_t)wf_stack_low(s), at = (uintptr_t)f->address;
    if (at >= (uintptr_t)s->base && at < low) return true;
    return f->sp != 0 && f->sp < low && low - f->sp < (uintptr_t)FRAME_MAX;
}

/* Async-signal-safe in practice: neither snprintf nor dladdr allocates memory. */
static void print_frames(const struct pf_fault *f)
{
    uintptr_t at[FRAMES];
    int count = pf_fault_frames(f, at, FRAMES);
    for (int i = 0; i < count; i++) {
        char line[sizeof(struct pf_code) + 64];
        struct pf_code code;
        if (!pf_code_at(at[i], &code)) continue;
        int n = code.symbol[0] != 0
                    ? snprintf(line, sizeof line, "weft:   in %s at %s+0x%zx\n", code.symbol, code.file,
                               (size_t)code.offset)
                    : snprintf(line, sizeof line, "weft:   at %s+0x%zx\n", code.file, (size_t)code.offset);
        pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    }
}

/* A crash in the program's code. */
static void report_crash(const struct pf_fault *f, const char *who)
{
    char line[WHO + 160], at[64] = "";
    if (f->is_access) snprintf(at, sizeof at, " at address %#zx", (size_t)(uintptr_t)f->address);
    int n = snprintf(line, sizeof line, "weft: %s%s in %s\n", f->signal, at, who);
    pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    print_frames(f);
    last_words();
}

static bool report_fault(const struct pf_fault *f)
{
    struct wf_worker *w = wf_here;
    char who[WHO] = "a thread that runs no actor", whose[WHO], line[2 * WHO + 160];
    int n;
    if (w != NULL) snprintf(who, sizeof who, "a timer or a delivery of worker %u", (unsigned)w->index);
    if (w != NULL && w->current != NULL) w->set->hooks->task_describe(w->current, who, sizeof who);
    if (w != NULL && w->current != NULL && overflowed(w->current, f)) {
        n = snprintf(line, sizeof line,
                     "weft: %s overflowed its stack of %zu KiB; give it a larger one with "
                     "weft_spawn_options.stack_bytes\n",
                     who, wf_stack_bytes(&w->current->coro.stack) / 1024);
    } else if (w != NULL && f->is_access && find_parked(w, f->address, whose)) {
        n = snprintf(line, sizeof line,
                     "weft: %s used the stack of %s, which waits and is parked; to share it, give that one "
                     "weft_spawn_options.shares_stack\n",
                     who, whose);
    } else {
        if (f->fatal && !ending) report_crash(f, who);
        return false;
    }
    ending = true;
    pf_stderr(line, (size_t)WF_MIN(n, (int)sizeof line - 1));
    print_frames(f);
    last_words();
    abort();
}

void wf_fault_report_begin(void)
{
    atomic_store_explicit(&wf_last_words, last_words, memory_order_release);
    pf_fault_watch(report_fault);
}
