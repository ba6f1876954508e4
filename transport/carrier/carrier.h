/* transport/carrier/carrier.h -- carriers move bytes between two nodes: with NNG's streams, on the workers' loops
 * (carrier_nng_loop.c) or with callbacks (carrier_nng.c); or with plain sockets (carrier_tcp.c).
 *
 * Design notes.
 * (1) A carrier carries messages (of the SP wire format: batches of frames) over connections; it knows neither frames
 *     nor nodes.
 * (2) Its callbacks run on its own threads or on a worker's, between tasks. They must not block. For one connection
 *     they come one at a time: on_up, on_message..., on_down; but on_sent may run at the same time. They may call any
 *     function of the connection.
 * (3) Connections have reference counts: on_up hands one reference to the owner, which gives it back with release.
 *     on_down comes exactly once for each connection that was accepted or dialled, with user == NULL if there was no
 *     on_up.
 * (4) Until `trust` a connection is a stranger: it has little time and may send only small messages, so it costs this
 *     node 4 KiB at most, for a few seconds. */
#ifndef WF_CARRIER_H
#define WF_CARRIER_H

#include "base.h"
#include "platform.h"

#include <string.h>

struct wf_carrier;
struct wf_identity;
struct wf_tls;
struct wf_worker;
struct wf_workers;

enum {
    WF_CARRIER_SLICES = 7,          /* in one send; NNG takes 8, one of which is the length */
    WF_STRANGER_MESSAGE_MAX = 4096, /* bytes of a message before `trust` */
    WF_STRANGERS_MAX = 256,         /* accepted connections that are not trusted yet; more are closed at once */
    WF_STRANGERS_EACH = 64, /* from one source (places.h); connections on local sockets are counted separately */
    WF_REASON_TEXT = 160,
    WF_URL_TEXT = 256,
    WF_PRIVATE_SOCKET = 0600, /* `mode` of listen: only this user may open the socket */
    /* The same for the command line: its connections are on the worker of weft's own actors, so that no user's actor
     * delays them. */
    WF_CONTROL_SOCKET = 0600 | 0x10000,
    WF_MODE_BITS = 0777,
};

/* One connection. The carrier's own struct begins with it. */
struct wf_conn {
    struct wf_carrier *carrier;
    void *user;     /* the owner's, set in on_up */
    void *dial_tag; /* the tag given to dial; NULL: it was accepted */
    /* how it is carried, text for users: "tcp", "nng", "nng callbacks", "nng tls"; static */
    const char *form;
    /* on_up, on_message, on_chunk and on_down run on its thread; NULL: they run on a thread of the carrier */
    struct wf_worker *worker;
    const struct wf_identity *who; /* identity that the other side has proven; NULL: no TLS. Valid from on_up on */
    bool same_user;                /* accepted on a socket's file that only this user, and root, may open */
    bool plain_ws;                 /* over ws://, which web pages can use, too */
    char remote[128];              /* text for the log: "127.0.0.1:40022", or WF_REMOTE_LOCAL */
    char local[64];                /* if it was dialled: the local address, "10.0.0.5:40022"; "": it has none */
};

enum wf_receive {
    WF_RECEIVE_ON,
    WF_RECEIVE_PAUSE, /* until wf_conn_resume */
    WF_RECEIVE_END    /* wf_conn_close was called */
};

#define WF_REMOTE_LOCAL "local socket" /* wf_conn.remote of a connection without an address */
static inline bool wf_remote_is_local(const char *remote)
{
    return strcmp(remote, WF_REMOTE_LOCAL) == 0;
}

/* The result of a send. */
enum wf_send {
    WF_SEND_LATER, /* on_sent will report the result */
    WF_SEND_DONE,  /* all bytes have been sent; there will be no on_sent */
    WF_SEND_FAILED /* the connection is closed; there will be no on_sent */
};

struct wf_carrier_user {
    void (*on_up)(void *owner, struct wf_conn *c);
    /* A message has come. `*left` is 0 at first. With WF_RECEIVE_PAUSE the owner may set it to the number of bytes at
     * the end that it did not take: they are handed over again, as a message, when the connection is resumed. */
    enum wf_receive (*on_message)(void *owner, struct wf_conn *c, const uint8_t *data, size_t size, size_t *left);
    /* All messages that one read brought have been handed over. */
    enum wf_receive (*on_chunk)(void *owner, struct wf_conn *c);
    void (*on_sent)(void *owner, struct wf_conn *c, bool ok);
    void (*on_down)(void *owner, struct wf_conn *c, const char *reason);
    /* A dial has failed; no connection was made. */
    void (*on_dial_failed)(void *owner, void *dial_tag, const char *reason);
};

struct wf_carrier_options {
    struct pf_env *env;
    struct wf_workers *workers; /* their threads run the connections; NNG's threads run those with callbacks */
    const struct wf_carrier_user *user;
    void *owner;
    const struct wf_tls *tls; /* certificates of tls+tcp:// and wss://; NULL: none; must stay valid until renew_tls */
    int64_t stranger_time;    /* 0: 5 s; how long a connection may take until it is trusted */
    const char *const *ws_origins; /* web pages that ws:// and wss:// accept (ws.h); must stay valid */
    size_t ws_origin_count;
};
static inline int64_t wf_stranger_time(const struct wf_carrier_options *o)
{
    return o->stranger_time > 0 ? o->stranger_time : WEFT_SEC(5);
}

struct wf_carrier_ops {
    /* Binds; connections are accepted after `accept`, or at once if that was called before. `mode`: of an ipc socket's
     * file; 0 for other URLs. `bound` gets the URL with the real port. WEFT_EADDRESS, WEFT_EINUSE, WEFT_EACCESS, ...;
     * `why` (WF_REASON_TEXT bytes) gets the reason in words. */
    int (*listen)(struct wf_carrier *k, const char *url, int mode, char *bound, char *why);
    void (*accept)(struct wf_carrier *k);
    /* It ends with on_up or on_dial_failed, unless it fails at once; then `why` has the reason. */
    int (*dial)(struct wf_carrier *k, const char *url, void *tag, char *why);
    /* One message of `count` slices, one in flight per connection; the bytes must stay until on_sent. */
    enum wf_send (*send)(struct wf_conn *c, const struct pf_slice *slices, unsigned count);
    /* Call it exactly once for each PAUSE. With NNG it may deliver messages before it returns. */
    void (*resume)(struct wf_conn *c);
    /* Called while paused: from now on messages may have `message_max` bytes, and there is no time limit. */
    void (*trust)(struct wf_conn *c, size_t message_max);
    /* Only the reason of the first call counts. It may call on_down before it returns. */
    void (*close)(struct wf_conn *c, const char *reason);
    void (*release)(struct wf_conn *c);
    /* Stops the listeners and removes the files of their sockets, unless another process has replaced them; connections
     * stay. */
    void (*unlisten)(struct wf_carrier *k);
    /* Closes all remaining connections and waits until all callbacks have returned. No callback may call it. */
    void (*destroy)(struct wf_carrier *k);
    /* Any thread, for a carrier that was made with certificates: connections that begin from now on use those of `tls`,
     * which must stay valid like the previous ones. WEFT_ENOMEM: the previous ones must stay valid, too. NULL: this
     * carrier has no TLS. */
    int (*renew_tls)(struct wf_carrier *k, const struct wf_tls *tls);
};

struct wf_carrier {
    const struct wf_carrier_ops *ops;
};

static inline enum wf_send wf_conn_send(struct wf_conn *c, const struct pf_slice *slices, unsigned count)
{
    return c->carrier->ops->send(c, slices, count);
}
static inline void wf_conn_resume(struct wf_conn *c)
{
    c->carrier->ops->resume(c);
}
static inline void wf_conn_trust(struct wf_conn *c, size_t message_max)
{
    c->carrier->ops->trust(c, message_max);
}
static inline void wf_conn_close(struct wf_conn *c, const char *reason)
{
    c->carrier->ops->close(c, reason);
}
static inline void wf_conn_release(struct wf_conn *c)
{
    c->carrier->ops->release(c);
}

/* The carrier on NNG 1.5 or later. NULL: out of memory. */
struct wf_carrier *wf_carrier_nng(const struct wf_carrier_options *options);
/* NNG, and the carrier on plain sockets for inherited://, and with `own_tcp` also for all URLs of
 * wf_carrier_tcp_knows. */
struct wf_carrier *wf_carrier_by_url(const struct wf_carrier_options *options, bool own_tcp);

#endif
