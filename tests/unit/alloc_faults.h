/* tests/unit/alloc_faults.h -- the n-th allocation from now fails. For a test executable of one file that is linked
 * with -Wl,--wrap for malloc, calloc, realloc, aligned_alloc, free, mmap and mmap64, which is what glibc calls mmap
 * where offsets have 64 bits: production code is untouched, and all of it that is linked in statically is under test.
 * Allocations within shared libraries are not seen. */
#ifndef WF_ALLOC_FAULTS_H
#define WF_ALLOC_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

static struct {
    _Atomic long until;     /* allocations that still succeed; < 0: all do */
    _Atomic bool lasting;   /* after the first failure all fail */
    _Atomic long failed;    /* since faults_arm */
    _Atomic long live;      /* blocks allocated and not freed, since the process began */
    bool (*concerns)(void); /* NULL, or whether this allocation is one of those that are counted, and may fail */
} faults = {.until = -1};

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *block);
void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
#ifdef __GLIBC__
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset);
#endif
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *block);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);

/* Counting from 0: the n-th allocation from now fails, and, if `lasting`, all after it. */
static void faults_arm(long n, bool lasting)
{
    faults.lasting = lasting;
    faults.failed = 0;
    faults.until = n;
}

/* Everything succeeds again. Returns how many have failed. */
static long faults_disarm(void)
{
    faults.until = -1;
    return faults.failed;
}

/* Counts in one step, so that a late thread does not arm faults that were disarmed meanwhile. */
static bool faults_hit(void)
{
    long left = faults.until, after;
    if (faults.concerns != NULL && !faults.concerns()) return false;
    do {
        if (left < 0) return false;
        after = left > 0 ? left - 1 : faults.lasting ? 0 : -1;
    } while (!atomic_compare_exchange_weak(&faults.until, &left, after));
    if (left > 0) return false;
    faults.failed++;
    return true;
}

static void *faults_count(void *block)
{
    if (block != NULL) faults.live++;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return faults_hit() ? NULL : faults_count(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return faults_hit() ? NULL : faults_count(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (faults_hit()) return NULL;
    void *moved = __real_realloc(block, size);
    return block == NULL ? faults_count(moved) : moved;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return faults_hit() ? NULL : faults_count(__real_aligned_alloc(align, size));
}

void __wrap_free(void *block)
{
    if (block != NULL) faults.live--;
    __real_free(block);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return faults_hit() ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

#ifdef __GLIBC__
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return faults_hit() ? MAP_FAILED : __real_mmap64(at, size, protection, flags, fd, offset);
}
#endif

#endif
