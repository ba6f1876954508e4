/* runtime/stack.h -- the arena of coroutine stacks of one worker.
 *
 * Design notes.
 * (1) Slots of one size class lie side by side in segments of reserved address space; memory is committed as it is
 *     touched.
 * (2) The lowest WF_GUARD_BYTES of a slot are a guard, installed when the slot is first used. Where the kernel has no
 *     guards left, a canary stands there and is checked when the slot comes back.
 * (3) Free slots are reused last in, first out, without giving memory back; a slot whose use went below its top page
 *     is trimmed.
 * (4) Tops are spread twice. By colour, 64 B x (slot * 7 % 48) below the slot's end, else all tops fall into the same
 *     cache sets (3.4 ns against 6.2 ns a switch over 60 coroutines). And by an odd number of pages from slot to
 *     slot, one page more than the class says, else they fall into a sixteenth of the sets of the translation cache
 *     (8.6 ns against 22 ns over 1000).
 * (5) An arena belongs to one thread. Only wf_stack_owner is also called from its fault handler. */
#ifndef WF_STACK_H
#define WF_STACK_H

#include "base.h"
#include "platform.h"

struct wf_stack {
    char *base;               /* lowest address of the slot, the guard included; NULL: none */
    char *top;                /* 16-byte aligned; where the first frame goes */
    uint32_t slot_bytes : 31; /* from base: guard, stack and colour */
    bool grown : 1;           /* use below the top page has been seen: see wf_stack_seen */
#ifdef WF_VALGRIND
    unsigned valgrind_id;
#endif
};

struct wf_stack_arena; /* opaque */

int wf_stack_arena_create(struct wf_stack_arena **out);
void wf_stack_arena_destroy(struct wf_stack_arena *a); /* NULL is fine; every slot must be back */

/* A stack of the smallest class (64 KiB, 256 KiB, 1 MiB, 8 MiB) that holds `bytes`. WEFT_ENOMEM, WEFT_EINVAL. */
int wf_stack_take(struct wf_stack_arena *a, size_t bytes, struct wf_stack *out);
/* May be called while running on that very stack: only pages well below the caller's frame are touched or trimmed. */
void wf_stack_give(struct wf_stack_arena *a, struct wf_stack *s);

/* Tells what stack pointer the coroutine was suspended with: one below the top page says that the slot is worth
 * trimming. */
void wf_stack_seen(struct wf_stack *s, const void *sp);

/* Async-signal-safe: whether `address` lies in the guard of a slot, and of which. */
bool wf_stack_owner(const struct wf_stack_arena *a, const void *address, struct wf_stack *out);
/* How many bytes of the slot are resident now; for `weft inspect`, slow. */
size_t wf_stack_resident(const struct wf_stack *s);
/* Slots in use / ever used. */
void wf_stack_counts(const struct wf_stack_arena *a, size_t *in_use, size_t *ever);

#endif
