/* runtime/platform/changes_none.c -- for kernels that do not tell what changes in a directory. */
#include "platform.h"

int pf_changes_open(pf_handle *out, const char *path)
{
    (void)out;
    (void)path;
    return WEFT_ENOTSUP;
}

int64_t pf_changes_parse(const void *data, size_t size, struct pf_change *out)
{
    (void)data;
    (void)size;
    (void)out;
    return WEFT_EFORMAT;
}

size_t pf_changes_end(void *out)
{
    (void)out;
    return 0;
}
