/* runtime/platform/bsd/pages.c -- memory for stacks on BSD and macOS.
 *
 * Design notes. (1) These systems have no guard regions: page protection guards up to PROTECT_MAX stacks of the
 * process.
 * (2) MADV_DONTNEED and MADV_FREE promise neither that the memory is given back nor that zeroes are found. A new
 * mapping in place of the old one does both. It removes page protection in the range; so callers trim between guards,
 * because only guard regions survive it on any system. (3) Address space costs nothing until it is touched; some
 * systems need MAP_NORESERVE for that. */
#include <stdatomic.h>
#include <sys/mman.h>

#include "native.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum { PROTECT_MAX = 30000 };
static _Atomic int protected_count; /* relaxed: only a limit */

static char *map(void *at, size_t size, int more)
{
    return mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | more, -1, 0);
}

void *pf_pages_reserve(size_t size, size_t align)
{
    size_t page = pf_page_size();
    if (size == 0 || size % page != 0 || (align & (align - 1)) != 0) return NULL;
    size_t slack = align > page ? align - page : 0;
    char *at = map(NULL, size + slack, 0);
    if (at == MAP_FAILED) return NULL;
    size_t before = (align - (uintptr_t)at % align) % align;
    if (before > 0) munmap(at, before);
    if (slack > before) munmap(at + before + size, slack - before);
    return at + before;
}

int pf_pages_guard(const struct pf_range *ranges, int count, enum pf_guard_kind *kind)
{
    WF_ASSERT(count > 0);
    if (*kind == PF_GUARD_BEST) *kind = PF_GUARD_PROTECT;
    if (*kind == PF_GUARD_PROTECT) {
        bool allowed = atomic_fetch_add_explicit(&protected_count, 1, memory_order_relaxed) < PROTECT_MAX;
        if (allowed && mprotect(ranges[0].at, ranges[0].size, PROT_NONE) == 0) return 1;
        *kind = PF_GUARD_NONE;
    }
    return 0;
}

bool pf_pages_populate(const struct pf_range *ranges, int count)
{
    (void)ranges, (void)count;
    return false;
}

void pf_pages_trim(void *at, size_t size)
{
    WF_ASSERT(map(at, size, MAP_FIXED) == at);
}

void pf_pages_close(const struct pf_range *ranges, int count, enum pf_guard_kind kind)
{
    (void)kind; /* page protection is never used for this */
    WF_ASSERT(count <= PF_RANGES_MAX);
    for (int i = 0; i < count; i++) pf_pages_trim(ranges[i].at, ranges[i].size);
}

void pf_pages_open(void *at, size_t size)
{
    (void)at, (void)size;
}
