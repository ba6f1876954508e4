/* tests/fuzz/conserve.c -- stands between libFuzzer and a target, and checks that each input frees what it allocates.
 * libFuzzer runs LeakSanitizer after inputs that leave blocks, which finds blocks without references. This file also
 * counts blocks that a table keeps after the input. An input that leaves blocks runs again: by then, data that is set
 * up once exists, and one of the next runs has to free all that it allocates. */
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
