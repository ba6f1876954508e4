/* runtime/platform/linux/file_now.c -- what the page cache can do at once; the rest needs a thread that may block. */
#include <errno.h>

#include "calls.h"
#include "native.h"

int pf_native_file_submit(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    /* What was tried already; the end of the file, or an offset for pf_file_read to refuse. */
    if (!op->at_once || op->offset < 0) return PF_BLOCKING;
    struct iovec part = {.iov_base = op->data, .iov_len = op->size};
    ssize_t n;
    do
        n = op->write ? pwritev2((int)op->file, &part, 1, op->offset, RWF_NOWAIT)
                      : preadv2((int)op->file, &part, 1, op->offset, RWF_NOWAIT);
    while (n < 0 && errno == EINTR);
    /* Not in memory; a file system that cannot say; a kernel before 4.14, or a sandbox. Whatever else is wrong, the
     * blocking call says it best. */
    if (n < 0) return PF_BLOCKING;
    op->result = n;
    return WEFT_OK;
}

void pf_native_file_cancel(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    (void)op;
}
