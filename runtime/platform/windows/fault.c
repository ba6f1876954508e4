/* runtime/platform/windows/fault.c -- handles memory faults before other handlers do.
 *
 * Design notes. The system calls vectored handlers on the stack that faulted. It reserves some pages for the report
 * of an overflow (pf_report_space). These are inside the range that stack.c calls the guard, so the address tells
 * which stack has overflown. */
#include <stdlib.h>

#include "system.h"

static _Atomic(pf_fault_report *) reporter; /* set once, before the handler that reads it is installed */

static LONG CALLBACK on_fault(EXCEPTION_POINTERS *p)
{
    const EXCEPTION_RECORD *r = p->ExceptionRecord;
    bool fault = r->ExceptionCode == EXCEPTION_ACCESS_VIOLATION || r->ExceptionCode == EXCEPTION_STACK_OVERFLOW ||
                 r->ExceptionCode == EXCEPTION_GUARD_PAGE;
    if (!fault) return EXCEPTION_CONTINUE_SEARCH;
    uintptr_t at = r->NumberParameters >= 2 ? r->ExceptionInformation[1] : (uintptr_t)p->ContextRecord->Rsp;
    struct pf_fault f = {.signal = "access violation",
                         .address = (const void *)at,
                         .is_access = true,
                         .pc = (uintptr_t)p->ContextRecord->Rip,
                         .sp = (uintptr_t)p->ContextRecord->Rsp};
    if (atomic_load(&reporter)(&f)) _Exit(3);
    return EXCEPTION_CONTINUE_SEARCH;
}

int pf_fault_frames(const struct pf_fault *f, uintptr_t *out, int most)
{
    if (most < 1) return 0;
    out[0] = f->pc;
    return 1;
}

void pf_fault_watch(pf_fault_report *report)
{
    pf_fault_report *before = NULL;
    pf_report_space(); /* for the calling thread; threads of the runtime call it themselves */
    if (!atomic_compare_exchange_strong(&reporter, &before, report)) {
        WF_ASSERT(before == report); /* a process may have many nodes; one watch serves them all */
        return;
    }
    WF_ASSERT(AddVectoredExceptionHandler(1, on_fault) != NULL);
}
