/* transport/admin/control_certs.h -- the certificates of a node, read at its start and renewed. */
#ifndef WF_CONTROL_CERTS_H
#define WF_CONTROL_CERTS_H

#include <stdbool.h>

#include <weft/message.h>
#include <weft/node.h>

struct wf_transport;

/* The certificate of this node, or of `tls_as`, in the folder of the options; the log says what is wrong. */
int wf_certs_load(struct wf_transport *t, const weft_node_options *o);
/* Whether the node was started with certificates. Any thread. */
bool wf_certs_are_there(const weft_node *node);
const char *wf_certs_begin(struct wf_transport *t, weft_msg *ask, bool *handed);

#endif
