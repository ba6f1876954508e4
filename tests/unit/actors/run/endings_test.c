/* An actor that holds one resource of each kind is ended, in each possible way, at each place where an actor can
 * wait: its clean-ups run, all monitors get the reason, and all its resources are freed. */
#include "../node_harness.h"

#include <weft/stream.h>

#include "../../../sockets.h"

#ifndef _WIN32
#include <dirent.h>
#endif

enum { DATA = 1, GO = 2, OWN_REASON = 77 };

/* ---- What it holds --------------------------------------------------------------------------------------------- */

struct world {
    weft_pid parent, full_here, full_there, deaf_here, deaf_there;
    weft_listener listener; /* with a queue of connections that is full, for weft_connect */
    char address[WEFT_ADDRESS_TEXT];
    weft_stream near, far; /* both ends of a connection */
    weft_timer timer;
    weft_event event;
    int point, way;
    bool handler; /* the holder is one */
};

static _Atomic int undone, waited; /* clean-ups that ran, and that could wait */
static int unready[2];             /* a pipe that nobody writes */
static struct test_word drain_now, function_may_end;

static void undo(void *arg)
{
    (void)arg;
    if (weft_sleep(weft_after(WEFT_US(10))) == 0) waited++;
    undone++;
}

static void hold_everything(struct world *w)
{
    want_int(weft_defer(undo, NULL), 0);
    want_int(weft_register("holder"), 0);
    want_int(weft_register("holder.two"), 0);
    want_int(weft_subscribe("some.*", NULL), 0);
    want_int(weft_timer_open(&w->timer, weft_after(WEFT_SEC(1000)), 0), 0);
    want_int(weft_event_open(&w->event), 0);
    want_int(weft_listen(&w->listener, "127.0.0.1:0", NULL), 0);
    want_int(weft_listener_defer_close(w->listener), 0);
    want_int(weft_listener_address(w->listener, w->address, sizeof w->address), 0);
    want_int(weft_connect(&w->near, w->address, WEFT_FOREVER), 0);
    want_int(weft_defer_close(w->near), 0);
    want_int(weft_accept(w->listener, &w->far, WEFT_FOREVER), 0);
    want_int(weft_defer_close(w->far), 0);
    want_int(weft_monitor(w->deaf_here, NULL), 0);
    want_int(weft_monitor(w->deaf_there, NULL), 0);
    want_int(weft_link(w->parent), 0);
    want(weft_msg_new(DATA, 1000) != NULL); /* held */
    want_int(say(weft_self(), DATA, 1), 0); /* in its mailbox */
    want_int(hear(DATA), 1);
    want_int(weft_defer(undo, NULL), 0);
    want_int(weft_register("holder.ready"), 0);
}

/* ---- Where it waits -------------------------------------------------------------------------------------------- */

static void at_sleep(struct world *w)
{
    (void)w;
    (void)weft_sleep(WEFT_FOREVER);
}

static void at_recv(struct world *w)
{
    weft_msg *m;
    (void)w;
    (void)weft_recv(&m, weft_after(WEFT_SEC(1000)));
}

static void at_recv_tag(struct world *w)
{
    weft_msg *m;
    (void)w;
    want_int(say(weft_self(), DATA, 1), 0);
    (void)weft_recv_tag(&m, GO, WEFT_FOREVER);
}

static void at_wait_any(struct world *w)
{
    const weft_wait all[] = {weft_on_mailbox(),         weft_on_timer(w->timer),  weft_on_event(w->event),
                             weft_on_readable(w->near), weft_on_readable(w->far), weft_on_listener(w->listener)};
    (void)weft_wait_any(all, WF_COUNT(all), weft_after(WEFT_SEC(1000)));
}

static void at_wait_all(struct world *w)
{
    const weft_wait all[] = {weft_on_writable(w->near), weft_on_event(w->event), weft_on_timer(w->timer)};
    (void)weft_wait_all(all, WF_COUNT(all), WEFT_FOREVER);
}

static void at_wait_fd(struct world *w)
{
    const weft_wait one = weft_on_fd(unready[0], false);
    (void)w;
    (void)weft_wait_any(&one, 1, WEFT_FOREVER);
}

static void at_event(struct world *w)
{
    (void)weft_event_await(w->event, WEFT_FOREVER);
}

static void at_call(struct world *w)
{
    weft_msg *m;
    (void)weft_call(w->deaf_here, DATA, "ask", 3, &m, WEFT_FOREVER);
}

static void at_call_across(struct world *w)
{
    weft_msg *m;
    (void)weft_call(w->deaf_there, DATA, "ask", 3, &m, weft_after(WEFT_SEC(1000)));
}

static void at_call_name(struct world *w)
{
    weft_msg *m;
    (void)w;
    (void)weft_call_name("deaf", DATA, "ask", 3, &m, WEFT_FOREVER);
}

static void at_send(struct world *w)
{
    while (weft_send(w->full_here, DATA, "more", 4) == 0) {}
}

static void at_send_across(struct world *w)
{
    while (weft_send(w->full_there, DATA, "more", 4) == 0) {}
}

static void at_send_msg(struct world *w)
{
    int rc;
    do {
        rc = weft_send_msg(w->full_here, weft_msg_new(DATA, 2000));
    } while (rc == 0);
}

static void at_call_full(struct world *w)
{
    weft_msg *m;
    while (weft_try_send(w->full_here, DATA, NULL, 0) == 0) {}
    (void)weft_call(w->full_here, DATA, NULL, 0, &m, WEFT_FOREVER);
}

static void at_accept(struct world *w)
{
    weft_stream s;
    (void)weft_accept(w->listener, &s, WEFT_FOREVER);
}

static void at_read(struct world *w)
{
    char byte;
    (void)weft_read(w->near, &byte, 1, WEFT_FOREVER);
}

static void at_read_exact(struct world *w)
{
    char bytes[8];
    want_int(weft_write(w->far, "1234", 4, WEFT_FOREVER), 4);
    (void)weft_read_exact(w->near, bytes, sizeof bytes, WEFT_FOREVER);
}

static void at_read_until(struct world *w)
{
    char bytes[8];
    want_int(weft_write(w->far, "1234", 4, WEFT_FOREVER), 4);
    (void)weft_read_until(w->near, bytes, sizeof bytes, '\n', WEFT_FOREVER);
}

static void at_write(struct world *w)
{
    static const char much[1 << 16];
    while (weft_write(w->near, much, sizeof much, WEFT_FOREVER) > 0) {}
}

static void at_connect(struct world *w)
{
    weft_stream s;
    weft_listener narrow;
    char address[WEFT_ADDRESS_TEXT];
    (void)w;
    want_int(weft_listen(&narrow, "127.0.0.1:0", &(weft_listen_options){.backlog = 1}), 0);
    want_int(weft_listener_defer_close(narrow), 0);
    want_int(weft_listener_address(narrow, address, sizeof address), 0);
    /* No actor accepts, so soon the kernel does not answer. */
    while (weft_connect(&s, address, WEFT_FOREVER) == 0) want_int(weft_defer_close(s), 0);
}

static void at_gather(struct world *w)
{
    struct weft_answer a[] = {{.from = w->deaf_here}, {.from = w->deaf_there}};
    (void)weft_gather(a, WF_COUNT(a), 1, DATA, "ask", 3, WEFT_FOREVER);
}

static void at_name(struct world *w)
{
    weft_pid p;
    (void)w;
    (void)weft_await_name("nobody.has.this", &p, WEFT_FOREVER);
}

static void block_until_told(void *block)
{
    struct test_word *told = *(struct test_word **)block;
    word_await(told);
}

static void let_function_end(void *arg)
{
    (void)arg;
    word_say(&function_may_end);
}

static void at_offload(struct world *w)
{
    struct test_word *told = &function_may_end;
    (void)w;
    want_int(weft_defer(let_function_end, NULL), 0); /* the node waits for the function, not only for the actor */
    (void)weft_offload(block_until_told, &told, sizeof told, WEFT_FOREVER);
}

static void at_publish(struct world *w)
{
    (void)w;
    while (weft_publish("slow.reader", DATA, NULL, 0) >= 0 && weft_yield() == 0) {}
}

static void at_yield(struct world *w)
{
    (void)w;
    while (weft_yield() == 0) {}
}

static const struct {
    const char *name;
    void (*at)(struct world *w);
    const char *waits_for; /* a beginning of it; NULL: it is runnable */
} points[] = {
    {"sleep", at_sleep, "sleep"},
    {"recv", at_recv, "mailbox"},
    {"recv_tag", at_recv_tag, "mailbox"},
    {"wait_any", at_wait_any, ""},
    {"wait_all", at_wait_all, ""},
    {"wait_fd", at_wait_fd, ""},
    {"event", at_event, "event"},
    {"call", at_call, "an answer"},
    {"call_across", at_call_across, "an answer"},
    {"call_name", at_call_name, "an answer"},
    {"send", at_send, "space"},
    {"send_across", at_send_across, "space"},
    {"send_msg", at_send_msg, "space"},
    {"call_full", at_call_full, "space"},
    {"accept", at_accept, "connection"},
    {"read", at_read, "stream to read"},
    {"read_exact", at_read_exact, "stream to read"},
    {"read_until", at_read_until, "stream to read"},
    {"write", at_write, "stream to write"},
    {"connect", at_connect, "connect"},
    {"gather", at_gather, ""},
    {"name", at_name, ""},
    {"offload", at_offload, ""},
    {"publish", at_publish, "space"},
    {"yield", at_yield, NULL},
};

/* ---- How it ends ----------------------------------------------------------------------------------------------- */

enum way { STOP, STUBBORN, KILL, LINK, NODE, WAYS };
static const int reasons[WAYS] = {WEFT_EXIT_STOPPED, WEFT_EXIT_KILLED, WEFT_EXIT_KILLED, OWN_REASON,
                                  WEFT_EXIT_STOPPED};

static void holder(const void *arg, size_t size)
{
    struct world w;
    want_int(size, sizeof w);
    memcpy(&w, arg, sizeof w);
    hold_everything(&w);
    points[w.point].at(&w);
    while (w.way == STUBBORN) (void)weft_yield();
}

/* The same in the first message of a handler, on a stack that it keeps while it waits. */
static void holding_handler(void *state, weft_msg *m)
{
    struct world *w = state;
    want_int(weft_tag(m), GO);
    hold_everything(w);
    points[w->point].at(w);
    while (w->way == STUBBORN) (void)weft_yield();
}

static int spawn_holder(weft_pid *out, const struct world *w)
{
    weft_spawn_options o = {.worker = 1};
    if (!w->handler) return weft_spawn(out, holder, w, sizeof *w, &o);
    int rc = weft_spawn_handler(out, holding_handler, w, sizeof *w, &o);
    return rc < 0 ? rc : weft_send(*out, GO, NULL, 0);
}

static void deaf(const void *arg, size_t size)
{
    (void)size;
    if (*(const bool *)arg) want_int(weft_register("deaf"), 0);
    else {
        weft_subscribe_options o = {.slow = WEFT_SLOW_SUSPEND, .wait = WEFT_SEC(1000)};
        want_int(weft_subscribe_with("slow.reader", &o, NULL), 0);
    }
    (void)weft_sleep(WEFT_FOREVER);
}

static bool waits_there(weft_pid p, const char *what)
{
    weft_pid ready;
    if (weft_whereis("holder.ready", &ready) < 0) return false;
    const struct wf_task *t = &peek(p)->task;
    if (what == NULL) return true;
    const char *waits_for = wf_task_waits_for(t);
    return waits_for[0] != 0 && strncmp(waits_for, what, strlen(what)) == 0;
}

/* Its end is the failure that runs along the link; in the other ways it has unlinked. */
static void partner(const void *arg, size_t size)
{
    struct world w;
    want_int(size, sizeof w);
    memcpy(&w, arg, sizeof w);
    weft_pid judge = w.parent, p;
    w.parent = weft_self();
    want_int(weft_trap_exits(true), 0);
    want_int(spawn_holder(&p, &w), 0);
    until(waits_there(p, points[w.point].waits_for));
    want_int(weft_send(judge, GO, &p, sizeof p), 0);
    (void)hear(GO);
    if (w.way == LINK) weft_exit(OWN_REASON);
    want_int(weft_unlink(p), 0);
    if (w.way == KILL) want_int(weft_kill(p), 0);
    if (w.way == STOP || w.way == STUBBORN) want_int(weft_stop(p), 0);
    if (w.way == NODE) word_say(&drain_now);
    (void)weft_sleep(WEFT_FOREVER);
}

static void make_others(struct world *w)
{
    static const bool named = true, plain = false;
    weft_spawn_options here = {.worker = 1, .mailbox_max = 4}, there = {.worker = 2, .mailbox_max = 4};
    want_int(weft_spawn(&w->full_here, deaf, &plain, 1, &here), 0);
    want_int(weft_spawn(&w->deaf_here, deaf, &named, 1, &here), 0);
    want_int(weft_spawn(&w->full_there, deaf, &plain, 1, &there), 0);
    want_int(weft_spawn(&w->deaf_there, deaf, &plain, 1, &there), 0);
    weft_pid p;
    until(weft_whereis("deaf", &p) == 0);
}

static void judge(const void *arg, size_t size)
{
    struct world w;
    want_int(size, sizeof w);
    memcpy(&w, arg, sizeof w);
    w.parent = weft_self();
    want_int(weft_trap_stop(true), 0);
    make_others(&w);
    weft_pid friend, p;
    want_int(weft_spawn(&friend, partner, &w, sizeof w, &(weft_spawn_options){.worker = 1}), 0);
    weft_msg *m;
    want_int(weft_recv(&m, WEFT_FOREVER), 0);
    memcpy(&p, weft_data(m), sizeof p);
    weft_msg_free(m);
    want_int(weft_monitor(p, NULL), 0);
    want_int(say(friend, GO, 0), 0);
    struct weft_down d;
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    want_int(weft_down_read(m, &d), 0);
    weft_msg_free(m);
    want_int(d.reason, reasons[w.way]);
    want_int(undone, 2);
    want_int(waited, 2);
    const char *const names[] = {"holder", "holder.two", "holder.ready"};
    for (size_t i = 0; i < WF_COUNT(names); i++) want_int(weft_whereis(names[i], &p), WEFT_ENOACTOR);
    want(!wf_trie_matches(&wf_actors_of(wf_here)->topics, weft_cstr("some.thing")));
    const weft_pid others[] = {friend, w.full_here, w.full_there, w.deaf_here, w.deaf_there};
    for (size_t i = 0; i < WF_COUNT(others); i++) (void)weft_stop(others[i]);
}

#ifdef TEST_KQUEUE
/* libkqueue has one for each alarm of a poller that is set. */
static bool is_alarm(const char *name)
{
    char path[300], what[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%s", name);
    return readlink(path, what, sizeof what - 1) > 0 && strstr(what, "timerfd") != NULL;
}
#else
#define is_alarm(name) false
#endif

static int open_descriptors(void)
{
    int n = 0;
#ifndef _WIN32
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) return 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) n += !is_alarm(e->d_name);
    closedir(dir);
#endif
    return n;
}

static void end_at(int point, int way, bool handler)
{
    struct world w = {.point = point, .way = way, .handler = handler};
    undone = waited = 0;
    word_begin(&drain_now);
    word_begin(&function_may_end);
    weft_node *n = node_start(RUN_OPTIONS(.workers = 2, .grace = way == STUBBORN ? WEFT_MS(3) : WEFT_SEC(10)));
    int before = open_descriptors();
    want_int(weft_node_spawn(n, NULL, judge, &w, sizeof w, &(weft_spawn_options){.worker = 1}), 0);
    if (way == NODE) {
        word_await(&drain_now);
        want_int(wf_node_drain(n, weft_after(WEFT_SEC(20))), 0);
    }
    want_int(weft_node_wait(n, WEFT_FOREVER), 0);
    node_finish(n);
    want_int(open_descriptors(), before);
    wf_node_destroy(n);
    word_end(&drain_now);
    word_end(&function_may_end);
}

static void end_everywhere(int way)
{
    want_int(pipe(unready), 0);
    for (int i = 0; i < (int)WF_COUNT(points); i++) {
        end_at(i, way, false);
        end_at(i, way, true);
    }
    close(unready[0]);
    close(unready[1]);
}

START_TEST(a_stop_at_every_wait_leaves_nothing_behind)
{
    end_everywhere(STOP);
}
END_TEST

START_TEST(a_stop_that_is_ignored_at_every_wait_leaves_nothing_behind)
{
    end_everywhere(STUBBORN);
}
END_TEST

START_TEST(a_kill_at_every_wait_leaves_nothing_behind)
{
    end_everywhere(KILL);
}
END_TEST

START_TEST(the_failure_of_a_linked_actor_at_every_wait_leaves_nothing_behind)
{
    end_everywhere(LINK);
}
END_TEST

START_TEST(the_end_of_the_node_at_every_wait_leaves_nothing_behind)
{
    end_everywhere(NODE);
}
END_TEST

TEST_MAIN("endings", a_stop_at_every_wait_leaves_nothing_behind,
          a_stop_that_is_ignored_at_every_wait_leaves_nothing_behind, a_kill_at_every_wait_leaves_nothing_behind,
          the_failure_of_a_linked_actor_at_every_wait_leaves_nothing_behind,
          the_end_of_the_node_at_every_wait_leaves_nothing_behind)
