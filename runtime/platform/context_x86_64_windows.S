/* runtime/platform/context_x86_64_windows.S -- see context.h. Callee-saved in the Windows x64 convention: rbx, rbp,
 * rdi, rsi, r12 to r15 and xmm6 to xmm15 (and mxcsr and the x87 control word, which coroutines must not change across
 * a suspension). And the words of the thread's block that say which stack is running, see windows/pages.c: where it
 * begins, the lowest committed page, where it ends; and its list of exception handlers.
 *
 * Frame of a suspended context, from its stack pointer upwards: xmm6 to xmm15; PF_CONTEXT_STACK_WORDS: begin, limit,
 * end; exception list; a word of padding; r15 r14 r13 r12 rsi rdi rbx rbp; address to go on at. */
    .set STACK_BEGIN, 0x08
    .set STACK_LIMIT, 0x10
    .set STACK_END, 0x1478
    .set EXCEPTION_LIST, 0x00
    .set LOCALS, 200
    .set WORDS, 160
    .text

    .macro begin name
    .globl \name
    .def \name; .scl 2; .type 32; .endef
    .balign 16
\name:
    .endm

/* void pf_context_switch(void **save, void *load) */
    begin pf_context_switch
    .seh_proc pf_context_switch
    pushq %rbp
    .seh_pushreg %rbp
    pushq %rbx
    .seh_pushreg %rbx
    pushq %rdi
    .seh_pushreg %rdi
    pushq %rsi
    .seh_pushreg %rsi
    pushq %r12
    .seh_pushreg %r12
    pushq %r13
    .seh_pushreg %r13
    pushq %r14
    .seh_pushreg %r14
    pushq %r15
    .seh_pushreg %r15
    subq $LOCALS, %rsp
    .seh_stackalloc LOCALS
    movaps %xmm6, 0(%rsp)
    .seh_savexmm %xmm6, 0
    movaps %xmm7, 16(%rsp)
    .seh_savexmm %xmm7, 16
    movaps %xmm8, 32(%rsp)
    .seh_savexmm %xmm8, 32
    movaps %xmm9, 48(%rsp)
    .seh_savexmm %xmm9, 48
    movaps %xmm10, 64(%rsp)
    .seh_savexmm %xmm10, 64
    movaps %xmm11, 80(%rsp)
    .seh_savexmm %xmm11, 80
    movaps %xmm12, 96(%rsp)
    .seh_savexmm %xmm12, 96
    movaps %xmm13, 112(%rsp)
    .seh_savexmm %xmm13, 112
    movaps %xmm14, 128(%rsp)
    .seh_savexmm %xmm14, 128
    movaps %xmm15, 144(%rsp)
    .seh_savexmm %xmm15, 144
    .seh_endprologue
    movq %gs:STACK_BEGIN, %rax
    movq %rax, WORDS(%rsp)
    movq %gs:STACK_LIMIT, %rax
    movq %rax, WORDS + 8(%rsp)
    movq %gs:STACK_END, %rax
    movq %rax, WORDS + 16(%rsp)
    movq %gs:EXCEPTION_LIST, %rax
    movq %rax, WORDS + 24(%rsp)
    movq %rsp, (%rcx)
    movq %rdx, %rsp
    .globl pf_context_parked
pf_context_parked:
    movq WORDS(%rsp), %rax
    movq %rax, %gs:STACK_BEGIN
    movq WORDS + 8(%rsp), %rax
    movq %rax, %gs:STACK_LIMIT
    movq WORDS + 16(%rsp), %rax
    movq %rax, %gs:STACK_END
    movq WORDS + 24(%rsp), %rax
    movq %rax, %gs:EXCEPTION_LIST
    movaps 0(%rsp), %xmm6
    movaps 16(%rsp), %xmm7
    movaps 32(%rsp), %xmm8
    movaps 48(%rsp), %xmm9
    movaps 64(%rsp), %xmm10
    movaps 80(%rsp), %xmm11
    movaps 96(%rsp), %xmm12
    movaps 112(%rsp), %xmm13
    movaps 128(%rsp), %xmm14
    movaps 144(%rsp), %xmm15
    addq $LOCALS, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rsi
    popq %rdi
    popq %rbx
    popq %rbp
    ret
    .seh_endproc

/* void pf_context_jump(void *load) */
    begin pf_context_jump
    movq %rcx, %rsp
    jmp pf_context_parked

/* The first thing a context runs: entry in r12, its argument in r13. The return address of zero ends a backtrace
 * here. */
    begin pf_context_start
    .seh_proc pf_context_start
    subq $32, %rsp
    .seh_stackalloc 32
    .seh_endprologue
    movq %r13, %rcx
    callq *%r12
    ud2
    .seh_endproc

/* void *pf_context_make(char *top, void (*entry)(void *), void *arg): the frame is 272 bytes; above it a return
 * address of zero, and padding so that rsp is aligned at the call. The words of the stack are written by
 * pf_context_bounds. */
    begin pf_context_make
    leaq -320(%rcx), %rax
    movq $28, %r9
1:
    movq $0, -8(%rax, %r9, 8)
    decq %r9
    jnz 1b
    movq $-1, %r9
    movq %r9, WORDS + 24(%rax)
    leaq pf_context_start(%rip), %r9
    movq $0, LOCALS(%rax)
    movq $0, LOCALS + 8(%rax)
    movq %r8, LOCALS + 16(%rax)
    movq %rdx, LOCALS + 24(%rax)
    movq $0, LOCALS + 32(%rax)
    movq $0, LOCALS + 40(%rax)
    movq $0, LOCALS + 48(%rax)
    movq $0, LOCALS + 56(%rax)
    movq %r9, LOCALS + 64(%rax)
    movq $0, LOCALS + 72(%rax)
    ret
