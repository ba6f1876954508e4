/* runtime/platform/posix/memory.c -- memory blocks with an alignment that the caller chooses. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "platform.h"

void *pf_aligned_alloc(size_t align, size_t size)
{
    return aligned_alloc(align, size);
}

void pf_aligned_free(void *at)
{
    free(at);
}

void pf_memory_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
