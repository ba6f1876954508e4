/* runtime/platform/posix/context_bounds.c -- see context.h: nobody here asks which stack a thread is on. */
#include "context.h"

void pf_context_bounds(void *context, char *low, char *high)
{
    (void)context, (void)low, (void)high;
}
