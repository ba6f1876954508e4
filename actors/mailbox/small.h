/* actors/mailbox/small.h -- small messages of the running actor, made without a call. */
#ifndef WF_SMALL_H
#define WF_SMALL_H

#include "actor.h"

/* Bodies up to this lie in blocks of class 1, and empty ones in those of class 0. */
enum { WF_SMALL = sizeof(weft_msg) };

/* At most WF_SMALL bytes. */
static inline void wf_copy_small(unsigned char *to, const unsigned char *from, size_t size)
{
    if (WF_LIKELY(size - 8 <= 8)) { /* 8 to 16 */
        memcpy(to, from, 8), memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 32) {
        memcpy(to, from, 16), memcpy(to + 16, from + 16, 16);
        memcpy(to + size - 32, from + size - 32, 16), memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 16) {
        memcpy(to, from, 16), memcpy(to + size - 16, from + size - 16, 16);
    } else if (size >= 4) {
        memcpy(to, from, 4), memcpy(to + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        to[0] = from[0], to[size / 2] = from[size / 2], to[size - 1] = from[size - 1];
    }
}

/* The envelope of a message of the running actor, in a block of that class, of which the pool has one. `node` is this
 * node. */
static inline weft_msg *wf_small_envelope(struct wf_worker *w, uint64_t node, uint32_t class_, enum wf_msg_kind kind,
                                          uint32_t tag, size_t size, uint64_t ref)
{
    weft_msg *m = wf_pool_take_ready(&w->pool, class_);
    m->post.head = wf_msg_head(kind, class_);
    m->post.word = tag;
    m->from.node = node;
    m->from.actor = wf_actor_of(w->current)->id;
    m->ref = ref;
    m->shared = NULL;
    m->size = (uint32_t)size;
    m->topic_size = (uint32_t)((uint64_t)size >> 32); /* 0; the compiler makes one store of the two */
    return m;
}

/* The same with its body. */
static inline weft_msg *wf_small_msg(struct wf_worker *w, uint64_t node, uint32_t class_, enum wf_msg_kind kind,
                                     uint32_t tag, const void *data, size_t size, uint64_t ref)
{
    weft_msg *m = wf_small_envelope(w, node, class_, kind, tag, size, ref);
    if (class_ > 0) wf_copy_small((unsigned char *)(m + 1), data, size);
    return m;
}

#endif
