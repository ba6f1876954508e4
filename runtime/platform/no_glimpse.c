/* runtime/platform/no_glimpse.c -- for systems where no thread can see what another one does. */
#include "platform.h"

void pf_glimpse_allow(void)
{
}

int pf_thread_glimpse(const pf_thread *t, void (*see)(void *arg), void *arg, uintptr_t *out, int most)
{
    (void)t, (void)see, (void)arg, (void)out, (void)most;
    return WEFT_ENOTSUP;
}

bool pf_code_function(const struct pf_code *code, char *out, size_t size)
{
    (void)code, (void)out, (void)size;
    return false;
}
