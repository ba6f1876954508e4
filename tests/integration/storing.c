/* A module for store_processes_test.py: `publish TOPIC ACTORS` stores numbered texts without end and prints each one
 * that is acknowledged; `follow TOPIC CURSOR` prints the records of a cursor, and each advance that is acknowledged;
 * `read TOPIC` prints the records of a subscription from the start; `idle` does nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

static const char *topic;

/* Lines of several actors do not mix. */
static void put_line(const char *text)
{
    char line[400];
    int n = snprintf(line, sizeof line, "%s\n", text);
    fwrite(line, 1, (size_t)n, stdout);
    fflush(stdout);
}

static void publisher(const void *arg, size_t size)
{
    unsigned number = 0;
    char text[64], line[300];
    int actor;
    memcpy(&actor, arg, sizeof actor);
    (void)size;
    for (;;) {
        struct weft_position at;
        int length = snprintf(text, sizeof text, "%016llx-%d-%u",
                              (unsigned long long)weft_node_incarnation(weft_here()), actor, ++number);
        int rc = weft_publish_stored(topic, 1, text, (size_t)length, &at, weft_after(WEFT_SEC(60)));
        if (rc == WEFT_ECANCELED) return;
        if (rc < 0) {
            if (weft_sleep(weft_after(WEFT_MS(20))) < 0) return;
            continue;
        }
        snprintf(line, sizeof line, "%016llx %llu %s", (unsigned long long)at.epoch, (unsigned long long)at.offset,
                 text);
        put_line(line);
    }
}

static void reader(void)
{
    weft_msg *m;
    weft_pid store;
    if (weft_await_name(WEFT_STORE_NAME, &store, WEFT_FOREVER) < 0) return;
    int rc = weft_subscribe_from(topic, WEFT_FROM_START, NULL, weft_after(WEFT_SEC(60)));
    if (rc < 0) weft_fail(rc, "subscribe: %s", weft_strerror(rc));
    put_line("subscribed");
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct weft_stored got;
        char line[400];
        if (weft_stored_read(m, &got) == 0) {
            if (got.kind == WEFT_STORED_RECORD)
                snprintf(line, sizeof line, "%016llx %llu %.*s", (unsigned long long)got.at.epoch,
                         (unsigned long long)got.at.offset, (int)got.size, (const char *)got.data);
            else snprintf(line, sizeof line, "news %d %d", got.kind, got.error);
            put_line(line);
        }
        weft_msg_free(m);
    }
}

/* Waits until the advance is acknowledged, so at most one is on its way. */
static void follow(const char *cursor)
{
    weft_msg *m;
    weft_pid store;
    char line[64];
    if (weft_await_name(WEFT_STORE_NAME, &store, WEFT_FOREVER) < 0) return;
    int rc = weft_subscribe_cursor(cursor, topic, NULL, weft_after(WEFT_SEC(60)));
    if (rc < 0) weft_fail(rc, "subscribe: %s", weft_strerror(rc));
    put_line("subscribed");
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        struct weft_stored got;
        if (weft_stored_read(m, &got) == 0) {
            if (got.kind != WEFT_STORED_RECORD) weft_fail(got.error, "news %d", got.kind);
            snprintf(line, sizeof line, "got %llu", (unsigned long long)got.at.offset);
            put_line(line);
            while ((rc = weft_cursor_advance(cursor, topic, got.at, weft_after(WEFT_SEC(60)))) < 0)
                if (rc == WEFT_ECANCELED || weft_sleep(weft_after(WEFT_MS(20))) < 0) return;
            snprintf(line, sizeof line, "did %llu", (unsigned long long)got.at.offset);
            put_line(line);
        }
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    put_line("ready");
    if (args->argc > 2) topic = args->argv[2];
    if (args->argc > 2 && strcmp(args->argv[1], "read") == 0) reader();
    if (args->argc > 3 && strcmp(args->argv[1], "follow") == 0) follow(args->argv[3]);
    int actors = args->argc > 3 ? atoi(args->argv[3]) : 0;
    for (int i = 0; i < actors; i++)
        weft_ignore(weft_spawn(NULL, publisher, &i, sizeof i, &(weft_spawn_options){.worker = WEFT_SPREAD}));
    (void)weft_sleep(WEFT_FOREVER);
}

WEFT_MODULE(first)
