/* transport/link/rights.h -- which frames a node accepts from the other side of a link. identity.h has the roles;
 * cluster/admission.c finds at the handshake which of their rights a link lacks. */
#ifndef WF_RIGHTS_H
#define WF_RIGHTS_H

#include <stdbool.h>

struct wf_channel;
struct wf_frame;

/* Whether a frame of a `guarded` link (it lacks a right, or its spawns are limited) is accepted. False: it has been
 * refused, and counted unless it is a probe. */
bool wf_rights_allow(struct wf_channel *ch, const struct wf_frame *f);
/* Counts the frame, logs the first one of a link, and answers with the error if the frame asks for an answer. */
void wf_rights_refuse(struct wf_channel *ch, const struct wf_frame *f, int error);

#endif
