/* The memory of each kind of object, by the C library's count of its heap: docs/memory.md states these limits. */
#include "../node_harness.h"

#include <malloc.h>

/* ONCE: bytes that a pool, a table or another thread may take meanwhile, once and not for each of MANY. */
enum { MANY = 20000, ONCE = 64 * 1024 };

static bool is_counted(void)
{
    return !under_tools() && mallinfo2().uordblks > 0; /* a tool's allocator does not count here */
}

static size_t in_use(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* MANY things were made since `before`: each may use at most this much memory on average. */
static void want_each(const char *what, size_t before, size_t most)
{
    size_t each = (in_use() - before + MANY / 2) / MANY;
    size_t most_with_once = most + ONCE / MANY;
    printf("%s: %zu bytes\n", what, each);
    fflush(stdout);
    want(each <= most_with_once);
}

static void sleeper(const void *arg, size_t size)
{
    (void)arg, (void)size;
    (void)weft_sleep(WEFT_FOREVER);
}

static weft_pid child(void)
{
    weft_pid p;
    want_int(weft_spawn(&p, sleeper, NULL, 0, &(weft_spawn_options){.worker = 1}), 0);
    return p;
}

/* The thread of weft's own actors has made what it needs for itself. */
static void wait_for_own(void)
{
    const struct wf_worker *own = wf_workers_own(wf_here->set);
    while (atomic_load_explicit(&own->state, memory_order_acquire) != WF_ASLEEP) (void)weft_yield();
}

/* The first object of each kind makes the table of all: address space, of which a page is used. */
static void make_first_of_each(void)
{
    weft_timer t;
    weft_event e;
    weft_pid first = child();
    want_int(weft_monitor(first, NULL), 0);
    want_int(weft_timer_open(&t, weft_after(WEFT_SEC(1000)), 0), 0);
    want_int(weft_send_after(weft_after(WEFT_SEC(1000)), first, 1, NULL, 0, NULL), 0);
    want_int(weft_event_open(&e), 0);
    want_int(weft_subscribe("first", NULL), 0);
    want_int(weft_kill(first), 0);
}

static void costs(const void *arg, size_t size)
{
    (void)arg, (void)size;
    static weft_pid p[MANY];
    char name[32];
    make_first_of_each();
    wait_for_own();
    size_t before = in_use();
    for (int i = 0; i < MANY; i++) p[i] = child(); /* not run yet: no stack */
    want_each("an actor before it runs", before, 272);
    (void)weft_yield();
    weft_pid one = p[0];

    before = in_use();
    for (int i = 0; i < MANY; i++) want_int(weft_monitor(one, NULL), 0);
    want_each("a monitor, both sides", before,
              64 + 64 + 32 + 24); /* of one that many watch: with its place in a table */
    before = in_use();
    for (int i = 1; i < MANY; i++) want_int(weft_monitor(p[i], NULL), 0);
    want_each("the first monitor of an actor, both sides", before, 64 + 64 + 128 + 48);
    before = in_use();
    for (int i = 0; i < MANY; i++) want_int(weft_link(p[i]), 0);
    want_each("a link, both sides", before, 64 + 64 + 32 + 24); /* of one with many */
    before = in_use();
    weft_timer t;
    for (int i = 0; i < MANY; i++) want_int(weft_timer_open(&t, weft_after(WEFT_SEC(1000) + i), 0), 0);
    want_each("a timer", before, 192);
    before = in_use();
    for (int i = 0; i < MANY; i++)
        want_int(weft_send_after(weft_after(WEFT_SEC(1000) + i), one, 1, "ping", 4, NULL), 0);
    want_each("a message to be sent later", before, 336);
    before = in_use();
    weft_event e;
    for (int i = 0; i < MANY; i++) want_int(weft_event_open(&e), 0);
    want_each("an event", before, 144);
    before = in_use();
    for (int i = 0; i < MANY; i++) want_int(weft_defer(free, malloc(1)), 0);
    want_each("a clean-up and a block of 1 byte", before, 64 + 16 + 32 + 2); /* and a magazine */
    before = in_use();
    for (int i = 0; i < MANY; i++) want_int(weft_send(one, 1, "12345678", 8), 0);
    want_each("a message of 8 bytes in a mailbox", before, 128 + 16);
    before = in_use();
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "some.name.%d", i);
        want_int(weft_register(name), 0);
    }
    want_each("a registered name", before, 144);
    for (int i = 0; i < MANY; i++) want_int(weft_unlink(p[i]), 0);
    for (int i = 0; i < MANY; i++) want_int(weft_kill(p[i]), 0);
}

static void subscriptions(const void *arg, size_t size)
{
    (void)arg, (void)size;
    make_first_of_each();
    wait_for_own();
    size_t before = in_use();
    for (int i = 0; i < MANY; i++) want_int(weft_subscribe("room.lobby", NULL), 0);
    want_each("a subscription under a common pattern", before, 112);
    before = in_use();
    char pattern[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(pattern, sizeof pattern, "room.%d", i);
        want_int(weft_subscribe(pattern, NULL), 0);
    }
    want_each("a subscription under a pattern of its own", before, 240);
}

START_TEST(each_object_takes_the_documented_memory)
{
    if (!is_counted()) return;
    /* On a slow machine an actor is found to hold its worker up, and its name is read from symbols, into memory of
     * this process; and children that ran already sleep for so long that their stacks are put aside. */
    const weft_node_options options = {.workers = 1, .stuck_after = WEFT_FOREVER, .park_after = WEFT_FOREVER};
    weft_node *n = node_start(&options);
    node_spawn(n, 1, costs);
    node_end(n);
    n = node_start(&options);
    node_spawn(n, 1, subscriptions);
    node_end(n);
}
END_TEST

TEST_MAIN("memory", each_object_takes_the_documented_memory)
