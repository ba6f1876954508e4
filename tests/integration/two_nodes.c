/* tests/integration/two_nodes.c -- a chat of two processes: two_nodes NAME [URL TO JOIN]. Each node says its name in
 * the chat until it has heard the other and knows that the other has heard it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

#define LINE(F) F(str, nick) F(int, heard_you)
WEFT_MESSAGE(line, 1, LINE) /* published as "room.lobby" */

static bool take(const char *name, weft_msg *m, bool *heard_other, bool *other_heard)
{
    struct line l;
    bool good = line_is(m) && line_read(m, &l) == 0 &&
                !(l.nick.size == strlen(name) && memcmp(l.nick.data, name, l.nick.size) == 0);
    if (good) {
        if (!*heard_other) printf("%s hears %.*s\n", name, WEFT_STR(l.nick));
        *heard_other = true;
        *other_heard |= l.heard_you != 0;
        fflush(stdout);
    }
    weft_msg_free(m);
    return good;
}

static void chat(const void *arg, size_t size)
{
    const char *name = arg;
    bool heard_other = false, other_heard = false, told = false;
    int64_t patience = weft_after(WEFT_SEC(60));
    (void)size;
    printf("%s\n", weft_node_url(weft_here(), 0));
    fflush(stdout);
    if (weft_subscribe("room.lobby", NULL) < 0) weft_exit(WEFT_EINVAL);
    while (!(other_heard && told)) {
        weft_msg *m;
        line_publish("room.lobby", &(struct line){.nick = weft_cstr(name), .heard_you = heard_other});
        told |= heard_other;
        int64_t until = weft_after(WEFT_MS(100));
        while (weft_recv(&m, until) == WEFT_OK) {
            if (take(name, m, &heard_other, &other_heard)) break;
        }
        if (weft_now() > patience) weft_exit(WEFT_ETIMEDOUT);
    }
    printf("%s is done\n", name);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *listen = "tcp://127.0.0.1:0", *join = argc > 2 ? argv[2] : NULL;
    if (argc < 2) return 2;
    weft_node_options o = {.name = argv[1],
                           .workers = 2,
                           .listen = &listen,
                           .listen_count = 1,
                           .join = &join,
                           .join_count = join != NULL};
    return weft_main(&o, chat, argv[1], strlen(argv[1]) + 1);
}
