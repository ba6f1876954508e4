/* transport/cluster/admission.h -- whether the other side of a connection may have the identity of its HELLO. */
#ifndef WF_ADMISSION_H
#define WF_ADMISSION_H

#include <stdbool.h>

struct wf_channel;
struct wf_cluster;

/* Whether the other side may have the identity that its HELLO claims; sets `denied` and `guarded`. False: `why`
 * (WF_REASON_TEXT bytes) is for both sides' logs. */
bool wf_rights_admit(struct wf_cluster *c, struct wf_channel *ch, char *why);
/* Whether the incarnation of its HELLO belongs to the other side, or to nobody yet. That may change during the
 * handshake. False: `why`, as above. */
bool wf_rights_own(struct wf_cluster *c, const struct wf_channel *ch, char *why);

#endif
