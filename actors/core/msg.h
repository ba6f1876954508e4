/* actors/core/msg.h -- the envelope of a message, 64 bytes, and its body.
 *
 * Design notes.
 * (1) An envelope belongs to exactly one holder: a sender, an outbox or inbox, a mailbox, or the actor that received
 *     it. The holder frees it.
 * (2) The body is either inline, behind the envelope in the same block, or shared: a counted body that many envelopes
 *     point to (fan-out, frames).
 * (3) Bodies are immutable from the moment the message is sent. Only shared bodies have an atomic count.
 * (4) A publication takes one atomic operation for all subscribers of a worker: all their references are taken at
 *     once, and dropped references are gathered by body until the end of the turn (wf_owed). A large body is freed at
 *     once, as is every body where freed memory has to be returned at once (wf_pool.bypass). */
#ifndef WF_MSG_H
#define WF_MSG_H

#include "base.h"
#include "body.h"
#include "hash_table.h"
#include "pool.h"
#include "task.h"

#include <weft/message.h>

#include <string.h>

/* wf_post.flags of a message. The values travel between nodes (transport/wire/frame.h): append only. */
enum wf_msg_kind {
    WF_MSG_SEND = 0,    /* user lane */
    WF_MSG_CALL = 1,    /* user lane, wants a reply to `ref` */
    WF_MSG_REPLY = 2,   /* past the mailbox to the actor waiting for `ref` */
    WF_MSG_FAILED = 3,  /* like REPLY, but with an error instead of an answer: the tag is -(WEFT_E*) */
    WF_MSG_STOP = 4,    /* signal: weft_stop */
    WF_MSG_PUBLISH = 5, /* to all subscribers on the target worker: body is shared, topic before the data */
    WF_MSG_SYSTEM = 6,  /* system lane: tags from WEFT_TAG_SYSTEM up */
    /* never leaves the node: actor `from` asks to be notified when the mailbox of `to_actor` has space; and that
     * notification */
    WF_MSG_SPACE = 7,
    /* Monitors and links: actors/lifecycle/monitors.c says what their fields mean. */
    WF_MSG_WATCH = 8,
    WF_MSG_UNWATCH = 9,
    WF_MSG_DOWN = 10,
    WF_MSG_LINK = 11,
    WF_MSG_UNLINK = 12,
    WF_MSG_EXIT = 13,
    WF_MSG_KILL = 14, /* signal: weft_kill */
    /* never leaves the node: a request in the system lane, to a pool itself, or to an actor to continue with other
     * code */
    WF_MSG_CONTROL = 15,
    WF_MSG_PROBE = 16, /* looks for cycles of calls: actors/call/cycle.c */
    /* credit between nodes: actors/credit. The request goes to a mailbox, the credit back to a worker */
    WF_MSG_CREDIT_REQUEST = 17,
    WF_MSG_CREDIT = 18,
    WF_MSG_SPAWN = 19, /* to start an actor on another node: actors/remote/remote_spawn.c */
    WF_MSG_SPAWNED = 20,
    /* These belong to this node's topics, see subscription.h; they never leave the node. `ref` of these, and of
     * SYSTEM, is the subscription that counts the message while it is in the mailbox, or 0. */
    WF_MSG_RETAINED = 64,        /* like SEND: it was published before its receiver subscribed */
    WF_MSG_COUNTED = 65,         /* like SEND, until it leaves the mailbox */
    WF_MSG_LOST = 66,            /* to no actor: no member of a queue group of this node had space for it */
    WF_MSG_PUBLISHED_BLOCK = 67, /* not a message, but a struct wf_published_block of several */
    WF_MSG_TIMED = 68,           /* like SEND, until it leaves the mailbox; `ref` is that of SEND */
    WF_MSG_GROUP_NEWS = 69,      /* SYSTEM for the watch `ref` of a group, while that watch exists */
    WF_MSG_KINDS
};

/* Why a message did not reach an actor. Counted per worker, summed for `weft ps`. */
enum wf_drop {
    WF_DROP_NO_ACTOR, /* the receiver was gone when it arrived */
    WF_DROP_NO_NAME,  /* the name was not registered */
    /* mailbox at its bound and the sender could not wait: policy, another node, a foreign thread */
    WF_DROP_FULL,
    WF_DROP_SLOW_READER, /* a subscriber's mailbox was full */
    WF_DROP_LATE_REPLY,  /* its caller no longer waits */
    WF_DROP_UNREAD,      /* it was in the mailbox of an actor that ended */
    WF_DROP_MEMORY,      /* no memory for the envelope */
    WF_DROP_EXPIRED,     /* a request whose caller no longer waits */
    WF_DROP_TOO_BIG,     /* together with its topic and sender, for a tool, it is over WEFT_MESSAGE_MAX */
    WF_DROP_REASONS
};

struct wf_publish_count;

struct weft_msg {
    struct wf_post post; /* .flags: wf_msg_kind, .word: the tag */
    union {
        uint64_t to_actor;                /* on its way: the receiver, on this node */
        struct wf_publish_count *reached; /* counts the subscribers that a PUBLISH reaches; NULL: no count */
        uint64_t came; /* in a mailbox: the stamp of a timed message (mail_time.h); 0 in a COUNTED without one */
        struct {       /* in the system lane: mail_order.h */
            uint32_t mail_ahead, mail_total;
        };
        weft_msg *previous; /* held by an actor: see wf_hold */
    };
    weft_pid from;
    uint64_t ref; /* the ref of a call; 0: none */
    union {
        struct {
            struct wf_body *shared; /* NULL: the body is inline */
            uint32_t size;
            uint32_t topic_size; /* see wf_body */
        };
        struct wf_hashed in_ties; /* while an actor keeps it until its end: wf_worker_ties.ties, see ties.h */
    };
};
_Static_assert(sizeof(struct weft_msg) == 64, "an envelope is one cache line; docs/performance.md says so");

/* wf_post.head of a message. */
static inline uint32_t wf_msg_head(enum wf_msg_kind kind, uint32_t class_)
{
    return ((struct wf_post){.kind = WF_POST_MESSAGE, .flags = (uint8_t)kind, .block_class = (uint8_t)class_}).head;
}

static inline bool wf_is_traced(const weft_msg *m)
{
    return m->shared != NULL && m->shared->traced;
}
/* Stands behind the body of a request, aligned to 8. */
struct wf_terms {
    int64_t deadline;  /* the caller's, on this node's clock */
    uint32_t timed;    /* 1: it lies in a mailbox, and its `came` is a stamp */
    uint32_t moved_on; /* 1: its caller does not know which actor has it: passed on, or sent to a name elsewhere */
};
/* Only for a WF_MSG_CALL. */
static inline struct wf_terms *wf_terms(const weft_msg *m)
{
    size_t inside = m->shared != NULL ? 0 : ((size_t)m->size + 7) & ~(size_t)7;
    return (struct wf_terms *)((uintptr_t)(m + 1) + inside);
}

/* `w` is the calling worker, or NULL on any other thread. wf_msg_bytes() gives the body's bytes. Returns NULL if out
 * of memory. Checks no limits. */
static inline weft_msg *wf_msg_new(struct wf_worker *w, uint32_t tag, size_t size)
{
    size_t whole = sizeof(weft_msg) + size;
    uint16_t class_ = wf_pool_class(whole);
    weft_msg *m = (weft_msg *)wf_pool_take(w == NULL ? NULL : &w->pool, class_, whole);
    if (WF_UNLIKELY(m == NULL)) return NULL;
    *m = (weft_msg){
        .post = {.kind = WF_POST_MESSAGE, .flags = WF_MSG_SEND, .block_class = (uint8_t)class_, .word = tag},
        .size = (uint32_t)size};
    return m;
}
/* The same, a WF_MSG_CALL. */
static inline weft_msg *wf_request_new(struct wf_worker *w, uint32_t tag, size_t size, int64_t deadline)
{
    size_t inside = (size + 7) & ~(size_t)7;
    weft_msg *m = wf_msg_new(w, tag, inside + sizeof(struct wf_terms));
    if (WF_UNLIKELY(m == NULL)) return NULL;
    m->post.flags = WF_MSG_CALL;
    m->size = (uint32_t)size;
    *(struct wf_terms *)((uintptr_t)(m + 1) + inside) = (struct wf_terms){.deadline = deadline};
    return m;
}
/* A WF_MSG_CALL on a shared body; takes a reference of its own. */
weft_msg *wf_request_share(struct wf_worker *w, uint32_t tag, struct wf_body *body, int64_t deadline);
/* An envelope on a shared body; takes a reference of its own. */
weft_msg *wf_msg_share(struct wf_worker *w, uint32_t tag, struct wf_body *body);
/* Drops the body: the message has none then. */
static inline void wf_msg_drop_body(struct wf_worker *w, weft_msg *m)
{
    if (m->shared != NULL) wf_body_drop(w, m->shared);
    m->shared = NULL;
    m->size = m->topic_size = 0;
}
static inline void wf_msg_free(struct wf_worker *w, weft_msg *m)
{
    if (m->shared != NULL) wf_body_drop(w, m->shared);
    wf_pool_give(w == NULL ? NULL : &w->pool, m->post.block_class, m);
}
static inline uint8_t *wf_msg_bytes(weft_msg *m)
{
    return m->shared != NULL ? (uint8_t *)(uintptr_t)m->shared->data + m->topic_size : (uint8_t *)(m + 1);
}

/* Numbers in bodies that weft itself makes are little endian. */
static inline void wf_put_u32(uint8_t out[4], uint32_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> 8 * i);
}
static inline uint32_t wf_get_u32(const uint8_t in[4])
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* The bytes that count against the byte bound of a mailbox. */
static inline size_t wf_msg_weight(const weft_msg *m)
{
    return sizeof *m + (m->shared == NULL ? m->size : 0);
}

enum { WF_OWED_BYTES = 16384 /* a larger body is freed with its last reference, and not at the end of the turn */ };

/* Writes the publisher and the tag into a publication, before any other thread can see it. */
static inline void wf_body_sign(struct wf_body *b, weft_pid from, uint32_t tag, uint8_t owed)
{
    struct wf_post post = {.kind = WF_POST_MESSAGE, .flags = WF_MSG_SEND, .block_class = 0, .word = tag};
    memcpy(&b->head, &post.kind, sizeof b->head);
    b->from = from;
    b->tag = tag;
    b->owed = b->size > WF_OWED_BYTES ? 0 : owed;
}

/* A doubly linked chain of messages: next by post.next, previous by `previous`, which means nothing in the first one. */
static inline void wf_chain_add(weft_msg **first, weft_msg *m)
{
    m->post.next = *first == NULL ? NULL : &(*first)->post;
    if (*first != NULL) (*first)->previous = m;
    *first = m;
}
static inline void wf_chain_remove(weft_msg **first, weft_msg *m)
{
    weft_msg *next = (weft_msg *)m->post.next;
    if (*first == m) {
        *first = next;
        return;
    }
    WF_ASSERT(m->previous->post.next == &m->post);
    m->previous->post.next = m->post.next;
    if (next != NULL) next->previous = m->previous;
}

#endif
