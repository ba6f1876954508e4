/* runtime/platform/context_ucontext.c -- see context.h: for processors without an assembly file. Some 100 times
 * slower, as swapcontext saves the signal mask with a system call. A context's word points to the ucontext_t on its
 * own stack. */
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#include "base.h"
#include "context.h"

struct start {
    ucontext_t context;
    void (*entry)(void *arg);
    void *arg;
};

/* makecontext passes ints only. */
static void start(unsigned high, unsigned low)
{
    struct start *s = (struct start *)(uintptr_t)((uint64_t)high << 32 | low);
    s->entry(s->arg);
    abort();
}

void *pf_context_make(char *top, void (*entry)(void *arg), void *arg)
{
    /* It is at the top and stays there while the context runs; the stack itself begins below. */
    struct start *s = (struct start *)(void *)(top - (sizeof *s + 63) / 64 * 64);
    WF_ASSERT(getcontext(&s->context) == 0);
    s->entry = entry;
    s->arg = arg;
    /* The lower end is not used: makecontext only computes the upper one. */
    s->context.uc_stack.ss_sp = (char *)s - 4096;
    s->context.uc_stack.ss_size = 4096;
    s->context.uc_link = NULL;
    uint64_t word = (uint64_t)(uintptr_t)s;
    makecontext(&s->context, (void (*)(void))start, 2, (unsigned)(word >> 32), (unsigned)word);
    return &s->context;
}

void pf_context_switch(void **save, void *load)
{
    ucontext_t here;
    *save = &here;
    WF_ASSERT(swapcontext(&here, load) == 0);
}

void pf_context_jump(void *load)
{
    setcontext(load);
    abort();
}

size_t pf_context_callers(const void *context, pf_stack_word *word, const void *stack, uintptr_t *out, size_t max)
{
    (void)context, (void)word, (void)stack, (void)out, (void)max;
    return 0;
}

/* The word points into the frame of pf_context_switch; how far below it the frame ends depends on the C library's
 * call. */
char *pf_context_low(void *context)
{
    return (char *)context - 512;
}
