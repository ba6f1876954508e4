/* transport/cluster/learned.h -- learned addresses, which other nodes have reported: which of them this node dials, and
 * how often.
 *
 * A malicious member may invent nodes with any address, and all members would dial it. So a learned address is dialled
 * freely only after its node has been linked once. Until then
 * (1) it must be an address where a node of this cluster could be: wf_learned_allows;
 * (2) few are dialled at a time and per second, and an address that did not lead to a link is dialled later each time,
 *     whichever node is said to be there.
 * Seeds are not learned: they come from the options or from discovery. Only $cluster calls this. */
#ifndef WF_LEARNED_H
#define WF_LEARNED_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/node.h>

enum {
    WF_LEARNED_ADDRESSES = 256, /* addresses that are remembered: those that were dialled last */
    WF_LEARNED_DIALS = 16,      /* dials at a time */
    WF_LEARNED_BURST = 64,      /* dials without success at once; then one per WF_LEARNED_EACH */
    WF_LEARNED_RANGES = 16,     /* the ranges of the option dial_only */
    WF_LEARNED_RANGE = 64,      /* bytes of one, with its NUL */
};
#define WF_LEARNED_EACH WEFT_MS(100)
#define WF_LEARNED_FIRST WEFT_MS(50) /* the pause after the first failure; each one doubles it */
#define WF_LEARNED_LONGEST WEFT_SEC(10)
#define WF_LEARNED_FORGOTTEN WEFT_SEC(60) /* after this pause the failures of an address no longer count */

struct wf_learned {
    struct wf_learned_address {
        uint64_t key; /* wf_learned_key; 0: free */
        int64_t next_at;
        uint32_t failures;
        bool busy;
    } at[WF_LEARNED_ADDRESSES];
    uint32_t busy;
    int64_t spent_until; /* the dials without success have used the rate up to this time */
    char range[WF_LEARNED_RANGES][WF_LEARNED_RANGE];
    uint32_t range_count; /* 0: no restriction */
};

/* Whether the option dial_only takes it: "10.0.0.0/8", "fd00::/8", "192.168.1.7", a name, ".example.com". */
bool wf_learned_is_range(const char *range);
/* Takes the option dial_only. WEFT_EINVAL: the log says what is wrong with it. */
int wf_learned_init(struct wf_learned *l, const weft_node_options *o);

/* A key for the host and port, or the path, of an address, without its scheme. Never 0. */
uint64_t wf_learned_key(const char *url);
/* 0: the limits allow a dial now. Else when to ask again. */
int64_t wf_learned_next(const struct wf_learned *l, int64_t now);
/* 0: the caller dials the address now, and reports the result with wf_learned_end. Else when to ask again. */
int64_t wf_learned_begin(struct wf_learned *l, uint64_t key, int64_t now);
void wf_learned_end(struct wf_learned *l, uint64_t key, bool linked, int64_t now);

/* Whether `url` may be dialled; `own` are the URLs where this node listens, and its seeds. A local socket may be if one
 * of them is in its folder (or is abstract://, too). An address of this machine may be if one of them is on this
 * machine. Any other may be if one of them is on another machine, and a range (if there are any) includes it. False:
 * `why` (WF_REASON_TEXT bytes) has the reason. */
bool wf_learned_allows(const struct wf_learned *l, const char *const *own, uint32_t own_count, const char *url,
                       char *why);

#endif
