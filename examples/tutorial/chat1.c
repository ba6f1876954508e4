/* chat1.c -- step 1 of docs/tutorial-chat.md: one actor says hello to another.
 *
 *     $ weft run chat1.c
 *     ann: hello, is anybody there?
 */
#include <stdio.h>
#include <weft.h>

#define SAY(F) F(str, nick) F(str, text)
WEFT_MESSAGE(say, 1, SAY)

static void listener(const void *arg, size_t size)
{
    weft_msg *m;
    struct say said;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return; /* asked to stop */
    if (say_read(m, &said) == 0) printf("%.*s: %.*s\n", WEFT_STR(said.nick), WEFT_STR(said.text));
    weft_msg_free(m);
}

static void first(const void *arg, size_t size)
{
    weft_pid bob;
    (void)arg, (void)size;
    if (weft_spawn(&bob, listener, NULL, 0, NULL) < 0) return;
    struct say hello = {.nick = weft_cstr("ann"), .text = weft_cstr("hello, is anybody there?")};
    if (say_send(bob, &hello) < 0) weft_exit(WEFT_EXIT_FAILED);
}

WEFT_MODULE(first)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
