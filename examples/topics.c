/* topics.c -- a queue group, a retained message, and a reader that is too slow.
 *
 *     $ weft run topics.c          or: cc topics.c $(pkg-config --cflags --libs weft) && ./a.out
 *     two workers got 10 jobs, each job once
 *     late, and told that the temperature is 21 (retained)
 *     slow, and lost 3 of 5
 *     the last one is 5
 */
#include <stdio.h>
#include <weft.h>

enum { JOB = 1, DONE = 2, TEMPERATURE = 3, TICK = 4 };

static void worker(const void *arg, size_t size)
{
    weft_pid boss = *(const weft_pid *)arg;
    weft_msg *m;
    (void)size;
    if (weft_subscribe_with("job.*", &(weft_subscribe_options){.queue = "workers"}, NULL) < 0) return;
    if (weft_send(boss, DONE, NULL, 0) < 0) return;                   /* ready */
    for (int i = 0; i < 5 && weft_recv(&m, WEFT_FOREVER) == 0; i++) { /* the workers take turns: five of ten each */
        weft_msg_free(m);
        if (weft_send(boss, DONE, NULL, 0) < 0) return;
    }
}

static void next(const char *what)
{
    weft_msg *m;
    if (weft_recv(&m, WEFT_FOREVER) < 0) weft_exit(WEFT_EXIT_FAILED);
    if (what != NULL) printf("%s %d%s\n", what, *(const int *)weft_data(m), weft_is_retained(m) ? " (retained)" : "");
    weft_msg_free(m);
}

static void first(const void *arg, size_t size)
{
    weft_pid self = weft_self();
    struct weft_subscription_news news;
    weft_msg *m;
    (void)arg, (void)size;
    for (int i = 0; i < 2; i++) {
        if (weft_spawn(NULL, worker, &self, sizeof self, NULL) < 0) return;
        next(NULL);
    }
    for (int i = 0; i < 10; i++) {
        if (weft_publish("job.new", JOB, &i, sizeof i) < 0) return;
        next(NULL);
    }
    printf("two workers got 10 jobs, each job once\n");
    if (weft_publish_retained("weather.oslo", TEMPERATURE, &(int){21}, sizeof(int)) < 0) return;
    if (weft_subscribe("weather.*", NULL) < 0) return; /* it subscribes after the publication that it gets */
    next("late, and told that the temperature is");
    weft_subscribe_options last_two = {.slow = WEFT_SLOW_DROP_OLDEST, .max = 2};
    if (weft_subscribe_with("tick", &last_two, NULL) < 0) return;
    for (int i = 1; i <= 5; i++)
        if (weft_publish("tick", TICK, &i, sizeof i) < 0) return;
    if (weft_recv_tag(&m, WEFT_TAG_SUBSCRIPTION, WEFT_FOREVER) < 0) return;
    if (weft_subscription_news_read(m, &news) == 0) printf("slow, and lost %d of 5\n", (int)news.lost);
    weft_msg_free(m);
    next(NULL), next("the last one is");
}

WEFT_MODULE(first) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
