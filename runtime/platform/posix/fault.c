/* runtime/platform/posix/fault.c -- looks at memory faults before anybody else does.
 *
 * Design notes. (1) A thread that has used up its stack cannot run a handler on it: each has an alternate one.
 * Sanitizers bring their own, which is then left alone. (2) What is not ours goes to the handler that was there
 * before; where there was none, the default action is put back and the faulting instruction runs once more, so that
 * the core dump shows the fault and not this file. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

enum { SIGNAL_STACK_BYTES = 64 * 1024 };

typedef bool report_function(const void *address);
static _Atomic(report_function *) reporter; /* set once, before the handler that reads it is installed */
static struct sigaction before_segv, before_bus;
/* Of the thread that called pf_fault_watch, for its life; kept where leak checkers see it. */
static __attribute__((used)) void *watchers_stack;

void *pf_signal_stack_add(void)
{
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return NULL;
    void *memory = malloc(SIGNAL_STACK_BYTES);
    if (memory == NULL) return NULL;
    stack_t ours = {.ss_sp = memory, .ss_size = SIGNAL_STACK_BYTES};
    if (sigaltstack(&ours, NULL) == 0) return memory;
    free(memory);
    return NULL;
}

void pf_signal_stack_drop(void *memory)
{
    if (memory == NULL) return;
    stack_t none = {.ss_flags = SS_DISABLE, .ss_size = SIGNAL_STACK_BYTES}; /* macOS looks at the size all the same */
    WF_ASSERT(sigaltstack(&none, NULL) == 0);
    free(memory);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    /* By kill(), not by an access: not positive on Linux, SI_USER (0x10001) and above on BSD and macOS. */
    bool sent = info->si_code <= 0 || info->si_code > 0x10000;
    if (!sent && atomic_load(&reporter)(info->si_addr)) _exit(128 + signal_number);
    const struct sigaction *before = signal_number == SIGBUS ? &before_bus : &before_segv;
    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(signal_number, info, context);
        return;
    }
    if (before->sa_handler == SIG_IGN && sent) return;
    if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(signal_number);
        return;
    }
    signal(signal_number, SIG_DFL);
    if (sent) raise(signal_number); /* blocked until this handler returns */
}

void pf_fault_watch(bool (*report)(const void *address))
{
    report_function *before = NULL;
    if (!atomic_compare_exchange_strong(&reporter, &before, report)) {
        WF_ASSERT(before == report); /* a process may hold many nodes; one watch serves them all */
        return;
    }
    watchers_stack = pf_signal_stack_add();
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    WF_ASSERT(sigaction(SIGSEGV, &ours, &before_segv) == 0);
    WF_ASSERT(sigaction(SIGBUS, &ours, &before_bus) == 0);
}
