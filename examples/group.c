/* group.c -- a boss whose helpers come and go: a name to wait for, a group to send to, notifications of its members.
 *
 *     $ weft run group.c
 *     3 helpers are here
 *     handed to 3
 *     one has left
 *     one has ended
 *     one has failed with 42
 */
#include <stdio.h>
#include <weft.h>

enum { TASK = 1 };

static void helper(const void *arg, size_t size)
{
    const int number = *(const int *)arg;
    weft_pid boss;
    weft_msg *m;
    (void)size;
    if (weft_await_name("boss", &boss, WEFT_FOREVER) < 0 || weft_group_join("helpers") < 0) return;
    if (weft_recv_tag(&m, TASK, WEFT_FOREVER) < 0) return; /* asked to stop */
    weft_msg_free(m);
    if (number == 0) weft_group_leave("helpers");
    if (number == 2) weft_exit(42);
}

static void boss_body(const void *arg, size_t size)
{
    weft_msg *m;
    int present = 0, gone = 0;
    (void)arg, (void)size;
    if (weft_group_watch("helpers") < 0) return;
    for (int i = 0; i < 3; i++)
        if (weft_spawn(NULL, helper, &i, sizeof i, NULL) < 0) return;
    if (weft_register("boss") < 0) return; /* wakes the actors that wait for the name */
    while (gone < 3 && weft_recv(&m, WEFT_FOREVER) == 0) {
        struct weft_group_news news;
        if (weft_group_news_read(m, &news) < 0) printf("a message that is no news\n");
        else if (weft_tag(m) == WEFT_TAG_GROUP_JOIN) {
            if (++present == 3) {
                printf("3 helpers are here\n");
                printf("handed to %d\n", weft_group_send("helpers", TASK, NULL, 0));
            }
        } else {
            gone++;
            if (!news.ended) printf("one has left\n");
            else if (news.reason == WEFT_EXIT_NORMAL) printf("one has ended\n");
            else printf("one has failed with %d\n", news.reason);
        }
        weft_msg_free(m);
    }
}

WEFT_MODULE(boss_body)

int main(void)
{
    return weft_main(NULL, boss_body, NULL, 0);
}
