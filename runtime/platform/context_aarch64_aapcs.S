/* runtime/platform/context_aarch64_aapcs.S -- see context.h. Callee-saved in the AAPCS64: x19 to x28, x29 (frame
 * pointer), x30 (the address to go on at) and the lower halves of v8 to v15.
 *
 * Frame of a suspended context, from its stack pointer upwards: x19 ... x30, d8 ... d15; 160 bytes.
 * pf_context_parked is where every suspended context stands, for debuggers. */
#include "context_asm.inc"

/* void pf_context_switch(void **save, void *load) */
    begin pf_context_switch
    .cfi_startproc
    sub sp, sp, #160
    .cfi_def_cfa_offset 160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    .cfi_rel_offset x19, 0
    .cfi_rel_offset x20, 8
    .cfi_rel_offset x21, 16
    .cfi_rel_offset x22, 24
    .cfi_rel_offset x23, 32
    .cfi_rel_offset x24, 40
    .cfi_rel_offset x25, 48
    .cfi_rel_offset x26, 56
    .cfi_rel_offset x27, 64
    .cfi_rel_offset x28, 72
    .cfi_rel_offset x29, 80
    .cfi_rel_offset x30, 88
    mov x9, sp
    str x9, [x0]
    mov sp, x1
PARKED:
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    .cfi_def_cfa_offset 0
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore x29
    .cfi_restore x30
    br x30
    .cfi_endproc
    end pf_context_switch

/* void pf_context_jump(void *load) */
    begin pf_context_jump
    .cfi_startproc
    .cfi_undefined x30
    mov sp, x0
    b PARKED
    .cfi_endproc
    end pf_context_jump

/* The first thing a context runs: entry in x19, its argument in x20. */
    begin pf_context_start
    .cfi_startproc
    .cfi_undefined x30
    .cfi_undefined x29
    mov x0, x20
    blr x19
    brk #1
    .cfi_endproc
    end pf_context_start

/* void *pf_context_make(char *top, void (*entry)(void *), void *arg) */
    begin pf_context_make
    .cfi_startproc
    sub x0, x0, #160
    stp x1, x2, [x0, #0]
    stp xzr, xzr, [x0, #16]
    stp xzr, xzr, [x0, #32]
    stp xzr, xzr, [x0, #48]
    stp xzr, xzr, [x0, #64]
    adr x3, HERE(pf_context_start)
    stp xzr, x3, [x0, #80]
    stp xzr, xzr, [x0, #96]
    stp xzr, xzr, [x0, #112]
    stp xzr, xzr, [x0, #128]
    stp xzr, xzr, [x0, #144]
    ret
    .cfi_endproc
    end pf_context_make
