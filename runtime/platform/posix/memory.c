/* runtime/platform/posix/memory.c -- blocks at addresses the caller chooses the alignment of. */
#include <stdlib.h>

#include "platform.h"

void *pf_aligned_alloc(size_t align, size_t size)
{
    return aligned_alloc(align, size);
}

void pf_aligned_free(void *at)
{
    free(at);
}
