/* runtime/platform/posix/fault.c -- handles a crash before other handlers do.
 *
 * Design notes. (1) A thread that has used up its stack cannot run a handler on it, so each thread has an alternate
 * stack. Sanitizers install their own, which is then kept. (2) Faults that weft does not explain go to the previously
 * installed handler. If there was none, the default action is restored and the faulting instruction runs once more,
 * so that the core dump shows the fault and not this file. (3) During a report the other signals of this file are
 * blocked: a fault in the report ends the process instead of starting another report. (4) The unwinder of the
 * compiler's library finds the way from the handler's stack to the one that crashed, because the C library describes
 * signal frames; it allocates no memory. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef PF_UNWINDER
#include <unwind.h>
#endif

#include "native.h"

enum { SIGNAL_STACK_BYTES = 64 * 1024 };

static const struct {
    int number;
    const char *name;
} WATCHED[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};

static _Atomic(pf_fault_report *) reporter; /* set once, before the handler that reads it is installed */
static struct sigaction before_us[WF_COUNT(WATCHED)];
/* The alternate stack of the thread that called pf_fault_watch, for its life. It is stored here so that leak checkers
 * find it. */
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
    stack_t none = {.ss_flags = SS_DISABLE, .ss_size = SIGNAL_STACK_BYTES}; /* macOS checks the size also here */
    WF_ASSERT(sigaltstack(&none, NULL) == 0);
    free(memory);
}

void pf_where(const void *context, uintptr_t *pc, uintptr_t *sp)
{
    *pc = *sp = 0;
    const ucontext_t *u = context;
    (void)u;
#if defined(__linux__) && defined(__x86_64__)
    *pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
    *sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
#elif defined(__linux__) && defined(__aarch64__)
    *pc = (uintptr_t)u->uc_mcontext.pc;
    *sp = (uintptr_t)u->uc_mcontext.sp;
#elif defined(__APPLE__) && defined(__x86_64__)
    *pc = (uintptr_t)u->uc_mcontext->__ss.__rip;
    *sp = (uintptr_t)u->uc_mcontext->__ss.__rsp;
#elif defined(__APPLE__) && defined(__aarch64__)
    *pc = (uintptr_t)u->uc_mcontext->__ss.__pc;
    *sp = (uintptr_t)u->uc_mcontext->__ss.__sp;
#elif defined(__FreeBSD__) && defined(__x86_64__)
    *pc = (uintptr_t)u->uc_mcontext.mc_rip;
    *sp = (uintptr_t)u->uc_mcontext.mc_rsp;
#endif
}

/* ---- Backtrace ------------------------------------------------------------------------------------------------- */

#ifdef PF_UNWINDER
struct walk {
    uintptr_t pc; /* of the innermost frame to be stored; frames before it belong to the handler */
    uintptr_t *out;
    int count, most;
    bool inside;
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *k = arg;
    int at_next = 0; /* whether it is the address of the instruction itself, not of the one after a call */
    uintptr_t pc = _Unwind_GetIPInfo(context, &at_next);
    k->inside |= pc == k->pc;
    if (!k->inside || pc == 0) return _URC_NO_REASON;
    k->out[k->count++] = at_next || pc == k->pc ? pc : pc - 1;
    return k->count == k->most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

int pf_fault_frames(const struct pf_fault *f, uintptr_t *out, int most)
{
    struct walk k = {.pc = f->pc, .out = out, .most = most};
    if (f->pc == 0 || most < 1) return 0;
    (void)_Unwind_Backtrace(take_frame, &k);
    if (k.count == 0) out[k.count++] = f->pc;
    return k.count;
}
#else
int pf_fault_frames(const struct pf_fault *f, uintptr_t *out, int most)
{
    if (f->pc == 0 || most < 1) return 0;
    out[0] = f->pc;
    return 1;
}
#endif

/* ---- The handler ----------------------------------------------------------------------------------------------- */

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    size_t i = 0;
    while (WATCHED[i].number != signal_number) i++;
    const struct sigaction *before = &before_us[i];
    /* Whether kill() sent it, and no access raised it: then the code is not positive on Linux, and SI_USER (0x10001)
     * or above on BSD and macOS. */
    bool sent = info->si_code <= 0 || info->si_code > 0x10000;
    bool by_default = (before->sa_flags & SA_SIGINFO) == 0 && before->sa_handler == SIG_DFL;
    struct pf_fault f = {.signal = WATCHED[i].name, .fatal = by_default};
    pf_where(context, &f.pc, &f.sp);
    if (!sent) f.address = info->si_addr;
    f.is_access = !sent && (signal_number == SIGSEGV || signal_number == SIGBUS);
    bool by_us = sent && signal_number == SIGABRT && info->si_pid == getpid();
    if ((!sent || by_us) && atomic_load(&reporter)(&f)) _exit(128 + signal_number);
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

void pf_fault_watch(pf_fault_report *report)
{
    pf_fault_report *before = NULL;
    if (!atomic_compare_exchange_strong(&reporter, &before, report)) {
        WF_ASSERT(before == report); /* a process may have many nodes; one watch serves them all */
        return;
    }
    watchers_stack = pf_signal_stack_add();
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < WF_COUNT(WATCHED); i++) sigaddset(&ours.sa_mask, WATCHED[i].number);
    for (size_t i = 0; i < WF_COUNT(WATCHED); i++) WF_ASSERT(sigaction(WATCHED[i].number, &ours, &before_us[i]) == 0);
}
