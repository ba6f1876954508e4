/* transport/admin/control.h -- requests of the command line to a running node, and how they are sent.
 *
 * Each node has an actor named "$node". A request is a weft_call to "$node@NAME" with one of the tags of requests.h;
 * the answer has the same tag and a msgpack body. An unknown verb, or a body that cannot be read, is answered with
 * tag WF_CONTROL_ERROR and the text of the error.
 *
 * docs/wire.md ("Control requests") describes the arguments and answers of each verb. */
#ifndef WF_CONTROL_H
#define WF_CONTROL_H

#include "requests.h"

#include <weft/node.h>
#include <weft/pack.h>
#include <weft/reload.h>

/* `what`: WF_NOTIFY_FATAL: this node cannot be part of the cluster (its name is taken), or is to end in a minority;
 * `why` is the reason. WF_NOTIFY_STOP: a tool asks the node to stop; `why` is the number of milliseconds for draining,
 * as text. Runs on a worker: must not block, nor stop the node itself. */
WEFT_API void wf_transport_watch(weft_node *node, void (*notify)(void *arg, int what, const char *why), void *arg);
/* Loads a module beside those there are, even if it has the path of one of them, and finds its migrate hook.
 * WEFT_OK, or a negative code and `why`, and nothing is loaded. May block; on a thread of its own. */
typedef int wf_load_module(const char *path, weft_migrate **hook, char *why, size_t why_size);
/* Sets the function that RELOAD uses; NULL, the default: this node cannot reload. */
WEFT_API void wf_transport_set_loader(weft_node *node, wf_load_module *load);
/* [not on a worker] Waits until the node is linked with another one; `*peer` and `name` (65 bytes; may be NULL) get
 * whom. WEFT_ETIMEDOUT; WEFT_ENONODE if every seed has been dialled in vain, then `why` (may be NULL) gets the last
 * reason. */
WEFT_API int wf_client_wait_up(weft_node *node, uint64_t *peer, char *name, int64_t deadline, char *why,
                               size_t why_size);
/* Why the link of a client has ended, as a text; "" while it is not known. Any thread. */
WEFT_API void wf_client_lost(weft_node *node, char *why, size_t why_size);

struct wf_transport;
weft_actor wf_control_main; /* $node; arg: struct wf_transport * */

#endif
