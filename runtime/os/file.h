/* runtime/os/file.h -- open files (weft/file.h): their slots, and operations that are done at once or have to block.
 *
 * Design notes.
 * (1) An open file is a block of its own with references from its slot and from each operation under way; dropping
 *     the last reference closes the handle. So closing a file never closes the descriptor of a running operation, and
 *     a thread that returns after the node's end still finds its memory.
 * (2) The slot lies in a slab of the worker that opened the file. `state` has the generation of the file (0: closed)
 *     and the number of calls inside, as a socket's state has; but a file has no owner: any number of workers may be
 *     inside.
 * (3) A read or write is tried in the caller's own memory first. If it would block, it becomes an operation: a block
 *     with the bytes, which has one owner at a time. While it is under way its owner is the platform (overlapped) or
 *     a job of `offload`; then its task, which takes or drops the result.
 * (4) An overlapped operation may complete on another worker than that of its task, because the file belongs to the
 *     poller that used it first. Task and completion meet in `state`: the second one gets the block. The event is set
 *     after that; its generation shows whether it is stale.
 * (5) A node ends its pollers only after the last overlapped operation is done: see wf_files_drain. */
#ifndef WF_FILE_H
#define WF_FILE_H

#include "part.h"

extern const struct wf_part wf_file_part;

#endif
