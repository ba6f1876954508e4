#include "credit.h"

#include "hash.h"
#include "mutant.h"
#include "transport.h"

#include <weft/pool.h>

#include <stdlib.h>
#include <string.h>

enum { BUCKETS_LEAST = 64 };

void wf_credits_init(struct wf_credits *c, bool on)
{
    *c = (struct wf_credits){.on = on};
    wf_list_init(&c->spill.waiting);
}

/* ---- Entries --------------------------------------------------------------------------------------------------- */

uint64_t wf_credit_name(const char *name)
{
    return weft_hash(name, strlen(name)) | 1; /* not 0 */
}

static struct wf_credit **bucket(const struct wf_credits *c, uint64_t key)
{
    return &c->table[wf_mix(key) & (c->buckets - 1)];
}

struct wf_credit *wf_credit_known(const struct wf_credits *c, uint64_t key)
{
    struct wf_credit *e = c->buckets == 0 ? NULL : *bucket(c, key);
    while (e != NULL && e->key != key) e = e->next;
    return e;
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

static void entry_free(struct wf_credits *c, struct wf_credit *e)
{
    wake_all(e);
    if (c->last == e) c->last = NULL;
    c->count--;
    free(e->name);
    free(e);
}

void wf_credits_finish(struct wf_credits *c)
{
    for (uint32_t i = 0; i < c->buckets; i++)
        for (struct wf_credit *e; (e = c->table[i]) != NULL;) {
            c->table[i] = e->next;
            entry_free(c, e);
        }
    free(c->table);
    c->table = NULL;
    c->buckets = 0;
}

static void drop(struct wf_credits *c, const struct wf_credit *gone)
{
    struct wf_credit **at = bucket(c, gone->key), *e;
    while (*at != gone) at = &(*at)->next;
    e = *at;
    *at = e->next;
    entry_free(c, e);
}

/* What it has to look at when it is taken from. */
static void set_low(struct wf_credit *e)
{
    e->low = !wf_list_empty(&e->waiting) ? INT32_MAX : e->number != 0 ? INT32_MIN : e->given / 2;
}

/* False: no memory, the next who comes tries again. */
static bool ask(struct wf_ports *p, struct wf_port *port, struct wf_credit *e)
{
    uint32_t number = ++port->credits.last_number & INT32_MAX;
    if (number == 0) number = port->credits.last_number = 1;
    if (!wf_port_say_want(p, port, e->key, e->name, number)) return false;
    e->number = number;
    e->asked_at = e->left;
    return true;
}

/* What has nothing spent goes; the others ask, so that they can go next time unless they are used meanwhile. */
static void sweep(struct wf_ports *p, struct wf_port *port)
{
    struct wf_credits *c = &port->credits;
    for (uint32_t i = 0; i < c->buckets; i++) {
        struct wf_credit *next;
        for (struct wf_credit *e = c->table[i]; e != NULL; e = next) {
            next = e->next;
            if (e->number != 0 || !wf_list_empty(&e->waiting)) continue;
            if (e->left == e->given) drop(c, e);
            else if (ask(p, port, e)) set_low(e);
        }
    }
}

static bool resize(struct wf_credits *c, uint32_t buckets)
{
    struct wf_credits old = *c;
    struct wf_credit **table = calloc(buckets, sizeof(struct wf_credit *));
    if (table == NULL) return old.buckets > 0;
    c->table = table;
    c->buckets = buckets;
    for (uint32_t i = 0; i < old.buckets; i++)
        for (struct wf_credit *e; (e = old.table[i]) != NULL;) {
            old.table[i] = e->next;
            struct wf_credit **at = bucket(c, e->key);
            e->next = *at;
            *at = e;
        }
    free(old.table);
    return true;
}

static bool make_room(struct wf_ports *p, struct wf_port *port)
{
    struct wf_credits *c = &port->credits;
    if (c->count < c->sweep_at && c->buckets > 0) return true; /* 0: there was no memory for the first */
    sweep(p, port);
    if (c->count >= WF_CREDIT_ENTRIES_MAX) return false;
    /* The walk is paid for by those that are added until the next one. */
    c->sweep_at = WF_MAX(c->count + c->count / 2, (uint32_t)BUCKETS_LEAST);
    uint32_t buckets = BUCKETS_LEAST;
    while (buckets < c->sweep_at) buckets *= 2;
    return buckets > c->buckets || buckets < c->buckets / 4 ? resize(c, buckets) : true;
}

static struct wf_credit *spill(struct wf_credits *c)
{
    c->spill.left = INT32_MAX;
    c->spill.low = INT32_MIN;
    return &c->spill;
}

struct wf_credit *wf_credit_find(struct wf_ports *p, struct wf_port *port, uint64_t key, const char *name)
{
    struct wf_credits *c = &port->credits;
    struct wf_credit *e = wf_credit_known(c, key);
    if (e != NULL) return c->last = e;
    if (!make_room(p, port) || (e = calloc(1, sizeof *e)) == NULL) return spill(c);
    if (name != NULL && (e->name = strdup(name)) == NULL) {
        free(e);
        return spill(c);
    }
    e->key = key;
    e->left = e->given = WF_CREDIT_FIRST;
    wf_list_init(&e->waiting);
    set_low(e);
    struct wf_credit **at = bucket(c, key);
    e->next = *at;
    *at = e;
    c->count++;
    return c->last = e;
}

/* ---- Spending and getting -------------------------------------------------------------------------------------- */

void wf_credit_stir(struct wf_ports *p, struct wf_port *port, struct wf_credit *e)
{
    if (e->number == 0 && e->left <= e->given / 2) (void)ask(p, port, e);
    if (e->left > 0) wake_first(e);
    set_low(e);
}

void wf_credit_granted(struct wf_ports *p, struct wf_port *port, uint64_t key, uint32_t number, uint32_t units)
{
    struct wf_credit *e = wf_credit_known(&port->credits, key);
    if (e == NULL || e->number != number || WF_MUTANT(credit_forgets_grant)) return;
    if (units == 0 && e->name != NULL) { /* somebody may take the name one day */
        drop(&port->credits, e);
        return;
    }
    if (units == 0) units = WF_CREDIT_UNITS_MAX; /* gone for ever: what is sent is dropped there, and counted */
    e->given = (int32_t)WF_MIN(units, (uint32_t)WF_CREDIT_UNITS_MAX);
    e->left = e->given - (e->asked_at - e->left);
    e->number = 0;
    wf_credit_stir(p, port, e);
}

void wf_credit_pass_on(struct wf_worker *w, uint64_t peer, uint64_t key)
{
    struct wf_port *port = wf_port_find(w, peer);
    struct wf_credit *e = port == NULL ? NULL : wf_credit_known(&port->credits, key);
    if (e == NULL || e->left <= 0) return;
    wake_first(e);
    set_low(e);
}

/* The entry as it is after a wait; NULL: it, or its link, is gone. */
static struct wf_credit *again(struct wf_worker *w, uint64_t peer, const struct wf_session *s, uint64_t key,
                               struct wf_port **port)
{
    *port = wf_port_find(w, peer);
    return *port == NULL || (*port)->session != s ? NULL : wf_credit_known(&(*port)->credits, key);
}

int wf_credit_wait(struct wf_worker *w, struct wf_port *port, struct wf_credit *e, int64_t deadline)
{
    const uint64_t peer = port->incarnation, key = e->key;
    const struct wf_session *session = port->session;
    struct wf_waiter waiter = {.task = w->current};
    int rc = WEFT_OK;
    if (e->number == 0 && !ask(w->transport, port, e)) return WEFT_ENOMEM;
    wf_list_push(&e->waiting, &waiter.on_source);
    for (;;) {
        set_low(e);
        rc = wf_task_wait(deadline, "room in a mailbox");
        e = again(w, peer, session, key, &port);
        if (rc < 0 || waiter.task->killed || e == NULL || e->left > 0) break;
        /* What it was woken for another has taken: it stays the first. */
        if (!wf_linked(&waiter.on_source)) wf_list_push_front(&e->waiting, &waiter.on_source);
    }
    wf_unlink(&waiter.on_source);
    if (e != NULL) {
        /* Who will not use it passes it on. */
        if ((rc < 0 || waiter.task->killed) && e->left > 0) wake_first(e);
        set_low(e);
    }
    return (int)wf_task_finish_wait(rc);
}

/* ---- Of wf_route ----------------------------------------------------------------------------------------------- */

void wf_credit_route_granted(struct wf_worker *w, uint64_t peer, uint64_t key, uint32_t number, uint32_t units)
{
    struct wf_port *port = wf_port_find(w, peer);
    if (port != NULL) wf_credit_granted((struct wf_ports *)w->transport, port, key, number, units);
}

uint32_t wf_credit_route_grants(struct wf_worker *w, uint64_t peer)
{
    const struct wf_port *port = wf_port_find(w, peer);
    return port == NULL || !port->credits.on ? 0 : ((struct wf_ports *)w->transport)->count;
}

void wf_credit_route_fault(struct wf_worker *w, uint64_t peer, const char *why)
{
    const struct wf_port *port = wf_port_find(w, peer);
    if (port != NULL) wf_session_fail(port->session, why);
}
