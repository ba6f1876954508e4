/* chat3.c -- step 3 of docs/tutorial-chat.md: the room has a history, kept by an actor that fails and comes back.
 *
 *     $ weft run chat3.c -- 4100
 *     chat on 127.0.0.1:4100
 */
#include "client.h"
#include "past.h"

static void history(const void *arg, size_t size)
{
    struct past_lines kept = {.size = 0};
    char line[300];
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe(ROOM, NULL) < 0) weft_fail(WEFT_EXIT_FAILED, "cannot listen to the room");
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct say said;
        struct past asked;
        if (say_read(m, &said) == 0) {
            put_line(line, &said);
            past_add(&kept, line);
        } else if (past_read(m, &asked) == 0) {
            weft_require(asked.lines <= 20); /* "nobody wants to know more" */
            size_t from = past_last(&kept, asked.lines);
            weft_reply(m, PAST_TAG, kept.text + from, kept.size - from);
        }
        weft_msg_free(m);
    }
}

static void service(const void *arg, size_t size)
{
    const char *port = port_of(arg);
    const weft_child_spec children[] = {
        {.name = "history", .body = history},
        {.name = "door", .body = door, .arg = port, .arg_size = strlen(port) + 1},
    };
    (void)size;
    weft_supervise(&(weft_supervisor_spec){.children = children, .child_count = 2}); /* does not return */
}

WEFT_MODULE(service)

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, service, &args, sizeof args);
}
