/* runtime/platform/context_x86_64_sysv.S -- see context.h. Callee-saved in the System V ABI: rbx, rbp, r12 to r15
 * (and mxcsr and the x87 control word, which coroutines must not change across a suspension).
 *
 * Frame of a suspended context, from its stack pointer upwards: r15 r14 r13 r12 rbx rbp, address to go on at.
 * pf_context_parked is where every suspended context stands, with the unwind information that fits: a debugger that
 * sets its stack pointer to the saved one and its program counter to pf_context_parked sees the coroutine's
 * backtrace. */
#include "context_asm.inc"

/* void pf_context_switch(void **save, void *load) */
    begin pf_context_switch
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    movq %rsp, (%rdi)
    movq %rsi, %rsp
PARKED:
    popq %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    popq %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    popq %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    popq %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    popq %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    end pf_context_switch

/* void pf_context_jump(void *load) */
    begin pf_context_jump
    .cfi_startproc
    .cfi_undefined %rip
    movq %rdi, %rsp
    jmp PARKED
    .cfi_endproc
    end pf_context_jump

/* The first thing a context runs: entry in r12, its argument in r13. The undefined return address ends a backtrace
 * here, the zero frame pointer does it for those who follow frame pointers. */
    begin pf_context_start
    .cfi_startproc
    .cfi_undefined %rip
    .cfi_undefined %rbp
    movq %r13, %rdi
    callq *%r12
    ud2
    .cfi_endproc
    end pf_context_start

/* void *pf_context_make(char *top, void (*entry)(void *), void *arg): 72 = 7 words, and 16 so that rsp is aligned
 * at the call. */
    begin pf_context_make
    .cfi_startproc
    leaq -72(%rdi), %rax
    leaq HERE(pf_context_start)(%rip), %rcx
    movq $0, 0(%rax)
    movq $0, 8(%rax)
    movq %rdx, 16(%rax)
    movq %rsi, 24(%rax)
    movq $0, 32(%rax)
    movq $0, 40(%rax)
    movq %rcx, 48(%rax)
    movq $0, 56(%rax)
    movq $0, 64(%rax)
    ret
    .cfi_endproc
    end pf_context_make
