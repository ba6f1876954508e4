/* hello.c -- the shortest program: one actor calls another one and prints the reply.
 *
 *     $ cc hello.c $(pkg-config --cflags --libs weft) && ./a.out        or: weft run hello.c
 *     hello from an actor
 */
#include <stdio.h>
#include <weft.h>

enum { GREET = 1 };

static void greeter(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return; /* asked to stop */
    weft_reply(m, GREET, "hello from an actor", 19);
    weft_msg_free(m);
}

static void first(const void *arg, size_t size)
{
    weft_pid who;
    weft_msg *answer;
    (void)arg, (void)size;
    if (weft_spawn(&who, greeter, NULL, 0, NULL) < 0) return;
    if (weft_call(who, GREET, NULL, 0, &answer, weft_after(WEFT_SEC(1))) < 0) return;
    printf("%.*s\n", (int)weft_size(answer), (const char *)weft_data(answer));
    weft_msg_free(answer);
}

WEFT_MODULE(first) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, first, NULL, 0); /* starts a node, returns when its actors have ended */
}
