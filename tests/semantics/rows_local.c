/* Keyed memory of an actor; in Erlang: the process dictionary. */
#include "rows.h"

static void dropped(void *block)
{
    say("dropped %d", *(int *)block);
}

static const weft_local_key key = {sizeof(int), NULL}, other_key = {sizeof(int), NULL},
                            dropped_key = {sizeof(int), dropped};

static int *mine(void)
{
    return weft_local(&key);
}

ACTOR(looks)
{
    say("%d", *mine());
}

ROW(local_first)
{
    say("%d", *mine());
    *mine() = 5;
    say("%d", *mine());
}

ROW(local_keys)
{
    *mine() = 5;
    say("%d", *(int *)weft_local(&other_key));
}

ROW(local_child)
{
    *mine() = 5;
    start(looks);
    settle();
}

ACTOR(sets)
{
    *mine() = 5;
    *(int *)weft_local(&dropped_key) = 6;
}

ROW(local_dropped)
{
    start(sets);
    settle();
}

ACTOR(counts)
{
    say("%d", ++*mine());
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) == 0) weft_exit(17);
}

ACTOR(supervises)
{
    static const weft_child_spec counter = {.name = "counter", .body = counts, .keep_mailbox = true};
    weft_supervise(&(weft_supervisor_spec){.children = &counter, .child_count = 1});
}

ROW(local_restart)
{
    start(supervises);
    settle();
    weft_send_name("counter", 1, NULL, 0);
    settle();
}

static void reads(void *arg)
{
    (void)arg;
    say("%d", *mine());
}

ACTOR(reads_in_cleanup)
{
    *mine() = 5;
    weft_defer(reads, NULL);
}

ROW(local_in_cleanup)
{
    start(reads_in_cleanup);
    settle();
}
