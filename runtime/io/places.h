/* runtime/io/places.h -- how many connections there may be at a time: in all, and from one source. A source is an
 * address; of IPv6 a network of 64 bits, as one machine has all addresses of it.
 *
 * Sources are counted under two hashes of theirs with a random seed, in two rows of four times as many counters as
 * there are places; the smaller counter is believed. So a source is kept out for another one's connections only if
 * both its counters are taken by chance (one in a million for 256 places), and no memory is asked for while
 * connections come. Cormode and Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch" (2005).
 * Any thread. */
#ifndef WF_PLACES_H
#define WF_PLACES_H

#include "base.h"
#include "platform.h"

struct wf_places;

/* `most`: 1 to WF_PLACES_MAX; `each`: of one source. The caller gets a reference. WEFT_ENOMEM. */
int wf_places_new(struct wf_places **out, struct pf_env *env, uint32_t most, uint32_t each);
/* False: there is none. Else it counts as a reference, until it is given back. `from` NULL, or a Unix socket's: of no
 * source, so that only all places together count. */
bool wf_places_take(struct wf_places *p, const struct pf_address *from, uint32_t *place);
void wf_places_give(struct wf_places *p, uint32_t place);
/* Gives the reference of wf_places_new back. NULL is fine. */
void wf_places_release(struct wf_places *p);

enum { WF_PLACES_MAX = 1 << 20 };

#endif
