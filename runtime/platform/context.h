/* runtime/platform/context.h -- the machine's part of a coroutine switch, one file per processor and calling
 * convention.
 *
 * A suspended context is one word: its stack pointer, which points to the saved callee-saved registers and the
 * address at which it resumes. The floating-point control words are not part of it. The switch ends in `ret`, which
 * uses the entry that its call left on the processor's return stack. So the processor predicts the later returns from
 * the right entries. */
#ifndef PF_CONTEXT_H
#define PF_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef _WIN32
#include <setjmp.h>
#endif

/* Makes a context on the stack that ends at `top` (16-byte aligned). The first switch to it calls entry(arg), which
 * must never return. */
void *pf_context_make(char *top, void (*entry)(void *arg), void *arg);

/* Tells a suspended context the bounds of its stack, [low, high). Call it after the context was made, and after its
 * stack was given back and written again. Only systems that keep the bounds in the thread (Windows) need this. */
void pf_context_bounds(void *context, char *low, char *high);
enum { PF_CONTEXT_STACK_WORDS = 20 }; /* on Windows: the offset, in words, of these bounds from the context's word */

/* Stores the running context into *save and runs `load`. Returns when the stored context is run again. */
void pf_context_switch(void **save, void *load);

/* Runs `load`; the running context is lost. */
__attribute__((noreturn)) void pf_context_jump(void *load);

/* The stack of a suspended context: the word at `address`. False: it is not on that stack. */
typedef bool pf_stack_word(const void *stack, uintptr_t address, uintptr_t *word);
/* Writes at most `max` addresses: where a suspended context resumes, and then the return addresses of its callers,
 * the innermost first. Returns their number; 0: not known for these contexts. It follows frame pointers, so functions
 * compiled without them are left out. */
size_t pf_context_callers(const void *context, pf_stack_word *word, const void *stack, uintptr_t *out, size_t max);

/* The lowest address that a suspended context needs: everything between it and the top of the stack belongs to the
 * context. */
char *pf_context_low(void *context);

/* A place in a running function: PF_PLACE_MARK(place) marks where it stands. While that function has not returned, one
 * that it called goes back there with PF_PLACE_RETURN, on the same stack: the frames between are dropped. Local
 * variables of the function that have changed since the mark are not known then. PF_PLACE_RETURN must stand in another
 * function, which is not inlined. The C library tells ASan and TSan. That of Windows would unwind the stack, which is
 * not possible beyond a coroutine's first frame. */
#ifdef _WIN32
typedef void *pf_place[5];
#define PF_PLACE_MARK(place) ((void)__builtin_setjmp(place))
#define PF_PLACE_RETURN(place) __builtin_longjmp(place, 1)
#else
typedef sigjmp_buf pf_place;
#define PF_PLACE_MARK(place) ((void)sigsetjmp(place, 0))
#define PF_PLACE_RETURN(place) siglongjmp(place, 1)
#endif

#endif
