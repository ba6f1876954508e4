/* runtime/platform/no_find_stream.c -- for systems that do not list the descriptors of a process. */
#include "platform.h"

int pf_find_stream(const struct pf_address *local, const struct pf_address *remote, pf_handle *out)
{
    (void)local, (void)remote;
    *out = PF_NO_HANDLE;
    return WEFT_ENOTFOUND;
}
