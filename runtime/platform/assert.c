/* runtime/platform/assert.c -- ends a process whose invariant is broken. It includes nothing but its own headers, so
 * every other file may assert. */
#include "platform.h"

#include <stdio.h>
#include <stdlib.h>

_Atomic(wf_last_words_fn *) wf_last_words;

void wf_assert_failed(const char *condition, const char *file, int line)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s:%d: assertion failed: %s\n", file, line, condition);
    if (n > 0) pf_stderr(text, WF_MIN((size_t)n, sizeof text - 1));
    wf_last_words_fn *last = atomic_load_explicit(&wf_last_words, memory_order_acquire);
    if (last != NULL) last();
    abort();
}
