/* The bytes that a browser sends to examples/webchat: a request, then WebSocket frames, in pieces, whose size the
 * first byte gives. If its highest bit is set, the input is frames only. */
#include "fuzz.h"

#include <weft.h>

static struct input in;
static unsigned piece, writes;

static int64_t fuzz_read(weft_stream s, void *buffer, size_t size, int64_t deadline)
{
    size_t n = piece + 1 < size ? piece + 1 : size;
    (void)s;
    if (n > input_left(&in)) n = input_left(&in);
    if (n == 0) return deadline == WEFT_NOW ? WEFT_ETIMEDOUT : 0;
    memcpy(buffer, in.at, n);
    in.at += n;
    return (int64_t)n;
}

static int64_t fuzz_write(weft_stream s, const void *data, size_t size, int64_t deadline)
{
    (void)s;
    (void)data;
    (void)deadline;
    return ++writes % 64 == 0 ? WEFT_ERESET : (int64_t)size;
}

static int fuzz_publish(const char *topic, weft_msg *m)
{
    MUST(strncmp(topic, "room.", 5) == 0 && weft_pack_check(weft_data(m), weft_size(m), SIZE_MAX, NULL) == 0);
    weft_msg_free(m);
    return 0;
}

#define weft_read fuzz_read
#define weft_write fuzz_write
#define weft_printf(stream, deadline, ...) \
    ((void)(stream), (void)(deadline), snprintf(NULL, 0, __VA_ARGS__) > 0 ? 0 : -1)
#define weft_self() ((weft_pid){1, 2})
#define weft_publish_msg fuzz_publish
#define weft_now() INT64_C(1000)
#define weft_after(span) (1000 + (span))
#define main webchat_main
int webchat_main(int argc, char **argv);
#include "../../examples/webchat.c"

static void frames(struct visitor *v)
{
    static const struct wslay_event_callbacks callbacks = {
        .recv_callback = take_bytes, .send_callback = put_bytes, .on_msg_recv_callback = on_message};
    MUST(wslay_event_context_server_init(&v->frames, &callbacks, v) == 0);
    wslay_event_config_set_max_recv_msg_length(v->frames, TEXT_BYTES);
    while (wslay_event_want_read(v->frames) && (v->early_size > 0 || input_left(&in) > 0)) {
        v->reads = 0;
        if (wslay_event_recv(v->frames) != 0 || wslay_event_send(v->frames) != 0) break;
    }
    wslay_event_context_free(v->frames);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    static struct request r;
    static struct visitor v;
    char buffer[REQUEST_BYTES];
    in = (struct input){data, data + size};
    unsigned first = input_byte(&in);
    piece = (first & 127) == 127 ? 65535 : first & 127;
    writes = 0;
    v = (struct visitor){.topic = "room.a", .nick = "a", .options = {.ping = 1, .patience = 1}};
    if (first < 128) {
        int64_t n = read_request(&r, v.stream, buffer, 1);
        if (n < 0) return 0;
        MUST(n <= REQUEST_BYTES && r.body <= (size_t)n && r.whole);
        (void)of_this_site(&r);
        if (strncmp(r.url, "/chat?", 6) != 0 || enter(&v, &r) != NULL) return 0;
        MUST(is_name(v.nick) && is_name(v.topic + 5));
        v.early = buffer + r.body;
        v.early_size = (size_t)n - r.body;
    }
    frames(&v);
    return 0;
}
