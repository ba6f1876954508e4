/* runtime/platform/sanitizer.c -- see sanitizer.h. */
#include "sanitizer.h"

bool wf_sanitized;

__attribute__((constructor)) static void look(void)
{
    wf_sanitized = WF_HAS_ASAN || WF_HAS_TSAN;
}
