/* A fake node over a plain socket, which sends whatever bytes a test wants. */
#ifndef BY_HAND_H
#define BY_HAND_H

#include "frame.h"
#include "loopback.h"
#include "sp.h"
#include "transport_harness.h"

static weft_node *node; /* whom it talks to */

__attribute__((unused)) static int connect_to(const char *url)
{
    int fd = loopback_connect(loopback_port(url));
    ck_assert_int_ge(fd, 0);
    socket_patience(fd, 100);
    return fd;
}

__attribute__((unused)) static void put(int fd, const void *data, size_t size)
{
    ck_assert_int_eq(send(fd, data, size, MSG_NOSIGNAL), (ssize_t)size);
}

/* Whether `size` bytes came before the end. */
__attribute__((unused)) static bool get(int fd, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = recv(fd, (char *)data + done, size - done, 0);
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

__attribute__((unused)) static void expect_closed(int fd)
{
    char rest[4096];
    ssize_t n;
    while ((n = recv(fd, rest, sizeof rest, 0)) > 0) {}
    ck_assert(n == 0 || socket_was_reset());
    close(fd);
}

/* False: the connection is over. */
__attribute__((unused)) static bool try_batch(int fd, const weft_writer *w, const uint8_t *data)
{
    uint8_t prefix[WF_SP_PREFIX_MAX];
    size_t n = wf_sp_prefix(prefix, false, w->size);
    return loopback_write(fd, prefix, n) && loopback_write(fd, data, w->size);
}

__attribute__((unused)) static void put_batch(int fd, const weft_writer *w, const uint8_t *data)
{
    ck_assert(try_batch(fd, w, data));
}

static weft_reader batch; /* what is left of the last one */

/* The next frame; texts in it live until the batch is over. */
__attribute__((unused)) static bool get_frame(int fd, struct wf_frame *f)
{
    static uint8_t data[1 << 20];
    uint8_t prefix[8];
    size_t size = 0;
    if (batch.at != batch.end) return wf_frame_next(&batch, f) == 1;
    if (!get(fd, prefix, 8)) return false;
    for (int i = 0; i < 8; i++) size = size << 8 | prefix[i];
    ck_assert_uint_le(size, sizeof data);
    if (!get(fd, data, size)) return false;
    batch = weft_reader_on(data, size);
    return wf_frame_next(&batch, f) == 1;
}

__attribute__((unused)) static struct wf_hello hello(const char *name, uint64_t incarnation)
{
    return (struct wf_hello){.version = 1,
                             .cluster = weft_cstr("weft"),
                             .name = weft_cstr(name),
                             .incarnation = incarnation,
                             .heartbeat_ms = 60000};
}

/* Exchanges SP headers and HELLOs. */
__attribute__((unused)) static void greet_on(int fd, const struct wf_hello *h, uint64_t incarnation)
{
    uint8_t header[WF_SP_HEADER], out[512];
    struct wf_frame f;
    batch = weft_reader_on(NULL, 0);
    put(fd, wf_sp_header, WF_SP_HEADER);
    ck_assert(get(fd, header, sizeof header) && memcmp(header, wf_sp_header, sizeof header) == 0);
    ck_assert(get_frame(fd, &f) && f.kind == WF_FRAME_HELLO);
    ck_assert(f.hello.incarnation == incarnation);
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_hello(&w, h);
    put_batch(fd, &w, out);
}

__attribute__((unused)) static int greet(const struct wf_hello *h)
{
    int fd = connect_to(weft_node_url(node, 0));
    greet_on(fd, h, weft_node_incarnation(node));
    return fd;
}

/* A link of one that cannot resume, and whose incarnation is the lower one: this side decides. */
__attribute__((unused)) static int link_as(const struct wf_hello *h)
{
    uint8_t out[64];
    struct wf_frame f;
    int fd = greet(h);
    ck_assert(get_frame(fd, &f) && f.kind == WF_FRAME_WELCOME);
    weft_writer w = weft_writer_on(out, sizeof out);
    wf_put_welcome(&w);
    put_batch(fd, &w, out);
    return fd;
}

/* The same with incarnation 1, the lowest there is. */
__attribute__((unused)) static int link_by_hand(const char *name)
{
    struct wf_hello h = hello(name, 1);
    return link_as(&h);
}

#endif
