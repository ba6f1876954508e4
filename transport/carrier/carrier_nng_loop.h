/* transport/carrier/carrier_nng_loop.h -- NNG's connections on the workers' loops. */
#ifndef WF_CARRIER_NNG_LOOP_H
#define WF_CARRIER_NNG_LOOP_H

#include "carrier_nng.h"

/* Ends an operation without a callback. Returns how many bytes it has moved; PF_AGAIN: none; or an error code of
 * weft, with NNG's in `*nng_error`. */
int64_t wf_nng_outcome(nng_aio *aio, int *nng_error);
/* Takes the stream over, as a connection on a worker's loop. PF_AGAIN: it is still the caller's, because only
 * callbacks can carry it; other errors: it was refused and freed. */
int wf_nng_loop_start(struct nng_carrier *k, nng_stream *s, const struct stream_end *from);
int wf_nng_loop_init(struct nng_carrier *k); /* as wf_loop_init */

#endif
