/* runtime/platform/linux/pages.c -- memory for stacks: address space reserved in bulk, guards inside it.
 *
 * Design notes. One mapping per stack, or page protection inside one mapping, fails at some 32,750 stacks: each
 * costs two of the 65,530 mappings a process may have. Guard regions (Linux 6.13) live in the page tables, split
 * nothing, cost 0.4 us, and survive MADV_DONTNEED over them. Older kernels get page protection for the first
 * PROTECT_MAX stacks of the process and then no guard, so that some mappings are left for others.
 *
 * Each call that takes memory away notifies the other cores: 12 us while another thread runs, otherwise 1.4 us. So
 * one process_madvise handles many ranges and notifies them once (0.7 us a range at 64). A second call installs the
 * guards over the ranges, which are empty by then (0.6 us a range): if it had to empty a page itself, it would notify
 * the cores for each page. docs/decisions.md has the table. */
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "native.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_GUARD_REMOVE
#define MADV_GUARD_REMOVE 103
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef PIDFD_SELF_THREAD
#define PIDFD_SELF_THREAD (-10000) /* Linux 6.15; the number for the thread group has changed since */
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { PROTECT_MAX = 30000 };
static _Atomic int protected_count; /* relaxed: only a limit */

void *pf_pages_reserve(size_t size, size_t align)
{
    size_t page = pf_page_size();
    if (size == 0 || size % page != 0 || (align & (align - 1)) != 0) return NULL;
    size_t slack = align > page ? align - page : 0;
    char *at = mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return NULL;
    size_t before = (align - (uintptr_t)at % align) % align;
    if (before > 0) munmap(at, before);
    if (slack > before) munmap(at + before + size, slack - before);
    at += before;
    /* A huge page would make 64 KiB and more of each stack resident at its first touch. Kernels without huge pages
     * return an error, which does not matter. */
    (void)madvise(at, size, MADV_NOHUGEPAGE);
    (void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, size, "weft stacks");
    return at;
}

/* The kernel reads ranges as they are: a copy would take a quarter of the page to which a coroutine's stack is held. */
_Static_assert(sizeof(struct pf_range) == sizeof(struct iovec) &&
                   offsetof(struct pf_range, at) == offsetof(struct iovec, iov_base) &&
                   offsetof(struct pf_range, size) == offsetof(struct iovec, iov_len),
               "a range is an iovec");

/* One call for all ranges. False: it has not done all of them; `*refused` is then set if this kernel, or this process, never
 * can. */
static bool advise_at_once(const struct pf_range *ranges, int count, int advice, _Atomic bool *refused)
{
#ifdef SYS_process_madvise
    if (atomic_load_explicit(refused, memory_order_relaxed)) return false;
    long sum = 0;
    for (int i = 0; i < count; i++) sum += (long)ranges[i].size;
    long done = syscall(SYS_process_madvise, PIDFD_SELF_THREAD, ranges, count, advice, 0);
    if (done == sum) return true;
    if (done < 0 && errno != EINTR && errno != EAGAIN && errno != ENOMEM)
        atomic_store_explicit(refused, true, memory_order_relaxed);
#else
    (void)ranges, (void)count, (void)advice, (void)refused;
#endif
    return false;
}

/* Kernels that cannot advise many ranges at once, or not for the calling process, get one call a range. */
static bool advise_all(const struct pf_range *ranges, int count, int advice)
{
    static _Atomic bool one_by_one; /* relaxed: once true it stays true */
    if (count > 1 && advise_at_once(ranges, count, advice, &one_by_one)) return true;
    bool done = true;
    for (int i = 0; i < count; i++) {
        int rc;
        do rc = madvise(ranges[i].at, ranges[i].size, advice);
        while (rc != 0 && (errno == EINTR || errno == EAGAIN));
        done &= rc == 0;
    }
    return done;
}

int pf_pages_guard(const struct pf_range *ranges, int count, enum pf_guard_kind *kind)
{
    WF_ASSERT(count > 0 && count <= PF_RANGES_MAX);
    if (*kind == PF_GUARD_BEST) {
        if (count > 1 && advise_all(ranges, count, MADV_GUARD_INSTALL)) return count;
        if (advise_all(ranges, 1, MADV_GUARD_INSTALL)) return 1;
        *kind = PF_GUARD_PROTECT;
    }
    if (*kind == PF_GUARD_PROTECT) {
        bool allowed = atomic_fetch_add_explicit(&protected_count, 1, memory_order_relaxed) < PROTECT_MAX;
        if (allowed && mprotect(ranges[0].at, ranges[0].size, PROT_NONE) == 0) return 1;
        *kind = PF_GUARD_NONE;
    }
    return 0;
}

/* One by one, this would cost as much as the faults that it saves. */
bool pf_pages_populate(const struct pf_range *ranges, int count)
{
    static _Atomic bool refused; /* relaxed: once true it stays true */
    WF_ASSERT(count <= PF_RANGES_MAX);
    return advise_at_once(ranges, count, MADV_POPULATE_WRITE, &refused);
}

void pf_pages_trim(void *at, size_t size)
{
    int rc;
    do rc = madvise(at, size, MADV_DONTNEED);
    while (rc != 0 && errno == EAGAIN);
    WF_ASSERT(rc == 0 || errno == EINVAL); /* EINVAL: mlockall has locked the pages, which must stay */
}

void pf_pages_close(const struct pf_range *ranges, int count, enum pf_guard_kind kind)
{
    WF_ASSERT(count <= PF_RANGES_MAX);
    (void)advise_all(ranges, count, MADV_DONTNEED); /* pages locked by mlockall stay */
    /* If there is no memory for page tables, some ranges stay without guards: correctness does not depend on them. */
    if (kind == PF_GUARD_BEST) (void)advise_all(ranges, count, MADV_GUARD_INSTALL);
}

void pf_pages_open(void *at, size_t size)
{
    int rc;
    do rc = madvise(at, size, MADV_GUARD_REMOVE);
    while (rc != 0 && (errno == EINTR || errno == EAGAIN));
}
