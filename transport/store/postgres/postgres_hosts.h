/* transport/store/postgres/postgres_hosts.h -- the hosts of a URL with their addresses, which weft looks up within a bound
 * (host_lookup.h), so that libpq does not. */
#ifndef WF_STORE_POSTGRES_HOSTS_H
#define WF_STORE_POSTGRES_HOSTS_H

#include "engine.h"
#include "postgres_url.h"

/* Lists as libpq's words of these names have them. All NULL: libpq asks no name server, and connects as the URL says. */
struct pq_hosts {
    char *host, *hostaddr, *port;
};

/* Looks up the names in the URL, or in what libpq reads besides: its environment, a service file. All names are looked up at
 * the same time, within connect_timeout, or answer_timeout if that is less. A name with several addresses becomes several
 * hosts; one without an address in time is left out. Fills `out`, for pq_hosts_free. Errors: WEFT_ENOMEM; WEFT_ESYSTEM: no
 * name has an address, and `why` (may be NULL) says so. */
int pq_hosts_find(const struct pq_url *url, struct pq_hosts *out, struct wf_store_why *why);
void pq_hosts_free(struct pq_hosts *hosts);

#endif
