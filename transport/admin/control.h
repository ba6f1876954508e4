/* transport/admin/control.h -- what the command line asks of a running node, and how it gets there.
 *
 * Each node has an actor named "$node". A request is a weft_call to "$node@NAME" with one of the tags of requests.h;
 * the answer has the same tag and a msgpack body. An unknown verb, or a body that cannot be read, is answered with
 * tag WF_CONTROL_ERROR and the text of the error.
 *
 * docs/wire.md ("Control requests") says what each verb takes and answers. */
#ifndef WF_CONTROL_H
#define WF_CONTROL_H

#include "requests.h"

#include <weft/node.h>
#include <weft/pack.h>
#include <weft/reload.h>

/* `what`: WF_NOTIFY_FATAL: this node cannot be part of the cluster (its name is taken), or is to end in a minority;
 * `why` says so. WF_NOTIFY_STOP: somebody asks the node to stop; `why` is the number of milliseconds for draining, in
 * text. Runs on a worker: must not block, nor stop the node itself. */
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
weft_actor wf_control_main; /* $node; arg: struct wf_transport * */

/* ---- answer.c -------------------------------------------------------------------------------------------------- */
/* Answers with what `put` makes of `data`; tables may grow between measuring and writing: then once more. NULL, or
 * the text of an error. */
const char *wf_control_answer(const weft_msg *ask,
                              void (*put)(weft_writer *w, const struct wf_transport *t, const void *data),
                              const struct wf_transport *t, const void *data);
static inline void wf_put_text(weft_writer *w, const char *text)
{
    weft_put_str(w, weft_cstr(text));
}
/* "0.17.1@..."; nobody is "". */
void wf_put_pid(weft_writer *w, weft_pid pid);
/* What was dropped, as INFO and DROPS say it: [reason, count]. */
void wf_put_drops(weft_writer *w, const struct wf_transport *t);
/* Who takes long has an actor of its own, which gets `ask` as its first message, and answers it: `*handed`. */
WEFT_CHECKED const char *wf_hand_to(weft_actor *body, const char *kind, const void *arg, size_t size, weft_msg *ask,
                                    bool *handed);
/* [A] Who that is: a pid, "0.17.1@NODE" or, of this node, "0.17.1", or a registered name. False: nobody. */
bool wf_read_actor(weft_text who, weft_pid *out);

/* ---- relay.c, for $node: NULL, or the text of an error --------------------------------------------------------- */
const char *wf_relay_subscribe(const weft_msg *ask);
/* Answers, or hands one that waits to another actor. */
const char *wf_relay_publish(weft_msg *ask, bool *handed);
/* reload.c */
const char *wf_reload_begin(wf_load_module *load, weft_msg *ask, bool *handed);
/* [A, W] Sends `m` and waits for room as long as the tool is there. Consumes. False: the tool is gone, or the calling
 * actor was asked to stop. */
WEFT_CHECKED bool wf_tool_send(weft_pid tool, weft_msg *m);
/* [A] The calling actor will be stopped when the tool is gone, or lets the request HOLD go that it gets now. */
WEFT_CHECKED int wf_guard_begin(weft_pid tool);

/* ---- certs.c --------------------------------------------------------------------------------------------------- */
/* The certificate of this node, or of `tls_as`, in the folder of the options; the log says what is wrong. */
int wf_certs_load(struct wf_transport *t, const weft_node_options *o);
/* Whether the node was started with certificates. Any thread. */
bool wf_certs_are_there(const weft_node *node);
const char *wf_certs_begin(struct wf_transport *t, weft_msg *ask, bool *handed);

/* ---- control.c, control_look.c and trace.c, for $node ---------------------------------------------------------- */
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

#endif
