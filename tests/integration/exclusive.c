/* The module of etcd_test.py: an actor that holds a name and prints that, with the time; or an exclusive actor. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { LET_GO = 1, TAKE = 2, LOOK = 3, TRY = 4, GROW = 5 };

static void say(const char *format, ...) WEFT_PRINTF(1, 2);
static void say(const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    printf("%s\n", line);
    fflush(stdout);
}

static void take(const char *name, weft_exclusive *held, int64_t deadline)
{
    int rc = weft_exclusive_acquire(name, held, deadline);
    if (rc == WEFT_OK) say("held %" PRIu64 " %" PRId64, held->token, weft_now());
    else say("%s", weft_error_name(rc));
}

static void look(const char *name, weft_exclusive held)
{
    weft_exclusive found = {0, 0};
    int rc = weft_exclusive_find(name, &found);
    say("%s %s",
        rc < 0                      ? weft_error_name(rc)
        : found.token == held.token ? "found"
                                    : "another's",
        weft_exclusive_until(held) > weft_now() ? "sure" : "over");
}

/* Waits until the time for which the name is sure is later than before; etcd is asked for that again and again. */
static void grow(weft_exclusive held)
{
    int64_t before = weft_exclusive_until(held);
    while (weft_exclusive_until(held) <= before)
        if (weft_sleep(weft_after(WEFT_MS(10))) < 0) return;
    say("grown");
}

static void alone(const void *arg, size_t size)
{
    weft_exclusive held = {0, 0};
    weft_msg *m;
    (void)size;
    (void)weft_register("alone");
    (void)weft_exclusive_find(arg, &held);
    say("runs %" PRIu64 " %" PRId64, held.token, weft_now());
    if (weft_recv(&m, WEFT_FOREVER) != WEFT_OK) return;
    uint32_t tag = weft_tag(m);
    weft_msg_free(m);
    if (tag == LET_GO) weft_exit(WEFT_EXIT_FAILED); /* else it has done its work */
}

/* Reports what the calls return on a node without etcd. */
static void none(void)
{
    weft_exclusive held = {0, 0};
    say("%s %s %s %s %s", weft_error_name(weft_exclusive_acquire("x", &held, WEFT_NOW)),
        weft_error_name(weft_exclusive_release("x")), weft_error_name(weft_exclusive_find("x", &held)),
        weft_error_name(weft_singleton(NULL, "x", alone, "x", 2, NULL)),
        weft_exclusive_until(held) == WEFT_NOW ? "over" : "sure");
}

static void holder(const char *name)
{
    weft_exclusive held = {0, 0};
    struct weft_exclusive_lost lost;
    weft_msg *m;
    if (weft_register("holder") < 0) return;
    take(name, &held, WEFT_FOREVER);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_exclusive_lost_read(m, &lost) == WEFT_OK) say("lost %" PRIu64 " %" PRId64, lost.token, weft_now());
        if (weft_tag(m) == TAKE) take(name, &held, WEFT_FOREVER);
        if (weft_tag(m) == TRY) take(name, &held, weft_after(WEFT_MS(50)));
        if (weft_tag(m) == GROW) grow(held);
        if (weft_tag(m) == LOOK) look(name, held);
        if (weft_tag(m) == LET_GO) {
            int rc = weft_exclusive_release(name);
            say("%s %" PRId64, rc < 0 ? weft_error_name(rc) : "let go", weft_now());
        }
        weft_msg_free(m);
    }
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    weft_msg *m;
    (void)size;
    const char *name = args->argc > 2 ? args->argv[2] : "";
    if (args->argc > 1 && strcmp(args->argv[1], "holder") == 0) {
        holder(name);
    } else if (args->argc > 1 && strcmp(args->argv[1], "alone") == 0) {
        weft_pid keeper;
        weft_monitor_ref ref;
        int rc = weft_singleton(&keeper, name, alone, name, strlen(name) + 1, NULL);
        say("%s", rc < 0 ? weft_error_name(rc) : "ready");
        if (rc == WEFT_OK) rc = weft_monitor(keeper, &ref);
        while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
            struct weft_down down;
            if (weft_down_read(m, &down) == WEFT_OK) say("keeper ended %d", down.reason);
            weft_msg_free(m);
        }
    } else if (args->argc > 1 && strcmp(args->argv[1], "none") == 0) {
        none();
    } else {
        say("ready");
        while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
    }
}

WEFT_MODULE(first)
