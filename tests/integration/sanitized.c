/* tests/integration/sanitized.c -- a user's program, built with ASan or TSan and linked with a libweft that was not:
 * `sanitized clean` has no mistake; all other arguments name a mistake that the sanitizer has to find. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

enum { WORKERS = 4, PARTS = 8, NUMBERS = 8000, SUBSCRIBERS = 6, NEWS = 200, TEXT = 300, DONE = 1, READY, PART, ASK };

static void must(int rc)
{
    if (rc >= 0) return;
    fprintf(stderr, "sanitized: %s\n", weft_strerror(rc));
    exit(3);
}

static weft_msg *receive(uint32_t tag)
{
    weft_msg *m;
    must(weft_recv_tag(&m, tag, WEFT_FOREVER));
    return m;
}

static void spawn_on(int worker, weft_actor *body, const void *arg, size_t size)
{
    must(weft_spawn(NULL, body, arg, size, &(weft_spawn_options){.worker = worker}));
}

/* ---- In order: memory that goes from one thread to another in all the ways there are --------------------------- */

struct part {
    int *numbers;
    weft_pid parent;
    long sum;
};

static void sums_up(const void *arg, size_t size)
{
    struct part p, *out = malloc(sizeof *out);
    memcpy(&p, arg, size);
    for (int i = 0; i < NUMBERS / PARTS; i++) p.sum += p.numbers[i]++;
    *out = p;
    must(weft_send(p.parent, PART, &out, sizeof out));
}

static void fork_and_join(void)
{
    int *numbers = malloc(NUMBERS * sizeof *numbers);
    long sum = 0;
    for (int i = 0; i < NUMBERS; i++) numbers[i] = i;
    for (int i = 0; i < PARTS; i++) {
        struct part p = {.numbers = numbers + i * (NUMBERS / PARTS), .parent = weft_self()};
        spawn_on(1 + i % WORKERS, sums_up, &p, sizeof p);
    }
    for (int i = 0; i < PARTS; i++) {
        struct part *p;
        weft_msg *m = receive(PART);
        memcpy(&p, weft_data(m), sizeof p);
        weft_msg_free(m);
        sum += p->sum;
        free(p);
    }
    for (int i = 0; i < NUMBERS; i++) sum += numbers[i];
    free(numbers);
    if (sum != (long)NUMBERS * NUMBERS) exit(4);
}

struct promise {
    weft_event event;
    int *value;
};

static void keeps_promise(const void *arg, size_t size)
{
    struct promise p;
    memcpy(&p, arg, size);
    *p.value = 42;
    must(weft_event_set(p.event));
}

static void fulfil(int (*open)(weft_event *))
{
    struct promise p = {.value = malloc(sizeof(int))};
    must(open(&p.event));
    *p.value = 1;
    spawn_on(2, keeps_promise, &p, sizeof p);
    must(weft_event_await(p.event, WEFT_FOREVER));
    if (*p.value != 42) exit(5);
    free(p.value);
    must(weft_event_close(p.event));
}

static void doubles(void *block)
{
    int **at = block;
    **at *= 2;
}

static void offload(void)
{
    int *value = malloc(sizeof *value), *argument = value;
    *value = 21;
    must((int)weft_offload(doubles, &argument, sizeof argument, WEFT_FOREVER));
    if (*value != 42) exit(6);
    free(value);
}

static void subscribes(const void *arg, size_t size)
{
    weft_pid parent;
    memcpy(&parent, arg, size);
    must(weft_subscribe("news", NULL));
    must(weft_send(parent, READY, NULL, 0));
    for (int i = 0; i < NEWS; i++) {
        weft_msg *m;
        must(weft_recv(&m, WEFT_FOREVER));
        const char *text = weft_data(m);
        if (text[0] != 'x' || text[TEXT - 1] != 'x') exit(7);
        weft_msg_free(m);
    }
    must(weft_send(parent, DONE, NULL, 0));
}

static void publish(void)
{
    char text[TEXT];
    weft_pid me = weft_self();
    memset(text, 'x', sizeof text);
    for (int i = 0; i < SUBSCRIBERS; i++) spawn_on(1 + i % WORKERS, subscribes, &me, sizeof me);
    for (int i = 0; i < SUBSCRIBERS; i++) weft_msg_free(receive(READY));
    for (int i = 0; i < NEWS; i++) must(weft_publish("news", 5, text, sizeof text));
    for (int i = 0; i < SUBSCRIBERS; i++) weft_msg_free(receive(DONE));
}

static void clean(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int round = 0; round < 20; round++) {
        fork_and_join();
        fulfil(weft_event_open);
        fulfil(weft_event_open_manual);
        offload();
    }
    publish();
    puts("clean");
}

/* ---- Two nodes in one process, which link over TCP ------------------------------------------------------------- */

static void answers(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    must(weft_register_global("echo"));
    while (weft_recv(&m, WEFT_FOREVER) >= 0) {
        if (weft_wants_reply(m)) must(weft_reply(m, ASK, weft_data(m), weft_size(m)));
        weft_msg_free(m);
    }
}

static void asks(const void *arg, size_t size)
{
    weft_pid who;
    static char body[100000];
    (void)arg, (void)size;
    must(weft_await_name("echo", &who, weft_after(WEFT_SEC(20))));
    for (int i = 0; i < 100; i++) {
        weft_msg *answer;
        size_t bytes = i % 10 == 0 ? sizeof body : 100;
        must(weft_call(who, ASK, body, bytes, &answer, weft_after(WEFT_SEC(20))));
        if (weft_size(answer) != bytes) exit(8);
        weft_msg_free(answer);
    }
}

static int linked(const char *url)
{
    weft_node *one, *two;
    must(weft_node_start(&one, &(weft_node_options){.name = "one", .workers = 2, .listen = &url, .listen_count = 1}));
    must(weft_node_start(&two, &(weft_node_options){.name = "two", .workers = 2, .join = &url, .join_count = 1}));
    must(weft_node_spawn(one, NULL, answers, NULL, 0, NULL));
    must(weft_node_spawn(two, NULL, asks, NULL, 0, NULL));
    must(weft_node_wait(two, WEFT_FOREVER));
    must(weft_node_stop(two, WEFT_FOREVER));
    must(weft_node_stop(one, WEFT_FOREVER));
    puts("clean");
    return 0;
}

/* ---- Mistakes -------------------------------------------------------------------------------------------------- */

static volatile long counter;
static const char *kept;

/* Runs until both have counted at the same time for a while: turns of the worker end now and then. */
static void counts(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (int i = 0; i < 20000; i++) {
        counter++;
        if (i % 10 == 0) weft_yield();
    }
}

static void race(const void *arg, size_t size)
{
    (void)arg, (void)size;
    spawn_on(1, counts, NULL, 0);
    spawn_on(2, counts, NULL, 0);
}

static void use_after_free(bool published, size_t bytes, int others)
{
    static char text[4000];
    weft_msg *m;
    must(published ? weft_subscribe("news", NULL) : 0);
    must(published ? weft_publish("news", 1, text, bytes) : weft_send(weft_self(), 1, text, bytes));
    must(weft_recv(&m, WEFT_FOREVER));
    const char *data = weft_data(m);
    weft_msg_free(m);
    for (int i = 0; i < others; i++) {
        must(weft_send(weft_self(), 1, text, bytes));
        must(weft_recv(&m, WEFT_FOREVER));
        weft_msg_free(m);
    }
    printf("%d\n", data[bytes / 2]);
}

static void freed(const void *arg, size_t size)
{
    (void)arg, (void)size;
    use_after_free(false, 100, 0);
}

static void freed_large(const void *arg, size_t size)
{
    (void)arg, (void)size;
    use_after_free(false, 4000, 0);
}

static void freed_published(const void *arg, size_t size)
{
    (void)arg, (void)size;
    use_after_free(true, 100, 0);
}

/* Where nothing watches, one of the others would have its block. */
static void freed_a_while_ago(const void *arg, size_t size)
{
    (void)arg, (void)size;
    use_after_free(false, 100, 100);
}

static __attribute__((noinline)) void keep(const char *text)
{
    kept = text;
}

static void leaves_local(const void *arg, size_t size)
{
    char text[100];
    (void)arg, (void)size;
    memset(text, 'x', sizeof text);
    keep(text);
}

static void use_after_end(int worker)
{
    weft_pid who;
    must(weft_spawn(&who, leaves_local, NULL, 0, &(weft_spawn_options){.worker = worker}));
    must(weft_monitor(who, NULL));
    weft_msg_free(receive(WEFT_TAG_DOWN));
    printf("%d\n", kept[50]);
}

static void ended(const void *arg, size_t size)
{
    (void)arg, (void)size;
    use_after_end(1);
}

static void past_the_end(const void *arg, size_t size)
{
    volatile char text[16];
    volatile int at = 16;
    (void)arg, (void)size;
    text[at] = 1;
    counter += text[0];
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        weft_actor *body;
    } ALL[] = {{"clean", clean},
               {"race", race},
               {"freed", freed},
               {"freed-large", freed_large},
               {"freed-a-while-ago", freed_a_while_ago},
               {"ended", ended},
               {"freed-published", freed_published},
               {"past-the-end", past_the_end}};
    const char *what = argc > 1 ? argv[1] : "clean";
    if (strcmp(what, "linked") == 0) return linked(argv[2]);
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
        if (strcmp(what, ALL[i].name) == 0)
            return weft_main(&(weft_node_options){.workers = WORKERS}, ALL[i].body, NULL, 0);
    return 2;
}
