/* transport/link/rights.h -- what the other side of a session may do here: who it may be, and which of its frames are
 * heard. identity.h has the roles. Without TLS a session may do everything, as whoever gets here is of this
 * machine; but over ws:// nobody controls the node. */
#ifndef WF_RIGHTS_H
#define WF_RIGHTS_H

#include "cluster.h"

/* Whether the session may be who its HELLO says. False: `why` (WF_REASON_TEXT bytes) is for both sides' logs. */
bool wf_rights_admit(struct wf_cluster *c, struct wf_channel *ch, char *why);
/* Whether a frame is heard, of a session that is `guarded`: it lacks a right, or its spawns are limited. If not it
 * has been answered, counted, and said once. */
bool wf_rights_allow(struct wf_channel *ch, const struct wf_frame *f);
/* Counts the frame and gives the error as its answer, if there is one to such a frame. */
void wf_rights_refuse(struct wf_channel *ch, const struct wf_frame *f, int error);

#endif
