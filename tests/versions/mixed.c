/* tests/versions/mixed.c -- the module of versions_test.py, which is compiled for each version of weft with that version's
 * headers, and so uses nothing that one of them lacks. `serve`: an actor that does what others ask for. `probe NODE`: tries
 * everything that works between nodes with the server on NODE, and prints a line for each promise: "ok ..." or "WRONG ...".
 * `stream NODE COUNT`: numbered messages and calls to NODE, for a connection that is cut meanwhile. */
#include "mixed.h"

enum { LARGE = 8 << 20, MANY = 2000, FLOOD_COUNT = 64, FLOOD_BYTES = 1 << 20 };

/* Tags: what the server is asked for. */
enum {
    ECHO = 1,  /* a request is answered with its body; a message comes back */
    FORGET,    /* the request is freed without an answer */
    LEFT,      /* answers with the ns that its caller still waits */
    LEND,      /* answers with the pid of an actor that ends with reason 77 and the text "why" when a message comes */
    TIE,       /* the same, of one that is linked with its asker */
    SLOW,      /* the same, of one with a mailbox of 16, which counts what it gets, and says so when it is called */
    FULL,      /* the same, of one whose mailbox of 1 refuses, and that never receives */
    CALL_BACK, /* calls its asker, and answers with the result of that call */
    PASS_ON,   /* another actor answers */
    NAMED,     /* as LEND, of one that has the global name "brief" and is in the group "crew" */
    KEPT,      /* answers with the retained message of "note" that a new subscriber gets */
    FLOOD,     /* publishes more under "flood" than a link holds */
    NUMBERED = 100,
    LAST,
};

#define COLOUR(E) E(COLOUR_RED, 0, "red") E(COLOUR_BLUE, 7, "blue")
WEFT_ENUM(colour, COLOUR)
#define ITEM(F) F(str, name) F(real, price) F(colour, tint)
WEFT_STRUCT(item, ITEM)
#define ORDER(F)  \
    F(uint, id)   \
    F(int, less)  \
    F(bool, paid) \
    F(bin, seal)  \
    F(pid, buyer) F(item, first) F(list(item), items) F(map(int), stock) F(maybe(str), note) F(maybe(int), none)
WEFT_MESSAGE(order, 200, ORDER)

/* ---- The server ------------------------------------------------------------------------------------------------ */

static void lent(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    weft_msg_free(m);
    weft_fail(77, "why");
}

static void tied(const void *arg, size_t size)
{
    weft_pid other;
    memcpy(&other, arg, sizeof other);
    if (weft_link(other) < 0) weft_fail(78, "not linked");
    lent(arg, size);
}

/* Keeps count of numbers from 1 that come in order. */
static void slow(const void *arg, size_t size)
{
    uint64_t in_order = 0, wrong = 0;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        uint64_t number = 0;
        if (weft_size(m) >= sizeof number) memcpy(&number, weft_data(m), sizeof number);
        if (weft_tag(m) == NUMBERED && number == in_order + 1) in_order++;
        else if (weft_tag(m) == NUMBERED) wrong++;
        else if (weft_tag(m) == LAST) (void)weft_reply(m, LAST, (uint64_t[]){in_order, wrong}, 2 * sizeof wrong);
        weft_msg_free(m);
        if (in_order % 64 == 0) (void)weft_sleep(weft_after(WEFT_MS(1)));
    }
}

static void never_receives(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static void calls_back(const void *arg, size_t size)
{
    weft_msg *m, *answer = NULL;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    int rc = weft_call(weft_from(m), ECHO, NULL, 0, &answer, soon());
    weft_msg_free(answer);
    (void)weft_reply(m, CALL_BACK, &rc, sizeof rc);
    weft_msg_free(m);
}

static void passes_on(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    (void)weft_reply(m, PASS_ON, "from the other one", 18);
    weft_msg_free(m);
}

static void publishes_flood(const void *arg, size_t size)
{
    char *body = calloc(1, FLOOD_BYTES);
    (void)arg, (void)size;
    while (weft_publish("flood", FLOOD, NULL, 0) == 0 && weft_sleep(weft_after(WEFT_MS(1))) != WEFT_ECANCELED) {}
    for (uint64_t i = 1; body != NULL && i <= FLOOD_COUNT; i++) {
        memcpy(body, &i, sizeof i);
        if (weft_publish("flood", NUMBERED, body, FLOOD_BYTES) < 0) break;
    }
    free(body);
}

#if TABLES
static void named(const void *arg, size_t size)
{
    weft_msg *m;
    if (weft_register_global("brief") < 0 || weft_group_join("crew") < 0) weft_fail(78, "no name");
    if (weft_recv(&m, WEFT_FOREVER) < 0) return; /* a request: it is ready */
    (void)weft_reply(m, NAMED, NULL, 0);
    weft_msg_free(m);
    lent(arg, size);
}

static void subscribes_late(const void *arg, size_t size)
{
    weft_msg *ask, *m;
    (void)arg, (void)size;
    if (weft_recv(&ask, WEFT_FOREVER) < 0 || weft_subscribe("note", NULL) < 0) return;
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    (void)weft_reply(ask, weft_is_retained(m) ? KEPT : 0, weft_data(m), weft_size(m));
    weft_msg_free(ask), weft_msg_free(m);
}
#endif

/* One member of a queue group; another one is beside it. Each says which of them it is. */
static void queue_member(const void *arg, size_t size)
{
    weft_msg *m;
    if (weft_subscribe_with("jobs.>", &(weft_subscribe_options){.queue = "workers"}, NULL) < 0) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        weft_ignore(weft_send(weft_from(m), NUMBERED, arg, size));
        weft_msg_free(m);
    }
}

static void reply_with_new(const weft_msg *m, weft_actor *body, const void *arg, size_t size,
                           const weft_spawn_options *o)
{
    weft_pid pid = weft_nobody();
    if (weft_spawn(&pid, body, arg, size, o) < 0) abort();
    (void)weft_reply(m, weft_tag(m), &pid, sizeof pid);
}

static void reply_with_order(const weft_msg *m)
{
    struct order o;
    struct weft_why why;
    if (order_read_why(m, &o, &why) < 0) (void)weft_reply(m, 0, why.text, strlen(why.text));
    else (void)order_reply(m, &o);
}

/* By another actor, which gets the request. Takes `m`. */
static void hand_on(weft_msg *m, weft_actor *body)
{
    weft_pid pid;
    if (weft_spawn(&pid, body, NULL, 0, NULL) < 0) abort();
    weft_ignore(weft_send_msg(pid, m));
}

static void reply_with_left(const weft_msg *m)
{
    int64_t left = weft_deadline(m) - weft_now();
    (void)weft_reply(m, LEFT, &left, sizeof left);
}

/* True: the message is somebody else's now. */
static bool obey(weft_msg *m)
{
    weft_pid from = weft_from(m);
    switch (weft_tag(m)) {
    case ORDER_TAG: return reply_with_order(m), false;
    case FORGET: return false;
    case LEFT: return reply_with_left(m), false;
    case LEND: return reply_with_new(m, lent, NULL, 0, NULL), false;
    case TIE: return reply_with_new(m, tied, &from, sizeof from, NULL), false;
    case SLOW: return reply_with_new(m, slow, NULL, 0, &(weft_spawn_options){.mailbox_max = 16}), false;
    case FULL:
        return reply_with_new(m, never_receives, NULL, 0,
                              &(weft_spawn_options){.mailbox_max = 1, .policy = WEFT_FULL_FAIL}),
               false;
    case CALL_BACK: return hand_on(m, calls_back), true;
    case PASS_ON: return hand_on(m, passes_on), true;
    case FLOOD: return reply_with_new(m, publishes_flood, NULL, 0, NULL), false;
#if TABLES
    case NAMED: return reply_with_new(m, named, NULL, 0, NULL), false;
    case KEPT: return hand_on(m, subscribes_late), true;
#endif
    default:
        if (weft_wants_reply(m)) (void)weft_reply(m, weft_tag(m), weft_data(m), weft_size(m));
        else weft_ignore(weft_send(from, weft_tag(m), weft_data(m), weft_size(m)));
        return false;
    }
}

static void serve(void)
{
    char name[80], topic[80];
    weft_msg *m;
    const char *here = weft_node_name(weft_here());
    if (weft_register("desk") < 0) return;
    snprintf(topic, sizeof topic, "ask.%s.*", here);
    if (weft_subscribe(topic, NULL) < 0) return;
    snprintf(name, sizeof name, "desk.%s", here);
    for (uint64_t i = 0; i < 2; i++)
        if (weft_spawn(NULL, queue_member, &i, sizeof i, NULL) < 0) return;
#if TABLES
    if (weft_register_global(name) < 0 || weft_group_join("crew") < 0) return;
    snprintf(topic, sizeof topic, "state.%s", here);
    if (weft_publish_retained(topic, KEPT, "open", 4) < 0) return;
#endif
    say("ready");
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK)
        if (!obey(m)) weft_msg_free(m);
}

#define GREETER_ARGS(F) F(str, name) F(uint, times)
WEFT_STRUCT(greeter_args, GREETER_ARGS)
#define GREETER_LATER(F) F(str, name) F(uint, times) F(list(int), more) /* as a later version might have it */
WEFT_STRUCT(greeter_later, GREETER_LATER)
#define GREETER_WRONG(F) F(str, name) F(str, times)
WEFT_STRUCT(greeter_wrong, GREETER_WRONG)

static void greeter(const struct greeter_args *args)
{
    weft_msg *m;
    char text[100];
    int size = snprintf(text, sizeof text, "%.*s greets %u times", WEFT_STR(args->name), (unsigned)args->times);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_wants_reply(m)) (void)weft_reply(m, ECHO, text, (size_t)size);
        weft_msg_free(m);
    }
}
WEFT_EXPORT_ACTOR("mixed.greeter", greeter, greeter_args)

/* ---- The one that tries it all --------------------------------------------------------------------------------- */

static const char *peer;
static bool plain; /* it has no tables */
static char desk_name[80];
static weft_pid desk;

/* A call to the desk; its error, or 0. What the answer has is copied into `out`. */
static int ask(uint32_t tag, const void *data, size_t size, void *out, size_t out_size)
{
    weft_msg *m = NULL;
    int rc = weft_call(desk, tag, data, size, &m, soon());
    if (rc == WEFT_OK && weft_size(m) != out_size) rc = WEFT_EFORMAT;
    if (rc == WEFT_OK && out_size > 0) memcpy(out, weft_data(m), out_size);
    weft_msg_free(m);
    return rc;
}

static weft_pid borrow(uint32_t tag)
{
    weft_pid pid = weft_nobody();
    int rc = ask(tag, NULL, 0, &pid, sizeof pid);
    if (rc < 0) check(false, "no actor for %u: %s", tag, weft_strerror(rc));
    return pid;
}

/* The next message with that tag, its body as text. */
static weft_pid next(uint32_t tag, char *text, size_t room)
{
    weft_msg *m = NULL;
    weft_pid from = weft_nobody();
    text[0] = '\0';
    int rc = weft_recv_tag(&m, tag, soon());
    if (rc < 0) {
        snprintf(text, room, "%s", weft_strerror(rc));
        return from;
    }
    snprintf(text, room, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
    from = weft_from(m);
    weft_msg_free(m);
    return from;
}

static void try_messages(void)
{
    char text[100];
    weft_msg *m = NULL;
    int rc = weft_send(desk, 55, "there and back", 14);
    bool from_desk = same_pid(next(55, text, sizeof text), desk);
    check(rc == 0 && from_desk && strcmp(text, "there and back") == 0, "a message comes, and one comes back");
    rc = weft_send_name(desk_name, 56, "by name", 7);
    (void)next(56, text, sizeof text);
    check(rc == 0 && strcmp(text, "by name") == 0, "a message to a name");
    weft_later l;
    rc = weft_send_after(weft_now(), desk, 57, "later", 5, &l);
    (void)next(57, text, sizeof text);
    check(rc == 0 && strcmp(text, "later") == 0, "a message that is sent later");
    char *large = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++) large[i] = (char)(i * 7 + i / 4093);
    rc = weft_call(desk, ECHO, large, LARGE, &m, soon());
    check(rc == 0 && weft_size(m) == LARGE && memcmp(weft_data(m), large, LARGE) == 0, "8 MiB there and back");
    free(large);
    weft_msg_free(m);
}

static void try_calls(void)
{
    weft_msg *m = NULL;
    char text[20] = "";
    int64_t left = 0;
    check(ask(ECHO, "what", 4, text, 4) == 0 && strcmp(text, "what") == 0, "a call");
    int rc = weft_call_name(desk_name, ECHO, "what", 4, &m, soon());
    check(rc == 0 && weft_size(m) == 4, "a call to a name");
    weft_msg_free(m), m = NULL;
    rc = weft_call(desk, FORGET, NULL, 0, &m, soon());
    check(rc == WEFT_ENOREPLY, "a request that is let go: %d", rc);
    char nobody[80];
    snprintf(nobody, sizeof nobody, "nobody@%s", peer);
    rc = weft_call_name(nobody, ECHO, NULL, 0, &m, soon());
    check(rc == WEFT_ENOACTOR, "a name that no actor has: %d", rc);
    rc = weft_call_name("desk@nowhere", ECHO, NULL, 0, &m, soon());
    check(rc == WEFT_ENONODE, "a node that is not there: %d", rc);
    weft_pid full = borrow(FULL);
    rc = weft_send(full, 1, NULL, 0);
    int second = weft_call(full, ECHO, NULL, 0, &m, soon());
    check(rc == 0 && second == WEFT_EFULL, "a mailbox that refuses: %d", second);
    rc = weft_call(full, ECHO, NULL, 0, &m, weft_after(WEFT_MS(1)));
    check(rc == WEFT_EFULL || rc == WEFT_ETIMEDOUT, "a deadline that is near: %d", rc);
    rc = ask(LEFT, NULL, 0, &left, sizeof left);
    check(rc == 0 && left > 0 && left <= WEFT_SEC(PATIENCE_S), "the server knows the deadline: %d, %" PRId64, rc,
          left);
    rc = weft_call(desk, PASS_ON, NULL, 0, &m, soon());
    check(rc == 0 && !same_pid(weft_from(m), desk), "another actor answers: %d", rc);
    weft_msg_free(m), m = NULL;
    int back = 0;
    rc = ask(CALL_BACK, NULL, 0, &back, sizeof back);
    check(rc == WEFT_EDEADLOCK || back == WEFT_EDEADLOCK, "a cycle of calls is found: %d, %d", rc, back);
    struct weft_answer answers[3] = {{.from = desk}, {.from = desk}, {.from = full}};
    rc = weft_gather(answers, 3, 2, ECHO, "all", 3, soon());
    check(rc == 2, "calls to many: %d", rc);
    weft_answers_free(answers, 3);
}

static void try_typed(void)
{
    struct item items[2] = {{weft_cstr("tea"), 2.5, COLOUR_BLUE}, {weft_cstr(""), -1, 99 /* nobody's number */}};
    weft_entry_int stock[2] = {{weft_cstr("tea"), -3}, {weft_cstr("milk"), INT64_MAX}};
    struct order o = {.id = UINT64_MAX, .less = INT64_MIN, .paid = true, .seal = {"\0\xff", 2}, .buyer = weft_self()};
    struct order got;
    o.first = items[0];
    o.items = item_list(items, 2);
    o.stock = weft_int_map(stock, 2);
    o.note.present = true, o.note.value = weft_cstr("caf\xc3\xa9");
    weft_msg *m = NULL;
    struct weft_why why = {0};
    int rc = order_call(desk, &o, &m, soon());
    int read = rc < 0 ? rc : order_read_why(m, &got, &why);
    check(read == 0 && order_equal(&o, &got), "a typed message there and back: %d %d %s", rc, read, why.text);
    weft_msg_free(m);
}

static void down_of(weft_pid who, struct weft_down *d)
{
    weft_msg *m = NULL;
    *d = (struct weft_down){.reason = -1000};
    while (weft_recv_tag(&m, WEFT_TAG_DOWN, soon()) == 0) {
        (void)weft_down_read(m, d);
        weft_msg_free(m);
        if (same_pid(d->who, who)) return;
    }
}

static void try_monitors(void)
{
    struct weft_down d;
    weft_pid one = borrow(LEND), two = borrow(LEND), three = borrow(LEND);
    bool watched = weft_monitor(one, NULL) == 0 && weft_monitor(two, NULL) == 0 && weft_monitor(three, NULL) == 0;
    check(watched && weft_send(one, 1, NULL, 0) == 0, "monitors");
    down_of(one, &d);
    check(d.reason == 77 && strstr(d.text, ": why") != NULL, "an actor fails: %d %s", d.reason, d.text);
    (void)weft_kill(two);
    down_of(two, &d);
    check(d.reason == WEFT_EXIT_KILLED, "an actor is killed: %d", d.reason);
    (void)weft_stop(three);
    down_of(three, &d);
    check(d.reason == WEFT_EXIT_STOPPED, "an actor is asked to stop: %d", d.reason);
    weft_ignore(weft_monitor(one, NULL));
    down_of(one, &d);
    check(d.reason == WEFT_EXIT_NO_ACTOR, "an actor that has ended is watched: %d", d.reason);
    weft_monitor_ref ref = {0};
    weft_pid four = borrow(LEND);
    check(weft_monitor(four, &ref) == 0 && weft_demonitor(ref) == 0, "a monitor is taken back");
    int rc = weft_kill(four);
    weft_msg *m = NULL;
    int ended = weft_call(four, ECHO, NULL, 0, &m, soon());
    check(rc == 0 && ended == WEFT_ENOACTOR, "a call to an actor that has ended: %d", ended);
}

static int exit_of(weft_pid who)
{
    struct weft_down d = {.reason = -1000};
    weft_msg *m = NULL;
    while (weft_recv_tag(&m, WEFT_TAG_EXIT, soon()) == 0) {
        (void)weft_down_read(m, &d);
        weft_msg_free(m);
        if (same_pid(d.who, who)) return d.reason;
    }
    return -1000;
}

static void is_linked(const void *arg, size_t size)
{
    weft_pid other;
    (void)size;
    memcpy(&other, arg, sizeof other);
    if (weft_link(other) == 0) weft_fail(79, "the local one");
}

static void try_links(void)
{
    (void)weft_trap_exits(true);
    weft_pid one = borrow(LEND), two = borrow(TIE), three = borrow(LEND), four = borrow(LEND);
    int rc = weft_link(one) == 0 ? weft_send(one, 1, NULL, 0) : -1;
    int reason = exit_of(one);
    check(rc == 0 && reason == 77, "a linked actor fails: %d", reason);
    rc = weft_send(two, 1, NULL, 0);
    reason = exit_of(two);
    check(rc == 0 && reason == 77, "an actor that has linked itself fails: %d", reason);
    rc = weft_link(three);
    int unlinked = weft_unlink(three);
    check(rc == 0 && unlinked == 0, "a link is taken back: %d %d", rc, unlinked);
    (void)weft_kill(three);
    struct weft_down d;
    rc = weft_monitor(four, NULL);
    weft_pid child;
    weft_ignore(weft_spawn(&child, is_linked, &four, sizeof four, NULL));
    down_of(four, &d);
    check(rc == 0 && d.reason == 79, "it ends with an actor of the other node: %d", d.reason);
    weft_msg *m = NULL;
    rc = weft_recv_tag(&m, WEFT_TAG_EXIT, WEFT_NOW);
    check(rc == WEFT_ETIMEDOUT, "no EXIT after a link was taken back: %d", rc);
    weft_msg_free(m);
}

static void try_spawns(void)
{
    weft_pid pid = weft_nobody();
    weft_monitor_ref ref = {0};
    struct weft_why why = {0};
    struct weft_down d;
    weft_msg *m = NULL;
    struct greeter_args args = {weft_cstr("ann"), 3};
#ifdef WEFT_REMOTE_H
    weft_remote_options o = {.monitor = &ref, .deadline = soon(), .why = &why};
#else
    weft_far_options o = {.monitor = &ref, .deadline = soon(), .why = &why};
#endif
    int rc = weft_spawn_on(peer, "mixed.greeter", &pid, WEFT_ARGS(greeter_args, &args), &o);
    int called = rc < 0 ? rc : weft_call(pid, ECHO, NULL, 0, &m, soon());
    check(called == 0 && weft_size(m) == 18 && memcmp(weft_data(m), "ann greets 3 times", 18) == 0,
          "an actor is started: %d %d %s", rc, called, why.text);
    weft_msg_free(m), m = NULL;
    (void)weft_stop(pid);
    down_of(pid, &d);
    check(d.reason == WEFT_EXIT_STOPPED, "a started actor is watched: %d", d.reason);
    struct greeter_later later = {.name = weft_cstr("ben"), .times = 4};
    rc = weft_spawn_on(peer, "mixed.greeter", &pid, WEFT_ARGS(greeter_later, &later), &o);
    called = rc < 0 ? rc : weft_call(pid, ECHO, NULL, 0, &m, soon());
    check(called == 0 && weft_size(m) == 18, "with a field that it does not know: %d %s", rc, why.text);
    weft_msg_free(m);
    (void)weft_kill(pid);
    struct greeter_wrong wrong = {weft_cstr("cat"), weft_cstr("many")};
    rc = weft_spawn_on(peer, "mixed.greeter", &pid, WEFT_ARGS(greeter_wrong, &wrong), &o);
    check(rc == WEFT_EFORMAT && strstr(why.text, "times") != NULL, "arguments that do not match: %d %s", rc,
          why.text);
    rc = weft_spawn_on(peer, "mixed.nobody", &pid, WEFT_ARGS(greeter_args, &args), &o);
    check(rc == WEFT_ENOACTOR, "an actor that is not exported: %d", rc);
}

static void pours(weft_pid to, uint64_t count, size_t size)
{
    char *body = calloc(1, size);
    int rc = 0;
    for (uint64_t i = 1; i <= count && rc == 0; i++) {
        memcpy(body, &i, sizeof i);
        while ((rc = weft_send(to, NUMBERED, body, size)) == WEFT_EFULL) {}
    }
    free(body);
    uint64_t told[2] = {0, 0};
    weft_msg *m = NULL;
    int called = rc < 0 ? rc : weft_call(to, LAST, NULL, 0, &m, soon());
    if (called == 0) memcpy(told, weft_data(m), sizeof told);
    weft_msg_free(m);
    check(told[0] == count && told[1] == 0, "%" PRIu64 " messages of %zu bytes, in order: %d, %" PRIu64 ", %" PRIu64,
          count, size, called, told[0], told[1]);
}

static void try_topics(void)
{
    char topic[100], text[100];
    weft_msg *m = NULL;
    snprintf(topic, sizeof topic, "ask.%s.it", peer);
    for (int rc = 0; rc == 0;) rc = weft_publish(topic, 61, "is it?", 6); /* until its interest is known */
    check(same_pid(next(61, text, sizeof text), desk) && strcmp(text, "is it?") == 0, "a publication");
    int64_t until = soon();
    unsigned members[2] = {0, 0}, sent = 0;
    while (sent < 20 && weft_now() < until) {
        if (weft_publish("jobs.one", NUMBERED, NULL, 0) <= 0) continue; /* its members are not known yet */
        sent++;
        uint64_t which = 2;
        if (weft_recv_tag(&m, NUMBERED, soon()) == 0 && weft_size(m) == sizeof which)
            memcpy(&which, weft_data(m), sizeof which);
        weft_msg_free(m), m = NULL;
        if (which < 2) members[which]++;
    }
    check(members[0] + members[1] == 20 && members[0] > 0 && members[1] > 0, "a queue group: %u, %u", members[0],
          members[1]);
}

#if TABLES
static void try_names(void)
{
    char global[80];
    weft_pid found = weft_nobody(), brief = borrow(NAMED);
    snprintf(global, sizeof global, "desk.%s", peer);
    int rc = weft_await_name(global, &found, soon());
    check(rc == 0 && same_pid(found, desk), "a global name is found: %d", rc);
    rc = weft_register_global(global);
    check(rc == WEFT_EEXIST, "a global name is taken: %d", rc);
    check(weft_group_watch("crew") == 0, "a group is watched");
    weft_msg *m = NULL;
    rc = weft_call(brief, 1, NULL, 0, &m, soon());
    weft_msg_free(m);
    check(rc == 0 && weft_whereis("brief", &found) == 0 && same_pid(found, brief),
          "a name is known before a later message");
    weft_pid members[8];
    int count = weft_group_members("crew", members, 8), desks = 0;
    for (int i = 0; i < count && i < 8; i++) desks += same_pid(members[i], desk) || same_pid(members[i], brief);
    check(desks == 2, "members of a group are known before a later message: %d of %d", desks, count);
    struct weft_down d;
    rc = weft_monitor(brief, NULL) == 0 ? weft_send(brief, 1, NULL, 0) : -1;
    down_of(brief, &d);
    int gone = weft_whereis("brief", &found);
    check(rc == 0 && d.reason == 77 && gone == WEFT_ENOACTOR, "its name goes before its end is told: %d, %d",
          d.reason, gone);
    struct weft_group_news news = {.reason = -1000};
    unsigned joined = 0;
    while (weft_recv_tag(&m, WEFT_TAG_GROUP_JOIN, WEFT_NOW) == 0) {
        joined += weft_group_news_read(m, &news) == 0 && (same_pid(news.who, brief) || same_pid(news.who, desk));
        weft_msg_free(m);
    }
    rc = weft_recv_tag(&m, WEFT_TAG_GROUP_LEAVE, soon());
    if (rc == 0) (void)weft_group_news_read(m, &news);
    if (rc == 0) weft_msg_free(m);
    check(joined == 2 && same_pid(news.who, brief) && news.ended && news.reason == 77,
          "what a watched group reports: %u joined, %d", joined, news.reason);
    (void)weft_group_unwatch("crew");
    char text[100];
    rc = weft_group_send("crew", 58, "to all", 6);
    bool from_desk = same_pid(next(58, text, sizeof text), desk);
    check(rc >= 1 && from_desk, "a message to a group: %d", rc);
}

static void try_retained(void)
{
    char topic[100], text[100];
    weft_msg *m = NULL;
    snprintf(topic, sizeof topic, "state.%s", peer);
    weft_subscription s;
    int rc = weft_subscribe(topic, &s);
    weft_pid from = next(KEPT, text, sizeof text);
    check(rc == 0 && same_pid(from, desk) && strcmp(text, "open") == 0, "a retained message of the other node: %s",
          text);
    (void)weft_unsubscribe(s);
    rc = weft_publish_retained("note", KEPT, "keep this", 9);
    int called = weft_call(desk, KEPT, NULL, 0, &m, soon());
    check(rc >= 0 && called == 0 && weft_tag(m) == KEPT && weft_size(m) == 9, "a retained message there: %d %d", rc,
          called);
    weft_msg_free(m);
    check(weft_retained_clear("note") == 1, "it is cleared");
    snprintf(topic, sizeof topic, "ask.%s.reach", peer);
    struct weft_reach reach = {0};
    rc = weft_publish_reach(topic, 63, NULL, 0, &reach, soon());
    (void)next(63, text, sizeof text);
    check(rc == 0 && reach.nodes == 1 && reach.silent == 0 && reach.subscribers == 1,
          "a publisher is told who got it: %d, %u nodes, %u silent", rc, reach.nodes, reach.silent);
}

/* Messages that the link does not hold are lost, and counted for the subscriber. */
static void try_flood(void)
{
    weft_subscription s;
    weft_msg *m = NULL;
    uint64_t got = 0, last = 0, lost = 0, wrong = 0;
    int rc = weft_subscribe_with("flood", &(weft_subscribe_options){.slow = WEFT_SLOW_DROP_NEWEST}, &s);
    weft_pid flooder = borrow(FLOOD);
    check(rc == 0 && !same_pid(flooder, weft_nobody()), "a flood");
    int64_t until = soon();
    while (got + lost < FLOOD_COUNT && weft_recv(&m, until) == 0) {
        struct weft_subscription_news news;
        uint64_t number = 0;
        if (weft_subscription_news_read(m, &news) == 0) lost += news.lost;
        if (weft_tag(m) == NUMBERED && weft_size(m) == FLOOD_BYTES) {
            memcpy(&number, weft_data(m), sizeof number);
            wrong += number <= last;
            last = number, got++;
        }
        weft_msg_free(m);
    }
    check(got + lost == FLOOD_COUNT && wrong == 0, "each publication comes, or is reported: %" PRIu64 " + %" PRIu64,
          got, lost);
    (void)weft_unsubscribe(s);
}
#endif

/* Waits until the node is linked. */
static int find_desk(void)
{
    int rc;
    weft_msg *m = NULL;
    snprintf(desk_name, sizeof desk_name, "desk@%s", peer);
    int64_t until = soon();
    do {
        rc = weft_call_name(desk_name, ECHO, NULL, 0, &m, soon());
    } while (rc < 0 && weft_now() < until && weft_sleep(weft_after(WEFT_MS(20))) != WEFT_ECANCELED);
    if (rc == 0) desk = weft_from(m);
    weft_msg_free(m);
    return rc;
}

static void probe(void)
{
    int rc = find_desk();
    check(rc == 0, "linked: %d", rc);
    if (rc < 0) return;
    try_messages();
    try_calls();
    try_typed();
    try_monitors();
    try_links();
    try_spawns();
    try_topics();
#if TABLES
    if (!plain) {
        try_names();
        try_retained();
        try_flood();
        pours(borrow(SLOW), MANY, 16);
        pours(borrow(SLOW), MANY / 4, 3000);
    }
#endif
    say("done");
    (void)weft_sleep(WEFT_FOREVER);
}

/* Numbered messages to an actor there, with a call after every hundred. */
static void stream(uint64_t count)
{
    if (find_desk() < 0) return;
    weft_pid to = borrow(SLOW);
    say("begins");
    for (uint64_t i = 1; i <= count; i++) {
        int rc;
        while ((rc = weft_send(to, NUMBERED, &i, sizeof i)) == WEFT_EFULL) {}
        if (rc < 0) check(false, "message %" PRIu64 ": %s", i, weft_strerror(rc));
        if (rc < 0) return;
        if (i % 100 != 0) continue;
        uint64_t told[2];
        weft_msg *m = NULL;
        rc = weft_call(to, LAST, NULL, 0, &m, soon());
        if (rc == 0) memcpy(told, weft_data(m), sizeof told);
        weft_msg_free(m);
        if (rc < 0 || told[0] != i || told[1] != 0) check(false, "after %" PRIu64 ": %d", i, rc);
        say("at %" PRIu64, i);
    }
    say("done");
    (void)weft_sleep(WEFT_FOREVER);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    const char *what = args->argc > 1 ? args->argv[1] : "";
    (void)size;
    if (args->argc > 2) peer = args->argv[2];
    plain = args->argc > 3 && strcmp(args->argv[3], "plain") == 0;
    if (strcmp(what, "serve") == 0) serve();
    else if (strcmp(what, "probe") == 0 && peer != NULL) probe();
    else if (strcmp(what, "stream") == 0 && args->argc > 3) stream(strtoull(args->argv[3], NULL, 10));
}

WEFT_MODULE(first)
