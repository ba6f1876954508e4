/* A module for persist_processes_test.py: `own KEY` opens the state again and again and appends events to it; it prints
 * "opened N LAST" after each opening and each event that is stored; `idle` does nothing. */
#include <stdio.h>
#include <string.h>

#include <weft.h>
#include <weft/persist.h>
#include <weft/store.h>

enum { EVENT = 1, ALL = 2, EVENTS = 50 };

/* What the events say, and what was loaded says it in order. */
struct counter {
    uint64_t is;
    bool spoilt;
};

static int64_t soon(void)
{
    return weft_after(WEFT_SEC(20));
}

static void put_line(const char *what, uint64_t one, uint64_t two)
{
    char line[100];
    int n = snprintf(line, sizeof line, "%s %llu %llu\n", what, (unsigned long long)one, (unsigned long long)two);
    fwrite(line, 1, (size_t)n, stdout);
    fflush(stdout);
}

static int load(void *arg, const struct weft_persisted *is)
{
    struct counter *c = arg;
    uint64_t number;
    memcpy(&number, is->data, sizeof number);
    bool follows = is->kind == WEFT_PERSISTED_SNAPSHOT ? c->is == 0 : number == c->is + 1;
    c->spoilt = c->spoilt || !follows || number != is->number;
    c->is = number;
    return WEFT_OK;
}

/* Returns when something has failed. */
static void append_events(weft_persist *p, struct counter *c)
{
    for (;;) {
        uint64_t next = c->is + 1;
        if (weft_persist_append(p, EVENT, &next, sizeof next, soon()) < 0) return;
        c->is = next;
        put_line("event", next, p->opening);
        if (p->last + 1 - p->first >= EVENTS && weft_persist_save(p, ALL, &c->is, sizeof c->is, soon()) < 0) return;
    }
}

static void own(const char *key)
{
    for (;;) {
        weft_pid store;
        weft_persist p;
        struct counter c = {.is = 0};
        const weft_persist_options options = {.load = load, .arg = &c};
        if (weft_await_name(WEFT_STORE_NAME, &store, WEFT_FOREVER) < 0) return;
        int rc = weft_persist_open(&p, key, &options, WEFT_FOREVER);
        if (rc == WEFT_OK) {
            put_line(c.spoilt ? "SPOILT" : "opened", p.opening, c.is);
            append_events(&p, &c);
        }
        if (weft_sleep(weft_after(WEFT_MS(20))) < 0) return;
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    printf("ready\n");
    fflush(stdout);
    if (args->argc > 2 && strcmp(args->argv[1], "own") == 0) own(args->argv[2]);
    (void)weft_sleep(WEFT_FOREVER);
}

WEFT_MODULE(first)
