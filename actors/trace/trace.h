/* actors/trace/trace.h -- trace ids: which messages get one, how actors pass it on, and the taps by which tools see
 * such messages (`weft trace`).
 *
 * Design notes.
 * (1) A message that carries an id has a counted body with `traced` set, and the id in front of its bytes; no other
 *     message has room for one, or costs anything for it. What leaves an actor gets an id here (wf_trace_out,
 *     wf_trace_publish) if the actor handles a message that has one, or if a tap wants to see it.
 * (2) An actor that has taken such a message is `traced` until it takes another message: the id is a keyed block of
 *     its own. Neither sends nor receives of the quick ways: while there is such an actor on a worker, or a tap on
 *     the node, the worker is `tracing`, and all its sends go the way of those that are recorded.
 * (3) A tap belongs to one tool. Whoever sends, receives or drops a message with an id puts a copy of it into all
 *     taps, under their lock: bounded, what finds no place is counted. Whether it is one that the tool has asked for
 *     is noted with it: what follows from it elsewhere has only the id in common with it.
 * (4) Ids that a tap has begun end when nobody looks: a node without taps does not carry them on.
 * (5) weft's own actors are not traced, but for what they publish: a tool's messages would be its own news. */
#ifndef WF_TRACE_H
#define WF_TRACE_H

#include "actor.h"

#include <weft/event.h>
#include <weft/topic.h>
#include <weft/trace.h>

enum { WF_TRACE_BY_TOOL = 1 }; /* it was begun for somebody who looks */

enum wf_passing { WF_PASSED_SENT = 1, WF_PASSED_RECEIVED = 2, WF_PASSED_DROPPED = 3, WF_PASSED_FAILED = 4 };
enum { WF_PASSED_BYTES = 4096 /* of a body */, WF_TAP_BYTES = 4 << 20 /* that wait in a tap */ };

/* A message that has passed, as a tap has it. */
struct wf_passed {
    struct wf_passed *next;
    int64_t at; /* ns on the wall clock */
    weft_pid actor, other;
    struct wf_trace trace;
    enum wf_passing what;
    int why; /* it was dropped: wf_drop; its sending failed: WEFT_E* */
    uint32_t tag, size;
    uint32_t name_size, kept; /* of `data`: the topic, group or name it was sent to, then the body, perhaps cut */
    bool wanted;              /* the tool has asked for it */
    char data[];
};

/* What a tool wants to see: all that is filled in here has to fit. */
struct wf_tap {
    struct wf_list_node on_node;  /* weft_node.taps */
    weft_pid actor;               /* sends or gets it; nobody: any */
    char topic[WF_TOPIC_MAX + 1]; /* a pattern; "": any */
    uint32_t tag;
    bool has_tag;
    weft_event filled; /* the tool's: set when the tap is no longer empty */
    /* Under the node's taps_lock. */
    struct wf_passed *first, *last;
    size_t bytes;
    uint64_t missed;
};

/* [A, W] From now on; the worker of each actor has heard of it. WEFT_ENOMEM, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
int wf_tap_open(weft_node *node, struct wf_tap *tap);
/* On a worker. What it still has is freed. */
void wf_tap_close(weft_node *node, struct wf_tap *tap);
/* Any thread: what has come since, oldest first, each to be freed; NULL: nothing. `*missed`: how many have not. */
struct wf_passed *wf_tap_take(weft_node *node, struct wf_tap *tap, uint64_t *missed);

/* Those that follow are called where the worker is `tracing`, or the message traced. */

/* `self` (NULL: nobody) is about to send `m` to an actor, or to a name on another node: gives it an id if it should
 * have one. Returns it, or the envelope that has taken its place. */
weft_msg *wf_trace_out(struct wf_worker *w, struct wf_actor *self, weft_pid to, const char *name, weft_msg *m);
/* `self` is traced: the same as wf_trace_out, of what is sent some time. */
weft_msg *wf_trace_carry(struct wf_actor *self, weft_msg *m);
/* What it publishes, or sends to a group of that name. NULL: it is to have no id. */
struct wf_body *wf_trace_publish(struct wf_actor *self, weft_text name, bool topic, uint32_t tag, const void *data,
                                 size_t size);
/* An answer has come to `a`: what it does next is not of the answer's id. */
void wf_trace_arrived(struct wf_actor *a, const weft_msg *m);
/* A publication, or a message for a group, has come from another node without an id. Any thread. Whether it is to
 * have `*out`. */
bool wf_trace_in_for_all(weft_node *node, weft_pid from, uint32_t tag, weft_text topic, struct wf_trace *out);

/* Of a worker. */
enum { WF_TRACING_SLOT = 9 };
struct wf_worker_tracing {
    uint32_t traced;           /* actors that are */
    struct wf_call tap_closed; /* posted when a tap is closed, if it was not on its way: */
    _Atomic bool tap_closing;
};
static inline struct wf_worker_tracing *wf_tracing_of(const struct wf_actors *wa)
{
    return wa->slots[WF_TRACING_SLOT];
}

#endif
