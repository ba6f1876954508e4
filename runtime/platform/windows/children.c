/* runtime/platform/windows/children.c -- child processes, pipes and listings: not on this system yet, and callers are
 * told so. */
#include "system.h"

int pf_pipe(pf_handle *reading, pf_handle *writing, bool reading_is_ours, bool writing_is_ours)
{
    (void)reading, (void)writing, (void)reading_is_ours, (void)writing_is_ours;
    return WEFT_ENOTSUP;
}

int pf_standard(pf_handle *out, int which)
{
    (void)out, (void)which;
    return WEFT_ENOTSUP;
}

int pf_duplicate(pf_handle h, pf_handle *out)
{
    (void)h, (void)out;
    return WEFT_ENOTSUP;
}

int pf_process_start(struct pf_process *out, const struct pf_process_options *options)
{
    (void)out, (void)options;
    return WEFT_ENOTSUP;
}

int pf_process_reap(struct pf_process *c, struct pf_exit *out)
{
    (void)c, (void)out;
    return WEFT_ENOTSUP;
}

int pf_process_wait(struct pf_process *c, struct pf_exit *out)
{
    (void)c, (void)out;
    return WEFT_ENOTSUP;
}

int pf_process_signal(struct pf_process *c, int number)
{
    (void)c, (void)number;
    return WEFT_ENOTSUP;
}

void pf_process_free(struct pf_process *c)
{
    (void)c;
}

int pf_native_process_watch(struct pf_poller *p, struct pf_process *c, uint64_t tag)
{
    (void)p, (void)c, (void)tag;
    return WEFT_ENOTSUP;
}

void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *c)
{
    (void)p, (void)c;
}

int pf_listing_open(pf_listing **out, const char *path)
{
    (void)out, (void)path;
    return WEFT_ENOTSUP;
}

int pf_listing_next(pf_listing *l, struct pf_entry *out)
{
    (void)l, (void)out;
    return WEFT_ENOTSUP;
}

void pf_listing_close(pf_listing *l)
{
    (void)l;
}
