/* chat4.c -- step 4 of docs/tutorial-chat.md: the chat on three nodes, whose histories copy lines from each other.
 *
 *     $ weft run chat4.c --name a --listen tcp://127.0.0.1:4001 -- 4101
 *     chat on 127.0.0.1:4101
 *     $ weft run chat4.c --name b --join tcp://127.0.0.1:4001 -- 4102
 *     chat on 127.0.0.1:4102
 *     $ weft run chat4.c --name c --join tcp://127.0.0.1:4001 -- 4103
 *     chat on 127.0.0.1:4103
 */
#include "client.h"
#include "past.h"

#define OLD(F) F(str, text)
WEFT_MESSAGE(old, 3, OLD) /* from one history to another: its lines */
enum { RECALL = 4 };      /* asks for these lines */

static void remember(struct past_lines *kept, const weft_msg *m)
{
    char line[300];
    struct say said;
    struct old old;
    if (say_read(m, &said) == 0) {
        put_line(line, &said);
        past_add(kept, line);
    } else if (old_read(m, &old) == 0 && old.text.size <= sizeof kept->text) {
        past_before(kept, old.text.data, old.text.size);
    }
}

static void answer(const struct past_lines *kept, const weft_msg *m)
{
    struct past asked;
    struct weft_group_news news;
    if (past_read(m, &asked) == 0) {
        weft_require(asked.lines <= 20); /* the bug is still there */
        size_t from = past_last(kept, asked.lines);
        weft_reply(m, PAST_TAG, kept->text + from, kept->size - from);
    } else if (weft_tag(m) == RECALL) {
        struct old known = {.text = weft_str(kept->text, kept->size)};
        weft_ignore(old_send(weft_from(m), &known)); /* a history that has ended needs no lines */
    } else if (weft_tag(m) == WEFT_TAG_GROUP_JOIN && weft_group_news_read(m, &news) == 0) {
        /* A send and not a call: the new member asks this history at the same time, and with calls both would wait. If
         * the send fails, the member has ended; the history that replaces it joins the group later. */
        weft_ignore(weft_send(news.who, RECALL, NULL, 0));
    }
}

static void history(const void *arg, size_t size)
{
    struct past_lines kept = {.size = 0};
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe(ROOM, NULL) < 0 || weft_group_watch("histories") < 0 || weft_group_join("histories") < 0)
        weft_fail(WEFT_EXIT_FAILED, "cannot listen to the room");
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        remember(&kept, m);
        answer(&kept, m);
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
