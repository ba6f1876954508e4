/* transport/store/postgres/host_lookup.h -- looks up names of hosts, and waits for a name server that answers nothing no
 * longer than it has to.
 *
 * Design notes.
 * (1) getaddrinfo cannot be given a deadline or be interrupted, and libpq calls it in the thread that connects. So each
 *     look-up runs on a thread of its own, which is left alone when nobody waits any more. It ends when getaddrinfo does.
 * (2) A name that is being looked up is not looked up a second time: who asks again waits for the same answer. So the
 *     attempts to connect again, while a name server is away, do not add threads. */
#ifndef WF_STORE_HOST_LOOKUP_H
#define WF_STORE_HOST_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HOST_ADDRESSES_MAX = 16, /* of a name; further ones are left out */
    HOST_ADDRESS_SIZE = 72,  /* of one as text, with the NUL: IPv6 with the name of an interface */
    HOST_LOOKUPS_MAX = 32,   /* under way at a time in this process */
};

struct host_lookup;

/* Whether this is an address, for which no name server is asked. */
bool host_is_address(const char *text);

/* Begins to look up a name. Errors, with `*out` NULL: WEFT_ENOMEM (no memory, or no thread), WEFT_EFULL (HOST_LOOKUPS_MAX are
 * under way). */
int host_lookup_begin(const char *name, struct host_lookup **out);
/* Blocks until the name is looked up, or until `deadline` (weft_now's clock; WEFT_FOREVER: no limit). Fills `out` with the
 * addresses as text, in the order of the resolver, and returns their number; 0: the name has none; WEFT_ETIMEDOUT. */
int host_lookup_wait(struct host_lookup *l, int64_t deadline, char out[HOST_ADDRESSES_MAX][HOST_ADDRESS_SIZE]);
/* The caller does not wait any more. */
void host_lookup_end(struct host_lookup *l);

#endif
