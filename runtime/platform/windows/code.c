/* runtime/platform/windows/code.c -- see platform.h. */
#include "platform.h"

bool pf_code_at(uintptr_t address, struct pf_code *out)
{
    (void)address, (void)out;
    return false;
}
