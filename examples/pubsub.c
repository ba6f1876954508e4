/* pubsub.c -- one publisher, and subscribers that ask for one topic or for many by a pattern.
 *
 *     $ weft run pubsub.c          or: cc pubsub.c $(pkg-config --cflags --libs weft) && ./a.out
 *     weather.oslo: weather.oslo -3
 *     weather.*: weather.oslo -3
 *     weather.*: weather.rome 21
 *     weather.>: weather.oslo -3
 *     weather.>: weather.rome 21
 *     weather.>: weather.rome.wind 5
 *
 * Each subscriber's lines come in the order published; those of different subscribers may mix. Nothing in the
 * publisher would change if its subscribers lived on other nodes. */
#include <stdio.h>
#include <weft.h>

#define READING(F) F(int, value)
WEFT_MESSAGE(reading, 1, READING) /* struct reading, reading_publish(), reading_is(), reading_read(), ... */
enum { READY = 2, END = 3 };

struct job {
    const char *pattern;
    weft_pid publisher;
};

static void subscriber(const void *arg, size_t size)
{
    const struct job *job = arg;
    weft_msg *m;
    (void)size;
    if (weft_subscribe(job->pattern, NULL) < 0) return;
    weft_send(job->publisher, READY, NULL, 0);
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct reading r;
        bool end = weft_tag(m) == END;
        if (reading_is(m) && reading_read(m, &r) == 0)
            printf("%s: %s %lld\n", job->pattern, weft_topic(m), (long long)r.value);
        weft_msg_free(m);
        if (end) return;
    }
}

static void publisher(const void *arg, size_t size)
{
    static const char *const patterns[] = {"weather.oslo", "weather.*", "weather.>"};
    weft_pid readers[3];
    weft_msg *m;
    (void)arg, (void)size;
    for (int i = 0; i < 3; i++) {
        struct job job = {patterns[i], weft_self()};
        if (weft_spawn(&readers[i], subscriber, &job, sizeof job, NULL) < 0) return;
    }
    for (int i = 0; i < 3; i++) { /* what is published before somebody subscribes is not kept for him */
        if (weft_recv_tag(&m, READY, WEFT_FOREVER) < 0) return;
        weft_msg_free(m);
    }
    reading_publish("weather.oslo", &(struct reading){-3});
    reading_publish("weather.rome", &(struct reading){21});
    reading_publish("weather.rome.wind", &(struct reading){5});
    for (int i = 0; i < 3; i++) weft_send(readers[i], END, NULL, 0); /* arrives after what was published before */
}

WEFT_MODULE(publisher) /* for `weft run` */

int main(void)
{
    return weft_main(NULL, publisher, NULL, 0);
}
