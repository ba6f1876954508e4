/* transport/link/rights.h -- which frames of the other side of a link are heard. identity.h has the roles;
 * cluster/admission.c finds at the handshake which of their rights a link lacks. */
#ifndef WF_RIGHTS_H
#define WF_RIGHTS_H

#include <stdbool.h>

struct wf_channel;
struct wf_frame;

/* Whether a frame is heard, of a link that is `guarded`: it lacks a right, or its spawns are limited. If not it
 * has been answered, counted, and said once. */
bool wf_rights_allow(struct wf_channel *ch, const struct wf_frame *f);
/* Counts the frame and gives the error as its answer, if there is one to such a frame. */
void wf_rights_refuse(struct wf_channel *ch, const struct wf_frame *f, int error);

#endif
