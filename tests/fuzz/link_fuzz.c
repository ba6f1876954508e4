/* A peer's side of the handshake and of a link: a byte that chooses the beginning (link_world.h), then messages, each
 * after its size. The node survives, and accepts another peer afterwards. */
#include "peers.h"
#include "transport.h"
#include "link_world.h"

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    static struct link_world w;
    link_world_init(&w, input_byte(&in));
    while (input_left(&in) > 0) {
        size_t n = input_size(&in);
        if (n == LINK_AGAIN) {
            link_break(&w);
            link_dial(&w);
        } else if (n == LINK_WAIT) {
            link_pass(&w, WEFT_SEC(1));
        } else {
            uint8_t *message = input_copy(&in, &n);
            link_say(&w, message, n);
            free(message);
        }
    }
    const struct wf_transport *t = w.world.host[NODE].node->transport;
    MUST(t->fatal[0] == '\0');
    link_break(&w);
    w.mode = LINK_GREETS | LINK_CLIENT;
    w.name = "another";
    /* The input may say of this incarnation what it likes, but if it has linked with it, the incarnation is a node's. */
    const struct wf_peer *p = wf_peers_find(t->cluster, 2);
    w.incarnation = p == NULL || p->linked_at == 0 ? 2 : UINT64_C(0x9D3C1A52E7F40B68);
    w.welcomed = false;
    link_dial(&w);
    MUST(w.welcomed);
    link_world_finish(&w);
    return 0;
}
