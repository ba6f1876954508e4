/* transport/wire/sp.h -- the receiving half of the SP wire format of PAIR: a buffer that grows, cut into messages.
 *
 * Each side first sends 8 bytes; then a 64-bit big-endian length before each message, and on local sockets one byte
 * 01 before the length. Lengths are checked before anything is allocated for them. */
#ifndef WF_SP_H
#define WF_SP_H

#include "base.h"

enum {
    WF_SP_HEADER = 8,
    WF_SP_PREFIX_MAX = 9, /* before a message */
};
extern const uint8_t wf_sp_header[WF_SP_HEADER];

struct wf_sp {
    uint8_t *buffer;
    size_t capacity, start, end; /* [start, end) has been received and is not handed over yet; */
    size_t unread;               /* the first `unread` bytes of it belong to the last message: wf_sp_unread */
    size_t first_capacity;       /* the buffer never becomes smaller */
    uint64_t message_max;
    bool local;
    bool greeted; /* the other side's header has come */
};

void wf_sp_init(struct wf_sp *s, bool local, size_t first_capacity, uint64_t message_max);
void wf_sp_finish(struct wf_sp *s);

enum wf_sp_result { WF_SP_MORE, WF_SP_GREETED, WF_SP_MESSAGE, WF_SP_BROKEN };
/* Looks at the buffer. MORE: `*wanted` bytes are needed from `start` on. MESSAGE: `*data` is valid until wf_sp_reserve.
 * BROKEN: `why` (`why_size` bytes) gets the reason. */
enum wf_sp_result wf_sp_next(struct wf_sp *s, const uint8_t **data, size_t *size, size_t *wanted, char *why,
                             size_t why_size);
/* The last `left` bytes of the message that wf_sp_next gave last are the next message. Before wf_sp_reserve. */
void wf_sp_unread(struct wf_sp *s, size_t left);
/* Makes space for a message of `wanted` bytes in all, and for a read of some size. False: out of memory. */
bool wf_sp_reserve(struct wf_sp *s, size_t wanted);
/* Writes the prefix of a message of `size` bytes; returns the prefix's length. */
size_t wf_sp_prefix(uint8_t out[WF_SP_PREFIX_MAX], bool local, uint64_t size);

#endif
