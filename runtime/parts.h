/* runtime/parts.h -- all rooms of the runtime together: what wf_workers.parts is for a node. */
#ifndef WF_PARTS_H
#define WF_PARTS_H

#include "part.h"

extern const struct wf_part *const wf_runtime_parts[];

#endif
