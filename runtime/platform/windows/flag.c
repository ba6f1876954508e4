/* runtime/platform/windows/flag.c -- flags for other loops: not supported, because no kind of handle of this system
 * suits every loop. */
#include "native.h"

int pf_flag_open(struct pf_flag *f)
{
    *f = (struct pf_flag){.reading = PF_NO_HANDLE, .writing = PF_NO_HANDLE};
    return WEFT_ENOTSUP;
}

void pf_flag_close(struct pf_flag *f)
{
    (void)f;
}

void pf_flag_raise(const struct pf_flag *f)
{
    (void)f;
}

void pf_flag_lower(const struct pf_flag *f)
{
    (void)f;
}
