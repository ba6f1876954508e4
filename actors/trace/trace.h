/* actors/trace/trace.h -- trace ids: which messages get one, how actors pass it on, and the taps by which tools see
 * such messages (`weft trace`).
 *
 * Design notes.
 * (1) A message that carries an id has a counted body with `traced` set, and the id in front of its bytes; other
 *     messages have no space for one and pay nothing for it. A message that leaves an actor gets an id here
 *     (wf_trace_out, wf_trace_publish) if the actor handles a message that has one, or if a tap wants to see it.
 * (2) An actor that has taken such a message is `traced` until it takes another message: the id is a keyed block of
 *     its own. The quick ways to send and receive do not handle ids: while a worker has such an actor, or the node
 *     has a tap, the worker is `tracing`, and all its sends take the slower way of recorded sends.
 * (3) A tap belongs to one tool. Code that sends, receives or drops a message with an id puts a copy of it into all
 *     taps, under their lock. Taps are bounded: a copy that finds no space is counted as missed. Each copy has a mark
 *     if the tool has asked for that message: later messages caused by it only have the same id.
 * (4) An id that was begun for a tap ends at a node without taps: that node does not pass it on.
 * (5) weft's own actors are not traced, except their publications: otherwise a tool would trace its own messages. */
#ifndef WF_TRACE_H
#define WF_TRACE_H

#include "actor.h"

#include <weft/event.h>
#include <weft/topic.h>
#include <weft/trace.h>

enum { WF_TRACE_BY_TOOL = 1 }; /* the id was begun for a tool */

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

/* What a tool wants to see: a message must match all members that are set. */
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

/* [A, W] Opens a tap. When it returns, all workers know of it. WEFT_ENOMEM, WEFT_ETIMEDOUT, WEFT_ECANCELED. */
int wf_tap_open(weft_node *node, struct wf_tap *tap);
/* On a worker. Frees the copies that are still in the tap. */
void wf_tap_close(weft_node *node, struct wf_tap *tap);
/* Any thread: takes all copies, the oldest first; the caller frees each. NULL: none. `*missed`: how many found no
 * space. */
struct wf_passed *wf_tap_take(weft_node *node, struct wf_tap *tap, uint64_t *missed);

/* The next functions are called if the worker is `tracing`, or the message is traced. */

/* `self` (NULL: no actor) is about to send `m` to an actor, or to a name on another node: gives the message an id if
 * it should have one. Returns the message, or a new envelope that replaces it. */
weft_msg *wf_trace_out(struct wf_worker *w, struct wf_actor *self, weft_pid to, const char *name, weft_msg *m);
/* As wf_trace_out, for a message that the traced actor `self` sends later. */
weft_msg *wf_trace_carry(struct wf_actor *self, weft_msg *m);
/* A traced body for a publication, or for a message to a group of that name. NULL: it gets no id. */
struct wf_body *wf_trace_publish(struct wf_actor *self, weft_text name, bool topic, uint32_t tag, const void *data,
                                 size_t size);
/* An answer has come to `a`: the actor does not take over the answer's id. */
void wf_trace_arrived(struct wf_actor *a, const weft_msg *m);
/* A publication, or a message for a group, has come from another node without an id. Any thread. Whether it is to
 * have `*out`. */
bool wf_trace_in_for_all(weft_node *node, weft_pid from, uint32_t tag, weft_text topic, struct wf_trace *out);

/* Of a worker. */
enum { WF_TRACING_SLOT = 9 };
struct wf_worker_tracing {
    uint32_t traced;           /* how many actors are traced */
    struct wf_call tap_closed; /* posted when a tap is closed, if it was not on its way: */
    _Atomic bool tap_closing;
};
static inline struct wf_worker_tracing *wf_tracing_of(const struct wf_actors *wa)
{
    return wa->slots[WF_TRACING_SLOT];
}

#endif
