/* transport/carrier/carrier_nng.h -- between the files of the carrier on NNG: connections, with the design notes
 * (carrier_nng.c), those on the workers' loops (carrier_nng_loop.c), listening and dialling (carrier_nng_ends.c), the
 * listening end of WebSockets (carrier_nng_ws.c), TLS (carrier_nng_tls.c). */
#ifndef WF_CARRIER_NNG_H
#define WF_CARRIER_NNG_H

#include "carrier_loop.h"
#include "carrier_nng_tls.h"
#include "list.h"
#include "ws.h"

#include <nng/nng.h>

struct nng_carrier {
    struct wf_carrier base;
    struct wf_carrier_options options;
    pf_mutex *lock;
    pf_cond *quiet;                 /* `conns`, `dials` or `listeners` became empty */
    struct wf_list conns;           /* stream_conn.in_carrier */
    struct wf_list listeners;       /* stream_end.in_carrier */
    struct wf_list dials;           /* stream_end.in_carrier: dials under way */
    struct wf_list dialled;         /* stream_end.in_carrier: dials that have ended and are to be freed */
    struct wf_places *strangers[2]; /* [on a socket of this machine's file system] */
    uint32_t conn_count, dial_count, accepting;
    bool live; /* listeners begin at once */
    bool closing, has_tls;
    struct wf_loop loop; /* the connections on the workers' loops */
    /* that of dialers and that of listeners; made from options.tls when it is first needed; under lock */
    struct wf_nng_tls *tls[2];
};

enum { WF_NNG_SLICES = 8 }; /* NNG takes no more at once */

/* Data of a connection that a listener of ws:// or wss:// has accepted. */
struct ws_side {
    struct wf_ws in;
    char url[WF_URL_TEXT]; /* of the listener */
    bool asked;            /* its whole request has come, and was answered */
    const char *over;      /* why no more data is read from it; NULL: reading continues. Static */
    bool refused;
    char why[WF_REASON_TEXT]; /* why the request was refused */
    /* the answer, and the greeting if the request is accepted */
    uint8_t answer[WF_WS_ANSWER_MAX + WF_WS_HEADER_MAX + WF_SP_HEADER];
    /* The frame that is being sent; only the sending side uses these. */
    uint8_t header[2 + WF_WS_CONTROL_MAX + WF_WS_HEADER_MAX];
    unsigned header_at, header_size;
    uint64_t left; /* bytes behind the header */
    /* The answer to a ping goes before the next frame. The thread that writes `pong` and the thread that reads it
     * store with release. */
    _Atomic bool has_pong;
    uint8_t pong[2 + WF_WS_CONTROL_MAX];
    unsigned pong_size;
};

struct stream_conn {
    struct wf_conn base;
    struct wf_list_node in_carrier;
    nng_stream *stream;
    nng_aio *rx, *tx;
    nng_aio *now;          /* for a first try to send, without a callback; NULL: there is no first try */
    nng_aio *limit;        /* under TLS: the time limit of a stranger, as NNG's own limits do not end a handshake */
    _Atomic uint32_t refs; /* acq_rel on decrement: the last holder sees the writes of all others */
    _Atomic int gate;      /* enum gate; acquire and release hand the receiving side over */
    bool greeting;         /* our SP header is being sent */
    bool stranger, tls;
    bool dialled_ws;          /* NNG itself reads its frames */
    struct wf_places *places; /* NULL: it has no place, as it was dialled, or has given its place back */
    uint32_t place;
    struct ws_side *ws;     /* NULL: it is no WebSocket, or it was dialled and NNG's own code handles it */
    struct wf_identity who; /* under TLS: valid once the greeting has come */
    int64_t trust_by;
    struct wf_sp sp;
    nng_iov iov[WF_CARRIER_SLICES + 1]; /* bytes that are left to send */
    unsigned iov_first, iov_count;
    uint8_t prefix[WF_SP_PREFIX_MAX];
    uint8_t *record;             /* under TLS: the first bytes of the message that is being sent, in one piece */
    char reason[WF_REASON_TEXT]; /* under carrier->lock; the first reason that was given */
};

/* A listener, or a dial under way. */
struct stream_end {
    struct wf_list_node in_carrier;
    struct nng_carrier *carrier;
    nng_stream_listener *listener;
    nng_stream_dialer *dialer;
    nng_aio *aio;
    void *tag; /* the tag of a dial */
    bool local, tls, pausing, same_user, control, plain_ws, dialled_ws;
    /* Of a listener. The last two change while other threads read the flags above, so they are not beside those:
     * compilers read neighbours with one instruction, which TSan reports. */
    struct pf_socket_file file; /* that it has made; all zeroes: none */
    struct stream_end *left;    /* the next one that was left open */
    bool replaced;              /* when it ended, there was another socket at its path */
    _Atomic bool over;          /* it accepts no more; seq_cst, see accept_next */
    char ws[WF_URL_TEXT];       /* the URL if its scheme is ws:// or wss://, else "" */
};

static inline struct nng_carrier *carrier_of(struct stream_conn *c)
{
    return (struct nng_carrier *)c->base.carrier;
}

/* The text and the code of an error of NNG. */
const char *wf_nng_explain(int nng_error, int *code);
/* Takes the stream over. False: it was refused and freed. */
bool wf_nng_conn_start(struct nng_carrier *k, nng_stream *s, const struct stream_end *from);
/* `which`: NNG_OPT_REMADDR, NNG_OPT_LOCADDR. */
void wf_nng_describe(nng_stream *s, const char *which, char *out, size_t size);
void wf_nng_conn_close(struct wf_conn *base, const char *reason);
void wf_nng_conn_release(struct wf_conn *base);

#endif
