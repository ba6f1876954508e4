/* runtime/platform/posix/context_bounds.c -- see context.h: these systems do not need to know on which stack a thread
 * runs. */
#include "context.h"

void pf_context_bounds(void *context, char *low, char *high)
{
    (void)context, (void)low, (void)high;
}
