/* tests/history/register.c -- histories of actors that remember (weft/persist.h) in a simulated cluster with faults:
 * whether they are those of registers.
 *
 *     history_register [SEEDS [FIRST SEED]]
 *
 * The state of a register is in the store, and an actor on each node wants to be its owner. Clients on all nodes ask any of
 * these actors to read, to write, or to compare and swap. The owner appends an event, and then answers; so nothing that it
 * has confirmed is ever lost, and a write that has failed is never seen, whatever becomes of it, of its node, and of the
 * store's. Reads are of two kinds:
 *
 *     a confirmed read   appends an event that says nothing before the answer. It is linearizable, as all writes are
 *     a plain read       is answered from the owner's memory. An owner that does not know yet that another one has taken
 *                        its place may give an old value; but none that is older than its own opening, and none that was
 *                        not confirmed */
#include "store_world.h"

#include "models.h"

#include <weft/persist.h>

enum {
    KEYS = 2,
    CLIENTS = 2,
    OPS_MAX = 4000,
    ASK = 1,
    EVENT_VALUE = 1,
    EVENT_NOTHING = 2,
    PLAIN = 8 /* of `what` */
};
enum { CONFIRMED, NOT_KNOWN, NOT_KNOWN_FOUND, REFUSED, MOVED, PLAIN_READS, OLD_READS };

static const char *const states[REACHED_MAX + 1] = {"operations confirmed",
                                                    "operations with an unknown result",
                                                    "of these, writes that took effect all the same",
                                                    "writes of an earlier owner",
                                                    "openings on another node than before",
                                                    "plain reads",
                                                    "runs with plain reads of an old value"};

struct ask {
    uint32_t what;
    uint64_t in[2];
};

struct answer {
    enum lin_status status;
    uint64_t out;
    int64_t since; /* of a plain read: how old the value may be */
};

static struct {
    struct lin_history history;
    int64_t plain_begin[OPS_MAX]; /* of a plain read, by its number in the history: when it was asked; else 0 */
    uint64_t values;              /* each write has another one */
    struct {
        uint64_t opening;
        int64_t at;
        unsigned host;
    } opened[KEYS]; /* the last opening that has returned */
} is;

/* ---- Owners ---------------------------------------------------------------------------------------------------- */

struct owner {
    unsigned key;
    uint64_t value;
    int64_t since;
    weft_persist p;
};

static int load(void *arg, const struct weft_persisted *item)
{
    struct owner *o = arg;
    if (item->kind == WEFT_PERSISTED_EVENT && item->tag == EVENT_NOTHING) return WEFT_OK;
    if (item->size != sizeof o->value) fail("an event of another size");
    memcpy(&o->value, item->data, sizeof o->value);
    return WEFT_OK;
}

/* Nothing was stored: the operation has failed. */
static bool is_failure(int rc)
{
    return rc == WEFT_ECLOSED || rc == WEFT_EFULL || rc == WEFT_ENOACTOR || rc == WEFT_ENOSPC || rc == WEFT_ENOMEM;
}

static enum lin_status store(struct owner *o, uint32_t tag, uint64_t value)
{
    size_t size = tag == EVENT_NOTHING ? 0 : sizeof value;
    int rc = weft_persist_append(&o->p, tag, &value, size, weft_after(WEFT_SEC(2)));
    if (rc == WEFT_ESYSTEM) reopen_stores();
    if (rc == WEFT_ECLOSED) reach(REFUSED, 1);
    if (rc == WEFT_OK && tag == EVENT_VALUE) o->value = value;
    return rc == WEFT_OK ? LIN_OK : is_failure(rc) ? LIN_FAIL : LIN_UNKNOWN;
}

static struct answer do_ask(struct owner *o, const struct ask *ask)
{
    struct answer a = {.status = LIN_OK, .since = o->since};
    bool swaps = ask->what == REGISTER_CAS && o->value == ask->in[0];
    if (ask->what == (REGISTER_READ | PLAIN)) {
        a.out = o->value;
    } else if (ask->what == REGISTER_WRITE || swaps) {
        a.out = o->value;
        a.status = store(o, EVENT_VALUE, ask->in[swaps ? 1 : 0]);
    } else {
        a.out = o->value;
        a.status = store(o, EVENT_NOTHING, 0);
    }
    return a;
}

/* Now and then: a snapshot takes the place of the events. */
static void save_sometimes(struct owner *o, uint64_t *random)
{
    if (!o->p.is_open || random_below(random, 6) != 0) return;
    int rc = weft_persist_save(&o->p, EVENT_VALUE, &o->value, sizeof o->value, weft_after(WEFT_SEC(2)));
    if (rc == WEFT_ESYSTEM) reopen_stores();
}

static void serve(struct owner *o, uint64_t *random)
{
    while (o->p.is_open) {
        weft_msg *m;
        struct ask ask;
        if (weft_recv(&m, WEFT_FOREVER) < 0) return;
        if (weft_tag(m) == ASK && weft_size(m) == sizeof ask) {
            memcpy(&ask, weft_data(m), sizeof ask);
            struct answer a = do_ask(o, &ask);
            (void)weft_reply(m, ASK, &a, sizeof a);
        }
        weft_msg_free(m);
        save_sometimes(o, random);
        if (random_below(random, 40) == 0) return; /* it ends, or gives the state to another one */
    }
}

static void name_of(char out[16], unsigned key)
{
    snprintf(out, 16, "register%u", key);
}

/* An owner before this one has returned from its opening then: what it loads is not older. */
static void note_opening(struct owner *o, int64_t asked)
{
    o->since = asked;
    if (is.opened[o->key].opening >= o->p.opening) return;
    if (is.opened[o->key].at > asked) o->since = is.opened[o->key].at;
    reach(MOVED, is.opened[o->key].opening > 0 && is.opened[o->key].host != host_here());
    is.opened[o->key].opening = o->p.opening;
    is.opened[o->key].at = time_here();
    is.opened[o->key].host = all.busy = host_here();
}

static void owner(const void *arg, size_t size)
{
    struct owner o = {.key = 0};
    char name[16];
    uint64_t random = random_here();
    (void)size;
    memcpy(&o.key, arg, sizeof o.key);
    name_of(name, o.key);
    const weft_persist_options options = {.load = load, .arg = &o};
    for (;;) {
        int64_t asked = time_here();
        o.value = 0;
        int rc = weft_persist_open(&o.p, name, &options,
                                   random_below(&random, 2) == 0 ? WEFT_FOREVER : weft_after(WEFT_SEC(6)));
        if (rc == WEFT_OK) {
            note_opening(&o, asked);
            if (weft_register(name) < 0) fail("an owner's name is taken");
            serve(&o, &random);
            (void)weft_unregister(name);
            if (random_below(&random, 2) == 0) return; /* it is started again */
            weft_persist_close(&o.p);
        } else if (rc == WEFT_ESYSTEM) {
            reopen_stores();
        } else if (rc == WEFT_EFORMAT || rc == WEFT_EINVAL || rc == WEFT_EACCESS) {
            fail("a state cannot be opened");
        }
        if (weft_sleep(weft_after(random_between(&random, WEFT_MS(50), WEFT_SEC(1)))) < 0) return;
    }
}

static void keep_owner(const void *arg, size_t size)
{
    weft_monitor_ref ref;
    weft_msg *m;
    while (weft_spawn(NULL, owner, arg, size, &(weft_spawn_options){.monitor = &ref}) == WEFT_OK) {
        if (weft_recv(&m, WEFT_FOREVER) < 0) return;
        weft_msg_free(m);
        if (weft_sleep(weft_after(WEFT_MS(100))) < 0) return;
    }
}

/* ---- Clients --------------------------------------------------------------------------------------------------- */

/* What is compared is what a client has seen last, or another value. */
static struct ask draw_ask(uint64_t *random, uint64_t seen)
{
    struct ask ask = {.what = REGISTER_READ};
    uint32_t chance = random_below(random, 10);
    if (chance < 2) ask.what = REGISTER_READ | PLAIN;
    if (chance >= 4) ask = (struct ask){.what = REGISTER_WRITE, .in = {++is.values}};
    if (chance >= 7) ask = (struct ask){.what = REGISTER_CAS, .in = {seen, ++is.values}};
    return ask;
}

/* Returns the value that the register has then, if it is known. */
static uint64_t ask_owner(unsigned key, struct ask ask, unsigned host, int64_t patience, uint64_t seen)
{
    char name[16], at[32];
    struct answer a = {.status = LIN_UNKNOWN};
    weft_msg *m = NULL;
    struct lin_op op = {
        .who = host_here(), .what = ask.what & ~(uint32_t)PLAIN, .key = key, .in = {ask.in[0], ask.in[1]}};
    bool plain = (ask.what & PLAIN) != 0;
    name_of(name, key);
    snprintf(at, sizeof at, "%s@n%u", name, host);
    if (is.history.count == OPS_MAX) return seen;
    size_t number = lin_begin(&is.history, time_here(), op);
    int rc = weft_call_name(at, ASK, &ask, sizeof ask, &m, weft_after(patience));
    if (rc == WEFT_OK && weft_size(m) == sizeof a) memcpy(&a, weft_data(m), sizeof a);
    weft_msg_free(m);
    if (rc == WEFT_ENOACTOR) a.status = LIN_FAIL; /* no actor has received it */
    lin_end(&is.history, number, time_here(), a.status, a.out);
    if (a.status == LIN_UNKNOWN) reach(NOT_KNOWN, 1);
    if (a.status != LIN_OK) return seen;
    reach(plain ? PLAIN_READS : CONFIRMED, 1);
    if (plain) {
        is.plain_begin[number] = is.history.op[number].begin;
        if (a.since < is.history.op[number].begin) is.history.op[number].begin = a.since;
    }
    if (ask.what == REGISTER_CAS && a.out == ask.in[0]) return ask.in[1];
    return ask.what == REGISTER_WRITE ? ask.in[0] : a.out;
}

static void client(const void *arg, size_t size)
{
    uint64_t random = random_here(), seen[KEYS] = {0};
    (void)arg, (void)size;
    while (weft_sleep(weft_after(random_between(&random, WEFT_MS(10), WEFT_SEC(1)))) == WEFT_OK) {
        unsigned key = random_below(&random, KEYS), host = random_below(&random, all.hosts);
        if (all.is_quiet) continue;
        /* The owner; or an actor of this node, or of any other, that may wrongly believe to be the owner. */
        uint32_t chance = random_below(&random, 4);
        if (chance < 2) host = is.opened[key].host;
        if (chance == 2) host = host_here();
        struct ask ask = draw_ask(&random, seen[key]);
        seen[key] = ask_owner(key, ask, host, random_between(&random, WEFT_MS(5), WEFT_SEC(4)), seen[key]);
    }
}

/* When all is quiet, each register has an owner, which tells its value. */
static void ask_all(const void *arg, size_t size)
{
    (void)arg, (void)size;
    for (unsigned key = 0; key < KEYS; key++) {
        bool done = false;
        for (unsigned i = 0; i < 200 && !done; i++) {
            size_t number = is.history.count;
            ask_owner(key, (struct ask){.what = REGISTER_READ}, i % all.hosts, WEFT_SEC(1), 0);
            done = is.history.op[number].status == LIN_OK;
            if (!done && weft_sleep(weft_after(WEFT_MS(50))) < 0) return;
        }
        if (!done) fail("nobody has a register in the end");
    }
}

static void start_clients(unsigned host)
{
    weft_node *node = all.world.host[host].node;
    int rc = WEFT_OK;
    for (unsigned key = 0; key < KEYS && rc == WEFT_OK; key++)
        rc = weft_node_spawn(node, NULL, keep_owner, &key, sizeof key, NULL);
    for (int i = 0; i < CLIENTS && rc == WEFT_OK; i++) rc = weft_node_spawn(node, NULL, client, NULL, 0, NULL);
    if (rc < 0) fail("no memory");
}

/* ---- In the end ------------------------------------------------------------------------------------------------ */

/* Whether anybody has seen the value that a write of unknown result would have written. */
static bool is_seen(const struct lin_op *write)
{
    uint64_t value = write->in[write->what == REGISTER_CAS ? 1 : 0];
    for (size_t i = 0; i < is.history.count; i++) {
        const struct lin_op *op = &is.history.op[i];
        if (op == write || op->key != write->key || op->status == LIN_FAIL) continue;
        if (op->what != REGISTER_WRITE && op->status == LIN_OK && op->out == value) return true;
        if (op->what == REGISTER_CAS && op->status == LIN_UNKNOWN && op->in[0] == value) return true;
    }
    return false;
}

/* A write whose result is not known, and whose value no operation has read, counts as one that took no effect: if the
 * history is linearizable then, it is. */
static void forget_unseen(void)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < is.history.count; i++) {
            struct lin_op *op = &is.history.op[i];
            if (op->status != LIN_UNKNOWN || (op->what != REGISTER_READ && is_seen(op))) continue;
            op->status = LIN_FAIL;
            more = true;
        }
    }
    for (size_t i = 0; i < is.history.count; i++) reach(NOT_KNOWN_FOUND, is.history.op[i].status == LIN_UNKNOWN);
}

/* Whether the history is not linearizable if plain reads count as confirmed ones. */
static bool plain_reads_are_old(void)
{
    for (size_t i = 0; i < is.history.count; i++)
        if (is.plain_begin[i] > 0) is.history.op[i].begin = is.plain_begin[i];
    return lin_check(&is.history, &register_model, NULL) == LIN_NOT_LINEARIZABLE;
}

static void run(uint64_t seed)
{
    static const struct weft_stored_states keep[] = {{.pattern = ">"}};
    all.options = (weft_store_options){.states = keep, .state_count = 1};
    begin_world(seed, seed % 3 == 0 ? 2 : 1, true, start_clients);
    for (unsigned n = 3 + random_below(&all.random, 6); n > 0; n--) fault();
    end_faults();
    weft_node *node = all.world.host[random_below(&all.random, all.hosts)].node;
    if (weft_node_spawn(node, NULL, ask_all, NULL, 0, NULL) < 0) fail("no memory");
    go(WEFT_SEC(15));
    end_nodes();
    forget_unseen();
    if (lin_check(&is.history, &register_model, stderr) != LIN_LINEARIZABLE)
        fail("this is not the history of a register");
    reach(OLD_READS, plain_reads_are_old());
    lin_free(&is.history);
    volumes_end();
}

int main(int argc, char **argv)
{
    return run_histories(states, run, argc, argv);
}
