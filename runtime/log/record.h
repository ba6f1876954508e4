/* runtime/log/record.h -- the flight recorder: the last things that happened on a worker, always on.
 *
 * Design notes.
 * (1) There is one ring for each worker, which only its thread writes: six plain stores for an event, no call, no
 *     lock. The time is that of the turn; order within a worker is the order of the ring.
 * (2) Any thread, a signal handler too, may read it meanwhile. The writer raises `next` before it writes an entry,
 *     each field with release, `mark` last. A reader takes `mark` first (acquire), then the others, then `next`: an
 *     entry is whole if its number is the one it looked for and `next` has not come round to its place.
 * (3) An event contains ids, not pointers, so an entry outlives its actor. The only pointer is the text of what a
 *     task waits for, a static text of this library. */
#ifndef WF_RECORD_H
#define WF_RECORD_H

#include "base.h"

#include <weft/record.h>

enum { WF_RECORD_EVENTS = 2048, WF_RECORD_EVENTS_MAX = 1 << 20 };

enum { WF_RECORD_REMOTE = 16 }; /* a flag of the kind: the other actor is on another node */

struct wf_record {
    _Atomic uint64_t at, who, other; /* `other`: an actor, or the text that is waited for */
    _Atomic uint32_t value;
    _Atomic uint32_t mark; /* the low bits of the entry's number, which stand above five for the kind */
};

struct wf_recorder {
    _Atomic uint64_t next; /* 32 times the number of the entry to be written next */
    uint64_t places;       /* bits of a place in `at`, in bytes; 0: nothing is recorded, what comes goes to `none` */
    char *at;              /* struct wf_record[] */
    struct wf_record none;
};

/* The place of the next entry; `number`: for its mark. */
static inline struct wf_record *wf_record_begin(struct wf_recorder *r, uint32_t *number)
{
    uint64_t next = atomic_load_explicit(&r->next, memory_order_relaxed);
    *number = (uint32_t)next;
    atomic_store_explicit(&r->next, next + sizeof(struct wf_record), memory_order_relaxed);
    return (struct wf_record *)(void *)(r->at + (next & r->places));
}
_Static_assert(sizeof(struct wf_record) == 32, "wf_recorder.next counts on it");

/* Writes an entry. It is a macro, as each value is read when it is written: a function would need a register for each
 * of them, because no read may move behind a release store. */
#define WF_RECORD_PUT(recorder, now_, kind_, who_, other_, value_)                             \
    do {                                                                                       \
        uint32_t record_number_;                                                               \
        struct wf_record *record_ = wf_record_begin(recorder, &record_number_);                \
        atomic_store_explicit(&record_->at, (uint64_t)(now_), memory_order_release);           \
        atomic_store_explicit(&record_->who, who_, memory_order_release);                      \
        atomic_store_explicit(&record_->other, other_, memory_order_release);                  \
        atomic_store_explicit(&record_->value, value_, memory_order_release);                  \
        atomic_store_explicit(&record_->mark, record_number_ | (kind_), memory_order_release); \
    } while (0)

static inline void wf_record_put(struct wf_recorder *r, int64_t now, unsigned kind, uint64_t who, uint64_t other,
                                 uint32_t value)
{
    WF_RECORD_PUT(r, now, kind, who, other, value);
}

/* `events` is rounded up to a power of two; 0: none. WEFT_ENOMEM. */
int wf_recorder_init(struct wf_recorder *r, size_t events);
void wf_recorder_finish(struct wf_recorder *r);
/* How many entries there may be. */
static inline size_t wf_recorder_capacity(const struct wf_recorder *r)
{
    return r->places == 0 ? 0 : (size_t)r->places / sizeof(struct wf_record) + 1;
}
/* Any thread, signal handlers: fills in the entry with this number, but for `worker`. The nodes of its pids are 1:
 * this one, or 0: another one. False: it is not there (any more). */
bool wf_recorder_get(const struct wf_recorder *r, uint64_t number, struct weft_record *out);
/* The numbers of the oldest entry that may be there, and of the one to come. */
void wf_recorder_span(const struct wf_recorder *r, uint64_t *oldest, uint64_t *next);

/* Writes the last `most` events of worker `worker` to standard error, as a fault handler may. `now`: what their times
 * are counted from. */
void wf_recorder_dump(const struct wf_recorder *r, uint32_t worker, int64_t now, uint64_t most);

/* What an event's actors are called, and its tag, error or reason. */
struct wf_record_names {
    const char *actor, *other, *value;
};
/* weft_record_format with other names; what does not fit into `size` bytes is cut off. */
char *wf_record_sentence(const struct weft_record *r, const struct wf_record_names *n, char *out, size_t size);

#endif
