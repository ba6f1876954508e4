/* weft/group.h -- groups of actors: joining, sending to all members, and being notified of changes.
 *
 * A group exists while it has members or watchers; it need not be created. Its name has 1 to 64 letters, digits, '.',
 * '_', '-' and '$', and is independent of registered names. Every call here returns WEFT_EINVAL if the name is NULL
 * or malformed, and WEFT_ETOOBIG if it is longer.
 *
 * Groups span all nodes that are linked. Each node keeps a copy of the members on the others, so reading the members
 * and sending need no answer from another node. A message to a group crosses the network once for each node that has
 * members, and is distributed there. If an actor joins and then sends a message, the receiving node knows the member
 * before the message arrives. When a node is lost, its members leave with reason WEFT_EXIT_NODE_LOST; when
 * the node is linked again, they join again. */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
WEFT_BEGIN

/* [A, Y] Makes the calling actor a member until it leaves or ends. It may be in many groups, in each one once.
 * Errors: WEFT_EEXIST (it is a member already), WEFT_ENOMEM, WEFT_EFULL (this node has over a million global names
 * and members of groups). */
WEFT_API WEFT_CHECKED int weft_group_join(const char *group);
/* [A, Y] Leaves the group. Errors: WEFT_ENOACTOR (the caller is not a member), WEFT_ENOMEM (the caller is still a
 * member). */
WEFT_API int weft_group_leave(const char *group);

/* [A] Returns the number of members now. Up to `max` of them are written to `pids` (may be NULL if `max` is 0): first
 * the members on this node in the order in which they joined, then those of other nodes in the order in which this
 * node learned of them. */
WEFT_API int weft_group_members(const char *group, weft_pid *pids, size_t max);

/* [A, Y] Sends `size` bytes to every member, also to the caller if it is one; all share one copy. Never waits: if a
 * member's mailbox is full, its policy decides what is dropped (with WEFT_FULL_SUSPEND and _FAIL: this message), and
 * the drop is counted. The order per sender and member is kept, also relative to weft_send. An actor that joins or
 * leaves meanwhile may get the message or not. A member on another node gets it like any message that does not wait
 * for space; a full link drops it, and the drop is counted. Returns the number of receivers; for other nodes, the
 * number of members that this node knows of.
 * Errors: WEFT_EINVAL, WEFT_ETOOBIG, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_group_send(const char *group, uint32_t tag, const void *data, size_t size);

/* [A, Y] Watches the group: the calling actor gets notifications in its system queue. First comes one
 * WEFT_TAG_GROUP_JOIN for each present member, then exactly one message for each actor that joins
 * (WEFT_TAG_GROUP_JOIN), leaves or ends (WEFT_TAG_GROUP_LEAVE), the caller included. The notifications about one
 * member come in the order of the events, and so do those about one worker. Errors: WEFT_EEXIST (it is watching
 * already), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_group_watch(const char *group);
/* [A] Stops watching. No notification of the group is received after this call, not even one that was on its way.
 * WEFT_ENOACTOR: the caller does not watch it. */
WEFT_API int weft_group_unwatch(const char *group);

/* The content of both messages. */
struct weft_group_news {
    weft_pid who;
    char group[65];
    bool ended; /* of a LEAVE: true if the actor has ended, with `reason`; false if it has called weft_group_leave */
    int reason; /* WEFT_EXIT_*, a WEFT_E* code or the actor's own number */
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API int weft_group_news_read(const weft_msg *m, struct weft_group_news *out);

WEFT_END
#endif
