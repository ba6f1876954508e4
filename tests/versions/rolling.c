/* tests/versions/rolling.c -- a module of versions_test.py: traffic of a node with all the nodes that it is given, of which
 * one after the other ends and comes back. What was sent, published, answered and counted is printed when the node ends, so
 * that the test can compare the sums. */
#include "mixed.h"

#define PACE WEFT_MS(4)
#define REST WEFT_MS(20) /* while a node is away */
enum { ADD = 1, WORD = 2, SAID = 3, STREAMS_MAX = 512 };

/* Numbered messages of one actor: by sending them, or by publishing. */
struct stream {
    weft_pid from;
    uint64_t sent, published; /* the last number */
};

static void note_number(struct stream *all, const weft_msg *m)
{
    size_t i = 0;
    uint64_t number;
    if (weft_size(m) != sizeof number) return;
    memcpy(&number, weft_data(m), sizeof number);
    while (i < STREAMS_MAX && all[i].from.node != 0 && !same_pid(all[i].from, weft_from(m))) i++;
    if (i == STREAMS_MAX) abort();
    all[i].from = weft_from(m);
    uint64_t *last = weft_tag(m) == WORD ? &all[i].sent : &all[i].published;
    /* A subscription begins with any number. */
    if (number != *last + 1 && (weft_tag(m) == WORD || *last != 0 || number == 0))
        check(false, "%s %" PRIu64 " after %" PRIu64, weft_tag(m) == WORD ? "message" : "publication", number, *last);
    *last = number;
}

/* Counts what it is asked to, and reports all that it has got when it ends. */
static void counter(const void *arg, size_t size)
{
    static struct stream all[STREAMS_MAX]; /* one counter in a process */
    uint64_t counted = 0;
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_subscribe("said", NULL) < 0 || weft_register("counter") < 0) abort();
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_tag(m) == ADD) counted++, (void)weft_reply(m, ADD, &counted, sizeof counted);
        else note_number(all, m);
        weft_msg_free(m);
    }
    say("counted %016" PRIx64 " %" PRIu64, weft_self().node, counted);
    for (struct stream *one = all; one->from.node != 0; one++)
        say("heard %016" PRIx64 " %016" PRIx64 ".%" PRIx64 " %" PRIu64 " %" PRIu64, weft_self().node, one->from.node,
            one->from.actor, one->sent, one->published);
}

/* WEFT_OK after that time; or WEFT_ECANCELED. */
static int rest(int64_t time)
{
    return weft_sleep(weft_after(time)) == WEFT_ECANCELED ? WEFT_ECANCELED : WEFT_OK;
}

/* What one caller knows of its calls: how many each incarnation has answered, and how many may have been counted. */
struct calls {
    uint64_t unknown;
    struct {
        uint64_t node, count;
    } answered[STREAMS_MAX];
};

/* Asks the counter of that node, which counts it. */
static int ask_counter(struct calls *calls, const char *node, weft_pid *out)
{
    char name[80];
    weft_msg *m = NULL;
    size_t i = 0;
    snprintf(name, sizeof name, "counter@%s", node);
    int rc = weft_call_name(name, ADD, NULL, 0, &m, soon());
    if (rc == 0) {
        *out = weft_from(m);
        while (calls->answered[i].node != 0 && calls->answered[i].node != out->node) i++;
        calls->answered[i].node = out->node;
        calls->answered[i].count++;
    } else if (rc == WEFT_ENONODE || rc == WEFT_ENOREPLY || rc == WEFT_ETIMEDOUT || rc == WEFT_ECANCELED) {
        calls->unknown++;
    } else if (rc != WEFT_ENOACTOR) {
        check(false, "a call of %s: %s", name, weft_strerror(rc));
    }
    weft_msg_free(m);
    return rc;
}

static void report_calls(const struct calls *calls)
{
    for (size_t i = 0; calls->answered[i].node != 0; i++)
        say("answered %016" PRIx64 " %" PRIu64, calls->answered[i].node, calls->answered[i].count);
    say("unknown %" PRIu64, calls->unknown);
}

/* Calls the counter of one node, again and again, also while that is away. */
static void caller(const void *arg, size_t size)
{
    struct calls calls = {0};
    uint64_t answered = 0;
    weft_pid to;
    int rc;
    (void)size;
    do {
        rc = ask_counter(&calls, arg, &to);
        if (rc == 0 && ++answered % 50 == 0) say("beat %s", (const char *)arg);
    } while (rc != WEFT_ECANCELED && rest(rc == 0 ? PACE : REST) == WEFT_OK);
    report_calls(&calls);
}

/* Sends numbers to the counter of one node, until the one or the other ends. */
static void sender(const void *arg, size_t size)
{
    struct calls calls = {0};
    uint64_t sent = 0;
    weft_pid to = weft_nobody();
    int rc;
    do rc = ask_counter(&calls, arg, &to);
    while (rc != WEFT_OK && rc != WEFT_ECANCELED && rest(REST) == WEFT_OK);
    report_calls(&calls);
    if (rc != WEFT_OK) return;
    while (rc == 0) {
        sent++;
        rc = weft_send(to, WORD, &sent, sizeof sent);
        if (rc < 0) sent--;
        if (rc == 0) rc = rest(PACE);
    }
    say("sent %016" PRIx64 ".%" PRIx64 " %016" PRIx64 " %" PRIu64, weft_self().node, weft_self().actor, to.node,
        sent);
    /* For the next incarnation there is another sender, whose numbers begin anew. */
    if (rc != WEFT_ECANCELED) weft_ignore(weft_spawn(NULL, sender, arg, size, NULL));
}

static void publisher(const void *arg, size_t size)
{
    uint64_t published = 0;
    (void)arg, (void)size;
    do {
        published++;
        if (weft_publish("said", SAID, &published, sizeof published) < 0) abort();
    } while (rest(PACE) == 0);
    say("published %016" PRIx64 ".%" PRIx64 " %" PRIu64, weft_self().node, weft_self().actor, published);
}

/* Claims a global name, and claims it again each time when the actor that has it ends. Prints which node has it. */
static void keeper(const void *arg, size_t size)
{
    weft_pid holder;
    weft_msg *m;
    (void)arg, (void)size;
    for (;;) {
        int rc = weft_register_global("ledger");
        if (rc == 0) {
            uint64_t me = weft_self().node;
            say("holds %016" PRIx64, me);
            if (weft_publish_retained("holder", 1, &me, sizeof me) < 0) say("WRONG nothing is retained");
        } else if (rc != WEFT_EEXIST) {
            say("WRONG a name: %s", weft_strerror(rc));
        }
        if (rc != 0 && (weft_whereis("ledger", &holder) < 0 || weft_monitor(holder, NULL) < 0)) continue;
        do {
            if (weft_recv(&m, WEFT_FOREVER) < 0) return;
            rc = weft_tag(m) == WEFT_TAG_DOWN || weft_tag(m) == WEFT_TAG_NAME_LOST;
            weft_msg_free(m);
        } while (!rc);
    }
}

/* Prints what is retained about the holder. */
static void listener(const void *arg, size_t size)
{
    weft_msg *m;
    uint64_t node;
    (void)arg, (void)size;
    if (weft_subscribe("holder", NULL) < 0) abort();
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        if (weft_size(m) == sizeof node) memcpy(&node, weft_data(m), sizeof node), say("knows %016" PRIx64, node);
        weft_msg_free(m);
    }
}

static void roll(int count, const char *const *nodes)
{
    say("ready");
    if (weft_spawn(NULL, counter, NULL, 0, NULL) < 0 || weft_spawn(NULL, keeper, NULL, 0, NULL) < 0) abort();
    if (weft_spawn(NULL, listener, NULL, 0, NULL) < 0 || weft_spawn(NULL, publisher, NULL, 0, NULL) < 0) abort();
    for (int i = 0; i < count; i++) {
        size_t size = strlen(nodes[i]) + 1;
        if (weft_spawn(NULL, caller, nodes[i], size, NULL) < 0) abort();
        if (weft_spawn(NULL, sender, nodes[i], size, NULL) < 0) abort();
    }
    (void)weft_sleep(WEFT_FOREVER);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    roll(args->argc - 1, args->argv + 1);
}

WEFT_MODULE(first)
