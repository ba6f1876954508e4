/* A module whose simulated runs fail, in the way that its first argument chooses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/sim.h>

enum { NODES = 16, HEARD = 1, SILENCE = 1500 /* ms */, TOLD_AT = 35 /* s: all faults are over by then */ };

static bool it_happens; /* "blinks": for 10 ms, 40 s after the start */

static bool happens(void *arg)
{
    (void)arg;
    return it_happens;
}

static volatile char *volatile nowhere;
static bool silent[NODES][NODES]; /* from the first to the second nothing came for SILENCE */

static void sleep_for(int64_t ms)
{
    (void)weft_sleep(weft_after(WEFT_MS(ms)));
}

static void fail_with_words(const struct weft_args *args)
{
    char text[200] = "";
    for (int i = 1; i < args->argc; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "[%s]", args->argv[i]);
    weft_sim_fail("node %s was given %s", weft_node_name(weft_here()), text);
}

static void tell_silence(void)
{
    char text[256] = "silent:";
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < NODES; k++)
            if (silent[i][k]) snprintf(text + strlen(text), sizeof text - strlen(text), " n%d>n%d", i + 1, k + 1);
    weft_sim_fail("%s", text);
}

/* Says something to all others four times a second, and notes who could not be heard. */
static void listen(unsigned me, int64_t began)
{
    int64_t last[NODES] = {0}, next = weft_now();
    char name[32];
    (void)weft_register("ear");
    while (weft_now() - began < WEFT_SEC(TOLD_AT)) {
        weft_msg *m;
        for (unsigned i = 0; weft_now() >= next && i < NODES; i++) {
            snprintf(name, sizeof name, "ear@n%u", i + 1);
            if (i != me) (void)weft_send_name(name, HEARD, &me, sizeof me);
        }
        if (weft_now() >= next) next = weft_after(WEFT_MS(250));
        if (weft_recv(&m, next) < 0) continue;
        unsigned from = *(const unsigned *)weft_data(m);
        if (last[from] != 0 && weft_now() - last[from] > WEFT_MS(SILENCE)) silent[from][me] = true;
        last[from] = weft_now();
        weft_msg_free(m);
    }
    tell_silence();
}

static void child(const void *arg, size_t size)
{
    (void)arg, (void)size;
    sleep_for(10);
    weft_exit(77);
}

/* Three blocks that nobody frees, or one that is there for a second. */
static void allocate(const char *how)
{
    static void *volatile kept;
    bool leaks = strcmp(how, "leaks") == 0, grows = strcmp(how, "grows") == 0;
    for (int i = 0; leaks && i < 3; i++) kept = malloc(12345);
    if (grows) kept = calloc(1, 100 << 20);
    if (grows) sleep_for(1000);
    if (grows) free(kept);
    it_happens |= leaks || grows;
}

/* BROKEN_STATES: how many are declared. The first is reached by each seed, the second by some, the others by none. */
static void reach(void)
{
    it_happens = true;
    weft_sim_sometimes("state 1", true);
    if (getenv("BROKEN_STATES") != NULL) weft_sim_sometimes("state 2", weft_self().node % 4 == 0);
}

static void expect_states(int count)
{
    char name[120];
    for (int i = 1; i <= count; i++) {
        snprintf(name, sizeof name, "state %d", i);
        (void)weft_sim_expect(name);
        (void)weft_sim_expect(name); /* the same one */
    }
    memset(name, 'x', sizeof name);
    name[100] = '\0';
    if (count < 0) (void)weft_sim_expect(name);
}

static void body(const void *arg, size_t size)
{
    static int64_t began; /* of the first node that started */
    const struct weft_args *args = arg;
    const char *how = args->argv[1];
    (void)size;
    if (began == 0) began = weft_now();
    allocate(how);
    if (strcmp(how, "hears") == 0) listen((unsigned)atoi(weft_node_name(weft_here()) + 1) - 1, began);
    if (strcmp(how, "after") == 0) {
        sleep_for(1000 * (int64_t)atoi(args->argv[2]));
        weft_sim_fail("it is %s s late", args->argv[2]);
    }
    if (strcmp(how, "blinks") == 0) {
        sleep_for(40010);
        it_happens = true;
        sleep_for(10);
        it_happens = false;
    }
    if (strcmp(how, "child") == 0) {
        weft_spawn_options options = {.kind = "doomed"};
        (void)weft_spawn(NULL, child, NULL, 0, &options);
    }
    if (strcmp(how, "reaches") == 0) reach();
    sleep_for(1000);
    if (strcmp(how, "child") == 0) weft_sim_fail("the child has ended");
    if (strcmp(how, "words") == 0) fail_with_words(args);
    if (strcmp(how, "says") == 0) {
        weft_log(WEFT_INFO, "now it fails");
        weft_sim_fail("node %s says %d", weft_node_name(weft_here()), 7);
    }
    if (strcmp(how, "crash") == 0) *nowhere = 1;
    if (strcmp(how, "exit") == 0) _Exit(3);
    weft_sleep(WEFT_FOREVER);
}

static void checks(void)
{
    const char *count = getenv("BROKEN_CHECKS");
    weft_sim_eventually("it happens", happens, NULL);
    if (getenv("BROKEN_STATES") != NULL) expect_states(atoi(getenv("BROKEN_STATES")));
    for (int i = 1; count != NULL && i < atoi(count); i++) weft_sim_eventually("it happens, too", happens, NULL);
}

WEFT_MODULE(body)
WEFT_SIM(checks)
