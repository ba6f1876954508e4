/* transport/wire/frame_read.h -- helpers for reading frames. The first fault stays in the weft_reader, which then
 * returns zeros and empty texts, so the caller need not check after each value. */
#ifndef WF_FRAME_READ_H
#define WF_FRAME_READ_H

#include "names.h"
#include "topic_trie.h"

#include <weft/error.h>
#include <weft/message.h>
#include <weft/pack.h>

static inline void wf_read_fault(weft_reader *r)
{
    if (r->error == 0) r->error = WEFT_EFORMAT;
}

static inline void wf_read_skip(weft_reader *r, uint32_t count)
{
    while (count-- > 0 && r->error == 0) weft_skip(r);
}

/* Reads the head of an array of at least `least` values and returns their number; `least` after a fault. The caller
 * skips the values that it does not know. */
static inline uint32_t wf_read_array(weft_reader *r, uint32_t least)
{
    uint32_t count = weft_get_array(r);
    if (count < least) wf_read_fault(r);
    return r->error == 0 ? count : least;
}

/* Whether an integer is next. Later versions may send another type there, which the caller then skips. */
static inline bool wf_read_is_number(const weft_reader *r)
{
    int type = weft_peek_type(r);
    return type == WEFT_INT || type == WEFT_UINT;
}

static inline weft_text wf_read_checked(weft_reader *r, int (*check)(weft_text))
{
    weft_text t = weft_get_str(r);
    if (r->error == 0 && check(t) < 0) wf_read_fault(r);
    return t;
}

/* The name of a node, an actor or a group. */
static inline weft_text wf_read_name(weft_reader *r)
{
    return wf_read_checked(r, wf_name_check);
}

static inline weft_text wf_read_topic(weft_reader *r)
{
    return wf_read_checked(r, wf_topic_check);
}

static inline weft_text wf_read_pattern(weft_reader *r)
{
    return wf_read_checked(r, wf_pattern_check);
}

static inline uint32_t wf_read_tag(weft_reader *r)
{
    uint64_t tag = weft_get_uint(r);
    if (tag >= WEFT_TAG_SYSTEM) wf_read_fault(r);
    return (uint32_t)tag;
}

static inline weft_text wf_read_body(weft_reader *r)
{
    weft_text t = weft_get_bin(r);
    if (t.size > WEFT_MESSAGE_MAX) wf_read_fault(r);
    return t;
}

#endif
