/* transport/discover/etcd.h -- this node's session with etcd: a lease that it keeps alive, under which it registers
 * itself and holds exclusive names; the list of the other nodes there; events of names that have become free.
 *
 * Design notes.
 * (1) One thread, which sleeps in curl_multi_poll, does all network I/O. It uses etcd v3's JSON gateway.
 * (2) The session goes through phases: sign on, ask for a lease, register, list, watch from the list's revision on. A
 *     step that fails is tried again; a watch that ends (connection, compaction) leads back to the list, so nothing
 *     is missed.
 * (3) The lease's time counts from before the request was sent, so it ends here before it ends in etcd, by at least the
 *     margin. Then all names are lost, the actor is notified, and a new lease is requested. The old lease is revoked as
 *     soon as etcd can be reached.
 * (4) Keys: PREFIX/nodes/INCARNATION, a JSON object with name and urls; PREFIX/exclusive/NAME, the holder's node. */
#ifndef WF_ETCD_H
#define WF_ETCD_H

#include "list.h"
#include "names.h"
#include "source.h"
#include "text.h"

struct wf_etcd;

extern const struct wf_source_kind wf_source_etcd;

enum wf_ask_kind { WF_ASK_ACQUIRE, WF_ASK_RELEASE };
enum wf_etcd_event_kind {
    WF_ETCD_ACQUIRED, /* name, number: the token, lease */
    WF_ETCD_TAKEN,    /* name, number: the revision at which another node had it */
    WF_ETCD_RELEASED, /* name */
    WF_ETCD_FAILED,   /* name: the result is unknown; ask again after AGAIN */
    WF_ETCD_FREED,    /* name, number: the revision at which its holder released it */
    WF_ETCD_AGAIN,    /* the session works again: an earlier FREED may have been missed */
    WF_ETCD_LOST,     /* the lease is over, and with it all names */
};
struct wf_etcd_event {
    struct wf_list_node in_queue;
    enum wf_etcd_event_kind kind;
    char name[WF_NAME_MAX + 1];
    int64_t number, lease;
};

/* Any thread. RELEASE: `token` is that of ACQUIRED. Each request is answered by one event; the events of a name are
 * in the order of its requests. WEFT_ENOMEM; WEFT_ECLOSED: the node ends. */
int wf_etcd_ask(struct wf_etcd *e, enum wf_ask_kind kind, const char *name, int64_t token);
/* Sets the event that is set for each wf_etcd_event; the calling actor takes them. */
void wf_etcd_listen(struct wf_etcd *e, weft_event wake);
/* NULL: there is none. The caller frees it with free() */
struct wf_etcd_event *wf_etcd_take_event(struct wf_etcd *e);
/* Any thread. Returns until when this node surely holds the names under that lease; WEFT_NOW: it does not. */
int64_t wf_etcd_valid_until(const struct wf_etcd *e, int64_t lease);

#endif
