/* actors/lifecycle/end_wait.h -- the end of an actor as one of several sources of a wait. */
#ifndef WF_END_WAIT_H
#define WF_END_WAIT_H

#include "wait.h"

extern const struct wf_wait_kind wf_end_wait_kind; /* weft_on_end */

#endif
