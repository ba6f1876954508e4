/* Requests of an operator's tool to $node: verbs with any bodies, while messages pass that a trace or a subscription
 * may report. The node answers afterwards. An input consists of requests: a verb, a size of two bytes, the body; verb
 * ANSWER answers the last call of the node, WAIT lets time pass. */
#include "requests.h"
#include "transport.h"
#include "link_world.h"

#include <weft/log.h>

enum { ANSWER = 255, WAIT = 254, ME = 5, LAST = 1 << 20 };

static void ask(struct link_world *w, uint32_t verb, uint64_t ref, const void *body, size_t size)
{
    static uint8_t bytes[8192];
    weft_writer out = weft_writer_on(bytes, sizeof bytes);
    wf_put_to_name(&out, true, weft_cstr("$node"), ME, verb, ref, body, size, WF_FRAME_NO_DEADLINE);
    if (out.error == 0) link_say(w, bytes, out.size);
}

static void answer(struct link_world *w)
{
    uint8_t bytes[64];
    weft_writer out = weft_writer_on(bytes, sizeof bytes);
    wf_put_to_actor(&out, WF_MSG_REPLY, w->call_from, ME, WF_CONTROL_HOLD, w->call_ref, NULL, 0, 0);
    if (w->call_from != 0) link_say(w, bytes, out.size);
}

/* A message to an actor, and its answer: what a trace sees. */
static void pass_messages(struct link_world *w)
{
    uint8_t bytes[128];
    weft_writer out = weft_writer_on(bytes, sizeof bytes);
    wf_put_to_name(&out, false, weft_cstr("echo"), ME, 3, 0, "x", 1, 0);
    wf_put_to_name(&out, true, weft_cstr("echo"), ME, 1, 7, "y", 1, WF_FRAME_NO_DEADLINE);
    link_say(w, bytes, out.size);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    static struct link_world w;
    MUST(weft_log_file("/dev/null") == WEFT_OK); /* LOG may set any levels */
    link_world_init(&w, LINK_GREETS | LINK_CLIENT | LINK_OPERATOR);
    for (uint64_t ref = 1; input_left(&in) > 0; ref++) {
        unsigned verb = input_byte(&in);
        if (verb == ANSWER) {
            answer(&w);
        } else if (verb == WAIT) {
            pass_messages(&w);
            link_pass(&w, WEFT_SEC(1));
        } else if (verb != WF_CONTROL_CERTS) { /* that one reads files on another thread, and no body */
            size_t n = input_size(&in);
            uint8_t *body = input_copy(&in, &n);
            ask(&w, verb, ref, body, n);
            free(body);
        }
    }
    w.awaited = LAST;
    w.replies = 0;
    ask(&w, WF_CONTROL_NODES, LAST, NULL, 0);
    for (int i = 0; i < 100 && w.replies == 0; i++) link_pass(&w, WEFT_MS(50));
    MUST(w.replies != 0);
    MUST(((const struct wf_transport *)w.world.host[NODE].node->transport)->fatal[0] == '\0');
    link_break(&w);
    link_world_finish(&w);
    MUST(weft_log_configure("silent", NULL) == WEFT_OK && weft_log_file(NULL) == WEFT_OK);
    return 0;
}
