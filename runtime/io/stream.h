/* runtime/io/stream.h -- a connected byte channel and the bytes it holds back.
 *
 * Design notes.
 * (1) Reads go straight into the caller's memory. Only bytes that a call took from the kernel and did not return are
 *     held: bytes after a delimiter, a line that is too long, bytes that had come at the deadline. They are never
 *     more than the largest `size` asked for, and their memory is freed as soon as they are read.
 * (2) Held bytes make the stream readable, except those of a read_until or read_exact that ended at its deadline:
 *     they count as seen, as otherwise an actor that waits for the rest would spin.
 * (3) A read that gives less than asked for has emptied the handle, so the next one waits for an edge without a
 *     system call. This does not hold where the kernel returns `pieces`: records of changes, lines of a terminal,
 *     and, on a Unix socket, the bytes before and behind a descriptor. No edge reports the rest that such a read has
 *     left. */
#ifndef WF_STREAM_H
#define WF_STREAM_H

#include "socket.h"

struct wf_stream;

/* The layer between a stream and its socket once it is secured (transport/security/stream_tls.c); see weft/tls.h.
 * None of these waits. They are called between begin and end of either direction, and by `finish` at the end. A layer
 * calls pf_read and pf_write itself, and tells the socket: wf_socket_stuck, wf_socket_moved. */
struct wf_layer {
    const struct wf_layer_ops *ops;
};
struct wf_layer_ops {
    int64_t (*read)(struct wf_layer *l, void *out, size_t size); /* 1 to size; 0: the end; PF_AGAIN, an error */
    int (*look)(struct wf_layer *l); /* 1: a read would not say PF_AGAIN; 0, or an error */
    /* Takes 1 to `size` bytes, of which some may be left to flush, or gives an error. */
    int64_t (*write)(struct wf_layer *l, const void *data, size_t size);
    int (*flush)(struct wf_layer *l);   /* 0: all is on its way; PF_AGAIN; an error */
    int (*end)(struct wf_layer *l);     /* the end of what is written, to be flushed */
    void (*finish)(struct wf_layer *l); /* says so if it can, frees itself */
};

struct wf_stream {
    alignas(WF_CACHE_LINE) struct wf_socket socket; /* first: its slot is the slab item's */
    /* The rest of the line that each call touches: see socket.h, note (5). */
    struct wf_layer *layer; /* NULL: plain */
    char *held;             /* NULL: none */
    int broken;             /* the error that every later read gives */
    bool held_seen;         /* see note (2) */
    bool pieces;            /* see note (3); false unless set after wf_stream_open or wf_stream_begin */

    size_t held_from, held_size;
};
_Static_assert(offsetof(struct wf_stream, held_from) == (size_t)2 * WF_CACHE_LINE, "the others are in one line");

static inline struct wf_stream *wf_stream_of(struct wf_socket *s)
{
    return WF_CONTAINER(s, struct wf_stream, socket);
}

/* Takes the connected or connecting handle over. WEFT_ENOMEM: closed it. */
int wf_stream_open(struct wf_worker *w, pf_handle h, struct wf_stream **out);
/* The two halves of that: the fields beyond the socket's, and what closes it. */
void wf_stream_begin(struct wf_stream *s);
void wf_stream_finish(struct wf_socket *socket);
/* Puts bytes that were read back before those to come. WEFT_ENOMEM: the stream is broken from then on. */
int wf_stream_unread(uint64_t stream, const void *data, size_t size);
/* Between begin and end of writing: waits until the layer has nothing left to flush. */
int wf_stream_flush(struct wf_stream *s, struct wf_task *t, int64_t deadline);

extern const struct wf_part wf_stream_part;

#endif
