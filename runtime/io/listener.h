/* runtime/io/listener.h -- listeners: what accepts streams (weft/stream.h). */
#ifndef WF_LISTENER_H
#define WF_LISTENER_H

#include "stream.h"

extern const struct wf_part wf_listener_part;

#endif
