/* runtime/platform/bsd/pages.c -- memory for stacks on BSD and macOS.
 *
 * Design notes. (1) There are no guard regions here: page protection, up to PROTECT_MAX stacks of the process.
 * (2) MADV_DONTNEED and MADV_FREE promise neither that the memory goes nor that zeroes are found. A new mapping in
 * place of the old one does both. It takes page protection inside with it; the callers trim between guards, as only
 * guard regions survive by themselves anywhere. (3) Address space costs nothing until it is touched; where that has
 * to be asked for, MAP_NORESERVE does so. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum { PROTECT_MAX = 30000 };
static _Atomic int protected_count; /* relaxed: only a limit */

size_t pf_page_size(void)
{
    static _Atomic size_t size; /* relaxed: everybody computes the same */
    size_t s = atomic_load_explicit(&size, memory_order_relaxed);
    if (s == 0) {
        s = (size_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&size, s, memory_order_relaxed);
    }
    return s;
}

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

void pf_pages_release(void *at, size_t size)
{
    if (at != NULL) WF_ASSERT(munmap(at, size) == 0);
}

bool pf_pages_stack(void *at, size_t size, const void *low)
{
    (void)at, (void)size, (void)low; /* pages appear where they are touched */
    return true;
}

bool pf_pages_guard(void *at, size_t size, enum pf_guard_kind *kind)
{
    if (*kind == PF_GUARD_BEST) *kind = PF_GUARD_PROTECT;
    if (*kind == PF_GUARD_PROTECT) {
        bool allowed = atomic_fetch_add_explicit(&protected_count, 1, memory_order_relaxed) < PROTECT_MAX;
        if (allowed && mprotect(at, size, PROT_NONE) == 0) return true;
        *kind = PF_GUARD_NONE;
    }
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

/* The type of the answer differs between systems. */
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
