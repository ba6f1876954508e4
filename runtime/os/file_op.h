/* runtime/os/file_op.h -- open files, and reads and writes under way: on a thread that may block, or overlapped. The
 * rules are in file.h. */
#ifndef WF_FILE_OP_H
#define WF_FILE_OP_H

#include "offload.h"

#include <weft/file.h>

struct wf_open_file {
    _Atomic uint32_t holders;
    pf_handle handle;
    bool appends;
};
void wf_open_file_hold(struct wf_open_file *f);
void wf_open_file_let_go(struct wf_open_file *f); /* any thread, also after the node's end */

/* Tries at once, in the caller's memory. 0..size, PF_BLOCKING, or an error. */
int64_t wf_file_try(struct wf_worker *w, struct wf_open_file *f, void *data, size_t size, int64_t offset, bool write);

/* One read or write with memory of its own. */
struct wf_file_operation;
/* `data`: what is to be written, copied; NULL: it reads. Holds the file. NULL: no memory. */
struct wf_file_operation *wf_file_operation_make(struct wf_open_file *f, const void *data, size_t size,
                                                 int64_t offset, bool write);

/* The task's end of an operation: among what it owns, so that it is given up when the task ends. */
struct wf_file_wait;
/* Starts it and takes it over, also on failure. `tried`: what can be done at once has been. WEFT_EFULL, WEFT_ENOMEM,
 * WEFT_ECANCELED. */
int wf_file_begin(struct wf_task *t, struct wf_file_operation *op, bool tried, int64_t deadline,
                  struct wf_file_wait **out);
weft_event wf_file_event(const struct wf_file_wait *wait);
/* WEFT_OK: it is done. Any error leaves it as it was. */
int wf_file_await(struct wf_file_wait *wait, int64_t deadline);
/* Of one that is done: copies what was read (`buffer` has space for all of it) and frees it. Its result. */
int64_t wf_file_end(struct wf_file_wait *wait, void *buffer);
void wf_file_give_up(struct wf_file_wait *wait);

/* For the worker's part. An overlapped operation is done. */
void wf_file_done(struct wf_worker *w, uint64_t tag);
/* A worker's last step, after all tasks have ended: returns when no operation is under way in the node. */
void wf_files_drain(struct wf_worker *w);

#endif
