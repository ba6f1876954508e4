/* main.c -- what `weft run` starts: a counter that has a name, and is started again should it fail. */
#include <stdio.h>

#include "counter.h"

static void named_counter(const void *arg, size_t size)
{
    if (weft_register("counter") == 0) counter(arg, size);
}

static void first(const void *arg, size_t size)
{
    weft_pid who;
    weft_msg *m;
    (void)arg, (void)size;
    for (;;) {
        if (weft_spawn(&who, named_counter, NULL, 0, &(weft_spawn_options){.kind = "counter"}) < 0) return;
        if (weft_monitor(who, NULL) < 0) return;
        puts("counter: ready");
        fflush(stdout);
        if (weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER) < 0)
            return; /* the node ends: it asks every actor to stop */
        weft_msg_free(m);
    }
}

WEFT_MODULE(first)
