/* tests/fuzz/replay.c -- runs a fuzz target without a fuzzer, with every input of a folder. So the seeds, and each
 * input that has found a bug, are tests in every build. Each input runs twice: data that is set up once exists after
 * the first run, so the second run has to free all that it allocates, and may free what the first one kept. (A fuzzer
 * and the sanitizers look for leaks themselves.) */
#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 16 };

/* ---- How many blocks there are --------------------------------------------------------------------------------- */

#if defined(__GLIBC__) && defined(FUZZ_COUNTS)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static atomic_long live; /* any order will do: it is read when nothing else runs */

static void *counted(void *block)
{
    if (block != NULL) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return block;
}

void *malloc(size_t size)
{
    return counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (block == NULL) return malloc(size);
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return counted(__libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *block = aligned_alloc(alignment, size);
    if (block == NULL) return ENOMEM;
    *out = block;
    return 0;
}

void free(void *block)
{
    if (block != NULL) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    __libc_free(block);
}

static long live_blocks(void)
{
    return atomic_load_explicit(&live, memory_order_relaxed);
}
#else
static long live_blocks(void)
{
    return 0;
}
#endif

/* ---- Inputs ---------------------------------------------------------------------------------------------------- */

static void run(const char *folder, const char *name)
{
    char path[4096];
    static uint8_t data[INPUT_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    MUST(f != NULL);
    size_t size = fread(data, 1, sizeof data, f);
    MUST(feof(f));
    fclose(f);
    uint8_t *copy = malloc(size + (size == 0)); /* reading past its end is seen */
    MUST(copy != NULL);
    memcpy(copy, data, size);
    printf("%s, %zu bytes\n", name, size);
    fflush(stdout);
    MUST(fuzz_one_input(copy, size) == 0);
    long before = live_blocks();
    MUST(fuzz_one_input(copy, size) == 0);
    long left = live_blocks() - before;
    if (left > 0) fprintf(stderr, "%s leaves %ld blocks\n", name, left);
    MUST(left <= 0);
    free(copy);
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    DIR *d = opendir(argv[1]);
    MUST(d != NULL);
    int count = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        run(argv[1], e->d_name);
        count++;
    }
    closedir(d);
    run("/dev", "null"); /* nothing at all */
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
