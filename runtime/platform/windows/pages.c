/* runtime/platform/windows/pages.c -- memory for stacks: address space reserved in bulk, committed as stacks grow.
 *
 * Design notes.
 * (1) This system does not overcommit: committed memory counts against the memory of the system. Touching a page does
 *     not commit it, with one exception: the guard page just below the committed part of the running thread's stack.
 *     When it is touched the system commits it, marks the next page as guard and moves the stack's limit in the
 *     thread's block. That block also says which stack is running. So the context switch saves and restores these
 *     words (context_x86_64_windows.S), and a coroutine's stack grows as a thread's does.
 * (2) So a slot begins as one page and a guard page below it (pf_pages_stack). Memory below them is only reserved, so
 *     any access to it faults: a guard that costs nothing. Within the last pages above a stack's end the system
 *     reports an overflow instead of growing the stack; that end is the slot's base, so this happens in the range
 *     where the core expects its guard.
 * (3) The words in a suspended context say where the stack ends. They must be right when its slot is used again or
 *     was parked: pf_context_bounds asks the system which pages are committed and writes the words. */
#include "context.h"
#include "system.h"

size_t pf_page_size(void)
{
    return 4096; /* on all processors for which this file is built */
}

void *pf_pages_reserve(size_t size, size_t align)
{
    size_t page = pf_page_size();
    if (size == 0 || size % page != 0 || (align & (align - 1)) != 0) return NULL;
    char *at = VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_READWRITE);
    /* A part of a reservation cannot be released. So reserve a larger range, release it, and reserve the aligned part
     * of it before another thread does. */
    for (int tries = 0; at != NULL && (uintptr_t)at % align != 0 && tries < 16; tries++) {
        VirtualFree(at, 0, MEM_RELEASE);
        char *larger = VirtualAlloc(NULL, size + align, MEM_RESERVE, PAGE_READWRITE);
        if (larger == NULL) return NULL;
        VirtualFree(larger, 0, MEM_RELEASE);
        at = VirtualAlloc(larger + (align - (uintptr_t)larger % align) % align, size, MEM_RESERVE, PAGE_READWRITE);
        if (at == NULL) at = VirtualAlloc(NULL, size, MEM_RESERVE, PAGE_READWRITE);
    }
    if (at != NULL && (uintptr_t)at % align != 0) {
        VirtualFree(at, 0, MEM_RELEASE);
        return NULL;
    }
    return at;
}

void pf_pages_release(void *at, size_t size)
{
    (void)size;
    if (at != NULL) WF_ASSERT(VirtualFree(at, 0, MEM_RELEASE));
}

int pf_pages_guard(const struct pf_range *ranges, int count, enum pf_guard_kind *kind)
{
    (void)ranges, (void)kind;
    return count; /* no page of it is committed */
}

bool pf_pages_stack(void *at, size_t size, const void *low)
{
    char *end = (char *)at + size, *first = (char *)((uintptr_t)low & ~((uintptr_t)pf_page_size() - 1));
    if (VirtualAlloc(first, (size_t)(end - first), MEM_COMMIT, PAGE_READWRITE) == NULL) return false;
    if (first - pf_page_size() < (char *)at) return true;
    return VirtualAlloc(first - pf_page_size(), pf_page_size(), MEM_COMMIT, PAGE_READWRITE | PAGE_GUARD) != NULL;
}

/* A range for VirtualFree must lie in one reservation. */
static void decommit(char *at, size_t size)
{
    for (char *end = at + size; at < end;) {
        MEMORY_BASIC_INFORMATION m;
        WF_ASSERT(VirtualQuery(at, &m, sizeof m) != 0);
        size_t part = WF_MIN((size_t)(end - at), (size_t)((char *)m.BaseAddress + m.RegionSize - at));
        if (m.State == MEM_COMMIT) WF_ASSERT(VirtualFree(at, part, MEM_DECOMMIT));
        at += part;
    }
}

bool pf_pages_populate(const struct pf_range *ranges, int count)
{
    (void)ranges, (void)count;
    return false;
}

void pf_pages_trim(void *at, size_t size)
{
    NT_TIB *running = (NT_TIB *)NtCurrentTeb();
    char *end = (char *)at + size, *here = (char *)__builtin_frame_address(0);
    decommit(at, size);
    (void)VirtualAlloc(end - pf_page_size(), pf_page_size(), MEM_COMMIT, PAGE_READWRITE | PAGE_GUARD);
    bool own = here > end && here < (char *)running->StackBase && (char *)running->StackLimit >= (char *)at &&
               (char *)running->StackLimit < end;
    if (own) running->StackLimit = end;
}

void pf_pages_close(const struct pf_range *ranges, int count, enum pf_guard_kind kind)
{
    (void)kind;
    for (int i = 0; i < count; i++) decommit(ranges[i].at, ranges[i].size);
}

void pf_pages_open(void *at, size_t size)
{
    (void)at, (void)size; /* pf_pages_stack makes the guard */
}

static bool is_in_use(const MEMORY_BASIC_INFORMATION *m)
{
    return m->State == MEM_COMMIT && (m->Protect & PAGE_GUARD) == 0;
}

size_t pf_pages_resident(const void *at, size_t size)
{
    size_t sum = 0;
    for (const char *c = at, *end = c + size; c < end;) {
        MEMORY_BASIC_INFORMATION m;
        if (VirtualQuery(c, &m, sizeof m) == 0) break;
        const char *next = (const char *)m.BaseAddress + m.RegionSize;
        sum += is_in_use(&m) ? (size_t)(WF_MIN(next, end) - c) : 0;
        c = next;
    }
    return sum;
}

char *pf_pages_first(void *at, size_t size)
{
    char *c = at, *end = c + size;
    while (c < end) {
        MEMORY_BASIC_INFORMATION m;
        if (VirtualQuery(c, &m, sizeof m) == 0 || is_in_use(&m)) break;
        c = (char *)m.BaseAddress + m.RegionSize;
    }
    return WF_MIN(c, end);
}

void pf_context_bounds(void *context, char *low, char *high)
{
    void **words = (void **)context + PF_CONTEXT_STACK_WORDS;
    words[0] = high;
    words[1] = pf_pages_first(low, (size_t)(high - low));
    words[2] = low;
}
