/* endings.c -- the ways an actor can end, and the reasons that its monitors get. Its clean-ups run in each case.
 *
 *     $ weft run endings.c
 *     returns: normal
 *     exits: name is taken
 *     fails: malformed data (endings.c:26: line 7 has no colon)
 *     is asked to stop: asked to stop
 *     is killed: killed
 *     clean-ups that ran: 5
 */
#include <stdio.h>
#include <weft.h>

static int cleaned; /* all actors are on one worker here */

static void clean_up(void *arg)
{
    ++*(int *)arg;
}

static void child(const void *arg, size_t size)
{
    int how = *(const int *)arg;
    if (weft_defer(clean_up, &cleaned) < 0) return;
    if (how == 1) weft_exit(WEFT_EEXIST);
    if (how == 2) weft_fail(WEFT_EFORMAT, "line %d has no colon", 7); /* goes to the log, too */
    weft_require(size == sizeof how);                                 /* as assert(), but only this actor ends */
    if (how >= 3) weft_sleep(WEFT_FOREVER);                           /* WEFT_ECANCELED once it is asked to stop */
}

static void parent(const void *arg, size_t size)
{
    static const char *const what[] = {"returns", "exits", "fails", "is asked to stop", "is killed"};
    (void)arg, (void)size;
    for (int how = 0; how < 5; how++) {
        weft_pid pid;
        weft_monitor_ref ref; /* made before the child first runs, so its end is never missed */
        if (weft_spawn(&pid, child, &how, sizeof how, &(weft_spawn_options){.worker = 1, .monitor = &ref}) < 0)
            return;
        weft_yield(); /* the child runs until it waits or ends */
        if (how == 3) weft_stop(pid);
        if (how == 4) weft_kill(pid);
        weft_msg *m;
        struct weft_down down;
        char words[32];
        if (weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER) < 0) return;
        weft_down_read(m, &down);
        weft_msg_free(m);
        printf("%s: %s", what[how], weft_reason_text(down.reason, words));
        printf(down.text[0] != 0 ? " (%s)\n" : "\n", down.text);
    }
    printf("clean-ups that ran: %d\n", cleaned);
}

WEFT_MODULE(parent)

int main(void)
{
    return weft_main(NULL, parent, NULL, 0);
}
