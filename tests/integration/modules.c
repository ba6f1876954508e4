/* Modules for cli_test.py, foreign_test.py and others, in one file: the first argument chooses what it does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

/* Answers requests with their body, and keeps the name "echo". */
static void echo(void)
{
    weft_msg *m;
    if (weft_register("echo") < 0) return;
    printf("ready\n");
    fflush(stdout);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_wants_reply(m)) weft_reply(m, weft_tag(m), weft_data(m), weft_size(m));
        else printf("got tag %u, %zu bytes\n", weft_tag(m), weft_size(m));
        fflush(stdout);
        weft_msg_free(m);
    }
    printf("asked to stop\n");
}

/* Its worker never turns again. */
static void spins(void)
{
    printf("ready\n");
    fflush(stdout);
    for (volatile bool ever = true; ever;) {}
}

static __attribute__((noinline)) void never_waits(void)
{
    for (volatile bool ever = true; ever;) {}
}

static void spinner(const void *arg, size_t size)
{
    char name[32];
    (void)size;
    snprintf(name, sizeof name, "the-spinner-%d", *(const int *)arg);
    if (weft_register(name) < 0) return;
    never_waits();
    weft_exit(1); /* so that this function is among the callers */
}

/* No worker turns again; the last one is this actor's. */
static void spins_everywhere(int workers)
{
    for (int i = workers; i > 0; i--) {
        weft_spawn_options o = {.kind = "spinner", .worker = i};
        if (weft_spawn(NULL, spinner, &i, sizeof i, &o) < 0) weft_exit(1);
        char name[32];
        weft_pid pid;
        snprintf(name, sizeof name, "the-spinner-%d", i);
        while (i > 1 && weft_whereis(name, &pid) < 0) weft_yield(); /* what is sent leaves when this worker turns */
    }
    printf("ready\n");
    fflush(stdout);
}

/* Computes for 700 of each 800 ms. */
static void computes(void)
{
    printf("ready\n");
    fflush(stdout);
    for (int rc = 0; rc == 0 || rc == WEFT_ETIMEDOUT; rc = weft_sleep(weft_after(WEFT_MS(100)))) {
        int64_t until = weft_after(WEFT_MS(700));
        while (weft_now() < until) {}
    }
}

#define GREETER_ARGS(F) F(str, name) F(uint, times)
WEFT_STRUCT(greeter_args, GREETER_ARGS)

/* Started by `weft spawn`: has the name it was given, and answers with both arguments. */
static void greeter(const struct greeter_args *args)
{
    char name[65], text[100];
    snprintf(name, sizeof name, "%.*s", WEFT_STR(args->name));
    if (weft_register(name) < 0) return;
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        int size = snprintf(text, sizeof text, "%s greets %u times", name, (unsigned)args->times);
        if (weft_wants_reply(m)) (void)weft_reply(m, 0, text, (size_t)size);
        weft_msg_free(m);
    }
}
WEFT_EXPORT_ACTOR("test.greeter", greeter, greeter_args)

/* Ignores that it was asked to stop. */
static void stubborn(void)
{
    printf("ready\n");
    fflush(stdout);
    for (;;) (void)weft_sleep(WEFT_FOREVER), (void)weft_yield();
}

/* Is asked to stop, by a message, and goes on: no grace period runs. */
static void lingers(void)
{
    weft_msg *m;
    weft_trap_stop(true);
    printf("ready\n");
    fflush(stdout);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

static void does_nothing(void *block)
{
    (void)block;
}

static void member(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

/* Has all that may lie idle: threads for blocking functions, a pool and its members. */
static void idle(void)
{
    weft_pid pool;
    if (weft_offload(does_nothing, NULL, 0, WEFT_FOREVER) < 0) return;
    if (weft_spawn_pool(&pool, member, NULL, 0, NULL) < 0 || weft_send(pool, 1, NULL, 0) < 0) return;
    echo();
}

static int recurse(volatile int depth)
{
    volatile char frame[512];
    frame[0] = (char)depth;
    return depth < 0 ? 0 : recurse(depth + 1) + frame[0]; /* never so deep: the stack ends first */
}

/* Calls each node that comes. */
static void asks(void)
{
    weft_watch_nodes();
    puts("ready");
    fflush(stdout);
    weft_msg *m;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        struct weft_node_news news;
        if (weft_tag(m) != WEFT_TAG_NODE_UP || weft_node_news_read(m, &news) < 0) continue;
        char to[80], body[80];
        weft_msg *answer = NULL;
        snprintf(to, sizeof to, "shout@%s", news.name);
        int n = snprintf(body, sizeof body, "hello %s", news.name);
        int rc = weft_call_name(to, 1, body, (size_t)n, &answer, weft_after(WEFT_SEC(20)));
        if (rc < 0) printf("%s says %d\n", news.name, rc);
        else printf("%s answers %.*s\n", news.name, (int)weft_size(answer), (const char *)weft_data(answer));
        fflush(stdout);
        weft_msg_free(answer);
    }
}

/* Logs what it is sent, as often as the tag says. */
static void says(void)
{
    weft_msg *m;
    if (weft_register("says") < 0) return;
    puts("ready");
    fflush(stdout);
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        for (uint32_t i = 0; i < weft_tag(m); i++)
            weft_log_in("words", WEFT_INFO, "%.*s", (int)weft_size(m), (const char *)weft_data(m));
    }
}

#define NOTE(F) F(uint, number)
WEFT_MESSAGE(note, 77, NOTE)
enum { UNREAD = 77 };

/* Has a name, and ends at once. */
static void brief_one(const void *arg, size_t size)
{
    (void)arg, (void)size;
    if (weft_register("brief") < 0) return;
}

static void ends_never(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

/* Never answers, and holds two messages beside the request. */
static void silent(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("silent") < 0 || weft_recv_tag(&m, 1, WEFT_FOREVER) < 0) return;
    if (weft_msg_new(1, 100) == NULL || weft_msg_new(1, 100) == NULL) return;
    puts("ready"); /* it has the request */
    fflush(stdout);
    (void)weft_sleep(WEFT_FOREVER);
    weft_msg_free(m);
}

/* Linked with "silent", whom it watches and calls; before that it has sent two messages that nobody reads. */
static void tied(void)
{
    weft_spawn_options beside = {.worker = WEFT_BESIDE, .kind = "short"};
    weft_pid brief, other;
    weft_msg *m;
    if (weft_register("tied") < 0 || weft_spawn(&brief, brief_one, NULL, 0, &beside) < 0) return;
    for (int i = 0; i < 2; i++)
        if (weft_send(brief, UNREAD, NULL, 0) < 0) return;
    if (weft_spawn(&other, silent, NULL, 0, &(weft_spawn_options){.kind = "silent"}) < 0) return;
    if (weft_link(other) < 0 || weft_monitor(other, NULL) < 0) return;
    if (weft_call(other, 1, NULL, 0, &m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

/* Once it has a message it calls that name, again and again where the runtime ends a cycle; "-": it sleeps. */
static void waits_on(const char *name, const char *to)
{
    weft_msg *m, *answer;
    if (name[0] != '\0' && weft_register(name) < 0) return;
    puts("ready");
    fflush(stdout);
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    if (strcmp(to, "-") == 0) (void)weft_sleep(WEFT_FOREVER);
    while (weft_call_name(to, UNREAD, NULL, 0, &answer, WEFT_FOREVER) == WEFT_EDEADLOCK) {}
    weft_msg_free(m);
}

struct step {
    int number, last;
    char there[65];
};

/* The first one begins; each of the others has its name before the one who calls it, which is on the other node. */
static void step(const void *arg, size_t size)
{
    struct step s;
    char name[96];
    (void)size;
    memcpy(&s, arg, sizeof s);
    snprintf(name, sizeof name, "step.%d", s.number);
    if (weft_register(name) < 0) return;
    snprintf(name, sizeof name, "step.%d@%s", s.number + 1, s.there);
    waits_on("", s.number == s.last ? "-" : name);
}

/* Every second step of a chain that goes to and fro between two nodes. */
static void steps(const char *first, const char *last, const char *there)
{
    for (int i = atoi(first); i <= atoi(last); i += 2) {
        struct step s = {.number = i, .last = atoi(last)};
        snprintf(s.there, sizeof s.there, "%s", there);
        if (weft_spawn(NULL, step, &s, sizeof s, &(weft_spawn_options){.kind = "step"}) < 0) return;
    }
}

/* Calls who has started it. */
static void asks_its_parent(const void *arg, size_t size)
{
    weft_pid parent;
    weft_msg *m;
    memcpy(&parent, arg, size);
    if (weft_call(parent, 1, NULL, 0, &m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}

/* `count` actors, with which it is linked, wait for its replies. */
static void besieged(int count)
{
    weft_pid self = weft_self(), child;
    weft_msg *m;
    if (weft_register("besieged") < 0) return;
    for (int i = 0; i < count; i++)
        if (weft_spawn(&child, asks_its_parent, &self, sizeof self, NULL) < 0 || weft_link(child) < 0) return;
    for (int i = 0; i < count; i++)
        if (weft_recv_tag(&m, 1, WEFT_FOREVER) < 0) return;
    puts("ready");
    fflush(stdout);
    (void)weft_sleep(WEFT_FOREVER);
}

/* Its child's kind is what no page must take for more than text. */
static void marked_up(void)
{
    weft_pid other;
    weft_spawn_options o = {.kind = "<b title=\"&lt;\">bold</b>\xFF", .mailbox_max = 4};
    if (weft_spawn(&other, ends_never, NULL, 0, &o) < 0) return;
    for (int i = 0; i < 4; i++)
        if (weft_send(other, UNREAD, NULL, 0) < 0) return;
    puts("ready");
    fflush(stdout);
    (void)weft_sleep(WEFT_FOREVER);
}

/* Takes listeners of these names ("": of any), one after the other, and answers one client of each with its name and
 * its own line; what a child sees of $LISTEN_FDS and the like goes to standard output. */
static void inherits(const struct weft_args *args)
{
    const char *const child[] = {"sh", "-c",
                                 "env | grep '^LISTEN' | sort; echo descriptor $(readlink /proc/self/fd/3)", NULL};
    for (int i = 2; i < args->argc; i++) {
        const char *name = args->argv[i];
        char address[WEFT_ADDRESS_TEXT] = "", line[100];
        weft_listener l;
        weft_stream s;
        int rc = weft_listen_inherited(&l, name[0] == '\0' ? NULL : name);
        if (rc == WEFT_OK) (void)weft_listener_address(l, address, sizeof address);
        printf("%s: %s %s\n", name, rc == WEFT_OK ? "ok" : weft_error_name(rc), address);
        fflush(stdout);
        if (rc < 0 || weft_accept(l, &s, WEFT_FOREVER) < 0) continue;
        int64_t n = weft_read_until(s, line, sizeof line, '\n', WEFT_FOREVER);
        if (n > 0) (void)weft_printf(s, WEFT_FOREVER, "%s: %.*s", name, (int)n, line);
        (void)weft_close(s);
        (void)weft_listener_close(l);
    }
    weft_process p;
    weft_process_status status;
    int rc = weft_process_start(&p, &(weft_process_options){.argv = child}, WEFT_FOREVER);
    if (rc == WEFT_OK) rc = weft_process_wait(p, &status, WEFT_FOREVER);
    if (rc < 0) weft_exit(rc);
}

/* Passes on what it gets to that name, with a tag that is one higher; "nobody@nowhere" also has a subscription. */
static void hops(const char *to)
{
    weft_msg *m;
    if (weft_register("hop") < 0 || (strcmp(to, "nobody@nowhere") == 0 && weft_subscribe("tea.>", NULL) < 0)) return;
    puts("ready");
    fflush(stdout);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        weft_log(WEFT_INFO, "passes on %u", weft_tag(m));
        (void)weft_send_name(to, weft_tag(m) + 1, weft_data(m), weft_size(m));
        weft_msg_free(m);
    }
}

/* Publishes so many numbers in one go when it is asked to. */
static void publishes(const char *count)
{
    weft_msg *m;
    if (weft_register("publisher") < 0) return;
    puts("ready");
    fflush(stdout);
    if (weft_recv(&m, WEFT_FOREVER) < 0) return;
    for (long i = 0; i < atol(count); i++) {
        uint8_t number[9];
        weft_writer w = weft_writer_on(number, sizeof number);
        weft_put_int(&w, i);
        if (weft_publish("numbers", 0, number, w.size) < 0) printf("not published: %ld\n", i);
    }
    if (weft_wants_reply(m) && weft_reply(m, 0, NULL, 0) < 0) puts("not answered");
    weft_msg_free(m);
    echo();
}

static void rest(void *state, weft_msg *m)
{
    (void)state, (void)m;
}

/* Makes as many handlers, which cost next to nothing, names, patterns and memberships as `counts` says. */
static void crowd(const char *const *counts)
{
    char text[32];
    for (int i = 0; i < atoi(counts[0]); i++)
        if (weft_spawn_handler(NULL, rest, NULL, 0, &(weft_spawn_options){.kind = "rests"}) < 0) return;
    for (int i = 0; i < atoi(counts[1]); i++) {
        snprintf(text, sizeof text, "name.%d", i);
        if (weft_register(text) < 0) return;
    }
    for (int i = 0; i < atoi(counts[2]); i++) {
        snprintf(text, sizeof text, "topic.%d", i);
        if (weft_subscribe(text, NULL) < 0) return;
    }
    for (int i = 0; i < atoi(counts[3]); i++) {
        snprintf(text, sizeof text, "group.%d", i);
        if (weft_group_join(text) < 0) return;
    }
    idle();
}

#define FIRST "one.of.many.000000"

/* An object that `adds` adds. */
union added {
    weft_subscription subscription;
    weft_monitor_ref monitor;
    weft_pid pid;
};

/* Adds a monitor of this actor by itself, or a link with a new actor. */
static int add_tie(const char *what, union added *out)
{
    if (strcmp(what, "monitors") == 0) return weft_monitor(weft_self(), &out->monitor);
    int rc = weft_spawn_handler(&out->pid, rest, NULL, 0, NULL);
    return rc < 0 ? rc : weft_link(out->pid);
}

static bool is_tie(const char *what)
{
    return strcmp(what, "monitors") == 0 || strcmp(what, "links") == 0;
}

/* Changes two groups that this actor watches; or ends the second watch, of which each change has left notifications. */
static int change_groups(bool first)
{
    int rc = first ? weft_group_watch("group.a") : 0;
    if (rc == 0 && first) rc = weft_group_watch("group.b");
    if (rc == 0) rc = weft_group_join("group.a");
    if (rc == 0) rc = weft_group_join("group.b");
    if (rc == 0) rc = weft_group_leave("group.a");
    return rc < 0 ? rc : weft_group_leave("group.b");
}

/* A supervisor for the children of `adds children`. */
static void supervises(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_supervise(&(weft_supervisor_spec){.strategy = WEFT_ONE_FOR_ONE});
}

static void child_of_many(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static weft_pid supervisor;

static int add_child(const char *name)
{
    weft_child_spec child = {.name = name, .body = child_of_many, .unregistered = true};
    if (strcmp(name, FIRST) == 0) {
        int rc = weft_spawn(&supervisor, supervises, NULL, 0, NULL);
        if (rc < 0) return rc;
    }
    return weft_start_child(supervisor, &child, NULL, WEFT_FOREVER);
}

/* Adds an object of the kind `what`; or one of them is removed again. */
static int add_one(const char *what, const char *text, union added *added)
{
    weft_subscription *out = &added->subscription;
    if (is_tie(what)) return add_tie(what, added);
    if (strcmp(what, "news") == 0) return change_groups(strcmp(text, FIRST) == 0);
    if (strcmp(what, "children") == 0) return add_child(text);
    const weft_subscribe_options queue = {.queue = "workers"}, one_pattern = {.queue = text};
    return strcmp(what, "names") == 0      ? weft_register(text)
           : strcmp(what, "globals") == 0  ? weft_register_global(text)
           : strcmp(what, "groups") == 0   ? weft_group_join(text)
           : strcmp(what, "watches") == 0  ? weft_group_watch(text)
           : strcmp(what, "topics") == 0   ? weft_subscribe(text, out)
           : strcmp(what, "queues") == 0   ? weft_subscribe_with(text, &queue, out)
           : strcmp(what, "pattern") == 0  ? weft_subscribe_with("one.pattern", &one_pattern, out)
           : strcmp(what, "retained") == 0 ? weft_publish_retained(text, 0, "", 1)
                                           : WEFT_EINVAL;
}

static int remove_one(const char *what, const char *text, const union added *added)
{
    if (strcmp(what, "children") == 0) return weft_stop_child(supervisor, text, WEFT_FOREVER);
    if (strcmp(what, "news") == 0) return strcmp(text, FIRST) == 0 ? weft_group_unwatch("group.b") : 0;
    if (is_tie(what)) return strcmp(what, "links") == 0 ? weft_unlink(added->pid) : weft_demonitor(added->monitor);
    return strcmp(what, "names") == 0 || strcmp(what, "globals") == 0 ? weft_unregister(text)
           : strcmp(what, "groups") == 0                              ? weft_group_leave(text)
           : strcmp(what, "watches") == 0                             ? weft_group_unwatch(text)
           : strcmp(what, "retained") == 0                            ? weft_publish_retained(text, 0, NULL, 0)
                                                                      : weft_unsubscribe(added->subscription);
}

/* Adds so many, takes every other one back, the oldest first, and ends with the rest. */
static void adds(const char *what, int count)
{
    char text[32];
    union added *s = calloc((size_t)count + 1, sizeof *s);
    int rc = s == NULL ? WEFT_ENOMEM : 0;
    for (int i = 0; i < count && rc >= 0; i++) {
        snprintf(text, sizeof text, "one.of.many.%06d", i);
        rc = add_one(what, text, &s[i]);
    }
    for (int i = 0; i < count && rc >= 0; i += 2) {
        snprintf(text, sizeof text, "one.of.many.%06d", i);
        rc = remove_one(what, text, &s[i]);
    }
    for (int i = 0; i < count && strcmp(what, "links") == 0 && rc >= 0; i++) rc = weft_kill(s[i].pid);
    if (strcmp(what, "children") == 0 && rc >= 0) rc = weft_stop(supervisor);
    free(s);
    printf("added %s: %d\n", what, rc);
    weft_exit(WEFT_EXIT_NORMAL);
}

/* ---- For rights_test.py ---------------------------------------------------------------------------------------- */

enum { MAKE_PREY = 7, PUBLISH = 8, GO = 9 };

/* Is there, and answers, until somebody ends it. */
static void prey(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_wants_reply(m)) (void)weft_reply(m, 1, NULL, 0);
        weft_msg_free(m);
    }
}

/* Answers the one request it gets when it is told to. */
static void holder(const void *arg, size_t size)
{
    weft_msg *ask, *m = NULL;
    (void)arg, (void)size;
    if (weft_register("holder") < 0 || weft_recv(&ask, WEFT_FOREVER) < 0) return;
    do weft_msg_free(m);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK && weft_tag(m) != GO);
    weft_msg_free(m);
    (void)weft_reply(ask, 1, "true", 4);
    weft_msg_free(ask);
}

static void calls_holder(const void *arg, size_t size)
{
    weft_msg *m = NULL;
    weft_pid holder_pid;
    (void)size;
    memcpy(&holder_pid, arg, sizeof holder_pid);
    printf("caller %llu\n", (unsigned long long)weft_self().actor);
    fflush(stdout);
    int rc = weft_call(holder_pid, 1, NULL, 0, &m, WEFT_FOREVER);
    printf("answer %d %.*s\n", rc, m == NULL ? 0 : (int)weft_size(m), m == NULL ? "" : (const char *)weft_data(m));
    fflush(stdout);
    weft_msg_free(m);
}

/* Hears messages to itself, to a group, to a topic and a queue group, and says with each answer how many came. */
static void hunted(void)
{
    weft_msg *m;
    weft_pid pid;
    uint64_t heard = 0;
    int rc = weft_register("target");
    if (rc == 0) rc = weft_register_global("prize");
    if (rc == 0) rc = weft_group_join("group");
    if (rc == 0) rc = weft_subscribe("room.*", NULL);
    if (rc == 0) rc = weft_spawn(&pid, holder, NULL, 0, NULL);
    if (rc == 0) rc = weft_spawn(NULL, calls_holder, &pid, sizeof pid, NULL);
    printf("ready %d\n", rc);
    fflush(stdout);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_wants_reply(m) && weft_tag(m) == MAKE_PREY && weft_spawn(&pid, prey, NULL, 0, NULL) == 0)
            (void)weft_reply(m, 1, &pid.actor, sizeof pid.actor);
        else if (weft_wants_reply(m)) (void)weft_reply(m, 1, &heard, sizeof heard);
        if (weft_tag(m) == GO) heard++;
        if (weft_tag(m) == WEFT_TAG_NAME_LOST) {
            printf("lost a name\n");
            fflush(stdout);
        }
        if (weft_tag(m) == PUBLISH) (void)weft_publish("heard.now", 1, "x", 1);
        weft_msg_free(m);
    }
    printf("hunted down\n");
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    const char *what = args->argc > 1 ? args->argv[1] : "";
    if (strcmp(what, "echo") == 0) echo();
    else if (strcmp(what, "asks") == 0) asks();
    else if (strcmp(what, "says") == 0) says();
    else if (strcmp(what, "stubborn") == 0) stubborn();
    else if (strcmp(what, "lingers") == 0) lingers();
    else if (strcmp(what, "spins") == 0) spins();
    else if (strcmp(what, "spins-everywhere") == 0 && args->argc == 3) spins_everywhere(atoi(args->argv[2]));
    else if (strcmp(what, "computes") == 0) computes();
    else if (strcmp(what, "idle") == 0) idle();
    else if (strcmp(what, "hunted") == 0) hunted();
    else if (strcmp(what, "adds") == 0 && args->argc == 4) adds(args->argv[2], atoi(args->argv[3]));
    else if (strcmp(what, "crowd") == 0 && args->argc == 6) crowd(args->argv + 2);
    else if (strcmp(what, "tied") == 0) tied();
    else if (strcmp(what, "waits-on") == 0 && args->argc == 4) waits_on(args->argv[2], args->argv[3]);
    else if (strcmp(what, "steps") == 0 && args->argc == 5) steps(args->argv[2], args->argv[3], args->argv[4]);
    else if (strcmp(what, "besieged") == 0 && args->argc == 3) besieged(atoi(args->argv[2]));
    else if (strcmp(what, "marked-up") == 0) marked_up();
    else if (strcmp(what, "hops") == 0 && args->argc == 3) hops(args->argv[2]);
    else if (strcmp(what, "publishes") == 0 && args->argc == 3) publishes(args->argv[2]);
    else if (strcmp(what, "inherits") == 0) inherits(args);
    else if (strcmp(what, "recurse") == 0) printf("%d\n", recurse(0));
    else if (strcmp(what, "fail") == 0) weft_exit(WEFT_EINUSE);
    else printf("%d words\n", args->argc);
}

WEFT_MODULE(first)
