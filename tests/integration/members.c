/* A module that prints each event of other nodes that its node reports, one a line, and executes commands: see
 * `orders`. */
#include <weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void idle(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}
WEFT_EXPORT_PLAIN("test.idle", idle)

static int register_it(const char *name)
{
    return weft_register_global(name);
}

static int whereis(const char *name)
{
    weft_pid pid;
    return weft_whereis(name, &pid);
}

static int spawn_on(const char *node)
{
    return weft_spawn_packed_on(node, "test.idle", NULL, NULL, 0, NULL);
}

static int group(const char *name)
{
    return weft_group_members(name, NULL, 0);
}

static int join(const char *name)
{
    return weft_group_join(name);
}

static int minority(const char *none)
{
    (void)none;
    return weft_in_minority(weft_here());
}

static int describe(const char *entry)
{
    char key[WEFT_META_KEY_MAX + 1] = "";
    const char *equals = strchr(entry, '=');
    snprintf(key, sizeof key, "%.*s", equals == NULL ? (int)strlen(entry) : (int)(equals - entry), entry);
    return weft_set_meta(weft_here(), key, equals == NULL ? NULL : equals + 1);
}

static int leave(const char *name)
{
    return weft_group_leave(name);
}

/* "TOPIC=VALUE", and without a value: it is cleared. */
static int retain(const char *entry)
{
    char topic[64];
    const char *equals = strchr(entry, '=');
    snprintf(topic, sizeof topic, "%.*s", equals == NULL ? (int)strlen(entry) : (int)(equals - entry), entry);
    if (equals == NULL) return weft_retained_clear(topic);
    int rc = weft_publish_retained(topic, 1, equals + 1, strlen(equals + 1));
    return rc < 0 ? rc : 0;
}

/* The actor that is told becomes a member of the queue group "workers" of a pattern. */
static int work(const char *pattern)
{
    weft_subscribe_options o = {.queue = "workers"};
    return weft_subscribe_with(pattern, &o, NULL);
}

static int publish(const char *topic)
{
    return weft_publish(topic, 1, "", 0);
}

static int worked;

/* How often it has got something to do. */
static int done(const char *none)
{
    (void)none;
    return worked;
}

static int hear(const char *pattern)
{
    return weft_subscribe(pattern, NULL);
}

/* "VERB WORD" as a request to "do"; the answer is the number that came of it. */
static const struct {
    const char *verb;
    int (*obey)(const char *word);
} orders[] = {
    {"register ", register_it}, {"whereis ", whereis},   {"spawn ", spawn_on}, {"group ", group},   {"join ", join},
    {"minority ", minority},    {"describe ", describe}, {"leave ", leave},    {"retain ", retain}, {"work ", work},
    {"publish ", publish},      {"done ", done},         {"hear ", hear}};

static void obey(const weft_msg *m)
{
    char order[256], answer[16];
    snprintf(order, sizeof order, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        size_t length = strlen(orders[i].verb);
        if (strncmp(order, orders[i].verb, length) != 0) continue;
        weft_writer w = weft_writer_on(answer, sizeof answer);
        weft_put_int(&w, orders[i].obey(order + length));
        (void)weft_reply(m, 0, answer, w.size);
    }
}

static void watch(const void *arg, size_t size)
{
    static const char *const what[] = {"up", "down", "suspect", "minority", "majority"};
    static const uint32_t tags[] = {WEFT_TAG_NODE_UP, WEFT_TAG_NODE_DOWN, WEFT_TAG_NODE_SUSPECT, WEFT_TAG_MINORITY,
                                    WEFT_TAG_MAJORITY};
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("do") < 0 || weft_watch_nodes() < 0) return;
    puts("watching");
    fflush(stdout);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        struct weft_node_news news;
        if (weft_wants_reply(m)) obey(m);
        worked += weft_topic(m)[0] != 0;
        struct weft_name_lost lost;
        if (weft_name_lost_read(m, &lost) == WEFT_OK) {
            printf("lost %s\n", lost.name);
            fflush(stdout);
        }
        if (weft_node_news_read(m, &news) < 0) continue;
        for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
            if (weft_tag(m) == tags[i])
                printf("%s %s%s%s\n", what[i], news.name, news.reason[0] == '\0' ? "" : ": ", news.reason);
        fflush(stdout);
    }
}
WEFT_MODULE(watch)
