/* weft/group.h -- groups of actors: to join, to send to all of them, to hear who comes and goes.
 *
 * A group is there while it has members or watchers; nobody makes it. Its name is 1 to 64 letters, digits, '.', '_',
 * '-' and '$', and has nothing to do with registered names. Every call here says WEFT_EINVAL if it is NULL or
 * malformed, WEFT_ETOOBIG if it is longer.
 *
 * Groups span all nodes that are linked: each node keeps a copy of the members on the others, so asking and sending
 * need no answer from anybody. A message to a group crosses once for each node that has members, and is handed out
 * there. Who joined before it sent a message is a member on the node that the message goes to before it arrives. The
 * members of a node that is lost leave, with reason WEFT_EXIT_NODE_LOST, and are back when it is linked again. */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
WEFT_BEGIN

/* [A] The calling actor is a member until it leaves or ends. It may be in many groups, in each once: WEFT_EEXIST.
 * WEFT_ENOMEM; WEFT_EFULL: over a million global names and members of groups on this node. */
WEFT_API WEFT_CHECKED int weft_group_join(const char *group);
/* [A] WEFT_ENOACTOR: it is no member. WEFT_ENOMEM: it is one still. */
WEFT_API int weft_group_leave(const char *group);

/* [A] How many members there are now; up to `max` of them go to `pids` (may be NULL if max is 0): those of this node
 * in the order they joined, then those of others in the order this node heard of them. */
WEFT_API int weft_group_members(const char *group, weft_pid *pids, size_t max);

/* [A] Sends `size` bytes to every member, also to the caller if it is one; all share one copy. Never waits: a member
 * whose mailbox is full drops by its policy (WEFT_FULL_SUSPEND and _FAIL: this message), counted. Order per sender
 * and member is kept, together with weft_send. Who joins or leaves meanwhile may get it or not. For other
 * nodes: they take it like any message of a node that nobody waits for; a link that is full drops it, counted.
 * Returns how many it was handed to, members on other nodes as far as this node knows. WEFT_EINVAL, WEFT_ETOOBIG,
 * WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_group_send(const char *group, uint32_t tag, const void *data, size_t size);

/* [A] From now on the calling actor hears of the group in its system lane: first one WEFT_TAG_GROUP_JOIN for each
 * member there is, then exactly one message for each that joins (WEFT_TAG_GROUP_JOIN) or leaves or ends
 * (WEFT_TAG_GROUP_LEAVE), itself included. What is told of one member comes in the order it happened; so does all
 * that happened on one worker. WEFT_EEXIST: it is watching; WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_group_watch(const char *group);
/* [A] No news of the group is received after this, not even what was under way. WEFT_ENOACTOR: it does not watch. */
WEFT_API int weft_group_unwatch(const char *group);

/* What the two messages say. */
struct weft_group_news {
    weft_pid who;
    char group[65];
    bool ended; /* of a leave: it has ended, with `reason`; else it left by itself */
    int reason; /* WEFT_EXIT_*, a WEFT_E* code or a number of its own */
};
/* [T] 0, or WEFT_EFORMAT if `m` is no such message. */
WEFT_API int weft_group_news_read(const weft_msg *m, struct weft_group_news *out);

WEFT_END
#endif
