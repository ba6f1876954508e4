/* transport/carrier/carrier_loop.h -- connections on the workers' own loops: what the carrier of plain sockets
 * (carrier_tcp.c) and NNG's streams (carrier_nng_loop.c) have in common. The design notes are in carrier_loop.c.
 *
 * Design notes.
 * (1) Each connection belongs to one worker from begin to end; new ones go to the workers in turn. Only that worker's
 *     thread reads from it and runs its callbacks, in step 5 of its turn (or in step 2, for bytes that did not fit into
 *     the previous turn). A worker that is blocked by an actor gets no new connection. If all are blocked, the worker
 *     of weft's own actors gets it, which also has those of the control socket: so a node answers even if its users'
 *     actors never wait.
 * (2) Any thread may send: it writes at once. Bytes that the kernel does not take wait in `left`, and the worker writes
 *     them when the poller reports space. `tx` says which thread owns `left`: IDLE none, WRITING (or NUDGED) the thread
 *     in write_left, BLOCKED the first thread that learns of an event of the socket. An event during a write makes it
 *     NUDGED: the writing thread then tries once more before it gives `left` up.
 * (3) Everything else reaches the worker as a posted call: start, resume, end. Closing from any thread breaks the
 *     connection at once, which fails all reads and writes; its descriptor is closed by the last reference, so no
 *     thread ever uses a number that belongs to another socket by then.
 * (4) References: one for the receiving side from birth to on_down, one for the owner since on_up, one for each call
 *     under way, one while `left` holds something. */
#ifndef WF_CARRIER_LOOP_H
#define WF_CARRIER_LOOP_H

#include "carrier.h"
#include "fd.h"
#include "places.h"
#include "sp.h"

struct wf_loop {
    struct wf_carrier base;
    struct wf_carrier_options options;
    pf_mutex *lock;
    pf_cond *quiet;                 /* `count` became 0 */
    struct wf_list conns;           /* wf_loop_conn.in_carrier */
    uint32_t count;                 /* connections, and other objects of the carrier that are not freed */
    struct wf_places *strangers[2]; /* [on a socket of this machine's file system] */
    uint32_t turn;                  /* the worker that gets the next connection */
    bool closing;
};

struct wf_loop_conn;

/* What moves a connection's bytes. */
struct wf_loop_io {
    /* The owner's thread. Returns how many bytes were read; 0 at the end, PF_AGAIN, WEFT_E*. */
    int64_t (*read)(struct wf_loop_conn *c, void *buffer, size_t size);
    /* One thread at a time. Returns how many bytes were written, perhaps not all; PF_AGAIN, WEFT_E*. */
    int64_t (*write)(struct wf_loop_conn *c, const struct pf_slice *slices, unsigned count);
    void (*abort)(struct wf_loop_conn *c);  /* any thread, once: reads and writes fail from now on */
    void (*finish)(struct wf_loop_conn *c); /* the last reference is gone */
};

/* A call on the owner's thread; one at a time is under way for each. */
struct wf_errand {
    struct wf_call call;
    struct wf_loop_conn *conn;
};

struct wf_loop_conn {
    struct wf_conn base;
    struct wf_list_node in_carrier;
    const struct wf_loop_io *io;
    void *arg;             /* of `io` */
    pf_handle handle;      /* the worker's poller watches it; closed with the connection */
    _Atomic uint32_t refs; /* acq_rel on decrement: the last holder sees the writes of all others */
    _Atomic bool closed;   /* set with acq_rel by the thread that closes; read relaxed, as a hint */
    struct wf_errand start, resume, again, end;
    char reason[WF_REASON_TEXT]; /* under carrier->lock; the first reason that was given */
    struct wf_places *places;    /* under carrier->lock: `place` is taken here by a stranger; NULL: it is trusted */
    uint32_t place;
    bool trusted; /* written while paused, before the call that resumes; read by the owner's thread */
    /* The owner's thread only. */
    struct wf_fd *fd;
    struct wf_timer limit; /* time limit of connecting, and then of a stranger */
    struct wf_sp sp;
    size_t wanted;       /* total bytes of the next message */
    uint64_t registered; /* the poller's tag; fixed from `start` on */
    bool connecting, readable, paused, over;
    bool emptied; /* it has been read until PF_AGAIN at least once */
    bool more;    /* `again` has been posted, to read more */
    /* For sending, see note (2). */
    alignas(WF_CACHE_LINE) _Atomic int tx; /* enum tx; acquire to take `left`, release to let it go */
    struct pf_slice left[WF_CARRIER_SLICES + 1];
    unsigned left_first, left_count;
    uint8_t prefix[WF_SP_PREFIX_MAX];
};

/* The properties of a new connection. */
struct wf_loop_made {
    const struct wf_loop_io *io;
    void *arg;
    pf_handle handle;
    void *tag;                /* the tag of a dial; NULL: it was accepted */
    const char *remote;       /* "127.0.0.1:40022", WF_REMOTE_LOCAL */
    const char *local;        /* NULL: if it was dialled, the address is read from the handle */
    const char *form;         /* wf_conn.form */
    bool connecting;          /* the handle becomes writable when it is connected */
    bool is_local, same_user; /* it is on a socket of this machine's file system; see wf_conn */
    bool is_control;          /* see WF_CONTROL_SOCKET */
};

/* Returns 0 or WEFT_ENOMEM. wf_loop_finish may be called in any case. */
int wf_loop_init(struct wf_loop *k, const struct wf_carrier_options *options);
/* Closes all remaining connections and waits until `count` is 0. */
void wf_loop_end(struct wf_loop *k);
void wf_loop_finish(struct wf_loop *k);
/* Returns 0; WEFT_ENOMEM; WEFT_ECLOSED: there are too many strangers, or the carrier ends. On an error the caller
 * keeps the handle and `arg`. */
int wf_loop_conn_new(struct wf_loop *k, const struct wf_loop_made *made);
/* An object that `count` counts has been freed. From then on the carrier may be freed, too. */
void wf_loop_gone(struct wf_loop *k);
/* The text of a platform error, for the log. */
const char *wf_loop_explain(int64_t error);

/* As in wf_carrier_ops. */
enum wf_send wf_loop_send(struct wf_conn *base, const struct pf_slice *slices, unsigned count);
void wf_loop_resume(struct wf_conn *base);
void wf_loop_trust(struct wf_conn *base, size_t message_max);
void wf_loop_close(struct wf_conn *base, const char *reason);
void wf_loop_release(struct wf_conn *base);

#endif
