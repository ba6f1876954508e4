/* transport/store/engine/shared_record.h -- what a job of a shared cursor has as its body: a record of a topic, or
 * that records are missing. It is on disk, so the bytes do not change. */
#ifndef WF_STORE_SHARED_RECORD_H
#define WF_STORE_SHARED_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/api.h>

/* The queue, and the cursors, of the shared cursor `billing` are called "$shared.billing". */
#define WF_SHARED_PREFIX "$shared."
enum {
    WF_SHARED_PREFIX_SIZE = sizeof WF_SHARED_PREFIX - 1,
    WF_SHARED_HEAD_MAX = 320, /* bytes of the body in front of those of the record */
};

/* The numbers are those of weft_stored_kind. */
enum wf_shared_kind { WF_SHARED_RECORD = 0, WF_SHARED_GAP = 1, WF_SHARED_EPOCH = 2 };

struct wf_shared_record {
    enum wf_shared_kind kind;
    const char *topic;
    size_t topic_size;
    uint64_t epoch, offset;
    uint64_t missing; /* of a gap */
    int64_t time;
    uint32_t tag;
    const void *data;
    size_t size;
};

WEFT_API bool wf_shared_is(const char *name); /* whether this is the name of the queue of a shared cursor */
size_t wf_shared_size(const struct wf_shared_record *r);
void wf_shared_put(const struct wf_shared_record *r, void *out); /* writes as many bytes */
/* Reads the bytes, to which `out` then points. False: these are no such bytes. */
WEFT_API bool wf_shared_read(const void *data, size_t size, struct wf_shared_record *out);

#endif
