/* transport/carrier_nng.h -- between the files of the carrier on NNG: connections, with the design notes
 * (carrier_nng.c), listening and dialling (carrier_nng_ends.c), TLS (carrier_nng_tls.c). */
#ifndef WF_CARRIER_NNG_H
#define WF_CARRIER_NNG_H

#include "carrier.h"
#include "carrier_nng_tls.h"
#include "list.h"
#include "sp.h"

#include <nng/nng.h>

struct nng_carrier {
    struct wf_carrier base;
    struct wf_carrier_options options;
    pf_mutex *lock;
    pf_cond *quiet;           /* conns, dials or listeners became 0 */
    struct wf_list conns;     /* stream_conn.in_carrier */
    struct wf_list listeners; /* stream_end.in_carrier */
    struct wf_list dials;     /* stream_end.in_carrier: under way */
    struct wf_list dialled;   /* stream_end.in_carrier: over, to be freed */
    uint32_t conn_count, dial_count, accepting, strangers;
    bool live; /* listeners begin at once */
    bool closing, has_tls;
    struct wf_nng_tls *tls[2]; /* of dialers, of listeners; made when first needed, of options.tls: under lock */
};

struct stream_conn {
    struct wf_conn base;
    struct wf_link in_carrier;
    nng_stream *stream;
    nng_aio *rx, *tx;
    nng_aio *limit;        /* under TLS: of a stranger's time; NNG's own limits do not reach into a handshake */
    _Atomic uint32_t refs; /* acq_rel on decrement: the last one sees what all others did */
    _Atomic int gate;      /* enum gate; acquire and release hand the receiving side over */
    bool greeting;         /* our SP header is being sent */
    bool stranger, tls;
    struct wf_identity who; /* good once greeted, under TLS */
    int64_t trust_by;
    struct wf_sp sp;
    nng_iov iov[WF_CARRIER_SLICES + 1]; /* what is left to send */
    unsigned iov_first, iov_count;
    uint8_t prefix[WF_SP_PREFIX_MAX];
    uint8_t *record;             /* under TLS: the begin of what is being sent, in one piece */
    char reason[WF_REASON_TEXT]; /* under carrier->lock; the first one given */
};

/* A listener, or a dial under way. */
struct stream_end {
    struct wf_link in_carrier;
    struct nng_carrier *carrier;
    nng_stream_listener *listener;
    nng_stream_dialer *dialer;
    nng_aio *aio;
    void *tag; /* of a dial */
    bool local, tls, pausing, same_user;
};

/* The text and the code of an error of NNG. */
const char *wf_nng_explain(int nng_error, int *code);
/* Takes the stream over. False: it was refused and freed. */
bool wf_nng_conn_start(struct nng_carrier *k, nng_stream *s, const struct stream_end *from);
void wf_nng_conn_close(struct wf_conn *base, const char *reason);
void wf_nng_conn_release(struct wf_conn *base);

/* As in wf_carrier_ops. */
int wf_nng_listen(struct wf_carrier *base, const char *url, int mode, char *bound, char *why);
void wf_nng_accept(struct wf_carrier *base);
int wf_nng_dial(struct wf_carrier *base, const char *url, void *tag, char *why);
void wf_nng_unlisten(struct wf_carrier *base);
void wf_nng_destroy(struct wf_carrier *base);
int wf_nng_renew_tls(struct wf_carrier *base, const struct wf_tls *tls);

#endif
