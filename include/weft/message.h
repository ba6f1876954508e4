/* weft/message.h -- messages: a tag and immutable bytes, sent at most once, in order between any two actors. */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct weft_msg weft_msg;

enum {
    WEFT_MESSAGE_MAX = 16 * 1024 * 1024, /* bytes of one message's body */
};
/* Tags from here up are weft's own; sending one is WEFT_EINVAL. */
#define WEFT_TAG_SYSTEM UINT32_C(0xFFFFFF00)
#define WEFT_TAG_NODE_UP (WEFT_TAG_SYSTEM + 1)         /* see weft_watch_nodes */
#define WEFT_TAG_NODE_DOWN (WEFT_TAG_SYSTEM + 2)       /* see weft_watch_nodes */
#define WEFT_TAG_DOWN (WEFT_TAG_SYSTEM + 3)            /* see weft_monitor */
#define WEFT_TAG_EXIT (WEFT_TAG_SYSTEM + 4)            /* see weft_link */
#define WEFT_TAG_GROUP_JOIN (WEFT_TAG_SYSTEM + 5)      /* see weft_group_watch */
#define WEFT_TAG_GROUP_LEAVE (WEFT_TAG_SYSTEM + 6)     /* see weft_group_watch */
#define WEFT_TAG_SUBSCRIPTION (WEFT_TAG_SYSTEM + 8)    /* see weft_subscribe_with */
#define WEFT_TAG_STOP (WEFT_TAG_SYSTEM + 9)            /* see weft_trap_stop */
#define WEFT_TAG_NODE_SUSPECT (WEFT_TAG_SYSTEM + 10)   /* see weft_watch_nodes */
#define WEFT_TAG_MINORITY (WEFT_TAG_SYSTEM + 11)       /* see weft_watch_nodes */
#define WEFT_TAG_MAJORITY (WEFT_TAG_SYSTEM + 12)       /* see weft_watch_nodes */
#define WEFT_TAG_RELOAD (WEFT_TAG_SYSTEM + 13)         /* see weft_trap_reload */
#define WEFT_TAG_DRAIN (WEFT_TAG_SYSTEM + 14)          /* see weft_watch_drain */
#define WEFT_TAG_UNDRAIN (WEFT_TAG_SYSTEM + 15)        /* see weft_watch_drain */
#define WEFT_TAG_NAME_LOST (WEFT_TAG_SYSTEM + 16)      /* see weft_register_global */
#define WEFT_TAG_EXCLUSIVE_LOST (WEFT_TAG_SYSTEM + 32) /* see weft/exclusive.h */

/* [T] A message of `size` bytes to be filled in place through weft_msg_body before it is sent. NULL when out of
 * memory, when size is over WEFT_MESSAGE_MAX, or when the tag is reserved. */
WEFT_API WEFT_CHECKED weft_msg *weft_msg_new(uint32_t tag, size_t size);
/* [T] The bytes of a message made by weft_msg_new and not sent yet. Aligned for any type. */
WEFT_API void *weft_msg_body(weft_msg *m);
/* [T] Gives the message back. NULL is fine. A received one is freed (or sent on) by the actor that received it; what
 * an actor still holds when it ends is freed with it. A request freed without weft_reply fails its caller:
 * WEFT_ENOREPLY. */
WEFT_API void weft_msg_free(weft_msg *m);

/* [T] What a message says. Views live as long as the message. */
WEFT_API uint32_t weft_tag(const weft_msg *m);
/* The sending actor; weft_nobody() if sent by no actor. Of a message that was sent on it is the actor that did so; of
 * a request that was sent on, its asker. */
WEFT_API weft_pid weft_from(const weft_msg *m);
WEFT_API const void *weft_data(const weft_msg *m); /* aligned for any type */
WEFT_API size_t weft_size(const weft_msg *m);
WEFT_API const char *weft_topic(const weft_msg *m); /* "" unless it was published */
WEFT_API bool weft_wants_reply(const weft_msg *m);  /* whether it is a weft_call waiting for weft_reply */

/* [A, W] Sends a copy of `size` bytes. Suspends only while the receiver's mailbox (or the link to its node) is full,
 * for at most the node's send timeout (5 s), then WEFT_EFULL; at once if the receiver's policy is WEFT_FULL_FAIL.
 * WEFT_ENOACTOR if the receiver is known to be gone (not knowing is no promise that it is there), WEFT_ENONODE,
 * WEFT_ENOBODY if `to` is weft_nobody(), WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_send(weft_pid to, uint32_t tag, const void *data, size_t size);
/* [A] The same, but WEFT_EFULL at once instead of waiting. To an actor of another node at most 256 can be sent before
 * it has answered, that is before the caller, or another actor of its worker, has waited. */
WEFT_API WEFT_CHECKED int weft_try_send(weft_pid to, uint32_t tag, const void *data, size_t size);
/* [A, W] / [A] The same without the copy; consumes `m` whatever happens. A received message may be sent on: a plain
 * one comes from the actor that sends it on; a request still comes from its asker, who gets the answer, or the error
 * if it cannot be sent. WEFT_EINVAL: a request from another node, to another node. */
WEFT_API WEFT_CHECKED int weft_send_msg(weft_pid to, weft_msg *m);
WEFT_API WEFT_CHECKED int weft_try_send_msg(weft_pid to, weft_msg *m);
/* [A, W] Sends to a registered name: "room" on this node or else the global one, "room@b" on node b. For another node
 * success means the message is on its way; a name that is not there is counted on that node. Who has the name when
 * there is room gets it: if node b ends meanwhile, that may be the next node b. */
WEFT_API WEFT_CHECKED int weft_send_name(const char *name, uint32_t tag, const void *data, size_t size);

/* [A, W] Takes the oldest message, be it mail or of the system lane. If a message and the deadline come together, the
 * message wins. */
WEFT_API WEFT_CHECKED int weft_recv(weft_msg **out, int64_t deadline);
/* [A, W] Takes the oldest message with this tag; the others stay, in order. A tag of weft's own is looked for in the
 * system lane only, which mail cannot fill. Else WEFT_EFULL and WEFT_ENOMEM as below. */
WEFT_API WEFT_CHECKED int weft_recv_tag(weft_msg **out, uint32_t tag, int64_t deadline);
/* [A, W] Takes the oldest message, be it mail or of the system lane, that `match` accepts; it sees each message once,
 * must not wait and must not keep the pointer. WEFT_EFULL if it has passed over as many messages as the actor's
 * aside_max without a match, or if the mailbox is full of messages that do not match (unless its policy drops the
 * oldest): waiting on would be for ever. The messages stay; take some with weft_recv. The log warns once per actor.
 * WEFT_ENOMEM, at an actor's first call. */
WEFT_API WEFT_CHECKED int weft_recv_match(weft_msg **out, bool (*match)(const weft_msg *m, void *arg), void *arg,
                                          int64_t deadline);

/* [A] From now on the calling actor gets WEFT_TAG_NODE_UP, WEFT_TAG_NODE_SUSPECT and WEFT_TAG_NODE_DOWN messages in
 * its system lane, first one NODE_UP for each node that is linked already, behind it NODE_SUSPECT if it is one, and
 * MINORITY if that is so. A suspect is a node whose link is broken
 * and being resumed, or that does not answer others: what is sent to it waits. Then comes NODE_UP again, and nothing
 * was lost, or NODE_DOWN. With a policy for partitions (weft_node_options.partition) WEFT_TAG_MINORITY says that this
 * node has lost the others, `reason` how many, and WEFT_TAG_MAJORITY that they are back. Their body is a struct
 * weft_node_news; read it with weft_node_news_read. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_watch_nodes(void);

WEFT_END

#include <weft/call.h>
#endif
