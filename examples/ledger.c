/* examples/ledger.c -- deposits that are requested again until they are confirmed, and the bug that simulation finds.
 *
 *     weft sim examples/ledger.c --seeds 1000 --minimise                 finds a deposit that is made twice
 *     weft sim examples/ledger.c --seeds 1000 -- --once                  finds nothing
 *
 * On node n1 an actor keeps a ledger. On all others a client makes deposits by a call; if no reply comes, it makes
 * the same call again. If the reply was lost, the deposit was made, and is made once more: that is the bug. With
 * --once each deposit has a number that the ledger remembers. */
#include <stdio.h>
#include <string.h>
#include <weft.h>
#include <weft/sim.h>

enum { DEPOSITS = 20, CLIENTS = 16 };

#define DEPOSIT(F) F(uint, client) F(uint, number)
WEFT_MESSAGE(deposit, 1, DEPOSIT)

/* The disk of n1: it outlives the node. In a simulation all nodes share it, so the checks can read it. */
static struct {
    uint32_t times[CLIENTS][DEPOSITS];
} disk;
static uint32_t confirmed[CLIENTS]; /* deposits that were confirmed to the client */
static bool finished[CLIENTS];
static bool once;

static void ledger(void)
{
    weft_msg *m;
    struct deposit d;
    if (weft_register_global("ledger") < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (deposit_read(m, &d) < 0) continue;
        if (d.client >= CLIENTS || d.number >= DEPOSITS) continue;
        if (!once || disk.times[d.client][d.number] == 0) disk.times[d.client][d.number]++;
        weft_reply(m, DEPOSIT_TAG, NULL, 0);
    }
}

static void client(uint32_t who)
{
    finished[who] = false;
    while (confirmed[who] < DEPOSITS) {
        struct deposit d = {who, confirmed[who]};
        weft_msg *answer = NULL;
        int rc = deposit_call_name("ledger", &d, &answer, weft_after(WEFT_SEC(2)));
        weft_msg_free(answer);
        if (rc == WEFT_OK) confirmed[who]++;
        if (weft_sleep(weft_after(WEFT_MS(500))) < 0) return;
    }
    finished[who] = true;
    weft_sleep(WEFT_FOREVER);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    (void)size;
    for (int i = 1; i < args->argc; i++) once |= strcmp(args->argv[i], "--once") == 0;
    const char *name = weft_node_name(weft_here());
    uint32_t number = 0;
    if (sscanf(name, "n%u", &number) != 1 || number == 0 || number > CLIENTS) {
        fputs("ledger: run it with: weft sim ledger.c\n", stderr);
        return;
    }
    if (number == 1) ledger();
    else client(number - 1);
}

/* ---- Conditions that must hold --------------------------------------------------------------------------------- */

static bool none_is_made_twice(void *arg)
{
    (void)arg;
    for (int c = 0; c < CLIENTS; c++)
        for (int i = 0; i < DEPOSITS; i++)
            if (disk.times[c][i] > 1) return false;
    return true;
}

static bool all_that_is_confirmed_is_made(void *arg)
{
    (void)arg;
    for (int c = 0; c < CLIENTS; c++)
        for (uint32_t i = 0; i < confirmed[c]; i++)
            if (disk.times[c][i] == 0) return false;
    return true;
}

static bool all_are_done(void *arg)
{
    (void)arg;
    return finished[1] && finished[2];
}

static void checks(void)
{
    weft_sim_always("no deposit is made twice", none_is_made_twice, NULL);
    weft_sim_always("what is confirmed has been made", all_that_is_confirmed_is_made, NULL);
    weft_sim_eventually("all deposits are made", all_are_done, NULL);
}

WEFT_MODULE(first)
WEFT_SIM(checks)
