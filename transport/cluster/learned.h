/* transport/cluster/learned.h -- addresses that other nodes have told this one: which of them it dials, and how
 * often.
 *
 * A member may say of nodes that there are none that they listen anywhere, and all members would dial that. So an
 * address that was learned is dialled freely only after its node has been linked with once. Until then
 * (1) it has to be one where a node of this cluster could be: wf_learned_allows;
 * (2) few are dialled at a time and in a second, whatever they are called, and an address that did not lead to a link
 *     is dialled later each time, for whichever node it is said to be.
 * Seeds are not learned: they come from the options, or from what discovers nodes. By $cluster alone. */
#ifndef WF_LEARNED_H
#define WF_LEARNED_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/node.h>

enum {
    WF_LEARNED_ADDRESSES = 256, /* that are remembered: those dialled last */
    WF_LEARNED_DIALS = 16,      /* under way at a time */
    WF_LEARNED_BURST = 64,      /* dials that led to no link at once; then one in each WF_LEARNED_EACH */
    WF_LEARNED_RANGES = 16,     /* of the option dial_only */
    WF_LEARNED_RANGE = 64,      /* bytes of one, with its NUL */
};
#define WF_LEARNED_EACH WEFT_MS(100)
#define WF_LEARNED_FIRST WEFT_MS(50) /* the pause after the first failure; each one doubles it */
#define WF_LEARNED_LONGEST WEFT_SEC(10)
#define WF_LEARNED_FORGOTTEN WEFT_SEC(60) /* an address, after its last failure */

struct wf_learned {
    struct wf_learned_address {
        uint64_t key; /* wf_learned_key; 0: free */
        int64_t next_at;
        uint32_t failures;
        bool busy;
    } at[WF_LEARNED_ADDRESSES];
    uint32_t busy;
    int64_t spent_until; /* the dials that led to no link are paid for by then */
    char range[WF_LEARNED_RANGES][WF_LEARNED_RANGE];
    uint32_t range_count; /* 0: everywhere */
};

/* Takes the option dial_only. WEFT_EINVAL: the log has said what is wrong with it. */
int wf_learned_init(struct wf_learned *l, const weft_node_options *o);

/* What an address belongs to: host and port, or the path, whatever the scheme. Not 0. */
uint64_t wf_learned_key(const char *url);
/* 0: some address may be dialled now. Else when to ask again. */
int64_t wf_learned_next(const struct wf_learned *l, int64_t now);
/* 0: it is to be dialled now, and wf_learned_end says how that ended. Else when to ask again. */
int64_t wf_learned_begin(struct wf_learned *l, uint64_t key, int64_t now);
void wf_learned_end(struct wf_learned *l, uint64_t key, bool linked, int64_t now);

/* Whether `url` may be dialled; `own` are the URLs where this node listens, and its seeds. A local socket: if one of
 * them is in its folder (or is abstract://, too). An address of this machine: if one of them is on this machine. Any
 * other: if one of them is on another machine, and a range names it. False: `why` (WF_REASON_TEXT bytes) says what
 * speaks against it. */
bool wf_learned_allows(const struct wf_learned *l, const char *const *own, uint32_t own_count, const char *url,
                       char *why);

#endif
