/* runtime/platform/context.h -- the machine's part of a coroutine switch, one file per processor and calling
 * convention.
 *
 * A suspended context is one word: its stack pointer, under which the callee-saved registers and the address to go
 * on at lie. The floating-point control words are not part of it. The switch ends in `ret`, which takes the entry
 * that its call left on the processor's return stack: so the returns after it are predicted from the right
 * entries. */
#ifndef PF_CONTEXT_H
#define PF_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A context on the stack that ends at `top` (16-byte aligned); switched to for the first time it calls entry(arg),
 * which must never return. */
void *pf_context_make(char *top, void (*entry)(void *arg), void *arg);

/* Tells a suspended context on which stack it is, [low, high): after it was made, and when its stack was given back
 * and written anew. For systems that keep this in the thread. */
void pf_context_bounds(void *context, char *low, char *high);
enum { PF_CONTEXT_STACK_WORDS = 20 }; /* where it keeps that, counted from its word, on Windows */

/* Stores the running context into *save and runs `load`. Returns when the stored context is run again. */
void pf_context_switch(void **save, void *load);

/* Runs `load`; the running context is lost. */
__attribute__((noreturn)) void pf_context_jump(void *load);

/* The stack of a suspended context: the word at `address`. False: it is not on that stack. */
typedef bool pf_stack_word(const void *stack, uintptr_t address, uintptr_t *word);
/* Where a suspended context goes on, and where its callers do, the innermost first: at most `max` addresses; how
 * many. By frame pointers: what is compiled without them is left out. 0: not known of these contexts. */
size_t pf_context_callers(const void *context, pf_stack_word *word, const void *stack, uintptr_t *out, size_t max);

/* The lowest address that a suspended context needs: from there to its top is all of it. */
char *pf_context_low(void *context);

#endif
