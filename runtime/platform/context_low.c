/* runtime/platform/context_low.c -- see context.h: where the word is the stack pointer, nothing lies below it. */
#include "context.h"

char *pf_context_low(void *context)
{
    return context;
}
