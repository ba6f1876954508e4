/* runtime/platform/linux/file_now.c -- reads and writes that the page cache can serve at once; all others need a
 * thread that may block. */
#include <errno.h>

#include "calls.h"
#include "native.h"

int pf_native_file_submit(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    /* Without `at_once` the runtime has tried it before. An offset below 0 is PF_FILE_END, or one that pf_file_read
     * refuses. */
    if (!op->at_once || op->offset < 0) return PF_BLOCKING;
    struct iovec part = {.iov_base = op->data, .iov_len = op->size};
    ssize_t n;
    if (op->write) pf_signals_before_write();
    do
        n = op->write ? pwritev2((int)op->file, &part, 1, op->offset, RWF_NOWAIT)
                      : preadv2((int)op->file, &part, 1, op->offset, RWF_NOWAIT);
    while (n < 0 && errno == EINTR);
    /* The data is not in memory, or the file system cannot tell, or the kernel is older than 4.14, or a sandbox
     * refuses the call. If anything else is wrong, the blocking call returns the right error. */
    if (n < 0) return PF_BLOCKING;
    op->result = n;
    return WEFT_OK;
}

void pf_native_file_cancel(struct pf_poller *p, struct pf_file_op *op)
{
    (void)p;
    (void)op;
}
