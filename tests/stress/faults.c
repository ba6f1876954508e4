/* faults FIRST LAST MESSAGES: four nodes in one process and three links that break in the ways in which a network
 * does, while numbered messages travel in both directions. A seed, from FIRST to LAST, determines the faults, and
 * after how many messages they come, which is printed; the same seed makes the same faults. In spite of them, each
 * message arrives once and in order. */
#include "../integration/proxy.h"
#include "../integration/transport_harness.h"
#include "../unit/actors/random.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { LINKS = 3, WAYS = 2 * LINKS, STEPS = 16, FAULTS = PROXY_HALF_DOWN + 2 };

static const char *const fault_names[FAULTS] = {"cut",     "hang",      "deaf up",           "deaf down",
                                                "half up", "half down", "cut every so often"};

struct step {
    uint64_t at; /* messages that have come, of all links */
    int link, fault;
    uint64_t bytes; /* "cut every so often": until the link's next step */
};

static struct proxy proxy[LINKS];
static uint32_t each = 20000; /* messages on each way */
static _Atomic uint64_t received, wanted;
static struct {
    _Atomic uint64_t received, doubled, missed, wrong;
} way[WAYS]; /* way 2 * i: from leaf i to the hub; 2 * i + 1: back */

static uint64_t seed;

static void make_script(struct step *script)
{
    uint32_t part = each * WAYS / (STEPS + 1);
    for (int i = 0; i < STEPS; i++) {
        script[i] = (struct step){(uint64_t)i * part + 1 + random_below(&seed, part), (int)random_below(&seed, LINKS),
                                  (int)random_below(&seed, FAULTS), 500000 + random_below(&seed, 500000)};
        printf("  after %" PRIu64 " messages: link %d: %s\n", script[i].at, script[i].link,
               fault_names[script[i].fault]);
    }
}

static void takes(const void *arg, size_t size)
{
    int w;
    memcpy(&w, arg, size);
    char name[16];
    snprintf(name, sizeof name, "way%d", w);
    weft_require(weft_register(name) == WEFT_OK);
    say("takes");
    weft_msg *m;
    for (uint32_t next = 0, number; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_size(m) != 32) {
            atomic_fetch_add(&way[w].wrong, 1);
            continue;
        }
        memcpy(&number, weft_data(m), sizeof number);
        if (number < next) atomic_fetch_add(&way[w].doubled, 1); /* or late: it was missed then */
        else atomic_fetch_add(&way[w].missed, number - next);
        next = number < next ? next : number + 1;
        atomic_fetch_add(&way[w].received, 1);
        uint64_t all = atomic_fetch_add(&received, 1) + 1;
        if (all == atomic_load(&wanted)) say("reached %" PRIu64, all);
    }
}

static void sends(const void *arg, size_t size)
{
    int w;
    memcpy(&w, arg, size);
    char to[24];
    uint8_t body[32] = {0};
    snprintf(to, sizeof to, w % 2 == 0 ? "way%d@hub" : "way%d@leaf%d", w, w / 2);
    for (uint32_t i = 0; i < each;) {
        memcpy(body, &i, sizeof i);
        int rc = weft_send_name(to, 1, body, sizeof body);
        if (rc == WEFT_OK) i++;
        else if (rc != WEFT_EFULL) {
            say("wrong: %s at %" PRIu32 " to %s", weft_error_name(rc), i, to);
            return;
        }
    }
}

static void wait_for(uint64_t count)
{
    char line[40];
    atomic_store(&wanted, count);
    snprintf(line, sizeof line, "reached %" PRIu64, count);
    if (atomic_load(&received) < count) HEAR(line); /* who counts to it from now on sees that it is wanted */
}

static void play(const struct step *script)
{
    for (int i = 0; i < STEPS; i++) {
        const struct step *s = &script[i];
        wait_for(s->at);
        proxy_cut_every(&proxy[s->link], s->fault == FAULTS - 1 ? s->bytes : 0);
        proxy_do(&proxy[s->link], s->fault == FAULTS - 1 ? PROXY_CUT : (enum proxy_fault)s->fault);
    }
    for (int i = 0; i < LINKS; i++) proxy_cut_every(&proxy[i], 0);
    wait_for((uint64_t)each * WAYS);
}

/* Returns what was lost, doubled, out of order or wrong. */
static uint64_t run(uint64_t number)
{
    struct step script[STEPS];
    weft_node_options o = {.resume_window = WEFT_SEC(300), .heartbeat = WEFT_MS(50), .heartbeats_lost = 6};
    weft_node *hub, *leaf[LINKS];
    char names[LINKS][8], up[64];
    seed = number;
    forget_all();
    memset(way, 0, sizeof way);
    atomic_store(&received, 0);
    printf("seed %" PRIu64 ":\n", number);
    make_script(script);
    o.name = "hub";
    hub = node_with(o, "tcp://127.0.0.1:0", NULL);
    watch(hub);
    for (int i = 0; i < LINKS; i++) {
        snprintf(names[i], sizeof names[i], "leaf%d", i);
        proxy_start(&proxy[i], weft_node_url(hub, 0), number + (uint64_t)i + 1);
        o.name = names[i];
        leaf[i] = node_with(o, NULL, proxy[i].url);
        watch(leaf[i]);
        snprintf(up, sizeof up, "%s up hub", names[i]);
        HEAR(up);
        snprintf(up, sizeof up, "hub up %s", names[i]);
        HEAR(up);
    }
    for (int w = 0; w < WAYS; w++) run_actor(w % 2 == 0 ? hub : leaf[w / 2], takes, &w, sizeof w);
    ck_assert_int_ge(heard("takes", WAYS), WAYS);
    for (int w = 0; w < WAYS; w++) run_actor(w % 2 == 0 ? leaf[w / 2] : hub, sends, &w, sizeof w);
    play(script);
    for (int i = 0; i < LINKS; i++) node_down(leaf[i]);
    node_down(hub);
    for (int i = 0; i < LINKS; i++) proxy_end(&proxy[i]);
    uint64_t faults = (uint64_t)heard("wrong", 0);
    for (int w = 0; w < WAYS; w++) {
        faults += atomic_load(&way[w].doubled) + atomic_load(&way[w].missed) + atomic_load(&way[w].wrong);
        faults += each - atomic_load(&way[w].received);
    }
    for (int i = 0; i < LINKS; i++) {
        snprintf(up, sizeof up, "%s down hub: connection", names[i]);
        faults += (uint64_t)heard(up, 0); /* a link that was given up */
    }
    printf("seed %" PRIu64 ": %u messages, %" PRIu64 " lost, doubled, out of order or wrong\n", number,
           (unsigned)(each * WAYS), faults);
    return faults;
}

static uint64_t first_seed = 1, last_seed = 1;

START_TEST(no_message_is_lost_whatever_link_breaks)
{
    for (uint64_t number = first_seed; number <= last_seed; number++) ck_assert_uint_eq(run(number), 0);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1) first_seed = last_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2) last_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3) each = (uint32_t)strtoul(argv[3], NULL, 10);
    Suite *s = suite_create("faults");
    TCase *t = tcase_create("seeds");
    tcase_add_test(t, no_message_is_lost_whatever_link_breaks);
    suite_add_tcase(s, t);
    return run_suite_unforked(s);
}
