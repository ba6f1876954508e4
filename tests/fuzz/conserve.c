/* tests/fuzz/conserve.c -- between libFuzzer and a target: each input frees what it allocates.
 * LeakSanitizer, which libFuzzer asks after inputs that leave blocks, finds those that nothing refers to. This counts
 * the others as well: what a table keeps that outlives the input. An input that leaves blocks runs again: what is set
 * up once is there by then, and one of the next runs has to free all that it allocates. */
#include <sanitizer/allocator_interface.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fuzz.h"

enum { RUNS_AGAIN = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static atomic_long live; /* any order will do: it is read when nothing else runs */

static void on_malloc(const volatile void *block, size_t size)
{
    (void)size;
    if (block != NULL) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
}

static void on_free(const volatile void *block)
{
    if (block != NULL) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
}

/* How many blocks more there are after it. */
static long left_by(const uint8_t *data, size_t size)
{
    long before = atomic_load_explicit(&live, memory_order_relaxed);
    MUST(fuzz_one_input(data, size) == 0);
    return atomic_load_explicit(&live, memory_order_relaxed) - before;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool counting;
    if (!counting) MUST(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
    counting = true;
    if (left_by(data, size) <= 0) return 0;
    for (int i = 0; i < RUNS_AGAIN; i++) {
        long left = left_by(data, size);
        if (left <= 0) return 0;
        if (i == 0) fprintf(stderr, "a second run of this input leaves %ld blocks\n", left);
    }
    fuzz_failed("freed what it allocates", __FILE__, __LINE__);
}
