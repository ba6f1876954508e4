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

/* Tries it at once, in the caller's memory. Returns the number of bytes, PF_BLOCKING, or an error. */
int64_t wf_file_try(struct wf_worker *w, struct wf_open_file *f, void *data, size_t size, int64_t offset, bool write);

/* One read or write with memory of its own. */
struct wf_file_operation;
/* `data`: the bytes to write, which are copied; NULL: it reads. The operation holds the file. Returns NULL if there
 * is no memory. */
struct wf_file_operation *wf_file_operation_make(struct wf_open_file *f, const void *data, size_t size,
                                                 int64_t offset, bool write);

/* The task's record of an operation. The task owns it, so the operation is given up when the task ends. */
struct wf_file_wait;
/* Starts the operation and takes it over, also on failure. `tried`: what can be done at once was done already.
 * WEFT_EFULL, WEFT_ENOMEM, WEFT_ECANCELED. */
int wf_file_begin(struct wf_task *t, struct wf_file_operation *op, bool tried, int64_t deadline,
                  struct wf_file_wait **out);
weft_event wf_file_event(const struct wf_file_wait *wait);
/* WEFT_OK: it is done. An error does not change the operation. */
int wf_file_await(struct wf_file_wait *wait, int64_t deadline);
/* Ends an operation that is done: copies the bytes that were read (`buffer` has space for all of them), frees the
 * operation and returns its result. */
int64_t wf_file_end(struct wf_file_wait *wait, void *buffer);
void wf_file_give_up(struct wf_file_wait *wait);

/* Called by the worker's part when an overlapped operation is done. */
void wf_file_done(struct wf_worker *w, uint64_t tag);
/* The last step of a worker, after all tasks have ended: returns when no operation is under way in the node. */
void wf_files_drain(struct wf_worker *w);

#endif
