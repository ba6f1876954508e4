/* chat2.c -- step 2 of docs/tutorial-chat.md: a room for people with a terminal.
 *
 *     $ weft run chat2.c -- 4100
 *     chat on 127.0.0.1:4100
 */
#include "room.h"

static void session(const void *arg, size_t size) /* one for each client */
{
    weft_stream s = *(const weft_stream *)arg;
    char nick[24], line[200];
    (void)size;
    weft_defer_close(s);
    if (!ask_name(s, nick, sizeof nick) || weft_subscribe(ROOM, NULL) < 0) return;
    if (weft_printf(s, PATIENCE, "* welcome, %s\n", nick) < 0) return;
    for (;;) {
        weft_wait on[] = {weft_on_mailbox(), weft_on_readable(s)};
        int which = weft_wait_any(on, 2, WEFT_FOREVER);
        if (which < 0) return; /* asked to stop */
        if (which == 0) {
            if (!show_said(s)) return;
            continue;
        }
        int64_t n = weft_read_until(s, line, sizeof line, '\n', WEFT_NOW);
        if (n == WEFT_ETIMEDOUT) continue; /* half a line so far */
        if (n <= 0) return;                /* gone, or the line has no end */
        struct say said = {.nick = weft_cstr(nick), .text = weft_str(line, (size_t)n - 1)};
        if (say_publish(ROOM, &said) < 0) return;
    }
}

static void door(const void *arg, size_t size)
{
    (void)size;
    open_door(arg, session);
}

static void first(const void *arg, size_t size)
{
    const char *port = port_of(arg);
    (void)size;
    if (weft_spawn(NULL, door, port, strlen(port) + 1, NULL) < 0) weft_exit(WEFT_EXIT_FAILED);
}

WEFT_MODULE(first)

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, first, &args, sizeof args);
}
