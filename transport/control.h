/* transport/control.h -- what the command line asks of a running node, and how it gets there.
 *
 * Each node has an actor named "$node". A request is a weft_call to "$node@NAME" with one of the tags below; the
 * answer has the same tag and a msgpack body. An unknown verb, or a body that cannot be read, is answered with tag
 * WF_CONTROL_ERROR and the text of the error.
 *
 *   PS         Body empty. Answer: array of arrays [pid text, kind, name, state, waits for, mailbox, mailbox max,
 *              received, dropped, most bytes of stack its kind was seen to use, messages that it has received or
 *              made and not freed or sent, their bytes, about, bytes in its mailbox, bytes of its stack, bytes that
 *              the runtime keeps on the heap for it].
 *   NODES      Body empty. Answer: array of arrays [name, incarnation, state, reason, [urls], rtt ns, bytes in, bytes
 *              out, frames in, frames out, frames lost, seconds in this state, ns slowed by limits, frames
 *              refused, resumes, not acknowledged, {metadata}]; first the node itself, state "self".
 *   INFO       Body empty. Answer: array [name, incarnation, cluster, workers, actors, [urls], [[drop reason, count],
 *              ...]].
 *   NAMES      Body empty. Answer: array of arrays [name, pid text, node, global, holds]: all registered names that
 *              the node knows; of a global name that two nodes have, one holds.
 *   GROUPS     Body empty. Answer: array of arrays [group, pid text of a member, node].
 *   PAGE       Body: array [PS, NAMES or GROUPS, where it begins (a bin: empty, or as the page before said), how
 *              many rows at most, only actors of this kind or "", only names or groups that begin so or ""].
 *              Answer: array [where the next page begins, or an empty bin: this was the last one, array of rows].
 *              Rows are those of that verb. A page may have no rows and not be the last one: the node looks at some
 *              thousand places at a time. What is there all the time is on one page; members of one group may be on
 *              many, between those of others. The verbs themselves answer with all rows, if they have less
 *              than 8 MiB, or an error that says so.
 *   RECORD     Body empty. Answer: array of arrays [ns, worker, number, kind, pid text, other's pid text or "",
 *              value, what, what messages with that tag are called or ""]: weft_record_read, the last 100,000 events,
 *              the time as it was then on the node's clock. The first one has a tenth value if there
 *              are older events: how many.
 *   INSPECT    Body: a pid's text, with or without its node, or a registered name. Answer: a map of what `weft ps`
 *              says of it ("pid", "kind", "name", "state", "waits_for", "mailbox", "mailbox_max", "received",
 *              "dropped", "stack_most", "held" (messages that it has received or made, and has not freed or sent),
 *              "held_bytes" (of those, about), "mailbox_bytes", "stack_bytes", "heap_bytes"), "mail_p50_ns",
 *              "mail_p99_ns" (what half of the messages and 99 of 100 to actors of its kind on its worker lie in a
 *              mailbox for, since the start; missing: none was timed),
 *              "waits_ns": how long its call has waited, and arrays of pid texts: "asks" (whose answer it waits for),
 *              "links", "monitors" (whom it watches), "watchers", of each 32, and if there are others "links_more"
 *              and so on: how many; "callers": where its code goes on and where its callers do, the innermost first,
 *              an array of arrays [file, offset as addr2line takes it, function or "", offset in it]; empty where
 *              there is no stack or it is not known.
 *   WAITS      Body empty. Answer: array of arrays [pid text, pid text of whom it waits for, ns]: 256 calls of each
 *              worker. The first one has a fourth value: how many others there are.
 *   DROPS      Body empty. Answer: array [[[reason, count], ...], [[ns ago, reason, pid text of the receiver or "",
 *              pid text of the sender or "", tag, the receiver's kind or "", its registered name if it had ended or
 *              was ending, else "", what messages with that tag are called or ""], ...]]: the last ones of each
 *              worker, the youngest first.
 *   TRACE      Body: array [tag or nil, text of a pid or "", pattern of topics or "", whether the other nodes, too].
 *              Answer: nil. Then the asker gets from each node a message TRACE, array [node, incarnation], when all
 *              is seen that passes there, a request HOLD, as above, and messages TRACED: array [node, incarnation,
 *              how many were missed, rows ...]. A row is an array [ns on the wall clock, 1: sent, 2: received, 3:
 *              dropped, 4: not sent, pid text of who did it, pid text of the other or "", tag, trace id in 32 hex
 *              digits, whether it was asked for, topic, group or name that it was sent to, why it was dropped or not
 *              sent, bytes of the body, nil]. Rows that were not asked for are of any message that has a trace id. Of
 *              TRACE_BODIES the same, and in the place of nil the body, at most 4096 bytes of it.
 *   TOP        Body: array [what actors are chosen by: "mailbox", "received" or "dropped", how many at most, a part
 *              of their kind, name or pid or "", whether the other nodes are to be asked, too, whether the stack of
 *              each actor is looked at (may be missing: no)]. Answer: array of
 *              maps, the node's own first. Counters are since its start. "node", "incarnation" (16 hex digits),
 *              "cluster", "state" ("up", "draining", "minority"), "at_ns" (its clock), "resident_bytes" (0: unknown),
 *              "processor_ns", "actor_count", "actors_matched", "drops": a map of counts by reason; "workers": maps
 *              of "answers" (false: it did not within two seconds, and the rest is 0), "answered_ns" (after how long:
 *              what a message may have to wait for its actor's turn), "turns", "sleeps", "posts", "timers_fired",
 *              "parked", "runnable", "received" (messages), "mailbox_bytes", and also of one that does not answer
 *              "own" (it runs weft's own actors, no user's), "busy_ns" (that it has run, in all), "longest_ns" (its
 *              longest turn of the last 5 seconds or more, also one that is not over); "stuck": as STUCK; "links":
 *              maps of "peer", "state", "rtt_ns", "bytes_in", "bytes_out", "frames_in", "frames_out", "backlog"
 *              (bytes), "unacked" (frames), "resumes", "refused", "receivers" (actors there that are sent to),
 *              "withheld" (those of them that grant no more credit now), "waiting" (senders here that wait for
 *              credit or for room in the backlog); "kinds": maps of "kind", "actors", "waiting" (messages),
 *              "deepest" (mailbox), "mailbox_bytes", "held", "held_bytes", "stack_bytes" (of more than 256 on a
 *              worker an estimate, unless each was looked at), "heap_bytes", "mail_ns" (how long messages lay in
 *              mailboxes: array of arrays [below so many ns, how many]); "actors": maps of "pid" ... "stack_most",
 *              as INSPECT, in no order. Of a node that has not answered "node" and "error".
 *   WHO        Body: array [whether other nodes are asked for their actors, array of at most 256 texts: of a pid, a
 *              name, or a name@node]. Answer: array of arrays, in no order [the text, the node's name, "(tool)" or
 *              "(gone)", "" or why nothing more is known ("has ended", "its node does not answer"), pid text, kind,
 *              registered name or "", state, what it waits for, ns that its call has waited (0: it is in none),
 *              whether it needs all the answers it waits for, how many these are, whose the first one is: a pid's
 *              text, a name@node, or ""]. An actor of which nothing came in time has no row.
 *   STUCK      Body empty. Answer: array of maps, one for each worker that an actor holds up at the moment, for
 *   longer
 *              than weft_node_options.stuck_after: "worker", "pid" ("": no actor, but a timer or a delivery), "kind",
 *              "name", "ns" (for how long), "where" (functions, the innermost first, with " < " between, or "").
 *              No worker has to answer for that. What PS, WAITS, DROPS and TOP say leaves those workers out.
 *   STOP       Body: an integer, milliseconds for draining. Answer: nil, and WF_NOTIFY_STOP for whoever watches
 *              (wf_transport_watch).
 *   LOG        Body: words for weft_log_adjust, or "" for no change. Answer: what is set then, as weft_log_words.
 *   DRAIN      Body: a boolean, as for weft_drain. Answer: nil.
 *   CERTS      Body empty. The node loads its certificates anew. Answer: array [serial in hex digits, last day].
 *   RELOAD     Body: the path of a module, where the node is. Answer: array of arrays [pid text, kind, name, whether
 *              it goes on with the new code, why not], of the actors that have called weft_trap_reload.
 *   PUBLISH    Body: array [topic, tag, body]. The node publishes it, to its own actors and to the other nodes.
 *              Answer: what weft_publish said. Or array [topic, tag, body, ms]: as weft_publish_reach, which waits
 *              for so many milliseconds at most. Answer: array [nodes, subscribers, silent].
 *   SUBSCRIBE  Body: pattern. Answer: nil. Then the asker gets a message SUBSCRIBE when the subscription holds, a
 *              request HOLD, which it keeps as long as it wants more, and for each message published anywhere in the
 *              cluster one NEWS: array [topic, tag, pid text of the publisher, body]. If the asker is slow, the node
 *              keeps messages for it as for any subscriber; if some of them do not fit, the asker gets MISSED, an
 *              integer: how many were lost since the last time it was told. */
#ifndef WF_CONTROL_H
#define WF_CONTROL_H

#include <weft/node.h>
#include <weft/pack.h>
#include <weft/reload.h>

enum {
    WF_CONTROL_ERROR = 0,
    WF_CONTROL_PS = 1,
    WF_CONTROL_NODES = 2,
    WF_CONTROL_INFO = 3,
    WF_CONTROL_STOP = 4,
    WF_CONTROL_PUBLISH = 5,
    WF_CONTROL_SUBSCRIBE = 6,
    WF_CONTROL_HOLD = 7,
    WF_CONTROL_NEWS = 8,
    WF_CONTROL_NAMES = 9,
    WF_CONTROL_GROUPS = 10,
    WF_CONTROL_RECORD = 11,
    WF_CONTROL_INSPECT = 12,
    WF_CONTROL_WAITS = 13,
    WF_CONTROL_DROPS = 14,
    WF_CONTROL_TRACE = 15,
    WF_CONTROL_TRACED = 16,
    WF_CONTROL_RELOAD = 17,
    WF_CONTROL_TOP = 18,
    WF_CONTROL_TRACE_BODIES = 19,
    WF_CONTROL_LOG = 20,
    WF_CONTROL_CERTS = 21,
    WF_CONTROL_DRAIN = 22,
    WF_CONTROL_MISSED = 23,
    WF_CONTROL_PAGE = 24,
    WF_CONTROL_STUCK = 25,
    WF_CONTROL_WHO = 26,
};

/* `what`: WF_NOTIFY_FATAL: this node cannot be part of the cluster (its name is taken), or is to end in a minority;
 * `why` says so. WF_NOTIFY_STOP: somebody asks the node to stop; `why` is the number of milliseconds for draining, in
 * text. Runs on a worker: must not block, nor stop the node itself. */
enum { WF_NOTIFY_FATAL = 1, WF_NOTIFY_STOP = 2 };

/* Reasons of BYE, which watchers hear with NODE_DOWN: all its actors had ended, or some had to be killed. What any
 * other reason says is taken for the first. */
#define WF_LEFT "left"
#define WF_LEFT_UNDRAINED "left, not drained"
WEFT_API void wf_transport_watch(weft_node *node, void (*notify)(void *arg, int what, const char *why), void *arg);
/* Loads a module beside those there are, even if it has the path of one of them, and finds its migrate hook.
 * WEFT_OK, or a negative code and `why`, and nothing is loaded. May block; on a thread of its own. */
typedef int wf_load_module(const char *path, weft_migrate **hook, char *why, size_t why_size);
/* What RELOAD loads with; NULL, as at first: this node cannot. */
WEFT_API void wf_transport_set_loader(weft_node *node, wf_load_module *load);
/* 1 and the reason if the node cannot be part of the cluster; else 0. Any thread. */
WEFT_API int wf_transport_fatal(weft_node *node, char *why, size_t size);
/* [not on a worker] Waits until the node is linked with another one; `*peer` and `name` (65 bytes; may be NULL) get
 * whom. WEFT_ETIMEDOUT; WEFT_ENONODE if every seed has been dialled in vain, then `why` (may be NULL) gets the last
 * reason. */
WEFT_API int wf_client_wait_up(weft_node *node, uint64_t *peer, char *name, int64_t deadline, char *why,
                               size_t why_size);

struct wf_transport;
/* ---- relay.c, for $node: NULL, or the text of an error --------------------------------------------------------- */
/* Who takes long has an actor of its own, which gets `ask` as its first message, and answers it: `*handed`. */
WEFT_CHECKED const char *wf_hand_to(weft_actor *body, const char *kind, const void *arg, size_t size, weft_msg *ask,
                                    bool *handed);
const char *wf_relay_subscribe(const weft_msg *ask);
/* Answers, or hands one that waits to another actor. */
const char *wf_relay_publish(weft_msg *ask, bool *handed);
/* certs.c */
const char *wf_certs_begin(struct wf_transport *t, weft_msg *ask, bool *handed);
/* reload.c */
const char *wf_reload_begin(wf_load_module *load, weft_msg *ask, bool *handed);
/* [A, W] Sends `m` and waits for room as long as the tool is there. Consumes. False: the tool is gone, or the calling
 * actor was asked to stop. */
WEFT_CHECKED bool wf_tool_send(weft_pid tool, weft_msg *m);
/* [A] The calling actor will be stopped when the tool is gone, or lets the request HOLD go that it gets now. */
WEFT_CHECKED int wf_guard_begin(weft_pid tool);

/* ---- control.c, control_look.c and trace.c, for $node ---------------------------------------------------------- */
/* Answers with what `put` makes of `data`; tables may grow between measuring and writing: then once more. NULL, or
 * the text of an error. */
const char *wf_control_answer(const weft_msg *ask,
                              void (*put)(weft_writer *w, const struct wf_transport *t, const void *data),
                              const struct wf_transport *t, const void *data);
/* "0.17.1@..."; nobody is "". */
void wf_put_pid(weft_writer *w, weft_pid pid);
/* What was dropped, as INFO and DROPS say it: [reason, count]. */
void wf_put_drops(weft_writer *w, const struct wf_transport *t);
/* control_list.c: PAGE; PS, NAMES and GROUPS, all of it. NULL, or the text of an error. */
const char *wf_list_page(const struct wf_transport *t, const weft_msg *ask);
const char *wf_list_all(const struct wf_transport *t, const weft_msg *ask);
/* control_top.c: TOP. */
const char *wf_top_begin(struct wf_transport *t, weft_msg *ask, bool *handed);
/* control_who.c: WHO. */
const char *wf_who_begin(struct wf_transport *t, weft_msg *ask, bool *handed);
/* Answers INSPECT, WAITS, DROPS. NULL, or the text of an error. */
const char *wf_control_look(const struct wf_transport *t, const weft_msg *ask);
/* NULL, or the text of an error. */
const char *wf_trace_begin(const weft_msg *ask);
/* [A] Who that is: a pid, "0.17.1@NODE" or, of this node, "0.17.1", or a registered name. False: nobody. */
bool wf_read_actor(weft_text who, weft_pid *out);

#endif
