/* runtime/coro/stack.h -- the arena of coroutine stacks of one worker.
 *
 * Design notes.
 * (1) Slots of one size class lie side by side in segments of reserved address space; memory is committed as it is
 *     touched.
 * (2) The lowest bytes of a slot are a guard, installed when the slot is first used. Where the kernel has no guards
 *     left, a canary stands there and is checked when the slot comes back. The guard is as large as the stack, at most
 *     64 KiB: a frame of that size cannot jump over it, even in a program that was compiled without
 *     -fstack-clash-protection. A larger guard costs page tables: 1/512 of its size for each stack, as the stacks lie
 *     further apart. With 64 KiB it is 128 bytes; with 192 KiB it would be 384, which is half of what a parked actor
 *     takes.
 * (3) Free slots are reused last in, first out, without giving memory back; a slot whose use went below its top page
 *     is trimmed.
 * (4) Tops are spread twice. By colour, 64 B x (slot * 7 % 48) below the slot's end, else all tops fall into the same
 *     cache sets (3.4 ns against 6.2 ns a switch over 60 coroutines). And by an odd number of pages from slot to
 *     slot, one page more than the class says, else they fall into a sixteenth of the sets of the translation cache
 *     (8.6 ns against 22 ns over 1000). Slots are counted from the first one, not from address 0: where a frame
 *     crosses a page, and so what is known of a stack's use, is the same wherever the kernel puts the arena.
 * (5) An arena belongs to one thread. Only wf_stack_slot is also called from fault handlers.
 * (6) The slot of a parked coroutine stays its own, as its stack holds addresses of itself. Its memory is given back
 *     in batches; the whole slot is a guard meanwhile, so that a use by other code is a fault and not a silent
 *     change. */
#ifndef WF_STACK_H
#define WF_STACK_H

#include "base.h"
#include "platform.h"

struct wf_stack {
    char *base; /* lowest address of the slot, the guard included; NULL: none */
    union {
        struct {
            uint32_t lines : 23;  /* cache lines of the slot: guard, stack and colour */
            uint32_t colour : 6;  /* cache lines above the top: note (4) */
            bool grown : 1;       /* use below the top page has been seen: see wf_stack_seen */
            bool watched : 1;     /* it has grown, or Memcheck has to be told before its markers are read */
            bool used_before : 1; /* by another, and not trimmed since: what it grew to says nothing of this one */
#ifdef WF_VALGRIND
            unsigned valgrind_id;
#endif
        };
        void *thread; /* coro.c's, for a thread's own stack: base is NULL */
    };
};
_Static_assert(sizeof(struct wf_stack) <= 16, "each actor has one");

struct wf_stack_arena; /* opaque */

enum { WF_STACK_GUARD_MAX = 64 * 1024 };

static inline size_t wf_stack_slot_bytes(const struct wf_stack *s)
{
    return (size_t)s->lines * WF_CACHE_LINE;
}
/* Where the first frame goes. */
static inline char *wf_stack_top(const struct wf_stack *s)
{
    return s->base + (size_t)(s->lines - s->colour) * WF_CACHE_LINE;
}

/* At the lower end of the top page: note (2) of stack.c. */
#define WF_STACK_MARKER UINT64_C(0x6b72616d20666577)
enum { WF_STACK_MARKERS = 8 };
/* Of an address, the part that names its page; known since the first arena was made. Relaxed: each stores the same. */
WF_INTERNAL extern _Atomic uintptr_t wf_stack_page_mask;
static inline uint64_t *wf_stack_markers(const struct wf_stack *s)
{
    /* The last page of the slot: the top is in it, as colours take less than a page. */
    return (uint64_t *)(((uintptr_t)s->base + wf_stack_slot_bytes(s) - 1) &
                        atomic_load_explicit(&wf_stack_page_mask, memory_order_relaxed));
}

/* A free stack keeps its memory for one to two times as long. To give a page back and to touch a new one takes 3 us of a
 * core; to keep the page for 3 s takes as large a part of the memory, where a machine has 4 GB for each core. */
#define WF_STACK_KEPT WEFT_SEC(2)

int wf_stack_arena_create(struct wf_stack_arena **out);
void wf_stack_arena_destroy(struct wf_stack_arena *a); /* NULL is fine; every slot must be back */

/* How large the stack is, without the guard: the size of its class. */
size_t wf_stack_bytes(const struct wf_stack *s);
/* Where it ends: the first address above the guard. Both may be called from fault handlers. */
char *wf_stack_low(const struct wf_stack *s);

/* A stack of the smallest class (16 KiB, 64 KiB, 256 KiB, 1 MiB, 8 MiB) that holds `bytes`. WEFT_ENOMEM, WEFT_EINVAL.
 * Sanitizers make frames larger, and some systems have pages larger than 16 KiB: there the smallest has 64 KiB. */
int wf_stack_take(struct wf_stack_arena *a, size_t bytes, struct wf_stack *out);
/* May be called while running on that very stack: only pages well below the caller's frame are touched or trimmed. If
 * use went below its top page the result is how far, see wf_stack_used; else 0. */
size_t wf_stack_give(struct wf_stack_arena *a, struct wf_stack *s);
/* Between tasks: of the free slots beyond those worth keeping warm, those that were free for WF_STACK_KEPT, at most
 * twice as long, give their memory back, some of them in each call. Returns when to call it again: WEFT_NOW if more of
 * them are left; WEFT_FOREVER if no slot will give memory back unless more are given. */
int64_t wf_stack_trim_free(struct wf_stack_arena *a, int64_t now);

/* Tells what stack pointer the coroutine was suspended with: one below the top page says that the slot is worth
 * trimming. */
void wf_stack_seen(struct wf_stack *s, const void *sp);

/* Async-signal-safe: whether `address` lies in a slot, and in which. */
bool wf_stack_slot(const struct wf_stack_arena *a, const void *address, struct wf_stack *out);
/* How many bytes of the slot are resident now; for `weft inspect`, slow. */
size_t wf_stack_resident(const struct wf_stack *s);
/* From the top to the end of the lowest page that was ever written, which is more than was used by up to a page. 0:
 * unknown, as the pages may be another's. A system call if it is more than one page. */
size_t wf_stack_used(const struct wf_stack *s);
/* How many bytes of memory the slot takes, in whole pages: down to the lowest one that was written since it was last
 * trimmed, by its coroutine or by one before. A system call if it is more than one page. */
size_t wf_stack_held(const struct wf_stack *s);
/* Whether its coroutine, which was never suspended, may hand it on as it is: use did not go below the top page, as far as
 * one marker tells. */
static inline __attribute__((no_sanitize("address", "thread"))) bool wf_stack_is_shallow(const struct wf_stack *s)
{
    return WF_LIKELY(!s->watched) && WF_LIKELY(wf_stack_markers(s)[WF_STACK_MARKERS - 1] == WF_STACK_MARKER);
}
/* Its coroutine, last suspended at `sp`, has ended and hands its stack on. If use went below the top page, which it
 * guesses from one marker, it is trimmed, and the result is how far; else 0. Runs on that stack. Handlers and short-lived
 * actors pass here with each message. */
size_t wf_stack_pass_on_slowly(struct wf_stack *s, const void *sp);
static inline size_t wf_stack_pass_on(struct wf_stack *s, const void *sp)
{
    const bool shallow = wf_stack_is_shallow(s) && (sp == NULL || sp >= (const void *)wf_stack_markers(s));
    return WF_LIKELY(shallow) ? 0 : wf_stack_pass_on_slowly(s, sp);
}

/* Suspended coroutines, at most PF_RANGES_MAX, whose contents the caller has saved: gives back their memory. Until it
 * is opened any access to it is a fault, where the kernel has guards that cost nothing. */
void wf_stacks_close(struct wf_stack_arena *a, const struct wf_stack *const *stacks, int count);
/* The memory is zero, for the caller to write the contents back from `low` up. */
void wf_stack_open(struct wf_stack_arena *a, struct wf_stack *s, const char *low);
/* For tests: as on a kernel without guard regions. */
void wf_stacks_do_without_guards(struct wf_stack_arena *a);
/* Slots in use / ever used. */
void wf_stack_counts(const struct wf_stack_arena *a, size_t *in_use, size_t *ever);

#endif
