/* transport/cluster/admission.h -- whether the other side of a connection may be who its HELLO says. */
#ifndef WF_ADMISSION_H
#define WF_ADMISSION_H

#include <stdbool.h>

struct wf_channel;
struct wf_cluster;

/* Whether the link may be who its HELLO says. False: `why` (WF_REASON_TEXT bytes) is for both sides' logs. Without
 * TLS it may do everything, as all that get here are of this machine; but over ws:// nobody controls the node. */
bool wf_rights_admit(struct wf_cluster *c, struct wf_channel *ch, char *why);

#endif
