/* transport/carrier/carrier_nng_tls.h -- TLS under NNG's streams, for carrier_nng*.c. */
#ifndef WF_CARRIER_NNG_TLS_H
#define WF_CARRIER_NNG_TLS_H

#include "carrier.h"
#include "tls.h"

#include <nng/nng.h>

struct nng_tls_config;
struct wf_nng_tls;

enum { WF_NNG_TLS_RECORD = 16 * 1024 - 64 }; /* bytes of one record, which fits into NNG's buffer of 16 KiB */

/* For one node's listeners (`server`) or dialers. WEFT_ENOMEM, WEFT_ENOTFOUND: built without TLS. NULL is fine for
 * close. */
int wf_nng_tls_open(struct wf_nng_tls **out, const struct wf_tls *tls, bool server);
struct nng_tls_config *wf_nng_tls_config(const struct wf_nng_tls *t);
/* Any thread. Connections that begin from now on use the certificates of `tls`; others keep theirs. WEFT_ENOMEM:
 * nothing has changed. */
int wf_nng_tls_renew(struct wf_nng_tls *t, const struct wf_tls *tls);
void wf_nng_tls_close(struct wf_nng_tls *t);

/* The result of the TLS handshake of a stream of such a listener or dialer, also when the stream is broken. */
struct wf_nng_tls_peer {
    bool known; /* the handshake has ended without a fault; `who` is the other side */
    struct wf_identity who;
    char why[WF_REASON_TEXT]; /* "" or the fault */
};
void wf_nng_tls_ask(nng_stream *stream, struct wf_nng_tls_peer *out);

#endif
