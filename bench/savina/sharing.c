/* bench/savina/sharing.c -- state that many actors ask one for: a dictionary, a list, a buffer, accounts. */
#include "savina.h"

enum { READ = 1, WRITE, ANSWER, DONE, FULL_ITEM, WANT, STOP, DEBIT, CREDIT, OK };

struct entry {
    long key, value;
};
struct access {
    weft_pid store;
    weft_pid boss;
    long index;
};

/* Reads and writes keys of its own, so that it knows every answer; the others only make the store large. */
static void reader_writer(const void *given, size_t size)
{
    struct access me;
    (void)size;
    memcpy(&me, given, sizeof me);
    enum { KEYS = 32 };
    long mine[KEYS] = {0}, written = 0;
    uint32_t random = (uint32_t)me.index * 7919u + 17;
    for (long i = 0; i < savina.b; i++) {
        uint32_t at = next_random(&random) % KEYS;
        struct entry e = {me.index * KEYS + at + 1, 0}, answer;
        bool write = next_random(&random) % 100 < (uint32_t)savina.c;
        if (write) e.value = mine[at] = i + 1, written++;
        give(me.store, write ? WRITE : READ, &e, sizeof e);
        take(&answer, sizeof answer, NULL);
        check(answer.key == e.key && answer.value == mine[at], "a wrong value was read");
    }
    give(me.boss, DONE, &written, sizeof written);
}

/* Starts the clients, waits for them, and gives how many writes they made. */
static long run_clients(weft_pid store)
{
    struct access a = {store, weft_self(), 0};
    for (a.index = 0; a.index < savina.a; a.index++) start("client", reader_writer, &a, sizeof a);
    long sum = 0, written;
    for (long i = 0; i < savina.a; i++) take(&written, sizeof written, NULL), sum += written;
    struct entry end = {0};
    give(store, STOP, &end, sizeof end);
    take(&end, sizeof end, NULL);
    check(end.value == sum, "writes were lost");
    return 2 * savina.a * savina.b;
}

/* ---- concurrent dictionary: open addressing -------------------------------------------------------------------- */

static void dictionary_actor(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    size_t mask = 1;
    while (mask < (size_t)savina.a * 128) mask *= 2;
    struct entry *table = grab(mask--, sizeof *table), e;
    long writes = 0;
    for (;;) {
        weft_pid from;
        uint32_t tag = take(&e, sizeof e, &from);
        if (tag == STOP) {
            e.value = writes;
            give(from, ANSWER, &e, sizeof e);
            break;
        }
        size_t at = ((size_t)e.key * 0x9E3779B97F4A7C15u >> 20) & mask;
        while (table[at].key != 0 && table[at].key != e.key) at = (at + 1) & mask;
        if (tag == WRITE) table[at] = e, writes++;
        else e.value = table[at].key == e.key ? table[at].value : 0;
        give(from, ANSWER, &e, sizeof e);
    }
    free(table);
}

long dictionary(void)
{
    return run_clients(start("dictionary", dictionary_actor, NULL, 0));
}

/* ---- concurrent sorted list ------------------------------------------------------------------------------------ */

struct cell {
    struct cell *next;
    struct entry entry;
};

static void list_actor(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    struct cell *first = NULL, *c;
    struct entry e;
    long writes = 0;
    weft_pid from;
    uint32_t tag;
    while ((tag = take(&e, sizeof e, &from)) != STOP) {
        struct cell **at = &first;
        while (*at != NULL && (*at)->entry.key < e.key) at = &(*at)->next;
        bool found = *at != NULL && (*at)->entry.key == e.key;
        if (tag == READ) {
            e.value = found ? (*at)->entry.value : 0;
        } else {
            writes++;
            if (!found) {
                c = grab(1, sizeof *c);
                c->next = *at;
                *at = c;
            }
            (*at)->entry = e;
        }
        give(from, ANSWER, &e, sizeof e);
    }
    while ((c = first) != NULL) {
        first = c->next;
        check(first == NULL || first->entry.key > c->entry.key, "the list is not sorted");
        free(c);
    }
    e.value = writes;
    give(from, ANSWER, &e, sizeof e);
}

long sorted_list(void)
{
    return run_clients(start("list", list_actor, NULL, 0));
}

/* ---- bounded buffer: as many producers as consumers ------------------------------------------------------------ */

static void producer(const void *given, size_t size)
{
    struct access me;
    (void)size;
    memcpy(&me, given, sizeof me);
    for (long i = 0; i < savina.c; i++) {
        long item = me.index * savina.c + i;
        check(signal_from(NULL) == WANT, "buffer: produces unasked");
        give(me.store, FULL_ITEM, &item, sizeof item);
    }
}

static void consumer(const void *given, size_t size)
{
    struct access me;
    (void)size;
    memcpy(&me, given, sizeof me);
    long item, sum = 0;
    for (;;) {
        give(me.store, WANT, &me.index, sizeof me.index);
        if (take(&item, sizeof item, NULL) == STOP) break;
        sum += item;
    }
    give(me.boss, DONE, &sum, sizeof sum);
}

/* Producers ask for nothing: the buffer asks them, as long as there is space for what it asked for. */
static void buffer_actor(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    long capacity = savina.a, people = savina.b, all = people * savina.c, item;
    long *items = grab((size_t)capacity, sizeof *items), stored = 0, first = 0, asked = 0, passed = 0, idle = 0,
         turn = 0;
    weft_pid *producers = grab((size_t)people, sizeof *producers), *waiting = grab((size_t)people, sizeof *waiting);
    weft_pid from;
    for (long i = 0; i < people; i++) take(&producers[i], sizeof *producers, NULL);
    while (passed < all || idle < people) {
        /* Each is asked in turn, so each is asked exactly as often as it has items. */
        for (; asked < all && asked - passed < capacity; asked++) tell(producers[turn++ % people], WANT);
        if (take(&item, sizeof item, &from) == WANT) waiting[idle++] = from;
        else items[(first + stored++) % capacity] = item;
        check(stored <= capacity, "buffer: more than it can hold");
        for (; idle > 0 && stored > 0; stored--, passed++, first = (first + 1) % capacity)
            give(waiting[--idle], FULL_ITEM, &items[first], sizeof *items);
    }
    for (; idle > 0; idle--) give(waiting[idle - 1], STOP, &item, sizeof item);
    free(items), free(producers), free(waiting);
}

long bounded_buffer(void)
{
    struct access a = {start("buffer", buffer_actor, NULL, 0), weft_self(), 0};
    for (a.index = 0; a.index < savina.b; a.index++) {
        weft_pid p = start("producer", producer, &a, sizeof a);
        give(a.store, STOP, &p, sizeof p);
    }
    for (a.index = 0; a.index < savina.b; a.index++) start("consumer", consumer, &a, sizeof a);
    long sum = 0, part, all = savina.b * savina.c;
    for (long i = 0; i < savina.b; i++) take(&part, sizeof part, NULL), sum += part;
    check(sum == all * (all - 1) / 2, "buffer: items were lost or doubled");
    return 4 * all;
}

/* ---- bank: transfers between accounts; a debit waits for the credit -------------------------------------------- */

struct transfer {
    weft_pid to, teller;
    long amount;
};

static bool credit_or_ok(const weft_msg *m, void *unused)
{
    (void)unused;
    return weft_tag(m) == CREDIT || weft_tag(m) == OK;
}

static void accept_credit(const weft_msg *m, long *balance)
{
    struct transfer t;
    memcpy(&t, weft_data(m), sizeof t);
    *balance += t.amount;
    tell(weft_from(m), OK);
}

/* Pays, and waits until the other account has the money. Two accounts that pay each other must not wait for ever, so
 * credits are taken meanwhile; further debits stay in the mailbox. */
static void pay(const struct transfer *t, long *balance)
{
    *balance -= t->amount;
    give(t->to, CREDIT, t, sizeof *t);
    for (bool paid = false; !paid;) {
        weft_msg *m;
        must(weft_recv_match(&m, credit_or_ok, NULL, WEFT_FOREVER), "receive");
        paid = weft_tag(m) == OK;
        if (!paid) accept_credit(m, balance);
        weft_msg_free(m);
    }
    tell(t->teller, DONE);
}

static void account(const void *unused, size_t unused_size)
{
    (void)unused, (void)unused_size;
    long balance = 100000;
    for (;;) {
        weft_msg *m = receive();
        uint32_t tag = weft_tag(m);
        weft_pid from = weft_from(m);
        struct transfer t;
        if (tag == CREDIT) accept_credit(m, &balance);
        if (tag == DEBIT) memcpy(&t, weft_data(m), sizeof t);
        weft_msg_free(m);
        if (tag == DEBIT) pay(&t, &balance);
        if (tag == STOP) {
            give(from, ANSWER, &balance, sizeof balance);
            return;
        }
    }
}

long bank(void)
{
    check(savina.a >= 2, "bank: it takes two");
    enum { OPEN = 1000 }; /* transactions under way */
    weft_pid *accounts = grab((size_t)savina.a, sizeof *accounts);
    for (long i = 0; i < savina.a; i++) accounts[i] = start("account", account, NULL, 0);
    uint32_t random = 4711, count = (uint32_t)savina.a;
    for (long i = 0; i < savina.b + OPEN; i++) {
        if (i >= OPEN && i - OPEN < savina.b) check(signal_from(NULL) == DONE, "bank: no transaction");
        if (i >= savina.b) continue;
        uint32_t from = next_random(&random) % count, to = (from + 1 + next_random(&random) % (count - 1)) % count;
        struct transfer t = {accounts[to], weft_self(), (long)(next_random(&random) % 1000)};
        give(accounts[from], DEBIT, &t, sizeof t);
    }
    long sum = 0, balance;
    for (long i = 0; i < savina.a; i++) tell(accounts[i], STOP);
    for (long i = 0; i < savina.a; i++) take(&balance, sizeof balance, NULL), sum += balance;
    check(sum == savina.a * 100000, "bank: money was lost or made");
    free(accounts);
    return 4 * savina.b;
}
