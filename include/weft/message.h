/* weft/message.h -- messages: a tag and immutable bytes. A message is delivered at most once. Messages from one actor
 * to another arrive in the order in which they were sent.
 *
 * A mailbox has two queues. The first holds user messages, which other actors send; their number is limited. The
 * system queue holds notifications from weft (WEFT_TAG_*); it is never full. weft_recv takes from both in the order
 * of arrival. */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <weft/api.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

typedef struct weft_msg weft_msg;

enum {
    WEFT_MESSAGE_MAX = 16 * 1024 * 1024, /* bytes of the body of one message */
};
/* Tags from this one up are weft's own; sending one returns WEFT_EINVAL. */
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

/* [T] Makes a message of `size` bytes. Fill it in place through weft_msg_body, then send it. Returns NULL when out of
 * memory, when `size` is over WEFT_MESSAGE_MAX, or when the tag is reserved. */
WEFT_API WEFT_CHECKED weft_msg *weft_msg_new(uint32_t tag, size_t size);
/* [T] Returns the bytes of a message that was made by weft_msg_new and has not been sent. Aligned for any type. */
WEFT_API void *weft_msg_body(weft_msg *m);
/* [T] Frees a message. `m` may be NULL. The actor that received a message frees it, or forwards it; messages that an
 * actor still holds when it ends are freed with it. If a request is freed without weft_reply, its caller gets
 * WEFT_ENOREPLY. */
WEFT_API void weft_msg_free(weft_msg *m);

/* [T] The parts of a message. Pointers that these functions return are valid as long as the message. */
WEFT_API uint32_t weft_tag(const weft_msg *m);
/* The sending actor; weft_nobody() if no actor sent it. If a plain message was forwarded, this is the actor that
 * forwarded it; if a request was forwarded, it is still the original caller. */
WEFT_API weft_pid weft_from(const weft_msg *m);
WEFT_API const void *weft_data(const weft_msg *m); /* aligned for any type */
WEFT_API size_t weft_size(const weft_msg *m);
WEFT_API const char *weft_topic(const weft_msg *m); /* "" unless the message was published */
/* true for a request (weft_call) that has no reply yet */
WEFT_API bool weft_wants_reply(const weft_msg *m);

/* [A, W] Sends a copy of `size` bytes. Suspends only while the receiver's mailbox, or the link to its node, is full:
 * for at most the node's send timeout (weft_node_options.send_timeout, 5 s), then returns WEFT_EFULL. If the policy
 * of the receiver is WEFT_FULL_FAIL, WEFT_EFULL comes at once.
 * Errors: WEFT_EFULL, WEFT_ENOACTOR (the receiver is known to have ended; 0 does not prove that the receiver exists),
 * WEFT_ENONODE, WEFT_ENOBODY (`to` is weft_nobody()), WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_send(weft_pid to, uint32_t tag, const void *data, size_t size);
/* [A, Y] As weft_send, but never waits: returns WEFT_EFULL at once. To an actor on another node, 256 units can be sent
 * before more is granted (a message costs 1 unit, plus 1 for each KiB of its body). A grant is received only when an
 * actor on the caller's worker waits. */
WEFT_API WEFT_CHECKED int weft_try_send(weft_pid to, uint32_t tag, const void *data, size_t size);
/* weft_send_msg: [A, W]. weft_try_send_msg: [A, Y]. As weft_send and weft_try_send, without the copy. Both consume `m`,
 * also on an error. A received message may be forwarded. A plain message then comes from the actor that forwards it.
 * A request still comes from its original caller, who gets the reply, or the error if the request cannot be sent.
 * Errors: as weft_send and weft_try_send; also WEFT_EINVAL: a request from another node cannot be forwarded to
 * another node. */
WEFT_API WEFT_CHECKED int weft_send_msg(weft_pid to, weft_msg *m);
WEFT_API WEFT_CHECKED int weft_try_send_msg(weft_pid to, weft_msg *m);
/* [A, W] Sends to a registered name: "room" is that name on this node, or else the global name; "room@b" is the name
 * on node b. For a name on another node, 0 means that the message is on its way; if the name is not registered there,
 * that node drops and counts the message. If the sender has to wait for free space, the message goes to the actor
 * that has the name at the end of the wait. If node b ends meanwhile, this may be an actor on a later node named b.
 * Errors: as weft_send. */
WEFT_API WEFT_CHECKED int weft_send_name(const char *name, uint32_t tag, const void *data, size_t size);

/* [A, W] Takes the oldest message, be it a user message or one in the system queue. The caller owns `*out`. If a
 * message arrives and the deadline passes at the same time, the message is returned.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED. */
WEFT_API WEFT_CHECKED int weft_recv(weft_msg **out, int64_t deadline);
/* [A, W] Takes the oldest message with this tag; the other messages stay, in order. A tag of weft's own is searched
 * for in the system queue only, which user messages cannot fill. For other tags also WEFT_EFULL and WEFT_ENOMEM, as
 * for weft_recv_match. */
WEFT_API WEFT_CHECKED int weft_recv_tag(weft_msg **out, uint32_t tag, int64_t deadline);
/* [A, W] Takes the oldest message that `match` accepts, be it a user message or one in the system queue. `match` sees
 * each message once; it must not wait and must not keep the pointer.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED. WEFT_EFULL: the call has skipped as many messages as
 * weft_spawn_options.skipped_max without a match, or the mailbox is full of messages that do not match (unless its
 * policy drops the oldest), so the wait would never end. The messages stay; take some with weft_recv. The log warns
 * once per actor. WEFT_ENOMEM: only possible at the first such call of an actor. */
WEFT_API WEFT_CHECKED int weft_recv_match(weft_msg **out, bool (*match)(const weft_msg *m, void *arg), void *arg,
                                          int64_t deadline);

/* [A] From now on the calling actor gets messages about other nodes in its system queue. First come one NODE_UP for
 * each node that is linked already, followed by NODE_SUSPECT if that node is a suspect, and MINORITY if this node is
 * in a minority. The body of each is a struct weft_node_news; read it with weft_node_news_read.
 *     NODE_UP       a node is linked; or a suspect is reachable again, and nothing was lost
 *     NODE_SUSPECT  the link to the node is broken and being resumed, or the node does not answer others; messages to
 *                   it wait; NODE_UP or NODE_DOWN follows
 *     NODE_DOWN     the node is lost, or has left
 *     MINORITY      with a policy for partitions (weft_node_options.partition): this node has lost so many nodes that
 *                   it is in a minority; `reason` says how many
 *     MAJORITY      this node is no longer in a minority
 * Errors: WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_watch_nodes(void);

WEFT_END

#include <weft/call.h>
#endif
