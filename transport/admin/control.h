/* transport/admin/control.h -- what the command line asks of a running node, and how it gets there.
 *
 * Each node has an actor named "$node". A request is a weft_call to "$node@NAME" with one of the tags below; the
 * answer has the same tag and a msgpack body. An unknown verb, or a body that cannot be read, is answered with tag
 * WF_CONTROL_ERROR and the text of the error.
 *
 * docs/wire.md ("Control requests") says what each verb takes and answers. */
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
