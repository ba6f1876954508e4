/* transport/store/readers/store_reader.h -- an actor that answers requests to read: WF_STORE_READ and WF_STORE_LIST,
 * which the store's actor forwards. It waits for the disk on a thread of weft_offload. */
#ifndef WF_STORE_READER_H
#define WF_STORE_READER_H

#include <stddef.h>

#include <weft/message.h>
#include <weft/offload.h>

/* A weft_actor; its argument is the number of a struct wf_store_file, of which it takes a share. */
void wf_store_reader(const void *arg, size_t size);

/* [A, W] Runs `run` on the block `*p`, which it may change. Returns 0; or an error, after which the caller does not
 * own `*p` any more. */
int wf_reader_run(const weft_msg *ask, weft_blocking *run, weft_blocking *drop, void *p);

#endif
