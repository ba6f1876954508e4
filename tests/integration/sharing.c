/* A module for shared_processes_test.py: `publish TOPIC N` stores N records, each until it is acknowledged, and
 * prints it; `share PATTERN N` starts N members of the shared cursor `bill`, each of which prints what it is given,
 * and what it has acknowledged: TOPIC:OFFSET, its attempts; `hold PATTERN` is a member that prints two records and
 * keeps them; `idle` does nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>
#include <weft/store.h>

static const char *topic;

static int64_t soon(void)
{
    return weft_after(WEFT_SEC(20));
}

static void put_line(const char *text)
{
    fwrite(text, 1, strlen(text), stdout);
    fflush(stdout);
}

/* Waits until there is a store again. */
static void await_store(void)
{
    weft_pid store;
    if (weft_await_name(WEFT_STORE_NAME, &store, WEFT_FOREVER) < 0 || weft_sleep(weft_after(WEFT_MS(20))) < 0)
        weft_exit(WEFT_EXIT_STOPPED);
}

static void publish(int count)
{
    for (int i = 0; i < count; i++) {
        char line[80];
        struct weft_position at;
        while (weft_publish_stored(topic, 1, &i, sizeof i, &at, soon()) < 0) await_store();
        snprintf(line, sizeof line, "stored %s:%llu\n", topic, (unsigned long long)at.offset);
        put_line(line);
    }
}

static void say(const char *what, const struct weft_stored *got)
{
    char line[400];
    snprintf(line, sizeof line, "%s %s:%llu %u\n", what, got->topic, (unsigned long long)got->at.offset,
             (unsigned)got->attempts);
    put_line(line);
}

static void member(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_subscribe_shared("bill", topic, &(weft_shared_options){.bound = 4}, NULL, soon()) < 0) await_store();
    while (weft_recv_tag(&m, WEFT_STORED, WEFT_FOREVER) == WEFT_OK) {
        struct weft_stored got;
        int rc = weft_stored_read(m, &got);
        if (rc < 0 || got.kind != WEFT_STORED_RECORD) weft_fail(rc < 0 ? rc : got.error, "no record");
        say("takes", &got);
        while ((rc = weft_shared_done(&got, soon())) < 0 && rc != WEFT_ECLOSED) await_store();
        if (rc == WEFT_OK) say("did", &got);
        weft_msg_free(m);
    }
}

static void hold(void)
{
    await_store();
    int rc = weft_subscribe_shared("bill", topic, &(weft_shared_options){.bound = 2}, NULL, soon());
    if (rc < 0) weft_fail(rc, "no member");
    for (int i = 0; i < 2; i++) {
        weft_msg *m;
        struct weft_stored got;
        if (weft_recv_tag(&m, WEFT_STORED, soon()) < 0 || weft_stored_read(m, &got) < 0) weft_exit(2);
        say("holds", &got);
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    put_line("ready\n");
    const char *what = args->argc > 1 ? args->argv[1] : "idle";
    if (args->argc > 2) topic = args->argv[2];
    int count = args->argc > 3 ? atoi(args->argv[3]) : 1;
    if (strcmp(what, "publish") == 0) publish(count);
    for (int i = 0; i < count && strcmp(what, "share") == 0; i++)
        weft_ignore(weft_spawn(NULL, member, NULL, 0, &(weft_spawn_options){.worker = WEFT_SPREAD}));
    if (strcmp(what, "hold") == 0) hold();
    (void)weft_sleep(WEFT_FOREVER);
}

WEFT_MODULE(first)
