/* The module of wire_test.py: an actor that executes the requests of a peer, and prints the results on its standard
 * output. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

/* Tags of requests to "puppet", with their bodies. Numbers in bodies are 8 bytes, little-endian. */
enum {
    SELF = 1,       /* answers with its actor number */
    POUR = 2,       /* actor, count, size: so many numbered messages go to that actor of the asker's node */
    WATCH = 3,      /* actor */
    LINK = 4,       /* actor */
    UNLINK = 5,     /* actor */
    CALL = 6,       /* actor: it is called with "ask" */
    ORDER = 7,      /* a node's name: it is to start "made.up" */
    GLOBAL = 8,     /* a name */
    FIND = 9,       /* a global name: answers with its actor number */
    GROUP = 10,     /* a name: joins */
    TO_GROUP = 11,  /* a name */
    SUBSCRIBE = 12, /* a pattern */
    QUEUE = 13,     /* a pattern: as a member of "workers" */
    PUBLISH = 14,   /* a topic */
    REACH = 15,     /* a topic */
    RETAIN = 16,    /* a topic */
    COUNTED = 17,   /* answers with the next number that is awaited, and how many have been wrong */
    LEND = 18,      /* answers with the number of an actor that ends with reason 77 and the text "why" when told to */
    SLOW = 19,      /* answers with the number of an actor with a mailbox of 64, which reads when it may */
    FORGET = 20,    /* lets the request go */
    MAY = 21,       /* how many messages that one may read now; it answers those that are requests */
};
enum { NUMBERED = 100 };

struct pour {
    weft_pid to;
    uint64_t count, size;
};

static uint64_t number_at(const weft_msg *m, size_t index)
{
    uint64_t n = 0;
    if (weft_size(m) >= (index + 1) * sizeof n) memcpy(&n, (const char *)weft_data(m) + index * sizeof n, sizeof n);
    return n;
}

static void say(const char *what, int64_t number, const char *text)
{
    printf("%s %" PRId64 "%s%s\n", what, number, text[0] == '\0' ? "" : " ", text);
    fflush(stdout);
}

static void pourer(const void *arg, size_t size)
{
    struct pour p;
    (void)size;
    memcpy(&p, arg, sizeof p);
    char *body = calloc(1, p.size);
    int rc = body == NULL ? WEFT_ENOMEM : 0;
    for (uint64_t i = 1; i <= p.count && rc == 0; i++) {
        memcpy(body, &i, sizeof i);
        while ((rc = weft_send(p.to, NUMBERED, body, p.size)) == WEFT_EFULL) {}
    }
    free(body);
    say("poured", rc, "");
}

static void caller(const void *arg, size_t size)
{
    weft_pid to;
    weft_msg *m = NULL;
    (void)size;
    memcpy(&to, arg, sizeof to);
    int rc = weft_call(to, 5, "ask", 3, &m, weft_after(WEFT_SEC(60)));
    char text[64] = "";
    if (m != NULL) snprintf(text, sizeof text, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
    say("answer", rc < 0 ? rc : (int64_t)weft_tag(m), text);
    weft_msg_free(m);
}

static void orderer(const void *arg, size_t size)
{
    weft_pid pid = weft_nobody();
    weft_monitor_ref watched;
    weft_msg *m;
    (void)size;
    weft_remote_options o = {.monitor = &watched, .deadline = weft_after(WEFT_SEC(60))};
    int rc = weft_spawn_packed_on(arg, "made.up", &pid, "args", 4, &o);
    say("spawned", rc < 0 ? rc : (int64_t)pid.actor, "");
    struct weft_down d;
    if (rc == 0 && weft_recv(&m, WEFT_FOREVER) == WEFT_OK && weft_down_read(m, &d) == WEFT_OK)
        say("child down", d.reason, d.text);
}

static void lent(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    weft_fail(77, "why");
}

#define MADE_ARGS(F) F(str, text)
WEFT_STRUCT(made_args, MADE_ARGS)

static void made(const struct made_args *args)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", WEFT_STR(args->text));
    say("made", 0, text);
    lent(NULL, 0);
}
WEFT_EXPORT_ACTOR("wire.made", made, made_args)

static weft_event may; /* of the one slow actor there is */
static uint64_t may_read;

static void slow(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_event_await(may, WEFT_FOREVER) == WEFT_OK) {
        for (; may_read > 0 && weft_recv(&m, WEFT_FOREVER) == WEFT_OK; may_read--) {
            if (weft_wants_reply(m)) (void)weft_reply(m, weft_tag(m), NULL, 0);
            weft_msg_free(m);
        }
    }
}

static int64_t start_slow(void)
{
    weft_pid pid;
    weft_spawn_options o = {.mailbox_max = 64, .worker = WEFT_BESIDE};
    return weft_event_open(&may) < 0 || weft_spawn(&pid, slow, NULL, 0, &o) < 0 ? 0 : (int64_t)pid.actor;
}

static int64_t let_read(uint64_t count)
{
    may_read = count;
    return weft_event_set(may);
}

static uint64_t start(weft_actor *body, const void *arg, size_t size)
{
    weft_pid pid = weft_nobody();
    if (weft_spawn(&pid, body, arg, size, NULL) < 0) abort();
    return pid.actor;
}

static int in_topics(const weft_msg *m, const char *text)
{
    struct weft_reach reach;
    switch (weft_tag(m)) {
    case SUBSCRIBE: return weft_subscribe(text, NULL);
    case QUEUE: return weft_subscribe_with(text, &(weft_subscribe_options){.queue = "workers"}, NULL);
    case PUBLISH: return weft_publish(text, 7, "news", 4);
    case RETAIN: return weft_publish_retained(text, 7, "kept", 4);
    case REACH: {
        int rc = weft_publish_reach(text, 7, "news", 4, &reach, weft_after(WEFT_SEC(20)));
        return rc < 0 ? rc : (int)reach.subscribers;
    }
    default: return WEFT_EINVAL;
    }
}

static int64_t with_text(const weft_msg *m)
{
    char text[256];
    weft_pid pid;
    snprintf(text, sizeof text, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
    switch (weft_tag(m)) {
    case ORDER: return (int64_t)start(orderer, text, sizeof text);
    case GLOBAL: return weft_register_global(text);
    case FIND: return weft_whereis(text, &pid) < 0 ? 0 : (int64_t)pid.actor;
    case GROUP: return weft_group_join(text);
    case TO_GROUP: return weft_group_send(text, 7, "all", 3);
    default: return in_topics(m, text);
    }
}

static int64_t obey(const weft_msg *m)
{
    weft_pid other = {weft_from(m).node, number_at(m, 0)};
    struct pour p = {other, number_at(m, 1), number_at(m, 2)};
    switch (weft_tag(m)) {
    case SELF: return (int64_t)weft_self().actor;
    case POUR: return (int64_t)start(pourer, &p, sizeof p);
    case WATCH: return weft_monitor(other, NULL);
    case LINK: return weft_link(other);
    case UNLINK: return weft_unlink(other);
    case CALL: return (int64_t)start(caller, &other, sizeof other);
    case LEND: return (int64_t)start(lent, NULL, 0);
    case SLOW: return start_slow();
    case MAY: return let_read(number_at(m, 0));
    default: return with_text(m);
    }
}

/* Signals and messages. */
static void hear(const weft_msg *m, uint64_t counted[2])
{
    struct weft_down d;
    char text[80];
    if (weft_down_read(m, &d) == WEFT_OK) {
        say(weft_tag(m) == WEFT_TAG_DOWN ? "down" : "exit", d.reason, d.text);
    } else if (weft_tag(m) == NUMBERED) {
        if (number_at(m, 0) == counted[0]) counted[0]++;
        else counted[1]++;
    } else {
        snprintf(text, sizeof text, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
        say("got", weft_tag(m), text);
    }
}

static void puppet(const void *arg, size_t size)
{
    weft_msg *m;
    uint64_t counted[2] = {1, 0};
    (void)arg, (void)size;
    (void)weft_trap_exits(true);
    say("ready", weft_register("puppet"), "");
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (!weft_wants_reply(m)) hear(m, counted);
        else if (weft_tag(m) == COUNTED) (void)weft_reply(m, COUNTED, counted, sizeof counted);
        else if (weft_tag(m) != FORGET) {
            int64_t result = obey(m);
            (void)weft_reply(m, weft_tag(m), &result, sizeof result);
        }
    }
}

WEFT_MODULE(puppet)
