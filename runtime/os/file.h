/* runtime/os/file.h -- open files (weft/file.h): their slots, what is done at once, what has to block.
 *
 * Design notes.
 * (1) An open file is a block of its own that its slot and each operation under way hold; the last to let go closes
 *     the handle. So closing a file never pulls a descriptor away from under an operation, and a thread that comes
 *     back after the node's end finds all it touches.
 * (2) The slot lies in a slab of the worker that opened the file. `state` holds the life's generation (0: closed) and
 *     how many calls are inside, as a socket's does; but a file has no owner: any number of workers may be inside.
 * (3) A read or write is tried in the caller's own memory first. If it would block, it becomes an operation: a block
 *     with the bytes, in one hand at a time. The platform has it while it is under way (overlapped), or a job of
 *     `offload` has; then its task, which takes or drops it.
 * (4) An overlapped operation may be done on another worker than that of its task: the file belongs to the poller it
 *     was first used with. Task and completion meet in `state`: the second to come has the block. The event is set
 *     after that; a stale one is known by its generation.
 * (5) A node does not end its pollers before the last overlapped operation is done, see wf_files_drain. */
#ifndef WF_FILE_H
#define WF_FILE_H

#include "part.h"

extern const struct wf_part wf_file_part;

#endif
