/* runtime/io/stream.c -- see stream.h. */
#include "stream.h"

#include "places.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/stream.h>

static const int64_t LAST_WORD = WEFT_SEC(10); /* how long the end of a TLS stream may take */
static const char TO_READ[] = "stream to read", TO_WRITE[] = "stream to write";
enum { SLICES_MAX = 64, PRINTF_MAX = 64 * 1024, PRINTF_ON_STACK = 512 };

void wf_stream_finish(struct wf_socket *socket)
{
    struct wf_stream *s = wf_stream_of(socket);
    if (s->layer != NULL) s->layer->ops->finish(s->layer);
    s->layer = NULL;
    pf_close(socket->handle);
    free(s->held);
    s->held = NULL;
    if (socket->places != NULL) wf_places_give(socket->places, socket->place);
    socket->places = NULL;
}

void wf_stream_begin(struct wf_stream *s)
{
    s->held = NULL;
    s->held_from = s->held_size = 0;
    s->held_seen = s->pieces = false;
    s->broken = 0;
    s->layer = NULL;
}

int wf_stream_open(struct wf_worker *w, pf_handle h, struct wf_stream **out)
{
    struct wf_socket *socket = wf_socket_open(w, WF_STREAM, h, wf_stream_finish);
    if (socket == NULL) {
        pf_close(h);
        return WEFT_ENOMEM;
    }
    *out = wf_stream_of(socket);
    wf_stream_begin(*out);
    return 0;
}

/* ---- Bytes held back ------------------------------------------------------------------------------------------- */
/* The pointer is in the line that each call touches, and the size is not. */
static inline size_t held_size(const struct wf_stream *s)
{
    return s->held == NULL ? 0 : s->held_size;
}

static size_t take_held(struct wf_stream *s, char *out, size_t size)
{
    size_t n = WF_MIN(size, held_size(s));
    if (n == 0) return 0;
    memcpy(out, s->held + s->held_from, n);
    s->held_from += n;
    s->held_size -= n;
    s->held_seen = false;
    if (s->held_size == 0) {
        free(s->held);
        s->held = NULL;
    }
    return n;
}

/* Puts `size` bytes before the held ones. If there is no memory they are lost, and all later reads report it. */
static int hold(struct wf_stream *s, const char *data, size_t size, bool seen)
{
    if (size == 0) return 0;
    char *held = malloc(size + s->held_size);
    if (held == NULL) return s->broken = WEFT_ENOMEM;
    memcpy(held, data, size);
    if (s->held_size > 0) memcpy(held + size, s->held + s->held_from, s->held_size);
    free(s->held);
    s->held = held;
    s->held_from = 0;
    s->held_size += size;
    s->held_seen = seen;
    return 0;
}

/* WEFT_ETIMEDOUT means here that the kernel has given up a peer that does not answer, not that the deadline of this
 * call has passed. */
static int64_t broken_by(int64_t error)
{
    return error == WEFT_ETIMEDOUT ? WEFT_ERESET : error;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */
/* As `receive`, through a layer. The layer may have bytes when the socket has none, and none when the socket has
 * some. */
static __attribute__((noinline)) int64_t receive_layered(struct wf_stream *s, struct wf_task *t, char *out,
                                                         size_t size, int64_t deadline)
{
    struct wf_socket *k = &s->socket;
    if (deadline == WEFT_NOW) wf_socket_recheck(k, false);
    for (;;) {
        if (wf_socket_closed(k)) return WEFT_ECLOSED;
        int64_t n = s->layer->ops->read(s->layer, out, size);
        if (n < 0 && n != PF_AGAIN) n = s->broken = (int)broken_by(n);
        if (n != PF_AGAIN) return n <= 0 && wf_socket_closed(k) ? WEFT_ECLOSED : n;
        int rc = wf_socket_wait(k, t, false, deadline, TO_READ);
        if (rc < 0) return rc;
    }
}

/* The system call has reported the end (0) or an error. Another worker may close the stream between the check and the
 * system call. Then what the system call reports is due to that close, so the result is WEFT_ECLOSED. */
static __attribute__((noinline)) int64_t ended(struct wf_stream *s, int64_t n)
{
    if (wf_socket_closed(&s->socket)) return WEFT_ECLOSED;
    if (n == 0) n = wf_socket_error(&s->socket);
    if (n == 0) wf_socket_moved(&s->socket, false, false);
    else n = s->broken = (int)broken_by(n);
    return n;
}

/* As `receive`, for a plain stream. */
static inline __attribute__((always_inline)) int64_t receive_plain(struct wf_stream *s, struct wf_task *t, char *out,
                                                                   size_t size, int64_t deadline)
{
    struct wf_socket *k = &s->socket;
    for (;;) {
        if (wf_socket_worth(k, false)) {
            if (WF_UNLIKELY(wf_socket_closed(k))) return WEFT_ECLOSED;
            int64_t n = pf_read(k->handle, out, size);
            if (WF_LIKELY(n > 0)) {
                wf_socket_moved(k, false, (size_t)n < size && !s->pieces);
                return n;
            }
            if (n != PF_AGAIN) return ended(s, n);
            wf_socket_stuck(k, false);
        }
        int rc = wf_socket_wait_inline(k, t, false, deadline, TO_READ);
        if (WF_UNLIKELY(rc < 0)) return rc;
    }
}

/* Reads 1 to `size` bytes from the kernel; returns 0 at the end, or an error. */
static __attribute__((noinline)) int64_t receive(struct wf_stream *s, struct wf_task *t, char *out, size_t size,
                                                 int64_t deadline)
{
    if (s->broken < 0) return s->broken;
    if (s->layer != NULL) return receive_layered(s, t, out, size, deadline);
    if (deadline == WEFT_NOW) wf_socket_recheck(&s->socket, false);
    return receive_plain(s, t, out, size, deadline);
}

/* Begins a call in one direction. */
static inline int begin(weft_stream stream, struct wf_task *t, bool for_write, struct wf_stream **out)
{
    struct wf_socket *socket;
    int rc = wf_socket_begin(t, WF_STREAM, stream.id, for_write, &socket);
    if (WF_UNLIKELY(rc < 0)) return rc;
    *out = wf_stream_of(socket);
    return 0;
}

static int begin_read(weft_stream stream, struct wf_task *t, const void *buffer, size_t size, struct wf_stream **out)
{
    if ((buffer == NULL && size > 0) || size > INT64_MAX) return WEFT_EINVAL;
    return t->cancelled ? WEFT_ECANCELED : begin(stream, t, false, out);
}

/* Each call on a stream ends with it. */
static inline int64_t finish_call(struct wf_task *t, int64_t result)
{
    if (WF_LIKELY(result >= 0)) wf_task_tick(t);
    return WF_LIKELY(result > 0 && !t->killed) ? result : wf_task_finish_wait(result);
}

/* weft_read in all cases. */
static __attribute__((noinline)) int64_t read_any(weft_stream stream, struct wf_task *t, void *buffer, size_t size,
                                                  int64_t deadline)
{
    struct wf_stream *s;
    int64_t n = begin_read(stream, t, buffer, size, &s);
    if (n < 0) return finish_call(t, n);
    if (s->held != NULL) n = (int64_t)take_held(s, buffer, size);
    else if (size > 0) n = receive(s, t, buffer, size, deadline);
    wf_socket_end(&s->socket, false);
    return finish_call(t, n);
}

/* The common case is here: a plain stream that holds nothing back. */
int64_t weft_read(weft_stream stream, void *buffer, size_t size, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    struct wf_stream *s;
    if (WF_UNLIKELY(t == NULL)) return WEFT_ENOTACTOR;
    if (WF_UNLIKELY(buffer == NULL || size - 1 >= INT64_MAX || t->cancelled || deadline == WEFT_NOW))
        return read_any(stream, t, buffer, size, deadline);
    int64_t n = begin(stream, t, false, &s);
    if (WF_UNLIKELY(n < 0)) return finish_call(t, n);
    if (WF_UNLIKELY(s->held != NULL || s->layer != NULL || s->broken < 0)) {
        wf_socket_end(&s->socket, false);
        return read_any(stream, t, buffer, size, deadline);
    }
    n = receive_plain(s, t, buffer, size, deadline);
    wf_socket_end(&s->socket, false);
    return finish_call(t, n);
}

int64_t weft_read_exact(weft_stream stream, void *buffer, size_t size, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_stream *s;
    int64_t n = begin_read(stream, t, buffer, size, &s);
    if (n < 0) return finish_call(t, n);
    char *out = buffer;
    size_t have = take_held(s, out, size);
    n = 1;
    while (have < size && (n = receive(s, t, out + have, size - have, deadline)) > 0) have += (size_t)n;
    if (n < 0) (void)hold(s, out, have, n == WEFT_ETIMEDOUT || n == WEFT_ECANCELED);
    else n = (int64_t)have;
    wf_socket_end(&s->socket, false);
    return finish_call(t, n);
}

static int64_t read_until(struct wf_stream *s, struct wf_task *t, char *out, size_t size, char delimiter,
                          int64_t deadline)
{
    size_t have = WF_MIN(size, held_size(s)), scanned = 0;
    const char *held_end = have == 0 ? NULL : memchr(s->held + s->held_from, delimiter, have);
    if (held_end != NULL) have = (size_t)(held_end - (s->held + s->held_from)) + 1;
    take_held(s, out, have);
    if (held_end != NULL) return (int64_t)have;
    for (;;) {
        const char *end = memchr(out + scanned, delimiter, have - scanned);
        if (end != NULL) {
            size_t line = (size_t)(end - out) + 1;
            int rc = hold(s, out + line, have - line, false);
            return rc < 0 ? rc : (int64_t)line;
        }
        scanned = have;
        if (have == size) {
            int rc = hold(s, out, have, false);
            return rc < 0 ? rc : WEFT_ETOOBIG;
        }
        int64_t n = receive(s, t, out + have, size - have, deadline);
        if (n == 0) return (int64_t)have;
        if (n < 0) {
            int rc = hold(s, out, have, n == WEFT_ETIMEDOUT || n == WEFT_ECANCELED);
            return rc < 0 ? rc : n;
        }
        have += (size_t)n;
    }
}

int64_t weft_read_until(weft_stream stream, void *buffer, size_t size, char delimiter, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_stream *s;
    int64_t n = begin_read(stream, t, buffer, size, &s);
    if (n < 0) return finish_call(t, n);
    n = size == 0 ? WEFT_ETOOBIG : read_until(s, t, buffer, size, delimiter, deadline);
    wf_socket_end(&s->socket, false);
    return finish_call(t, n);
}

/* ---- Writing --------------------------------------------------------------------------------------------------- */
int wf_stream_flush(struct wf_stream *s, struct wf_task *t, int64_t deadline)
{
    struct wf_socket *k = &s->socket;
    for (;;) {
        if (wf_socket_closed(k)) return WEFT_ECLOSED;
        int rc = s->layer->ops->flush(s->layer);
        if (rc != PF_AGAIN) return rc < 0 && wf_socket_closed(k) ? WEFT_ECLOSED : (int)broken_by(rc);
        rc = wf_socket_wait(k, t, true, deadline, TO_WRITE);
        if (rc < 0) return rc;
    }
}

/* Sends through a layer, which collects bytes to send them in one system call. */
static __attribute__((noinline)) int send_layered(struct wf_stream *s, struct wf_task *t, struct pf_slice *left,
                                                  int count, int64_t deadline)
{
    enum { COLLECTED = 16 * 1024 };
    size_t collected = 0;
    if (deadline == WEFT_NOW) wf_socket_recheck(&s->socket, true);
    int rc = wf_stream_flush(s, t, deadline); /* bytes of an earlier call, which ended at its deadline */
    while (rc == 0) {
        while (count > 0 && left->size == 0) left++, count--;
        if (count == 0) return collected > 0 ? wf_stream_flush(s, t, deadline) : 0;
        int64_t n = s->layer->ops->write(s->layer, left->data, left->size);
        if (n < 0) return (int)n;
        left->data = (const char *)left->data + n;
        left->size -= (size_t)n;
        collected += (size_t)n;
        if (collected < COLLECTED) continue;
        rc = wf_stream_flush(s, t, deadline);
        collected = 0;
    }
    return rc;
}

static void use_up(struct pf_slice **left, int *count, size_t done)
{
    for (size_t step; done > 0; done -= step) {
        struct pf_slice *first = *left;
        step = WF_MIN(done, first->size);
        first->data = (const char *)first->data + step;
        first->size -= step;
        if (first->size == 0) ++*left, --*count;
    }
}

/* `n`: what the system call has returned, or PF_AGAIN if none is worth it. Uses up what was written of `left`, waits for
 * space, or returns the error. */
static int go_on(struct wf_socket *k, struct wf_task *t, struct pf_slice **left, int *count, int64_t n,
                 int64_t deadline)
{
    if (n >= 0) {
        wf_socket_moved(k, true, false);
        use_up(left, count, (size_t)n);
        return 0;
    }
    if (n != PF_AGAIN) return wf_socket_closed(k) ? WEFT_ECLOSED : (int)broken_by(n);
    wf_socket_stuck(k, true);
    return wf_socket_wait(k, t, true, deadline, TO_WRITE);
}

/* Writes all of `left`; changes the slices while doing so. */
static int send_all(struct wf_stream *s, struct wf_task *t, struct pf_slice *left, int count, int64_t deadline)
{
    struct wf_socket *k = &s->socket;
    if (s->layer != NULL) return send_layered(s, t, left, count, deadline);
    if (deadline == WEFT_NOW) wf_socket_recheck(k, true);
    for (;;) {
        while (count > 0 && left->size == 0) left++, count--;
        if (count == 0) return 0;
        if (wf_socket_closed(k)) return WEFT_ECLOSED;
        int64_t n = wf_socket_worth(k, true) ? pf_write(k->handle, left, count) : PF_AGAIN;
        int rc = go_on(k, t, &left, &count, n, deadline);
        if (rc < 0) return rc;
    }
}

/* The first system call has written `n` bytes of the slice, or has failed. Returns the slice's size, or an error. */
static __attribute__((noinline)) int64_t send_rest(struct wf_stream *s, struct wf_task *t, struct pf_slice *slice,
                                                   int64_t n, int64_t deadline)
{
    const size_t size = slice->size;
    int count = 1, rc = go_on(&s->socket, t, &slice, &count, n, deadline);
    if (rc == 0) rc = send_all(s, t, slice, count, deadline);
    return rc < 0 ? rc : (int64_t)size;
}

/* Adds the size of a slice to `size`. Returns 0 or WEFT_EINVAL. */
static inline int add_size(const struct pf_slice *slice, size_t *size)
{
    if (slice->size > INT64_MAX - *size || (slice->data == NULL && slice->size > 0)) return WEFT_EINVAL;
    *size += slice->size;
    return 0;
}

static int64_t write_slices(weft_stream stream, struct wf_task *t, struct pf_slice *slices, int count,
                            int64_t deadline)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        if (add_size(&slices[i], &size) < 0) return WEFT_EINVAL;
    struct wf_stream *s;
    int rc = begin(stream, t, true, &s);
    if (rc < 0) return rc;
    rc = send_all(s, t, slices, count, deadline);
    wf_socket_end(&s->socket, true);
    return rc < 0 ? rc : (int64_t)size;
}

/* weft_write in all cases. */
static __attribute__((noinline)) int64_t write_any(weft_stream stream, struct wf_task *t, const void *data,
                                                   size_t size, int64_t deadline)
{
    struct pf_slice slice = {.data = data, .size = size};
    return finish_call(t, write_slices(stream, t, &slice, 1, deadline));
}

/* The common case is here: a plain stream that takes all bytes at once. */
int64_t weft_write(weft_stream stream, const void *data, size_t size, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    struct wf_stream *s;
    if (WF_UNLIKELY(t == NULL)) return WEFT_ENOTACTOR;
    if (WF_UNLIKELY(data == NULL || size - 1 >= INT64_MAX || deadline == WEFT_NOW))
        return write_any(stream, t, data, size, deadline);
    int rc = begin(stream, t, true, &s);
    if (WF_UNLIKELY(rc < 0)) return finish_call(t, rc);
    struct wf_socket *k = &s->socket;
    if (WF_UNLIKELY(s->layer != NULL || !wf_socket_worth(k, true))) {
        wf_socket_end(k, true);
        return write_any(stream, t, data, size, deadline);
    }
    struct pf_slice slice = {.data = data, .size = size};
    int64_t n = pf_write(k->handle, &slice, 1);
    if (WF_LIKELY(n == (int64_t)size)) wf_socket_moved(k, true, false);
    else n = send_rest(s, t, &slice, n, deadline);
    wf_socket_end(k, true);
    return finish_call(t, n);
}

int64_t weft_writev(weft_stream stream, const weft_slice *slices, size_t count, int64_t deadline)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (count > SLICES_MAX || (slices == NULL && count > 0)) return WEFT_EINVAL;
    struct pf_slice left[SLICES_MAX];
    for (size_t i = 0; i < count; i++) left[i] = (struct pf_slice){.data = slices[i].data, .size = slices[i].size};
    return finish_call(t, write_slices(stream, t, left, (int)count, deadline));
}

int64_t weft_printf(weft_stream stream, int64_t deadline, const char *format, ...)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    char small[PRINTF_ON_STACK], *text = small;
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (size < 0) return WEFT_EINVAL;
    if (size > PRINTF_MAX) return WEFT_ETOOBIG;
    if ((size_t)size >= sizeof small) {
        text = malloc((size_t)size + 1);
        if (text == NULL) return WEFT_ENOMEM;
        va_start(args, format);
        vsnprintf(text, (size_t)size + 1, format, args);
        va_end(args);
    }
    struct pf_slice slice = {.data = text, .size = (size_t)size};
    int64_t n = write_slices(stream, t, &slice, 1, deadline);
    if (text != small) free(text);
    return finish_call(t, n);
}

/* ---- The stream itself ----------------------------------------------------------------------------------------- */

int weft_stream_peer(weft_stream stream, char *out, size_t size)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    if (out == NULL || size == 0) return WEFT_EINVAL;
    struct wf_socket *socket;
    int rc = wf_socket_enter(t->worker, WF_STREAM, stream.id, &socket);
    if (rc < 0) return rc;
    struct pf_address peer;
    rc = pf_peer_address(socket->handle, &peer);
    if (rc == 0) rc = pf_address_format(&peer, out, size);
    wf_socket_leave(socket);
    return rc;
}

static int shutdown_layered(struct wf_task *t, weft_stream stream)
{
    struct wf_socket *socket;
    int rc = wf_socket_begin(t, WF_STREAM, stream.id, true, &socket);
    if (rc < 0) return rc;
    struct wf_stream *s = wf_stream_of(socket);
    rc = s->layer->ops->end(s->layer);
    if (rc == 0) rc = wf_stream_flush(s, t, weft_after(LAST_WORD));
    if (rc == 0) rc = pf_shutdown(socket->handle);
    wf_socket_end(socket, true);
    return (int)wf_task_finish_wait(rc);
}

int wf_stream_unread(uint64_t stream, const void *data, size_t size)
{
    struct wf_socket *socket;
    int rc = wf_socket_begin(wf_task_self(), WF_STREAM, stream, false, &socket);
    if (rc < 0) return rc;
    rc = hold(wf_stream_of(socket), data, size, false);
    wf_socket_end(socket, false);
    return rc;
}

int weft_shutdown(weft_stream stream)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    struct wf_socket *socket;
    int rc = wf_socket_enter(t->worker, WF_STREAM, stream.id, &socket);
    if (rc < 0) return rc;
    bool layered = wf_stream_of(socket)->layer != NULL;
    if (!layered) rc = pf_shutdown(socket->handle);
    wf_socket_leave(socket);
    return layered ? shutdown_layered(t, stream) : rc;
}

int weft_close(weft_stream stream)
{
    struct wf_task *t = wf_task_self();
    if (t == NULL) return WEFT_ENOTACTOR;
    return wf_socket_close(t->worker, WF_STREAM, stream.id);
}

int weft_defer_close(weft_stream stream)
{
    return wf_socket_defer_close(WF_STREAM, stream.id);
}

/* ---- Waiting for any of several sources -------------------------------------------------------------------------- */

weft_wait weft_on_readable(weft_stream s)
{
    return (weft_wait){.kind = WF_ON_READABLE, .fd = -1, .id = s.id};
}

weft_wait weft_on_writable(weft_stream s)
{
    return (weft_wait){.kind = WF_ON_WRITABLE, .fd = -1, .id = s.id};
}

static int wait_open(struct wf_wait *s, const weft_wait *from)
{
    return wf_socket_wait_open(s, WF_STREAM, from->id);
}

static int wait_look(struct wf_wait *wait)
{
    struct wf_stream *s = wf_stream_of(wf_socket_wait_of(wait));
    const bool for_write = wait->kind->for_write;
    if (!for_write && ((s->held_size > 0 && !s->held_seen) || s->broken < 0))
        return wf_socket_closed(&s->socket) ? WEFT_ECLOSED : 1;
    if (s->layer != NULL && !wf_socket_closed(&s->socket)) {
        if (!for_write) return s->layer->ops->look(s->layer);
        int rc = s->layer->ops->flush(s->layer);
        if (rc != 0) return rc != PF_AGAIN;
    }
    return wf_socket_look(&s->socket, for_write);
}

static const struct wf_wait_kind readable = {.number = WF_ON_READABLE,
                                             .name = TO_READ,
                                             .open = wait_open,
                                             .recheck = wf_socket_wait_recheck,
                                             .look = wait_look,
                                             .attach = wf_socket_wait_attach,
                                             .close = wf_socket_wait_close};
static const struct wf_wait_kind writable = {.number = WF_ON_WRITABLE,
                                             .for_write = true,
                                             .name = TO_WRITE,
                                             .open = wait_open,
                                             .recheck = wf_socket_wait_recheck,
                                             .look = wait_look,
                                             .attach = wf_socket_wait_attach,
                                             .close = wf_socket_wait_close};

/* ---- The part of each worker ------------------------------------------------------------------------------------- */

static int part_begin(struct wf_worker *w)
{
    wf_slab_init(&w->streams, sizeof(struct wf_stream), WF_SLAB_MAX, w->index);
    return WEFT_OK;
}

static void part_end(struct wf_worker *w)
{
    wf_socket_finish_all(w, WF_STREAM);
    wf_slab_finish(&w->streams);
}

static const struct wf_wait_kind *const wait_kinds[] = {&readable, &writable, NULL};
const struct wf_part wf_stream_part = {.worker_begin = part_begin, .worker_end = part_end, .wait_kinds = wait_kinds};
