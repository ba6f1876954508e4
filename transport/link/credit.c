/* transport/link/credit.c -- the sending side of credit: the rules are in credit.h. */
#include "credit.h"

#include "hash.h"
#include "link_writer.h"
#include "peer_link.h"

#include <weft/pool.h>

#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_AT_ONCE = 4,   /* the hand visits these for each new entry: more than one, so that their number falls */
    BUCKETS_AT_ONCE = 256, /* the same for buckets, most of which are empty if the table was larger once */
};

#define ENTRIES_FEW WF_LIMIT("credit: entries that are not looked at", 64, 1)

void wf_credits_init(struct wf_credits *c, bool on, uint64_t secret)
{
    *c = (struct wf_credits){.on = on, .secret = secret};
    wf_list_init(&c->spill.waiting);
}

/* ---- Entries --------------------------------------------------------------------------------------------------- */

uint64_t wf_credit_name(const char *name)
{
    return weft_hash(name, strlen(name)) | 1; /* not 0 */
}

static uint32_t hash_of(const struct wf_credits *c, uint64_t key)
{
    return (uint32_t)wf_mix(key ^ c->secret);
}

static struct wf_credit *credit_of(struct wf_hashed *e)
{
    return WF_CONTAINER(e, struct wf_credit, in_table);
}

struct wf_credit *wf_credit_known(const struct wf_credits *c, uint64_t key)
{
    WF_HASHED_WITH(e, &c->table, hash_of(c, key))
    {
        if (credit_of(e)->key == key) return credit_of(e);
    }
    return NULL;
}

static void wake_first(struct wf_credit *e)
{
    struct wf_list_node *k = wf_list_pop(&e->waiting);
    if (k != NULL) wf_task_wake(WF_CONTAINER(k, struct wf_waiter, on_source)->task);
}

static void wake_all(struct wf_credit *e)
{
    while (!wf_list_empty(&e->waiting)) wake_first(e);
}

static void drop(struct wf_credits *c, struct wf_credit *e)
{
    WF_ASSERT(e != &c->spill);
    WF_SOMETIMES("credit: senders wait when the link ends", !wf_list_empty(&e->waiting));
    wake_all(e);
    if (c->last == e) c->last = NULL;
    wf_hash_table_remove(&c->table, &e->in_table);
    free(e->name);
    free(e);
}

bool wf_credits_clear(struct wf_credits *c, uint32_t most)
{
    for (uint32_t seen = 0; c->table.count > 0;) {
        const uint32_t bucket = c->hand++ & (c->table.bucket_count - 1);
        WF_HASHED_IN(e, &c->table, bucket)
        {
            drop(c, credit_of(e));
            seen++;
        }
        if (++seen >= most) return false;
    }
    return true;
}

void wf_credits_finish(struct wf_credits *c)
{
    (void)wf_credits_clear(c, UINT32_MAX);
    wf_hash_table_finish(&c->table);
}

/* If senders wait, each take is reviewed; if a CREDIT_REQUEST is outstanding, no take is; otherwise the take that
 * leaves half of the units. */
static void set_low(struct wf_credit *e)
{
    e->low = !wf_list_empty(&e->waiting) ? INT32_MAX : e->number != 0 ? INT32_MIN : e->given / 2;
}

/* Sends a CREDIT_REQUEST. False: no memory; the next sender tries again. */
static bool ask(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *e)
{
    WF_ASSERT(e->number == 0); /* one request at a time: note (3) */
    WF_SOMETIMES("credit: a request is made while the queue of the link is full",
                 writer->link->bytes >= WF_SEND_QUEUE_MAX);
    WF_SOMETIMES("credit: a request is made while the link has no connection", writer->link->channel == NULL);
    uint32_t number = ++writer->credits.last_number & INT32_MAX;
    if (number == 0) number = writer->credits.last_number = 1;
    if (!wf_link_writer_request_credit(all, writer, e->key, e->name, number)) return false;
    e->number = number;
    e->asked_at = e->left;
    return true;
}

/* Frees an entry with no spent units. Others ask for credit, so that the next visit can free them: note (5). */
static void look_at(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *e)
{
    if (e->number != 0 || !wf_list_empty(&e->waiting)) return;
    if (e->left == e->given) drop(&writer->credits, e);
    else if (ask(all, writer, e)) set_low(e);
}

/* Note (5). */
static void go_round(struct wf_link_writers *all, struct wf_link_writer *writer)
{
    struct wf_credits *c = &writer->credits;
    int entries = 0;
    for (int i = 0; i < BUCKETS_AT_ONCE && entries < ENTRIES_AT_ONCE && c->table.count > ENTRIES_FEW;
         i++, c->hand++) {
        WF_HASHED_IN(e, &c->table, c->hand & (c->table.bucket_count - 1))
        {
            look_at(all, writer, credit_of(e));
            entries++;
        }
    }
}

static struct wf_credit *spill(struct wf_credits *c)
{
    c->spill.left = INT32_MAX;
    c->spill.low = INT32_MIN;
    return &c->spill;
}

struct wf_credit *wf_credit_find(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key,
                                 const char *name)
{
    struct wf_credits *c = &writer->credits;
    struct wf_credit *e = wf_credit_known(c, key);
    if (e != NULL) return c->last = e;
    go_round(all, writer);
    if (c->table.count >= WF_CREDIT_ENTRIES_MAX || (e = calloc(1, sizeof *e)) == NULL) return spill(c);
    bool named = name == NULL || (e->name = strdup(name)) != NULL;
    if (!named || !wf_hash_table_add(&c->table, &e->in_table, hash_of(c, key))) {
        free(e->name);
        free(e);
        return spill(c);
    }
    e->key = key;
    e->left = e->given = WF_CREDIT_FIRST;
    wf_list_init(&e->waiting);
    set_low(e);
    return c->last = e;
}

/* ---- Spending and getting -------------------------------------------------------------------------------------- */

void wf_credit_review(struct wf_link_writers *all, struct wf_link_writer *writer, struct wf_credit *e)
{
    if (e->number == 0 && e->left <= e->given / 2) (void)ask(all, writer, e);
    if (e->left > 0) wake_first(e);
    set_low(e);
}

/* A CREDIT has come. `units` 0: the actor has ended, or does not exist. */
static void take_grant(struct wf_link_writers *all, struct wf_link_writer *writer, uint64_t key, uint32_t number,
                       uint32_t units)
{
    struct wf_credit *e = wf_credit_known(&writer->credits, key);
    if (e == NULL || number == 0 || e->number != number) return; /* 0: nobody has asked */
    WF_ASSERT(e->left <= e->asked_at);                           /* since then units were only taken */
    WF_SOMETIMES("credit: a grant says that the actor has ended", units == 0);
    WF_SOMETIMES("credit: more was sent since the request than the grant allows",
                 units != 0 && (int32_t)units < e->asked_at - e->left);
    if (units == 0 && e->name != NULL) { /* another actor may register the name later */
        drop(&writer->credits, e);
        return;
    }
    if (units == 0) units = WF_CREDIT_UNITS_MAX; /* it has ended: the peer drops its messages, and counts them */
    e->given = (int32_t)WF_MIN(units, (uint32_t)WF_CREDIT_UNITS_MAX);
    e->left = e->given - (e->asked_at - e->left);
    e->number = 0;
    wf_credit_review(all, writer, e);
}

void wf_credit_pass_on(struct wf_worker *w, uint64_t peer, uint64_t key)
{
    struct wf_link_writer *writer = wf_link_writer_find(w, peer);
    struct wf_credit *e = writer == NULL ? NULL : wf_credit_known(&writer->credits, key);
    if (e == NULL || e->left <= 0) return;
    wake_first(e);
    set_low(e);
}

/* Finds the entry again after a wait; NULL: the entry or its link has ended. */
static struct wf_credit *again(struct wf_worker *w, uint64_t peer, const struct wf_link *l, uint64_t key,
                               struct wf_link_writer **writer)
{
    *writer = wf_link_writer_find(w, peer);
    return *writer == NULL || (*writer)->link != l ? NULL : wf_credit_known(&(*writer)->credits, key);
}

int wf_credit_wait(struct wf_worker *w, struct wf_link_writer *writer, struct wf_credit *e, int64_t deadline)
{
    const uint64_t peer = writer->incarnation, key = e->key;
    WF_ASSERT(w == wf_here && w->current != NULL);
    const struct wf_link *link = writer->link;
    struct wf_waiter waiter = {.task = w->current};
    int rc = WEFT_OK;
    if (e->number == 0 && !ask(w->transport, writer, e)) return WEFT_ENOMEM;
    WF_SOMETIMES("credit: several senders wait for the same actor", !wf_list_empty(&e->waiting));
    wf_list_push(&e->waiting, &waiter.on_source);
    for (;;) {
        set_low(e);
        rc = wf_task_wait(deadline, "space in a mailbox");
        e = again(w, peer, link, key, &writer);
        if (rc < 0 || waiter.task->killed || e == NULL || e->left > 0) break;
        WF_SOMETIMES("credit: another sender takes the units for which a sender was woken",
                     !wf_linked(&waiter.on_source));
        /* Another sender has taken the units for which this one was woken: it stays the first in the queue. */
        if (!wf_linked(&waiter.on_source)) wf_list_push_front(&e->waiting, &waiter.on_source);
    }
    wf_unlink(&waiter.on_source);
    if (e != NULL) {
        /* A sender that gives up wakes the next one. */
        WF_SOMETIMES("credit: a sender that was woken gives up, and wakes the next one",
                     rc < 0 && e->left > 0 && !wf_list_empty(&e->waiting));
        if ((rc < 0 || waiter.task->killed) && e->left > 0) wake_first(e);
        set_low(e);
    }
    return (int)wf_task_finish_wait(rc);
}

/* ---- Functions of wf_route ------------------------------------------------------------------------------------- */

void wf_credit_route_granted(struct wf_worker *w, uint64_t peer, uint64_t key, uint32_t number, uint32_t units)
{
    struct wf_link_writer *writer = wf_link_writer_find(w, peer);
    if (writer != NULL) take_grant((struct wf_link_writers *)w->transport, writer, key, number, units);
}

uint32_t wf_credit_route_grants(struct wf_worker *w, uint64_t peer)
{
    const struct wf_link_writer *writer = wf_link_writer_find(w, peer);
    return writer == NULL || !writer->credits.on ? 0 : ((struct wf_link_writers *)w->transport)->nodes.count;
}

void wf_credit_route_fault(struct wf_worker *w, uint64_t peer, const char *why)
{
    const struct wf_link_writer *writer = wf_link_writer_find(w, peer);
    if (writer != NULL) wf_link_fail(writer->link, why);
}
