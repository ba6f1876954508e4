/* bank.c -- an actor that remembers: an account whose deposits survive the end of the actor, and of the process.
 *
 *     $ weft run bank.c          or: cc bank.c $(pkg-config --cflags --libs weft-store) && ./a.out
 *     the account of ann opens with 0
 *     ann has 100
 *     ann has 150
 *     the account of ann opens with 150
 *     ann has 157
 *
 * The account is in the file bank.db, in the folder where it runs: the next run opens it with 157. With a number N it
 * makes N deposits of 1; end it with `kill -9` and start it again, and no deposit that it has printed is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/persist.h>
#include <weft/store.h>

#define DEPOSIT(F) F(int, amount)
WEFT_MESSAGE(deposit, 1, DEPOSIT) /* a request to deposit, and the event that is stored */
#define ACCOUNT(F) F(int, balance)
WEFT_MESSAGE(account, 2, ACCOUNT) /* the answer, and the snapshot that is stored */
enum { FAIL = 3, EVENTS_MAX = 100 };

static int64_t soon(void)
{
    return weft_after(WEFT_SEC(10));
}

/* The snapshot first, then each deposit since. */
static int load(void *arg, const struct weft_persisted *is)
{
    struct account *a = arg;
    struct deposit d;
    if (is->kind == WEFT_PERSISTED_SNAPSHOT) return weft_typed_read(account_type(), is->data, is->size, a, NULL);
    int rc = weft_typed_read(deposit_type(), is->data, is->size, &d, NULL);
    a->balance += d.amount;
    return rc;
}

/* The deposit is on disk before it counts. After an error the actor ends; when its supervisor starts it again, it loads
 * what is stored. */
static void take(weft_persist *p, struct account *a, const struct deposit *d)
{
    int rc = weft_persist_append_typed(p, DEPOSIT_TAG, deposit_type(), d, soon());
    if (rc < 0) weft_fail(rc, "a deposit was not stored: %s", weft_strerror(rc));
    a->balance += d->amount;
    if (p->last + 1 - p->first < EVENTS_MAX) return;
    rc = weft_persist_save_typed(p, ACCOUNT_TAG, account_type(), a, soon());
    if (rc < 0) weft_fail(rc, "the account was not saved: %s", weft_strerror(rc));
}

static void account_of(const void *name, size_t size)
{
    char key[64];
    struct account a = {.balance = 0};
    const weft_persist_options options = {.load = load, .arg = &a};
    weft_persist p;
    weft_msg *m;
    snprintf(key, sizeof key, "account.%.*s", (int)size, (const char *)name);
    int rc = weft_persist_open(&p, key, &options, soon());
    if (rc < 0) weft_fail(rc, "%s: %s", key, weft_strerror(rc));
    printf("the account of %.*s opens with %d\n", (int)size, (const char *)name, (int)a.balance);
    fflush(stdout);
    for (; weft_recv(&m, WEFT_FOREVER) == 0; weft_msg_free(m)) {
        struct deposit d;
        if (weft_tag(m) == FAIL) weft_fail(WEFT_EXIT_FAILED, "as it was told to");
        if (deposit_read(m, &d) < 0) continue;
        take(&p, &a, &d);
        account_reply(m, &a);
    }
}

/* A failed account keeps its mailbox, so only the clients whose deposit has failed notice it. */
static void bank(const void *arg, size_t size)
{
    const weft_child_spec ann = {
        .name = "ann", .body = account_of, .arg = "ann", .arg_size = 3, .keep_mailbox = true};
    (void)arg, (void)size;
    (void)weft_supervise(&(weft_supervisor_spec){.children = &ann, .child_count = 1});
}

static void make_deposit(int amount)
{
    weft_msg *m;
    struct account a;
    int rc = deposit_call_name("ann", &(struct deposit){.amount = amount}, &m, soon());
    if (rc < 0) weft_fail(rc, "a deposit of %d: %s", amount, weft_strerror(rc));
    if (account_read(m, &a) == 0) printf("ann has %d\n", (int)a.balance);
    fflush(stdout);
    weft_msg_free(m);
}

static void first(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    const struct weft_stored_states states = {.pattern = "account.*"};
    const weft_store_options options = {.url = "sqlite:bank.db", .states = &states, .state_count = 1};
    weft_pid store, supervisor, ann;
    (void)size;
    int rc = weft_store_open(&options, &store, soon());
    if (rc < 0) weft_fail(rc, "bank.db: %s", weft_strerror(rc));
    if (weft_spawn(&supervisor, bank, NULL, 0, NULL) < 0 || weft_await_name("ann", &ann, soon()) < 0) return;
    int count = args->argc > 1 ? atoi(args->argv[1]) : 0;
    for (int i = 0; i < count; i++) make_deposit(1);
    if (count == 0) {
        make_deposit(100);
        make_deposit(50);
        if (weft_send(ann, FAIL, NULL, 0) < 0) return;
        make_deposit(7);
    }
    weft_stop(supervisor);
    weft_wait end = weft_on_end(supervisor);
    weft_ignore(weft_wait_any(&end, 1, soon()));
    weft_stop(store);
}

WEFT_MODULE(first) /* for `weft run` */

int main(int argc, char **argv)
{
    struct weft_args args = {argc, (const char *const *)argv};
    return weft_main(NULL, first, &args, sizeof args);
}
