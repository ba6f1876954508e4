/* weft/cluster.h -- the members of the cluster: its nodes, their states, and the metadata that each gives about
 * itself. docs/membership.md explains how nodes learn about each other. For notifications see weft_watch_nodes. */
#ifndef WEFT_CLUSTER_H
#define WEFT_CLUSTER_H

#include <weft/api.h>
#include <weft/node.h>
WEFT_BEGIN

enum {
    WEFT_META_MAX = 16,        /* entries of the metadata of one node */
    WEFT_META_KEY_MAX = 32,    /* bytes of a key */
    WEFT_META_VALUE_MAX = 128, /* bytes of a value */
    WEFT_META_BYTES_MAX = 512, /* keys and values of one node together */
};

typedef enum {
    WEFT_MEMBER_CONNECTING, /* it runs, but there is no link with it yet, or no longer */
    WEFT_MEMBER_UP,         /* it is linked with this node */
    WEFT_MEMBER_DOWN,       /* it has crashed, or no node can reach it */
    WEFT_MEMBER_SUSPECT,    /* its link is broken, or it does not answer other nodes; messages to it wait */
    WEFT_MEMBER_LEFT,       /* it has left the cluster and said so */
    WEFT_MEMBER_LEAF        /* it runs, but has no listener and has not dialled this node, so they have no link */
} weft_member_state;

struct weft_member {
    uint64_t incarnation; /* the same number as in pids */
    char name[65];
    weft_member_state state;
    bool self;
    /* why it is in this state: for SUSPECT, DOWN and LEFT, and for CONNECTING if there was a link before; for this
     * node "in a minority: 2 of 5 nodes are there"; else "" */
    char reason[128];
    int64_t since; /* ns in this state; 0 for this node */
    uint32_t meta_count;
    struct {
        char key[WEFT_META_KEY_MAX + 1];
        char value[WEFT_META_VALUE_MAX + 1];
    } meta[WEFT_META_MAX];
};

/* [T] Lists all nodes that this node knows of: itself first, and also some nodes that are gone. `*out` receives an
 * array of `*count` members, which the caller frees with free(). Returns 0.
 * Errors: WEFT_ENOMEM, WEFT_EINVAL (a node without a network, such as the test kit's). */
WEFT_API int weft_members(weft_node *node, struct weft_member **out, size_t *count);

/* [S] Returns the member's metadata value for `key`; NULL: it has none. The text lives as long as `m`. */
WEFT_API const char *weft_member_meta(const struct weft_member *m, const char *key);

/* [T] Sets a metadata entry of this node; `value` NULL removes it. Both texts are copied. The change reaches all
 * nodes within a few periods.
 * Errors: WEFT_EINVAL (an empty key, control characters, or a node without a network), WEFT_ETOOBIG (see the limits
 * above), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_set_meta(weft_node *node, const char *key, const char *value);

/* [T] With `on`, the node drains: it takes no new work, because an operator is about to stop or repair it; with `on`
 * false, it takes new work again. It continues with the work it has, and its links stay. Until draining is undone, or
 * the node ends:
 * - weft_register_global returns WEFT_EDRAINING; so do requests of other nodes to start actors here (weft_spawn_on);
 * - actors that have called weft_watch_drain get WEFT_TAG_DRAIN, and hand over work that other nodes can continue;
 * - singletons (weft_singleton) are stopped here, and run on another node that has started a keeper for them;
 * - /readyz of `weft run --metrics` returns 503 and `weft top` shows "draining"; other nodes see the metadata
 *   WEFT_META_DRAINING.
 *
 * Global names stay with their actors until these unregister them, so a name always belongs to an actor. A second
 * call changes nothing. Errors, after which nothing has changed: WEFT_EINVAL (a node without a network), WEFT_ENOMEM,
 * WEFT_ETOOBIG (the node has 16 entries or 512 bytes of metadata of its own, so there is no space for one more). */
WEFT_API WEFT_CHECKED int weft_drain(weft_node *node, bool on);
/* [T] Returns true if the node drains. */
WEFT_API bool weft_is_draining(const weft_node *node);
/* [A] From now on the calling actor gets WEFT_TAG_DRAIN and WEFT_TAG_UNDRAIN in its system queue when its node starts
 * and stops draining; WEFT_TAG_DRAIN at once if it drains now. The body is a struct weft_node_news about this node.
 * Actors that have called weft_watch_nodes get them, too. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_watch_drain(void);
/* The metadata key by which other nodes recognize a draining node; its value is "true". */
#define WEFT_META_DRAINING "weft.draining"

/* [T] Returns true if the node has a policy for partitions and reaches too few other nodes (WEFT_TAG_MINORITY). */
WEFT_API bool weft_in_minority(const weft_node *node);

WEFT_END
#endif
