/* transport/link/link_writer.h -- a link writer encodes the messages of one worker to one peer, on the worker's thread
 * only; wf_transport_route sends messages to other nodes with it. */
#ifndef WF_LINK_WRITER_H
#define WF_LINK_WRITER_H

#include "credit.h"
#include "peer_link.h"
#include "topic_trie.h"

/* Patterns of a peer that a worker adds, removes or frees in a turn. */
#define WF_PATTERNS_AT_ONCE WF_LIMIT("topics: patterns taken in a turn", 1024, 1)

struct wf_link_writer {
    struct wf_list_node in_writers; /* wf_link_writers.writers, or `closed` */
    struct wf_hashed by_incarnation,
        by_name; /* of wf_link_writers; tools are not in `names`, closed writers are in neither table */
    struct wf_link *link;
    uint64_t incarnation;
    struct wf_batch *batch; /* NULL: nothing to flush, and no buffer */
    bool dirty;             /* on wf_link_writers.dirty */
    struct wf_link_writer *next_dirty;
    struct wf_interest interest; /* of the peer */
    struct wf_list changes;      /* wf_interest_change.in_list: still to apply; `more` is armed while there are any */
    struct wf_timer more;
    struct wf_list waiting; /* wf_waiter.on_source: tasks that wait for space in the send queue */
    struct wf_credits credits;
};

struct wf_link_writers {
    struct wf_transport *t;
    struct wf_list writers;      /* wf_link_writer.in_writers */
    struct wf_list closed;       /* the same, of writers whose patterns are still being freed: `more` is armed */
    struct wf_link_writer *last; /* found last; may be NULL */
    struct wf_link_writer *dirty;
    struct wf_hash_table nodes, names; /* by incarnation, and by name */
    uint32_t worker;                   /* its index */
};

extern const struct wf_route wf_transport_route;
int wf_link_writers_create(struct wf_transport *t); /* for each worker, before the workers run */
void wf_link_writers_destroy(struct wf_transport *t);
/* Returns the worker's writer to that peer, on the worker's thread; NULL: it has none. */
struct wf_link_writer *wf_link_writer_find(struct wf_worker *w, uint64_t peer);
/* Returns the worker's writer for that link, on the worker's thread; NULL: it has none. */
struct wf_link_writer *wf_link_writer_of(struct wf_worker *w, const struct wf_link *l);
void wf_link_writer_push(struct wf_link_writer *writer); /* moves what has been written into the send queue */
/* Writes a CREDIT_REQUEST behind the messages that it is about. False: no memory. */
bool wf_link_writer_request_credit(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key,
                                   const char *name, uint32_t number);
/* $cluster posts to every worker that the link begins, or that it has ended. */
int wf_link_writers_open(struct wf_link *l);
void wf_link_writers_close(struct wf_link *l);
wf_on_space wf_link_writers_on_space;

#endif
