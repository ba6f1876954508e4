/* weft/names.h -- registered names of actors: of one node, or of all nodes that are linked.
 *
 * A name is 1 to 64 letters, digits, '.', '_', '-' and '$'. Every call here that takes one says WEFT_EINVAL if it is
 * NULL or malformed, WEFT_ETOOBIG if it is longer. Who knows a name sends to it with weft_send_name and
 * weft_call_name: "name" finds the name on this node or else the global name, "name@node" the name on that node.
 *
 * Each node keeps a copy of the global names of all nodes it is linked with, so looking one up asks nobody. A name
 * that an actor registered before it sent a message is known on the node that the message goes to before it arrives.
 *
 * Two nodes may register the same global name, if neither has heard of the other's yet, or while there is no link
 * between them. When they hear of each other every node decides alike: the older registration holds, by the clocks of
 * the two nodes, or if these are equal that of the node with the lower incarnation. The other actor loses the name
 * and is told so by WEFT_TAG_NAME_LOST. Never do both lose it. A node that knew who has a name cannot have had it
 * first, whatever its clock says, and one that may not end actors of others takes no name from them
 * (docs/names-and-groups.md). Where two must never have a name at a time, not even
 * while the network is cut, global names are not enough. */
#ifndef WEFT_NAMES_H
#define WEFT_NAMES_H

#include <weft/api.h>
#include <weft/message.h>
#include <weft/pid.h>
#include <weft/time.h>
WEFT_BEGIN

/* [A] Gives the calling actor a name on this node. It may have several; all vanish when it ends, before anybody hears
 * of its end. WEFT_EEXIST: somebody has it, perhaps the caller. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_register(const char *name);
/* [A] The same for all nodes: it is a name on this node, and others find it too. It vanishes everywhere when its
 * actor ends or its node is lost, before anybody there hears of that. WEFT_EEXIST: somebody has the name on this
 * node, or a global name that this node knows of. WEFT_EFULL: over a million global names and members of groups on
 * this node. WEFT_EMINORITY: see weft_node_options.partition. WEFT_EDRAINING: see weft_drain. */
WEFT_API WEFT_CHECKED int weft_register_global(const char *name);
/* [A] Gives a name back, of either kind. WEFT_ENOACTOR: the caller has no such name. */
WEFT_API int weft_unregister(const char *name);
/* [A] The i-th name of the calling actor, the oldest first; NULL past the last. Lives until it is given back
 * or lost and the actor next registers or gives back a name. */
WEFT_API const char *weft_own_name(size_t i);

/* [A] The actor of that name: on this node, or else of that global name. WEFT_ENOACTOR. */
WEFT_API WEFT_CHECKED int weft_whereis(const char *name, weft_pid *out);
/* [A, W] The same, but waits until somebody has the name. Nothing polls: the one who registers wakes all who wait,
 * also if the name is given back at once. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_await_name(const char *name, weft_pid *out, int64_t deadline);

/* What a WEFT_TAG_NAME_LOST message says: the receiver's global name is another actor's, which had it first. */
struct weft_name_lost {
    char name[65];
    weft_pid winner;
};
/* [T] 0, or WEFT_EFORMAT if `m` is no such message. */
WEFT_API int weft_name_lost_read(const weft_msg *m, struct weft_name_lost *out);

WEFT_END
#endif
