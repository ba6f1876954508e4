/* tests/sim/links.c -- full links: on each node, senders of several kinds of messages send to a sink on every other
 * node, small messages and some of hundreds of KiB, faster than the sinks receive them, so that credit and the limit
 * of the link suspend them. The messages of each stream are numbered: none comes twice or out of order, none is
 * missing unless its sender was told that the sink has ended; and in the end no sender waits for ever. With `scarce`,
 * for --faults memory: a message that finds no memory on its way is lost and counted (docs/transparency.md), but only
 * during the faults. */
#include "calm.h"

enum { HELLO = 1, DATA = 2, STREAMS = 64, STEP = 4099 };

/* Messages that a sender pours at a time. Messages of up to 200 KB have more credit together than a link holds;
 * larger ones go in chunks, which have a limit of their own. */
static const struct kind {
    uint32_t count, least, most; /* bytes */
    uint32_t mailbox;            /* of the sink; 0: as usual */
    bool slow;                   /* is the sink */
} kinds[] = {{300, 0, 2000, 40, true},      {900, 1000, 20000, 0, false},  {70, 40000, 200000, 0, false},
             {70, 40000, 200000, 0, false}, {70, 40000, 200000, 0, false}, {40, 200000, 900000, 0, false}};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct stream {
    uint32_t sent, came; /* numbers, from 1 */
    bool missing;        /* some that came before others */
    bool told;           /* the sender, that the sink is gone */
    bool over;           /* the sender is gone */
};
static struct stream streams[NODES][NODES][KINDS][STREAMS]; /* of a sender: by node, to node */
static uint32_t opened[NODES][NODES][KINDS];
static uint32_t poured[NODES][NODES][KINDS]; /* how often, without waiting in vain */
static unsigned nodes;
static bool scarce;

struct who {
    uint32_t from, to, kind;
};

struct head {
    uint32_t from, to, kind, stream, number, size;
};

static struct stream *stream_of(const struct head *h)
{
    return &streams[h->from % NODES][h->to % NODES][h->kind % KINDS][h->stream % STREAMS];
}

static void name_of(const struct who *w, char out[32])
{
    snprintf(out, 32, "sink-%u-%u", w->from + 1, w->kind);
}

/* ---- The sink -------------------------------------------------------------------------------------------------- */

static void take(const struct who *w, const weft_msg *m)
{
    const uint8_t *bytes = weft_data(m);
    struct head h;
    if (weft_size(m) < sizeof h) {
        weft_sim_fail("a message of %zu bytes", weft_size(m));
        return;
    }
    memcpy(&h, bytes, sizeof h);
    if (h.from != w->from || h.to != w->to || h.kind != w->kind || h.size != weft_size(m)) {
        weft_sim_fail("a message that nobody has sent here");
        return;
    }
    for (size_t i = sizeof h; i < h.size; i += STEP)
        if (bytes[i] != (uint8_t)(h.number + i)) weft_sim_fail("byte %zu of a message is another one", i);
    struct stream *s = stream_of(&h);
    if (h.number <= s->came) weft_sim_fail("n%u hears %u after %u of n%u", h.to + 1, h.number, s->came, h.from + 1);
    if (!scarce || weft_now() >= calm_at) s->missing |= h.number > s->came + 1;
    s->came = h.number;
}

static void sink(const void *arg, size_t size)
{
    struct who w;
    char name[32];
    weft_msg *m;
    memcpy(&w, arg, size);
    name_of(&w, name);
    uint64_t random = sim_random();
    while (weft_register(name) < 0)
        if (!sim_again()) return;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        if (weft_tag(m) == HELLO) (void)weft_reply(m, HELLO, NULL, 0);
        else take(&w, m);
        weft_msg_free(m);
        if (kinds[w.kind].slow && random_below(&random, 16) == 0)
            (void)weft_sleep(weft_after(random_between(&random, 0, WEFT_MS(20))));
    }
}

/* ---- The sender ------------------------------------------------------------------------------------------------ */

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

/* Sends all messages, unless the sink ends before. False: it has ended. */
static bool pour(const struct who *w, weft_pid to, struct head *h, uint8_t *bytes, uint64_t *random)
{
    const struct kind *k = &kinds[w->kind];
    bool in_vain = false;
    for (uint32_t left = k->count; left > 0;) {
        if (is_told()) return false;
        h->number = stream_of(h)->sent + 1;
        h->size = (uint32_t)sizeof *h + k->least + random_below(random, k->most - k->least);
        memcpy(bytes, h, sizeof *h);
        for (size_t i = sizeof *h; i < h->size; i += STEP) bytes[i] = (uint8_t)(h->number + i);
        int64_t began = weft_now();
        int rc = weft_send(to, DATA, bytes, h->size);
        if (rc == WEFT_OK) {
            stream_of(h)->sent = h->number;
            left--;
        } else if (rc == WEFT_EFULL) { /* for as long as weft_send waits */
            in_vain = true;
            if (began > calm_at) weft_sim_fail("a sender on n%u waits in vain", w->from + 1);
        } else if (!sim_again()) {
            return false;
        }
    }
    if (!in_vain) poured[w->from][w->to][w->kind]++;
    return true;
}

/* Sometimes, and always in the end, all pour at the same moment. */
static int64_t rest(uint64_t *random)
{
    if (calm_at == WEFT_FOREVER && random_below(random, 2) == 0)
        return weft_after(random_between(random, WEFT_SEC(1), WEFT_SEC(8)));
    return (weft_now() / WEFT_SEC(4) + 1) * WEFT_SEC(4);
}

/* Sends one stream, until its sink has ended. */
static void stream(const struct who *w, weft_pid to, uint8_t *bytes, uint64_t *random)
{
    struct head h = {.from = w->from, .to = w->to, .kind = w->kind, .stream = opened[w->from][w->to][w->kind]++};
    weft_monitor_ref ref;
    if (h.stream >= STREAMS) weft_sim_fail("more than %d streams", STREAMS);
    bool goes_on = weft_monitor(to, &ref) == WEFT_OK;
    while (goes_on) {
        goes_on = pour(w, to, &h, bytes, random);
        weft_wait news = weft_on_mailbox();
        if (goes_on && weft_wait_any(&news, 1, rest(random)) == 0) goes_on = !is_told();
    }
    stream_of(&h)->told = true;
}

static void sender(const void *arg, size_t size)
{
    struct who w;
    char name[32], far[48];
    memcpy(&w, arg, size);
    name_of(&w, name);
    snprintf(far, sizeof far, "%s@n%u", name, w.to + 1);
    uint64_t random = sim_random();
    uint8_t *bytes;
    while ((bytes = malloc(sizeof(struct head) + kinds[w.kind].most)) == NULL || weft_defer(free, bytes) < 0) {
        free(bytes);
        if (!sim_again()) return;
    }
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_SEC(1)))) != WEFT_ECANCELED) {
        weft_msg *answer = NULL;
        if (weft_call_name(far, HELLO, NULL, 0, &answer, weft_after(WEFT_SEC(5))) < 0) continue;
        weft_pid to = weft_from(answer);
        weft_msg_free(answer);
        stream(&w, to, bytes, &random);
    }
}

static void meet(struct who w)
{
    weft_spawn_options o = {.mailbox_max = kinds[w.kind].mailbox};
    struct who there = {.from = w.to, .to = w.from, .kind = w.kind};
    sim_spawn(sink, &there, sizeof there, &o);
    sim_spawn(sender, &w, sizeof w, NULL);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    unsigned self = sim_self(), count = 2;
    (void)size;
    for (int i = 1; i < args->argc; i++) {
        if (strcmp(args->argv[i], "scarce") == 0) scarce = true;
        else count = (unsigned)atoi(args->argv[i]);
    }
    nodes = count > NODES ? NODES : count;
    for (struct who w = {.from = self}; w.to < nodes; w.to++) {
        for (w.kind = 0; w.kind < KINDS && w.to != self; w.kind++) {
            for (uint32_t i = 0; i < opened[self][w.to][w.kind]; i++) streams[self][w.to][w.kind][i].over = true;
            meet(w);
        }
    }
    sim_wait();
}

/* ---- What has to be true --------------------------------------------------------------------------------------- */

static bool is_whole(unsigned from, unsigned to, unsigned kind)
{
    const struct stream *s = streams[from][to][kind];
    for (uint32_t i = 0; i < opened[from][to][kind]; i++)
        if (!s[i].told && !s[i].over && (s[i].missing || s[i].came != s[i].sent)) return false;
    return true;
}

static bool all_is_there(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < nodes * nodes * KINDS; i++)
        if (!is_whole(i / KINDS / nodes, i / KINDS % nodes, i % KINDS)) return false;
    return true;
}

/* Asked for the first time when all faults are over: once links are whole again all that is poured goes in time. */
static bool all_flows(void *arg)
{
    static uint32_t at_first[NODES][NODES][KINDS];
    (void)arg;
    calm_after(WEFT_SEC(10));
    if (weft_now() < calm_at) memcpy(at_first, poured, sizeof poured);
    if (weft_now() < calm_at) return false;
    for (unsigned i = 0; i < nodes * nodes * KINDS; i++) {
        unsigned from = i / KINDS / nodes, to = i / KINDS % nodes;
        if (from != to && poured[from][to][i % KINDS] < at_first[from][to][i % KINDS] + 2) return false;
    }
    return true;
}

static void checks(void)
{
    weft_sim_eventually("all that was sent is there, or its loss was told", all_is_there, NULL);
    weft_sim_eventually("all senders get on", all_flows, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)
