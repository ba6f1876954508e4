/* runtime/platform/posix/pages.c -- memory for stacks: code that is the same on all kernels. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native.h"

size_t pf_page_size(void)
{
    static _Atomic size_t size; /* relaxed: all threads compute the same */
    size_t s = atomic_load_explicit(&size, memory_order_relaxed);
    if (s == 0) {
        s = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&size, s, memory_order_relaxed);
    }
    return s;
}

void pf_pages_release(void *at, size_t size)
{
    if (at == NULL || munmap(at, size) == 0) return;
    /* The kernel may have merged neighbouring mappings into one. A process at its limit of mappings cannot unmap the
     * middle of it: the addresses stay reserved, but the memory is given back. */
    WF_ASSERT(errno == ENOMEM);
    (void)madvise(at, size, MADV_DONTNEED);
}

bool pf_pages_stack(void *at, size_t size, const void *low)
{
    (void)at, (void)size, (void)low; /* the kernel adds pages when they are touched */
    return true;
}

/* The type of the result differs between systems. */
static bool ask(const char *at, size_t size, unsigned char *there)
{
    return mincore((void *)(uintptr_t)at, size, (void *)there) == 0;
}

size_t pf_pages_resident(const void *at, size_t size)
{
    size_t page = pf_page_size(), resident = 0;
    WF_ASSERT((uintptr_t)at % page == 0 && size % page == 0);
    unsigned char there[64];
    for (size_t done = 0; done < size; done += WF_MIN(size - done, sizeof there * page)) {
        size_t part = WF_MIN(size - done, sizeof there * page);
        if (!ask((const char *)at + done, part, there)) break;
        for (size_t i = 0; i < part / page; i++) resident += (there[i] & 1) != 0 ? page : 0;
    }
    return resident;
}

char *pf_pages_first(void *at, size_t size)
{
    size_t page = pf_page_size();
    unsigned char there[64];
    for (size_t done = 0; done < size; done += WF_MIN(size - done, sizeof there * page)) {
        size_t part = WF_MIN(size - done, sizeof there * page);
        if (!ask((char *)at + done, part, there)) break;
        for (size_t i = 0; i < part / page; i++) {
            if ((there[i] & 1) != 0) return (char *)at + done + i * page;
        }
    }
    return (char *)at + size;
}
