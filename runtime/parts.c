/* runtime/parts.c -- see parts.h. A new part is a line here. What stands first begins first and ends last. */
#include "parts.h"

#include "datagram.h"
#include "event.h"
#include "fd.h"
#include "file.h"
#include "listener.h"
#include "offload.h"
#include "process.h"
#include "stream.h"
#include "timer.h"
#include "wait.h"

const struct wf_part *const wf_runtime_parts[] = {&wf_wait_part,
                                                  &wf_fd_part,
                                                  &wf_event_part,
                                                  &wf_timer_part,
                                                  &wf_offload_part,
                                                  &wf_stream_part,
                                                  &wf_listener_part,
                                                  &wf_udp_part,
                                                  &wf_file_part,
                                                  &wf_process_part,
                                                  NULL};
