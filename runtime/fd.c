/* runtime/fd.c -- descriptors that tasks wait for. */
#include "worker.h"

void wf_fd_ready(struct wf_worker *w, const struct pf_ready *r)
{
    (void)w, (void)r;
}

int wf_sources_init(struct wf_worker *w)
{
    (void)w;
    return WEFT_OK;
}

void wf_sources_finish(struct wf_worker *w)
{
    (void)w;
}
