/* tests/sim/scene.c -- see scene.h. On each node: a sender to each other node, whose numbered messages come in order and
 * once, unless it is told that their sink has ended; a publisher of versions of a state, which are retained; one who
 * hears those of all, and one who subscribes again and again; and an actor that wants the same global name as those of
 * the other nodes. It uses only functions that all versions of tests/versions/previous with a simulated world have. */
#include "scene.h"

#include "../unit/actors/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

enum { HELLO = 1, DATA = 2, STATE = 3, SMALL = 2000, LARGE = 300000, LARGE_ONE_IN = 64, STEP = 4099 };
#define NAME "leader"

static struct scene *s;

void scene_begin(struct scene *shared)
{
    s = shared;
}

/* ---- What is used by all ---------------------------------------------------------------------------------------- */

/* The number of this node: 0 for n1. */
static unsigned self(void)
{
    unsigned number = 0;
    (void)sscanf(weft_node_name(weft_here()), "n%u", &number);
    return number == 0 || number > SCENE_NODES ? 0 : number - 1;
}

static uint64_t seed(void)
{
    return weft_self().node ^ weft_self().actor;
}

static bool is_calm(void)
{
    return weft_now() >= s->calm_at;
}

static void fail(const char *what, unsigned here, unsigned other, uint32_t got, uint32_t before)
{
    char text[160];
    snprintf(text, sizeof text, "n%u: %s of n%u: %u after %u", here + 1, what, other + 1, (unsigned)got,
             (unsigned)before);
    s->fail(text);
}

static bool again(void)
{
    return weft_sleep(weft_after(WEFT_MS(50))) != WEFT_ECANCELED;
}

static bool rest(uint64_t *random, int64_t least, int64_t most)
{
    return weft_sleep(weft_after(random_between(random, least, most))) != WEFT_ECANCELED;
}

static void begin(weft_actor *body, const void *arg, size_t size)
{
    while (weft_spawn(NULL, body, arg, size, NULL) < 0 && again()) {}
}

/* ---- Streams ---------------------------------------------------------------------------------------------------- */

struct head {
    uint32_t from, to, stream, number, size;
};

static struct scene_stream *stream_of(const struct head *h)
{
    return &s->stream[h->from % SCENE_NODES][h->to % SCENE_NODES][h->stream % SCENE_STREAMS];
}

static void take(unsigned from, const weft_msg *m)
{
    const uint8_t *bytes = weft_data(m);
    struct head h = {.size = 0};
    if (weft_size(m) >= sizeof h) memcpy(&h, bytes, sizeof h);
    if (h.from != from || h.to != self() || h.size != weft_size(m)) {
        fail("a message that nobody has sent here", self(), from, h.number, 0);
        return;
    }
    for (size_t i = sizeof h; i < h.size; i += STEP)
        if (bytes[i] != (uint8_t)(h.number + i))
            fail("a byte of a message is another one", self(), from, h.number, 0);
    struct scene_stream *t = stream_of(&h);
    if (h.number <= t->came) fail("a message", self(), from, h.number, t->came);
    t->missing |= h.number > t->came + 1;
    t->came = h.number;
}

static void sink(const void *arg, size_t size)
{
    unsigned from;
    char name[32];
    weft_msg *m;
    memcpy(&from, arg, size);
    snprintf(name, sizeof name, "sink-%u", from + 1);
    while (weft_register(name) < 0)
        if (!again()) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_tag(m) == HELLO) (void)weft_reply(m, HELLO, NULL, 0);
        else take(from, m);
        weft_msg_free(m);
    }
}

/* Whether the sink has ended. */
static bool is_told(void)
{
    weft_msg *m;
    bool told = false;
    while (weft_recv(&m, WEFT_NOW) == WEFT_OK) {
        told |= weft_tag(m) == WEFT_TAG_DOWN;
        weft_msg_free(m);
    }
    return told;
}

static bool pour(struct head *h, weft_pid to, uint8_t *bytes, uint64_t *random)
{
    for (uint32_t left = 1 + random_below(random, 60); left > 0;) {
        if (is_told()) return false;
        uint32_t most = random_below(random, LARGE_ONE_IN) == 0 ? LARGE : SMALL;
        h->number = stream_of(h)->sent + 1;
        h->size = (uint32_t)sizeof *h + random_below(random, most);
        memcpy(bytes, h, sizeof *h);
        for (size_t i = sizeof *h; i < h->size; i += STEP) bytes[i] = (uint8_t)(h->number + i);
        int rc = weft_send(to, DATA, bytes, h->size);
        if (rc == WEFT_OK) {
            stream_of(h)->sent = h->number;
            left--;
        } else if (rc != WEFT_EFULL && !again()) {
            return false;
        }
    }
    s->poured[h->from][h->to]++;
    return true;
}

static void stream(unsigned other, weft_pid to, uint8_t *bytes, uint64_t *random)
{
    struct head h = {.from = self(), .to = other, .stream = s->opened[self()][other]++};
    weft_monitor_ref ref;
    if (h.stream >= SCENE_STREAMS) fail("too many streams", self(), other, h.stream, 0);
    bool goes_on = weft_monitor(to, &ref) == WEFT_OK;
    while (goes_on) {
        goes_on = pour(&h, to, bytes, random);
        weft_wait news = weft_on_mailbox();
        int64_t until = weft_after(random_between(random, WEFT_MS(100), WEFT_SEC(3)));
        if (goes_on && weft_wait_any(&news, 1, until) == 0) goes_on = !is_told();
    }
    stream_of(&h)->told = true;
}

static void sender(const void *arg, size_t size)
{
    unsigned other;
    char far[48];
    memcpy(&other, arg, size);
    snprintf(far, sizeof far, "sink-%u@n%u", self() + 1, other + 1);
    uint64_t random = seed();
    uint8_t *bytes = malloc(sizeof(struct head) + LARGE);
    if (bytes == NULL || weft_defer(free, bytes) < 0) {
        free(bytes);
        return;
    }
    while (rest(&random, WEFT_MS(10), WEFT_SEC(1))) {
        weft_msg *answer = NULL;
        if (weft_call_name(far, HELLO, NULL, 0, &answer, weft_after(WEFT_SEC(5))) < 0) continue;
        weft_pid to = weft_from(answer);
        weft_msg_free(answer);
        stream(other, to, bytes, &random);
    }
}

/* ---- Retained messages ------------------------------------------------------------------------------------------ */

struct state {
    uint32_t node, run, version;
};

static void publisher(const void *arg, size_t size)
{
    struct state now = {.node = self(), .run = s->run[self()]};
    uint64_t random = seed();
    char topic[16];
    (void)arg, (void)size;
    snprintf(topic, sizeof topic, "state.n%u", (unsigned)now.node);
    while (rest(&random, WEFT_MS(200), WEFT_SEC(1))) {
        now.version = s->published[now.node] + 1;
        if (weft_publish_retained(topic, STATE, &now, sizeof now) >= 0) s->published[now.node] = now.version;
    }
}

static void listener(const void *arg, size_t size)
{
    struct state last[SCENE_NODES] = {{0}}, now;
    weft_msg *m;
    (void)arg, (void)size;
    memset(s->heard[self()], 0, sizeof s->heard[self()]);
    while (weft_subscribe("state.>", NULL) < 0)
        if (!again()) return;
    for (int rc; (rc = weft_recv(&m, WEFT_FOREVER)) != WEFT_ECANCELED;) {
        if (rc < 0) continue;
        memcpy(&now, weft_data(m), sizeof now);
        weft_msg_free(m);
        struct state *l = &last[now.node % SCENE_NODES];
        if (now.run == l->run && now.version <= l->version)
            fail("a version", self(), now.node, now.version, l->version);
        *l = now;
        s->heard[self()][now.node % SCENE_NODES] = now.version;
    }
}

static void latecomer(const void *arg, size_t size)
{
    weft_subscription sub;
    struct state now;
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_sleep(weft_after(WEFT_MS(300))) != WEFT_ECANCELED) {
        if (weft_subscribe("state.>", &sub) < 0) continue;
        while (weft_recv(&m, weft_after(WEFT_MS(1))) == WEFT_OK) {
            memcpy(&now, weft_data(m), sizeof now);
            if (weft_is_retained(m)) s->kept[self()][now.node % SCENE_NODES] = now.version;
            weft_msg_free(m);
        }
        (void)weft_unsubscribe(sub);
    }
}

/* ---- The name --------------------------------------------------------------------------------------------------- */

static struct scene_pid plain(weft_pid pid)
{
    return (struct scene_pid){pid.node, pid.actor};
}

static void let_go(void *holder)
{
    *(struct scene_pid *)holder = (struct scene_pid){0, 0};
}

/* Whether it is told that it has lost the name. News of a loss may be old, if it has the name again. */
static bool is_lost(const weft_msg *m)
{
    struct weft_name_lost lost;
    weft_pid has;
    if (weft_name_lost_read(m, &lost) < 0) return false;
    return weft_whereis(NAME, &has) < 0 || !weft_pid_equal(has, weft_self());
}

/* Holds the name until then, or until it is lost; when all is calm it does not give it back. False: the node stops. */
static bool hold(int64_t until, bool *lost)
{
    for (*lost = false; !*lost;) {
        weft_msg *m;
        int rc = weft_recv(&m, is_calm() ? WEFT_FOREVER : until);
        if (rc == WEFT_ETIMEDOUT && is_calm()) continue;
        if (rc < 0) return rc == WEFT_ETIMEDOUT;
        *lost = is_lost(m);
        weft_msg_free(m);
    }
    return true;
}

static void contender(const void *arg, size_t size)
{
    struct scene_pid *mine = &s->holder[self()];
    uint64_t random = seed();
    bool lost;
    (void)arg, (void)size;
    if (weft_defer(let_go, mine) < 0) return;
    do {
        if (weft_register_global(NAME) < 0) continue;
        *mine = plain(weft_self());
        bool stays = hold(weft_after(random_between(&random, WEFT_MS(50), WEFT_SEC(4))), &lost);
        let_go(mine);
        if (!stays) return;
        if (!lost) (void)weft_unregister(NAME);
    } while (rest(&random, WEFT_MS(10), WEFT_MS(400)));
}

static void looker(const void *arg, size_t size)
{
    unsigned me = self();
    (void)arg, (void)size;
    do {
        weft_pid who;
        s->found[me] = weft_whereis(NAME, &who) < 0 ? (struct scene_pid){0, 0} : plain(who);
        s->found_at[me] = weft_now();
    } while (again());
}

/* ---------------------------------------------------------------------------------------------------------------- */

/* Nothing is left of the last run of this node. */
static void forget(unsigned me)
{
    s->run[me]++;
    memset(s->kept[me], 0, sizeof s->kept[me]);
    let_go(&s->holder[me]);
    for (unsigned to = 0; to < s->nodes; to++)
        for (uint32_t i = 0; i < s->opened[me][to] && i < SCENE_STREAMS; i++) s->stream[me][to][i].over = true;
}

void scene_first(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    forget(self());
    for (unsigned other = 0; other < s->nodes; other++) {
        if (other == self()) continue;
        begin(sink, &other, sizeof other);
        begin(sender, &other, sizeof other);
    }
    begin(listener, NULL, 0);
    begin(publisher, NULL, 0);
    begin(latecomer, NULL, 0);
    begin(contender, NULL, 0);
    begin(looker, NULL, 0);
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) weft_msg_free(m);
}
