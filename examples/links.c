/* links.c -- actors that end together. A parser and its reader are linked, so when the parser fails the reader ends,
 * too. Their parent is linked as well, but traps exits, so it gets a message instead.
 *
 *     $ weft run links.c
 *     parser ended: failed (links.c:21: line 3 is too long)
 *     reader ended: failed (links.c:21: line 3 is too long)
 */
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { LINE = 1 };

static void parser(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    for (int line = 1; weft_recv(&m, WEFT_FOREVER) == 0; line++) {
        size_t length = weft_size(m);
        weft_msg_free(m);
        if (length > 10) weft_fail(WEFT_EXIT_FAILED, "line %d is too long", line);
    }
}

static void reader(const void *arg, size_t size)
{
    const weft_pid *to = arg;
    (void)size;
    if (weft_link(*to) < 0) return;
    static const char *const lines[] = {"one", "two", "three and more"};
    for (int i = 0; i < 3; i++)
        if (weft_send(*to, LINE, lines[i], strlen(lines[i])) < 0) return;
    weft_sleep(WEFT_FOREVER); /* WEFT_ECANCELED once the parser has failed; the reader gets its reason */
}

static void parent(const void *arg, size_t size)
{
    weft_pid first, second;
    (void)arg, (void)size;
    weft_trap_exits(true);
    if (weft_spawn(&first, parser, NULL, 0, &(weft_spawn_options){.link = true}) < 0) return;
    if (weft_spawn(&second, reader, &first, sizeof first, &(weft_spawn_options){.link = true}) < 0) return;
    for (int i = 0; i < 2; i++) {
        weft_msg *m;
        struct weft_down down;
        char words[32];
        if (weft_recv_tag(&m, WEFT_TAG_EXIT, WEFT_FOREVER) < 0) return;
        weft_down_read(m, &down);
        weft_msg_free(m);
        printf("%s ended: %s (%s)\n", weft_pid_equal(down.who, first) ? "parser" : "reader",
               weft_reason_text(down.reason, words), down.text);
    }
}

WEFT_MODULE(parent)

int main(void)
{
    return weft_main(NULL, parent, NULL, 0);
}
