/* runtime/platform/posix/file_blocking.c -- for kernels that cannot use a file without blocking. */
#include "native.h"

int pf_native_file_submit(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    (void)op;
    return PF_BLOCKING;
}

void pf_native_file_cancel(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    (void)op;
}
