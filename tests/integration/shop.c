/* A shop on three nodes, for shop.py: a load to look at. Its figures go up and down, and at times it cannot keep up:
 *
 *   shop     a till that serves 125 customers a second at most and takes breaks, and whose mailbox takes 256; a
 *            shelf; two customers, who ask the shelf and go to the till, many times, and then rest for a while. They
 *            don't stand in a line that is full: what they send is dropped then
 *   depot    a ledger, which the till tells of each sale; a supplier, who fills the shelf
 *   others   six customers */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <weft.h>

enum { TAKE = 1, PAY, SALE, DELIVERY };

static uint32_t some(uint32_t *dice, uint32_t from, uint32_t to)
{
    *dice = *dice * 1664525 + 1013904223;
    return from + (*dice >> 8) % (to - from);
}

static _Atomic uint32_t taken; /* from the shelf */

/* Waits until that many more customers want to pay, and a second longer. Then the line is visibly long, even on a
 * busy machine, on which customers come more slowly than the till could serve them. */
static bool take_a_break(uint32_t customers)
{
    uint32_t before = atomic_load(&taken);
    while (atomic_load(&taken) - before < customers)
        if (weft_sleep(weft_after(WEFT_MS(8))) < 0) return false;
    return weft_sleep(weft_after(WEFT_SEC(1))) == WEFT_OK;
}

static void till(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("till") < 0) return;
    for (uint32_t served = 0; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; served++, weft_msg_free(m)) {
        if (weft_sleep(weft_after(WEFT_MS(8))) < 0 || (served % 400 == 0 && !take_a_break(220))) return;
        (void)weft_send_name("ledger@depot", SALE, weft_data(m), weft_size(m));
    }
}

static void shelf(const void *arg, size_t size)
{
    static const char goods[200] = "one of these";
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("shelf") < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {
        if (weft_tag(m) != TAKE) continue;
        atomic_fetch_add(&taken, 1);
        (void)weft_reply(m, TAKE, goods, sizeof goods);
    }
}

static void ledger(const void *arg, size_t size)
{
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("ledger") < 0) return;
    for (; weft_recv(&m, WEFT_FOREVER) == WEFT_OK; weft_msg_free(m)) {}
}

static void supplier(const void *arg, size_t size)
{
    static const char crate[1000];
    (void)arg, (void)size;
    do (void)weft_send_name("shelf@shop", DELIVERY, crate, sizeof crate);
    while (weft_sleep(weft_after(WEFT_MS(50))) == WEFT_OK);
}

/* Asks the shelf, and pays; false: the actor is to end. */
static bool buy(uint32_t *dice)
{
    weft_msg *goods;
    int rc = weft_call_name("shelf@shop", TAKE, NULL, 0, &goods, weft_after(WEFT_SEC(5)));
    if (rc == WEFT_OK) {
        (void)weft_send_name("till@shop", PAY, weft_data(goods), weft_size(goods) / 4);
        weft_msg_free(goods);
    }
    return weft_sleep(weft_after(WEFT_MS(some(dice, 10, 50)))) == WEFT_OK;
}

static void customer(const void *arg, size_t size)
{
    uint32_t dice = *(const uint32_t *)arg;
    (void)size;
    do {
        for (uint32_t left = some(&dice, 100, 200); left > 0; left--) {
            if (!buy(&dice)) return;
        }
    } while (weft_sleep(weft_after(WEFT_MS(some(&dice, 2000, 8000)))) == WEFT_OK);
}

static int start(weft_actor *body, const char *kind, uint32_t mailbox_max)
{
    return weft_spawn(
        NULL, body, NULL, 0,
        &(weft_spawn_options){.kind = kind, .mailbox_max = mailbox_max, .policy = WEFT_FULL_DROP_NEWEST});
}

static int open_shop(const char *node)
{
    bool shop = strcmp(node, "shop") == 0;
    int rc = WEFT_OK;
    if (strcmp(node, "depot") == 0) {
        rc = start(ledger, "ledger", 0);
        return rc < 0 ? rc : start(supplier, "supplier", 0);
    }
    if (shop) rc = start(till, "till", 256);
    if (shop && rc == WEFT_OK) rc = start(shelf, "shelf", 0);
    for (uint32_t i = 1; i <= (shop ? 2 : 6) && rc == WEFT_OK; i++)
        rc = weft_spawn(NULL, customer, &i, sizeof i, &(weft_spawn_options){.kind = "customer"});
    return rc;
}

static void first(const void *arg, size_t size)
{
    (void)arg, (void)size;
    int rc = open_shop(weft_node_name(weft_here()));
    if (rc < 0) weft_exit(rc);
    puts("ready");
    fflush(stdout);
}

WEFT_MODULE(first)
