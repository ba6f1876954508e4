/* runtime/os/file.h -- files, as the worker's loop and its end see them.
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

#include "worker.h"

size_t wf_file_bytes(void); /* of a slot of wf_worker.files */
/* What the worker's loop calls for an entry that is `done`. */
void wf_file_done(struct wf_worker *w, uint64_t tag);
/* A worker's last step, after all tasks have ended: returns when no operation is under way in the node. */
void wf_files_drain(struct wf_worker *w);
/* At the end of the worker: closes what is open. */
void wf_files_finish(struct wf_worker *w);

#endif
