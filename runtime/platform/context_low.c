/* runtime/platform/context_low.c -- see context.h: for contexts whose word is the stack pointer, so that nothing lies
 * below it. */
#include "context.h"

char *pf_context_low(void *context)
{
    return context;
}

/* Where context_*.S keep the frame pointer and the address at which the context resumes, in words. */
#if defined(__x86_64__) && !defined(_WIN32)
enum { FRAME = 5, GOES_ON = 6 };
#elif defined(__aarch64__)
enum { FRAME = 10, GOES_ON = 11 };
#else
enum { FRAME = 0, GOES_ON = 0 }; /* code for Windows has no frame pointers */
#endif

size_t pf_context_callers(const void *context, pf_stack_word *word, const void *stack, uintptr_t *out, size_t max)
{
    uintptr_t at = (uintptr_t)context, frame, above, code;
    size_t count = 0;
    if (GOES_ON == 0 || !word(stack, at + FRAME * sizeof at, &frame) || !word(stack, at + GOES_ON * sizeof at, &code))
        return 0;
    while (count < max && code != 0) {
        out[count++] = code;
        /* Callers are at higher addresses; code without frame pointers has any value in that register. */
        if (frame <= at || !word(stack, frame, &above) || !word(stack, frame + sizeof frame, &code)) break;
        at = frame;
        frame = above;
    }
    return count;
}
