/* weft/cluster.h -- who is in the cluster: its nodes, their states, and what each says of itself. docs/membership.md
 * says how they find out. News of them: weft_watch_nodes. */
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
    WEFT_MEMBER_CONNECTING, /* it is there, but there is no link with it yet, or no more */
    WEFT_MEMBER_UP,
    WEFT_MEMBER_DOWN,    /* it has crashed, or cannot be reached by anybody */
    WEFT_MEMBER_SUSPECT, /* its link is broken, or it does not answer others; messages to it wait */
    WEFT_MEMBER_LEFT,    /* it said good-bye */
    WEFT_MEMBER_LEAF     /* it is there, but listens nowhere and has not dialled this node: they have no link */
} weft_member_state;

struct weft_member {
    uint64_t incarnation; /* as in pids */
    char name[65];
    weft_member_state state;
    bool self;
    /* of SUSPECT, DOWN and LEFT, and of CONNECTING if there was a link: why; of this node: "in a minority: 2 of 5
     * nodes are there", or "" */
    char reason[128];
    int64_t since; /* ns in this state; 0 of this node */
    uint32_t meta_count;
    struct {
        char key[WEFT_META_KEY_MAX + 1];
        char value[WEFT_META_VALUE_MAX + 1];
    } meta[WEFT_META_MAX];
};

/* [T] All nodes that this one knows of, itself first, also some of those that are gone. `*out` is malloc'ed: free()
 * it. WEFT_ENOMEM, WEFT_EINVAL (a node without network: the test kit's). */
WEFT_API int weft_members(weft_node *node, struct weft_member **out, size_t *count);

/* [S] What the member says of itself under `key`; NULL: nothing. Lives as long as `m`. */
WEFT_API const char *weft_member_meta(const struct weft_member *m, const char *key);

/* [T] What this node says of itself from now on; NULL: nothing any more. It reaches all nodes within a few periods.
 * WEFT_EINVAL (an empty key, control characters, a node without network), WEFT_ETOOBIG (see the limits above),
 * WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_set_meta(weft_node *node, const char *key, const char *value);

/* [T] From now on, or (`on` false) no longer, the node takes no new work, as somebody is about to end or mend it. It
 * goes on with what it has, and its links stay. Until it is undone, or the node ends:
 * - weft_register_global says WEFT_EDRAINING; so do requests of other nodes to start actors here (weft_spawn_on);
 * - actors that have called weft_watch_drain hear WEFT_TAG_DRAIN, and hand over what other nodes can go on with;
 * - singletons (weft_singleton) are stopped here, and run on another node that wants them;
 * - /readyz of `weft run --metrics` says 503, `weft top` "draining"; other nodes see the metadata
 *   WEFT_META_DRAINING.
 * Global names stay with their actors until these give them back: so a name is always somebody's.
 * To drain twice is to drain once. WEFT_EINVAL (a node without network), WEFT_ENOMEM: nothing has changed;
 * WEFT_ETOOBIG: the node has 16 entries of metadata of its own, or 512 bytes of them, and there is no room for one
 * more. */
WEFT_API WEFT_CHECKED int weft_drain(weft_node *node, bool on);
/* [T] Whether the node drains. */
WEFT_API bool weft_is_draining(const weft_node *node);
/* [A] From now on the calling actor hears WEFT_TAG_DRAIN and WEFT_TAG_UNDRAIN, in its system lane, when its node
 * begins and ends to drain; at once if it drains now. Their body is a struct weft_node_news about this node. Actors
 * that have called weft_watch_nodes hear them, too. WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_watch_drain(void);
/* The key under which a draining node is known to the others; its value is "true". */
#define WEFT_META_DRAINING "weft.draining"

/* [T] Whether the node has a policy for partitions and reaches too few others (WEFT_TAG_MINORITY). */
WEFT_API bool weft_in_minority(const weft_node *node);

WEFT_END
#endif
