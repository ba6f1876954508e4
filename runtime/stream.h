/* runtime/stream.h -- a connected byte channel and the bytes it holds back.
 *
 * Design notes.
 * (1) Reads go straight into the caller's memory. Only bytes that a call took from the kernel and did not
 *     return are held: what follows a delimiter, a line that is too long, what there was at the deadline. There are
 *     never more of them than the largest `size` asked for, and the memory goes as soon as they are read.
 * (2) Held bytes make the stream readable, but for those of a read_until or read_exact that ended at its
 *     deadline: they count as seen, else an actor that waits for the rest would spin. */
#ifndef WF_STREAM_H
#define WF_STREAM_H

#include "socket.h"

struct wf_stream {
    struct wf_socket socket; /* first: its slot is the slab item's */
    char *held;              /* NULL: none */
    size_t held_from, held_size;
    bool held_seen; /* see note (2) */
    int broken;     /* the error that every later read gives */
};

static inline struct wf_stream *wf_stream_of(struct wf_socket *s)
{
    return WF_CONTAINER(s, struct wf_stream, socket);
}

/* Takes the connected or connecting handle over. WEFT_ENOMEM: closed it. */
int wf_stream_open(struct wf_worker *w, pf_handle h, struct wf_stream **out);
/* The two halves of that: the fields beyond the socket's, and what closes it. */
void wf_stream_begin(struct wf_stream *s);
void wf_stream_finish(struct wf_socket *socket);
size_t wf_listener_bytes(void); /* runtime/listener.c */
/* 1: ready, 0: not, or an error. Between begin and end. */
int wf_stream_look(struct wf_stream *s, bool for_write);

#endif
