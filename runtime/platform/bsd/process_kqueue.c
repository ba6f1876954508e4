/* runtime/platform/bsd/process_kqueue.c -- the kqueue itself reports the end of a child: poller_kqueue.c. */
#include <signal.h>

#include "native.h"

int pf_native_process_possible(void)
{
    return WEFT_OK;
}

int pf_native_process_open(struct pf_process *c)
{
    c->handle = PF_NO_HANDLE;
    return WEFT_OK;
}

int pf_native_process_signal(struct pf_process *c, int number)
{
    return kill((pid_t)c->id, number);
}
