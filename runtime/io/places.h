/* runtime/io/places.h -- limits how many connections exist at a time: in all, and from one source. A source is an
 * IPv4 address or the 64-bit network of an IPv6 address, as one machine has all addresses of it.
 *
 * Sources are counted under two hashes of theirs with a random seed, in two rows of four times as many counters as
 * there are places; the smaller counter is used. So a source is refused for other sources' connections only if both
 * its counters collide by chance (one in a million for 256 places), and connections need no allocation. Cormode and
 * Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch" (2005). Any thread. */
#ifndef WF_PLACES_H
#define WF_PLACES_H

#include "base.h"
#include "platform.h"

struct wf_places;

/* `most`: 1 to WF_PLACES_MAX; `each`: of one source. The caller gets a reference. Returns 0 or WEFT_ENOMEM. */
int wf_places_new(struct wf_places **out, struct pf_env *env, uint32_t most, uint32_t each);
/* False: no place is free. True: the place counts as a reference until it is given back. If `from` is NULL or of a
 * Unix socket, it has no source, and only the limit in all applies. */
bool wf_places_take(struct wf_places *p, const struct pf_address *from, uint32_t *place);
void wf_places_give(struct wf_places *p, uint32_t place);
/* Gives the reference of wf_places_new back. NULL is fine. */
void wf_places_release(struct wf_places *p);

enum { WF_PLACES_MAX = 1 << 20 };

#endif
