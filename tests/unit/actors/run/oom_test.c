/* Out of memory in every allocation: each scenario runs with its first allocation failing, then its second, and so on
 * until it succeeds; once with only that one failing, once with all that follow. Each result is documented, nothing
 * leaks, and the node keeps working. In virtual time and on one thread, so a failure repeats. */
#include "actor_list.h"
#include "oom.h"
#include "../../../suite.h"

#include <sys/socket.h>
#include <unistd.h>

#define HELLO(F) F(str, text) F(int, number)
WEFT_MESSAGE(hello, 9, HELLO)

/* ---- Scenarios ------------------------------------------------------------------------------------------------- */

static void ends_at_once(const void *arg, size_t size)
{
    (void)arg, (void)size;
}

static void spawning(void)
{
    char arg[4096] = {0};
    weft_monitor_ref ref;
    weft_pid kid;
    for (int i = 0; i < MANY; i++) (void)ok(weft_spawn(NULL, serve, arg, (size_t)i, NULL));
    (void)ok(weft_spawn(NULL, ends_at_once, arg, sizeof arg, NULL));
    (void)ok(weft_spawn(NULL, ends_at_once, NULL, 0, &(weft_spawn_options){.stack_bytes = 1 << 20}));
    (void)ok(weft_spawn(NULL, ends_at_once, NULL, 0, &(weft_spawn_options){.link = true}));
    if (ok(weft_spawn(&kid, ends_at_once, NULL, 0, &(weft_spawn_options){.link = true, .monitor = &ref})))
        want_int(weft_demonitor(ref), 0);
    (void)weft_settle();
}

static bool has_run;

static void runs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    has_run = true;
}

/* An actor without memory for its stack, or for the clean-up that frees its argument, must not seem to have done its
 * work. */
static void ends_without_having_run(void)
{
    char arg[4096] = {0};
    weft_monitor_ref ref;
    weft_msg *m;
    struct weft_down down;
    has_run = false;
    if (!ok(weft_spawn(NULL, runs, arg, sizeof arg, &(weft_spawn_options){.monitor = &ref}))) return;
    if (!ok(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER))) return;
    want_int(weft_down_read(m, &down), 0);
    want_int(down.reason, has_run ? WEFT_EXIT_NORMAL : WEFT_ENOMEM);
    weft_msg_free(m);
}

static void messages(void)
{
    weft_pid to;
    weft_msg *m;
    char big[5000] = {0};
    if (!ok(weft_spawn(&to, serve, NULL, 0, NULL))) return;
    (void)weft_register("asker");
    (void)ok(weft_send(to, DATA, big, 5));
    (void)ok(weft_try_send(to, DATA, big, sizeof big));
    (void)ok(weft_send_name("asker", DATA, big, 10) == WEFT_ENOACTOR ? 0 : weft_send(weft_self(), DATA, NULL, 0));
    if ((m = weft_msg_new(DATA, 100)) != NULL) (void)ok(weft_send_msg(to, m));
    if ((m = weft_msg_new(DATA, 100)) != NULL) (void)ok(weft_try_send_msg(weft_self(), m));
    while (weft_recv(&m, WEFT_NOW) == 0) (void)ok(weft_send_msg(to, m));
    (void)ok(weft_node_send(weft_here(), to, DATA, big, 7));
    (void)ok(weft_node_spawn(weft_here(), NULL, ends_at_once, NULL, 0, NULL));
    (void)weft_settle();
}

static void calls(void)
{
    weft_pid to;
    weft_msg *m;
    if (!ok(weft_spawn(&to, serve, NULL, 0, NULL))) return;
    for (int i = 0; i < 3; i++) {
        /* An answer that there was no memory for does not come: that is seen at the deadline. */
        int rc = weft_call(to, ASK, "abc", 3, &m, weft_after(WEFT_SEC(1)));
        if (rc == 0) weft_msg_free(m);
        else want(rc == WEFT_ENOMEM || rc == WEFT_ENOREPLY || rc == WEFT_ETIMEDOUT || rc == WEFT_ENOACTOR);
    }
    int rc = weft_call_name("nobody", ASK, "abc", 3, &m, weft_after(WEFT_SEC(1)));
    want(rc == WEFT_ENOACTOR || rc == WEFT_ENOMEM);
}

static void full(void)
{
    static const weft_full_policy policies[] = {WEFT_FULL_SUSPEND, WEFT_FULL_DROP_NEWEST, WEFT_FULL_DROP_OLDEST};
    for (size_t p = 0; p < WF_COUNT(policies); p++) {
        weft_spawn_options o = {.mailbox_max = 1, .policy = policies[p]};
        weft_pid to;
        if (!ok(weft_spawn(&to, serve, NULL, 0, &o))) continue;
        for (int i = 0; i < 4; i++) (void)ok(weft_send(to, DATA, &i, sizeof i));
    }
}

static void names(void)
{
    char name[16];
    weft_pid who;
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        if (ok(weft_register(name))) want_int(weft_whereis(name, &who), 0);
        else want_int(weft_whereis(name, &who), WEFT_ENOACTOR);
    }
}

static void listen_in(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    (void)ok(weft_subscribe("a.*", NULL));
    while (weft_recv(&m, WEFT_FOREVER) == 0) weft_msg_free(m);
}

static void topics(void)
{
    char pattern[64];
    weft_subscription s[MANY];
    weft_msg *m;
    for (int i = 0; i < 3; i++) (void)ok(weft_spawn(NULL, listen_in, NULL, 0, NULL));
    for (int i = 0; i < MANY; i++) {
        snprintf(pattern, sizeof pattern, i % 3 == 0 ? "word-%d.*.more" : i % 3 == 1 ? "a.word-%d" : "b%d.>", i);
        if (!ok(weft_subscribe(pattern, &s[i]))) s[i].id = 0;
    }
    (void)weft_settle();
    for (int i = 0; i < 3; i++) (void)ok(weft_publish("a.b", DATA, "text", 4));
    (void)ok(weft_publish("a.word-1", DATA, NULL, 0));
    if ((m = weft_msg_new(DATA, 2000)) != NULL) (void)ok(weft_publish_msg("b2.c.d", m));
    for (int i = 0; i < MANY; i += 2) want_int(weft_unsubscribe(s[i]), s[i].id != 0 ? 0 : WEFT_ECLOSED);
    (void)weft_settle();
}

static void read_all(void)
{
    weft_msg *m;
    struct weft_subscription_news news;
    while (weft_recv(&m, WEFT_NOW) == 0) {
        if (weft_tag(m) == WEFT_TAG_SUBSCRIPTION) want_int(weft_subscription_news_read(m, &news), 0);
        weft_msg_free(m);
    }
}

/* A subscription that cannot be made does not exist; a message that cannot be retained is not published. */
static void retained_and_slow(void)
{
    static const weft_subscribe_options ways[] = {{.slow = WEFT_SLOW_DROP_OLDEST, .max = 2},
                                                  {.slow = WEFT_SLOW_DISCONNECT, .max = 2},
                                                  {.slow = WEFT_SLOW_SUSPEND},
                                                  {.queue = "q"},
                                                  {.max = 1}};
    char topic[32];
    int kept = 0, cleared = 0;
    for (int i = 0; i < 40; i++) {
        snprintf(topic, sizeof topic, "k.%d", i);
        kept += ok(weft_publish_retained(topic, DATA, "abc", 3));
    }
    for (size_t i = 0; i < WF_COUNT(ways); i++) {
        weft_subscription s;
        if (!ok(weft_subscribe_with("k.*", &ways[i], &s))) continue;
        for (int k = 0; k < 4; k++) (void)ok(weft_publish("k.1", DATA, "abc", 3));
        int rc = weft_unsubscribe(s);
        want(rc == 0 || (rc == WEFT_ECLOSED && ways[i].slow == WEFT_SLOW_DISCONNECT));
        read_all();
    }
    for (int i = 0; i < 40; i++) {
        snprintf(topic, sizeof topic, "k.%d", i);
        cleared += weft_retained_clear(topic);
    }
    want_int(cleared, kept);
}

static void fails(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    (void)weft_recv(&m, WEFT_FOREVER);
    weft_fail(77, "on purpose");
}

static void ties(void)
{
    weft_pid kid, server;
    weft_monitor_ref ref;
    weft_msg *m;
    (void)ok(weft_trap_exits(true));
    if (ok(weft_spawn(&kid, fails, NULL, 0, NULL))) {
        bool watched = ok(weft_monitor(kid, NULL)), trapped = ok(weft_trap_exits(true));
        (void)(trapped && ok(weft_link(kid)));
        if (ok(weft_monitor(kid, &ref))) want_int(weft_demonitor(ref), 0);
        bool poked = ok(weft_send(kid, DATA, NULL, 0));
        int downs = 0;
        (void)weft_settle();
        while (weft_recv(&m, WEFT_NOW) == 0) {
            struct weft_down down;
            want_int(weft_down_read(m, &down), 0);
            want(down.reason == 77 || down.reason == WEFT_ENOMEM); /* there was no memory to say more */
            downs += weft_tag(m) == WEFT_TAG_DOWN;
            weft_msg_free(m);
        }
        if (watched && poked) want_int(downs, 1); /* exactly one, whatever failed */
    }
    if (ok(weft_spawn(&server, serve, NULL, 0, NULL))) {
        if (ok(weft_trap_exits(true)) && ok(weft_link(server))) want_int(weft_unlink(server), 0);
        (void)ok(weft_stop(server));
        (void)ok(weft_kill(server));
    }
    (void)weft_settle();
    while (weft_recv(&m, WEFT_NOW) == 0) weft_msg_free(m);
    (void)weft_trap_exits(false);
}

static void counts(void *arg)
{
    ++*(int *)arg;
}

static int undone;

static void defers(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 10; i++) (void)ok(weft_defer(counts, &undone));
}

static void clean_ups(void)
{
    weft_pid kid;
    undone = 0;
    if (!ok(weft_spawn(&kid, defers, NULL, 0, NULL))) return;
    (void)weft_settle();
    want(undone == 10 || undone == 0); /* each has run, at the latest at the end; or the actor got no stack */
}

static void timers(void)
{
    weft_timer t[MANY];
    weft_event e[MANY];
    weft_wait on[2];
    int64_t now = weft_now();
    for (int i = 0; i < MANY; i++) {
        bool timer = ok(weft_timer_open(&t[i], now + i + 1, 0)), event = ok(weft_event_open(&e[i]));
        if (!timer || !event) continue;
        on[0] = weft_on_timer(t[i]), on[1] = weft_on_event(e[i]);
        want_int(weft_event_set(e[i]), 0);
        (void)ok(weft_wait_any(on, 2, weft_after(WEFT_SEC(1))));
        (void)ok(weft_wait_all(on, 2, weft_after(WEFT_SEC(1))));
        want_int(weft_event_take(e[i]), 1);
        int rc = weft_event_await(e[i], weft_after(5));
        want(rc == WEFT_ETIMEDOUT || rc == WEFT_ENOMEM);
        (void)ok(weft_timer_set(t[i], now + WEFT_SEC(100), 7));
        if (i % 2 == 0) want_int(weft_timer_close(t[i]), 0);
        if (i % 2 == 0) want_int(weft_event_close(e[i]), 0);
    }
    (void)ok(weft_sleep(weft_after(WEFT_SEC(1))));
}

static void later(void)
{
    weft_later l;
    weft_msg *m;
    for (int i = 0; i < 80; i++) (void)ok(weft_send_after(weft_after(i), weft_self(), DATA, &i, sizeof i, NULL));
    if (ok(weft_send_after(weft_after(WEFT_SEC(9)), weft_self(), DATA, NULL, 0, &l)))
        want_int(weft_later_cancel(l), 0);
    (void)ok(weft_send_every(weft_after(5), 5, weft_self(), DATA, "x", 1, NULL));
    (void)weft_sleep(weft_after(200));
    while (weft_recv(&m, WEFT_NOW) == 0) weft_msg_free(m);
}

static void names_itself(const void *arg, size_t size)
{
    (void)arg, (void)size;
    weft_msg *m;
    (void)ok(weft_register("awaited"));
    (void)weft_recv(&m, WEFT_FOREVER);
}

static void awaiting(void)
{
    weft_pid kid, found;
    if (!ok(weft_spawn(&kid, names_itself, NULL, 0, NULL))) return;
    int rc = weft_await_name("awaited", &found, weft_after(WEFT_SEC(1)));
    if (rc == 0) want(weft_pid_equal(found, kid));
    else want(rc == WEFT_ENOMEM || rc == WEFT_ETIMEDOUT);
}

/* A selective receive might fail for lack of memory; this one does not. */
static void await_ask(void)
{
    for (weft_msg *m; weft_recv(&m, WEFT_FOREVER) == 0;) {
        bool asked = weft_tag(m) == ASK;
        weft_msg_free(m);
        if (asked) return;
    }
}

static void belongs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)ok(weft_group_join("g"));
    await_ask();
    if (weft_group_leave("g") == WEFT_ENOMEM) await_ask(); /* it is a member still */
}

static int news_of(uint32_t tag)
{
    weft_msg *m;
    int count = 0;
    (void)weft_settle();
    for (; weft_recv_tag(&m, tag, WEFT_NOW) == 0; count++) weft_msg_free(m);
    return count;
}

static void answers(void *state, weft_msg *m)
{
    int64_t *count = state;
    ++*count;
    if (weft_tag(m) == ASK) (void)ok(weft_reply(m, ASK, count, sizeof *count));
}

static void goes_on(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int64_t count = 0;
    (void)ok(weft_handle(answers, &count, sizeof count));
}

static void handlers(void)
{
    int64_t count = 0;
    weft_pid p;
    weft_msg *m;
    for (int i = 0; i < MANY; i++) {
        bool spawned = i % 2 == 0 ? ok(weft_spawn_handler(&p, answers, &count, sizeof count, NULL))
                                  : ok(weft_spawn(&p, goes_on, NULL, 0, NULL));
        if (!spawned) continue;
        (void)weft_settle();
        (void)weft_send(p, DATA, NULL, 0);
        if (weft_call(p, ASK, NULL, 0, &m, weft_after(WEFT_SEC(1))) == 0) weft_msg_free(m);
        if (i % 3 == 0) (void)weft_stop(p);
    }
}

/* A join or a leave that fails has changed nothing, and nobody was told of it. */
static void groups(void)
{
    weft_pid kids[4];
    int spawned = 0, told = 0;
    bool watching = ok(weft_group_watch("g"));
    for (int i = 0; i < 4; i++) spawned += ok(weft_spawn(&kids[spawned], belongs, NULL, 0, NULL));
    if (watching) want_int(told = news_of(WEFT_TAG_GROUP_JOIN), weft_group_members("g", NULL, 0));
    (void)weft_settle();
    (void)ok(weft_group_send("g", DATA, "abc", 3));
    if (spawned > 0) (void)ok(weft_send(kids[0], ASK, NULL, 0));
    if (watching) told -= news_of(WEFT_TAG_GROUP_LEAVE);
    if (watching) want_int(told, weft_group_members("g", NULL, 0));
    if (ok(weft_group_join("g"))) (void)ok(weft_group_leave("g"));
    bool again = !watching && ok(weft_group_watch("g"));
    if (watching || again) want_int(weft_group_unwatch("g"), 0);
    want_int(news_of(WEFT_TAG_GROUP_JOIN) + news_of(WEFT_TAG_GROUP_LEAVE), 0);
}

/* The end of a member is reported later if there is no memory now. */
static void group_ends(void)
{
    weft_pid kid;
    if (!ok(weft_group_watch("g"))) return;
    bool spawned = ok(weft_spawn(&kid, belongs, NULL, 0, NULL));
    int told = news_of(WEFT_TAG_GROUP_JOIN);
    if (spawned) (void)ok(weft_stop(kid));
    (void)weft_settle();
    (void)ok(weft_sleep(weft_after(WEFT_MS(100))));
    void *volatile memory = malloc(1); /* NULL: it lasts. clang takes what nobody looks at for granted */
    if (memory != NULL) want_int(told - news_of(WEFT_TAG_GROUP_LEAVE), weft_group_members("g", NULL, 0));
    free(memory);
    want_int(weft_group_unwatch("g"), 0);
}

static int dropped;

static void drop_block(void *block)
{
    (void)block;
    dropped++;
}

static const weft_local_key key = {32, drop_block};

static void owner(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (size_t i = 0; i < 40; i++) {
        char *block = weft_alloc(i * 100);
        if (block == NULL) continue;
        memset(block, 1, i * 100);
        if (i % 3 == 0) want_int(weft_release(block), 0);
    }
    char *mine = weft_local(&key);
    if (mine == NULL) dropped++;
    else want(mine == weft_local(&key));
}

static void memory(void)
{
    dropped = 0;
    if (!ok(weft_spawn(NULL, owner, NULL, 0, NULL))) return;
    (void)weft_settle();
    want(dropped <= 1);
}

static void add_one(void *block)
{
    ++*(int *)block;
}

static void offloading(void)
{
    int value = 1;
    weft_job job;
    if (ok(weft_offload(add_one, &value, sizeof value, WEFT_FOREVER))) want_int(value, 2);
    else want_int(value, 1);
    if (ok(weft_offload_start(&job, add_one, NULL, &value, sizeof value, WEFT_FOREVER)))
        (void)ok(weft_offload_take(job, &value, sizeof value, WEFT_FOREVER));
    dropped = 0;
    bool started = ok(weft_offload_start(&job, add_one, drop_block, &value, sizeof value, WEFT_FOREVER));
    if (started) want_int(weft_offload_drop(job), 0);
    else want_int(dropped, 0);
}

static void streams(void)
{
    weft_listener l;
    weft_stream near, far;
    char address[WEFT_ADDRESS_TEXT], line[300];
    int64_t by = weft_after(WEFT_SEC(1));
    if (!ok(weft_listen(&l, "127.0.0.1:0", NULL))) return;
    if (ok(weft_listener_address(l, address, sizeof address)) && ok(weft_connect(&near, address, by))) {
        if (ok(weft_accept(l, &far, by))) {
            bool open = ok(weft_defer_close(far)); /* else it has been closed */
            int64_t sent = weft_printf(near, by, "%200d\n%d\nrest", 1, 2);
            if (ok(sent) && open) {
                (void)ok(weft_read_until(far, line, sizeof line, '\n', by));
                (void)ok(weft_read_until(far, line, sizeof line, '\n', by));
                (void)ok(weft_read(far, line, sizeof line, by));
            }
            weft_wait on = weft_on_readable(far);
            int rc = weft_wait_any(&on, 1, weft_after(1));
            want(rc == WEFT_ETIMEDOUT || rc == WEFT_ENOMEM || rc >= 0 || rc == WEFT_ECLOSED);
            (void)weft_close(far);
        }
        (void)weft_close(near);
    }
    want_int(weft_listener_close(l), 0);
}

static void typed(void)
{
    weft_pid to;
    weft_msg *answer;
    struct hello h = {.text = weft_cstr("a text"), .number = 7};
    if (!ok(weft_spawn(&to, serve, NULL, 0, NULL))) return;
    (void)ok(hello_send(to, &h));
    (void)ok(hello_try_send(to, &h));
    (void)ok(hello_publish("x.y", &h));
    if (hello_call(to, &h, &answer, weft_after(WEFT_SEC(1))) == 0) weft_msg_free(answer);
}

static void lists(void)
{
    struct wf_actor_info *all;
    size_t count;
    for (int i = 0; i < 5; i++) (void)ok(weft_spawn(NULL, serve, NULL, 0, NULL));
    if (ok(wf_node_list_actors(weft_here(), NULL, &all, &count, weft_after(WEFT_SEC(1))))) (void)weft_release(all);
}

/* Actors are not parked if there is no memory for the contents of their stacks. */
static void parking(void)
{
    struct wf_sweep *s = &wf_actors_of(wf_here)->sweep;
    struct wf_sweep was = *s;
    weft_pid all[MANY];
    int count = 0, answers = 0;
    s->park_after = WEFT_MS(10);
    s->restless = false;
    for (int i = 0; i < MANY; i++) count += ok(weft_spawn(&all[count], serve, NULL, 0, NULL));
    for (int round = 0; round < 2; round++) {
        (void)ok(weft_advance(WEFT_MS(50)));
        for (int i = 0; i < count; i++) {
            weft_msg *m;
            int rc = weft_call(all[i], ASK, "abc", 3, &m, weft_after(WEFT_MS(1)));
            want(rc == 0 || rc == WEFT_ENOMEM || rc == WEFT_ENOREPLY || rc == WEFT_ETIMEDOUT || rc == WEFT_ENOACTOR);
            if (rc == 0) weft_msg_free(m);
            answers += rc == 0;
        }
    }
    want(answers == 2 * count || faults.failed > 0);
    wf_timer_disarm(wf_here, &s->timer);
    s->park_after = was.park_after;
    s->restless = was.restless;
    s->hand = 0;
}

/* A listing that could not be read on goes on later, where it was. */
static void listing(void)
{
    enum { ENTRIES = 40 /* more than are read at a time */ };
    weft_dir d;
    weft_dir_entry e;
    int failures = 0;
    if (!ok(weft_dir_open(&d, "/usr/bin", WEFT_FOREVER))) return;
    for (int count = 0; count < ENTRIES && failures < 3;) {
        if (ok(weft_dir_next(d, &e, WEFT_FOREVER))) count++;
        else failures++;
    }
    want_int(weft_dir_close(d), 0);
}

static void probes(void)
{
    weft_probe p;
    if (!ok(weft_probe_open(&p, "probe"))) return;
    (void)ok(weft_probe_send(p, weft_self(), DATA, NULL, 0));
    int rc = weft_probe_exit(p, 99);
    want(rc == 0 || rc == WEFT_ENOMEM || rc == WEFT_ECLOSED);
}

/* Publications have no envelope until a selective receive passes over them. */
/* If there is no memory to note that the mailbox lacks bytes, nothing would wake its senders: they find out by trying
 * again. */
static void short_of_bytes(void)
{
    struct wf_actors *wa = wf_actors_of(wf_here);
    weft_pid one, other;
    int64_t all = wa->spare_bytes + 1;
    if (!ok(weft_spawn(&one, serve, NULL, 0, NULL))) return;
    if (ok(weft_spawn(&other, serve, NULL, 0, NULL)) && ok(weft_try_send(other, DATA, NULL, 0))) {
        wa->spare_bytes -= all;
        if (ok(weft_try_send(one, DATA, NULL, 0))) want(weft_try_send(one, DATA, NULL, 0) < 0);
        wa->spare_bytes += all;
    }
    (void)ok(weft_try_send(one, DATA, NULL, 0));
}

static void selective(void)
{
    weft_msg *m;
    if (!ok(weft_subscribe("news", NULL))) return;
    for (int i = 0; i < 3; i++) (void)ok(weft_publish("news", DATA, &i, sizeof i));
    (void)ok(weft_send(weft_self(), ASK, NULL, 0));
    for (int i = 0; i < 3; i++) {
        int rc = weft_recv_tag(&m, ASK, WEFT_NOW);
        want(rc == 0 || rc == WEFT_ENOMEM || rc == WEFT_ETIMEDOUT);
        if (rc == 0) weft_msg_free(m);
    }
    while (weft_recv(&m, WEFT_NOW) == 0) weft_msg_free(m);
}

static void (*const scenarios[])(void) = {spawning,       ends_without_having_run,
                                          handlers,       messages,
                                          calls,          full,
                                          names,          topics,
                                          ties,           clean_ups,
                                          timers,         later,
                                          streams,        typed,
                                          lists,          probes,
                                          memory,         offloading,
                                          awaiting,       groups,
                                          group_ends,     retained_and_slow,
                                          parking,        listing,
                                          short_of_bytes, selective};

OOM_TEST(each_allocation_may_fail, scenarios)

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

START_TEST(a_node_without_memory_does_not_start)
{
    weft_log_set(WEFT_SILENT, false);
    want_int(weft_test_run(nothing, NULL, 0, NULL), 0);
    for (int lasting = 0; lasting <= 1; lasting++) {
        long failed = 1;
        for (long n = 0; failed > 0; n++) {
            long live = faults.live;
            faults_arm(n, lasting == 1);
            int rc = weft_test_run(nothing, NULL, 0, &(weft_test_options){.quiet = true});
            failed = faults_disarm();
            long leaked = faults.live - live;
            ck_assert_msg(rc == 0 || rc == WEFT_ENOMEM, "allocation %ld: %d", n, rc);
            ck_assert_msg(leaked == 0, "allocation %ld: %ld blocks have leaked", n, leaked);
        }
    }
}
END_TEST

/* The node has its network and its threads, so the number of an allocation may differ from run to run. */
START_TEST(a_node_with_a_network_starts_or_does_not)
{
    const char *url = "tcp://127.0.0.1:0";
    weft_node_options o = {.workers = 2, .listen = &url, .listen_count = 1};
    weft_log_set(WEFT_SILENT, false);
    for (int lasting = 0; lasting <= 1; lasting++) {
        int in_a_row = 0; /* starts; a thread may allocate a little earlier or later */
        for (long n = 0; in_a_row < 5; n++) {
            weft_node *node = NULL;
            faults_arm(n, lasting == 1);
            int rc = weft_node_start(&node, &o);
            long failed = faults_disarm();
            if (rc == 0) ck_assert_int_eq(weft_node_stop(node, WEFT_FOREVER), 0);
            else ck_assert_msg(rc == WEFT_ENOMEM || rc == WEFT_ESYSTEM, "allocation %ld: %d", n, rc);
            in_a_row = failed == 0 ? in_a_row + 1 : 0;
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("oom");
    TCase *tcase = tcase_create("oom");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, each_allocation_may_fail, 0, 2 * (int)WF_COUNT(scenarios));
    tcase_add_test(tcase, a_node_without_memory_does_not_start);
    tcase_add_test(tcase, a_node_with_a_network_starts_or_does_not);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
