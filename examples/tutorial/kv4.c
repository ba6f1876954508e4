/* kv4.c -- step 4 of docs/tutorial.md: data that must not be lost is in an actor that does nothing that can fail. The
 * actor that serves clients may fail: it comes back with its name, its pid and the requests that it had not
 * read.
 *
 *     $ weft run kv4.c
 *     color is blue
 *      not saved: the request was freed without a reply
 *     color is blue
 */
#include "service.h"

static void first(const void *arg, size_t size)
{
    weft_pid top, kv;
    (void)arg, (void)size;
    if (weft_spawn(&top, service, NULL, 0, NULL) < 0) return;
    if (weft_await_name("kv", &kv, WEFT_FOREVER) < 0) return;
    save("color", "blue");
    show("color");
    save("", "nothing");
    show("color"); /* this request waits in the mailbox until the store is back */
    weft_stop(top);
}

WEFT_MODULE(first)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
