/* runtime/io/listener.h -- listeners, which accept streams (weft/stream.h). */
#ifndef WF_LISTENER_H
#define WF_LISTENER_H

#include "stream.h"

extern const struct wf_part wf_listener_part;

#endif
