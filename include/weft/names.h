/* weft/names.h -- registered names of actors: of one node, or of all nodes that are linked.
 *
 * A name has 1 to 64 letters, digits, '.', '_', '-' and '$'. Every call here that takes a name returns WEFT_EINVAL if
 * it is NULL or malformed, and WEFT_ETOOBIG if it is longer. Use a name with weft_send_name and weft_call_name:
 * "name" is that name on this node or else the global name; "name@node" is the name on that node.
 *
 * Each node keeps a copy of the global names of all nodes it is linked with, so a look-up needs no network. If an
 * actor registers a name and then sends a message, the receiving node knows the name before the message arrives.
 *
 * Two nodes may register the same global name if neither has received the other's registration yet, or while there is
 * no link between them. When they learn of each other, every node decides in the same way: the older registration
 * wins, by the clocks of the two nodes; on a tie, the one of the node with the lower incarnation. The losing actor
 * loses the name and gets a WEFT_TAG_NAME_LOST message. At most one of the two loses it. There are two exceptions: a
 * node that knew that the name was taken cannot have had it first, whatever its clock says; and a node that may not
 * end actors of others cannot take a name from them (docs/names-and-groups.md). If two actors must never have a name
 * at the same time, not even while the network is partitioned, global names are not enough: see weft/exclusive.h. */
#ifndef WEFT_NAMES_H
#define WEFT_NAMES_H

#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* [A] Registers a name for the calling actor on this node. An actor may have several names. They disappear when it
 * ends, before any other actor is notified of its end.
 * Errors: WEFT_EEXIST (an actor has the name, perhaps the caller), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_register(const char *name);
/* [A] Registers a global name: a name on this node that actors on other nodes find, too. It disappears everywhere
 * when its actor ends or its node is lost, before any actor there is notified of that.
 * Errors: WEFT_EEXIST (the name is taken on this node, or is a global name that this node knows of), WEFT_EFULL (this
 * node has over a million global names and members of groups), WEFT_EMINORITY (see weft_node_options.partition),
 * WEFT_EDRAINING (see weft_drain), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_register_global(const char *name);
/* [A] Unregisters a name of either kind. WEFT_ENOACTOR: the caller has no such name. */
WEFT_API int weft_unregister(const char *name);
/* [A] Returns the i-th name of the calling actor, the oldest first; NULL past the last. The text is valid until the
 * name is unregistered or lost and the actor next registers or unregisters a name. */
WEFT_API const char *weft_own_name(size_t i);

/* [A] Finds the actor with that name on this node, or else with that global name. WEFT_ENOACTOR: there is none. */
WEFT_API WEFT_CHECKED int weft_whereis(const char *name, weft_pid *out);
/* [A, W] As weft_whereis, but waits until an actor has the name. The wait does not poll: each registration wakes all
 * waiters, even if the name is unregistered again at once.
 * Errors: WEFT_ETIMEDOUT, WEFT_ECANCELED, WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_await_name(const char *name, weft_pid *out, int64_t deadline);

/* The content of a WEFT_TAG_NAME_LOST message: the receiver's global name belongs to another actor, which had it
 * first. */
struct weft_name_lost {
    char name[65];
    weft_pid winner;
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API int weft_name_lost_read(const weft_msg *m, struct weft_name_lost *out);

WEFT_END
#endif
