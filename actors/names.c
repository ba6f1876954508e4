/* actors/names.c -- see names.h.
 *
 * Design notes.
 * (1) Buckets of chained entries; the table doubles when there are as many entries as buckets. If there is no memory
 *     for that the chains just get longer: only the entry itself can fail.
 * (2) `next_of_actor` and what goes with it belong to the actor's chain and are touched by its user alone; everything
 *     else by the thread that holds the lock. The text of an entry never changes, nor the pid of one of this node.
 * (3) A name has at most one entry of each node. Those of others are copies, in the same table, in no chain.
 * (4) Parts of the table are those of wf_hash_part: they fit together also if it has grown in between.
 * (5) A global name that is lost to another node leaves the table at once, on whatever thread that is heard of. In
 *     its chain it stays, marked, until the chain's user comes by. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "mutant.h"
#include "platform.h"

struct wf_name {
    struct wf_name *next;          /* wf_names.buckets */
    struct wf_name *next_of_actor; /* the actor's chain, newest first */
    struct wf_name *prev_of_actor; /* NULL: the newest */
    weft_pid pid;
    uint64_t stamp; /* of a global name; 0: of this node only */
    uint32_t hash;
    uint16_t size;
    bool copy;
    _Atomic bool lost; /* note (5): release by who takes it out, acquire by the chain's user, who then frees it */
    uint32_t swept;    /* of the newest: wf_names.losses when its chain was last looked through */
    char text[];       /* and a NUL */
};

enum { BUCKETS_AT_FIRST = 16, WAITS = 64, BUCKETS_AT_ONCE = 4096 };

struct wf_names {
    pf_mutex *lock;
    struct wf_name **buckets;
    size_t bucket_count; /* a power of two */
    size_t count, copies;
    _Atomic uint32_t losses; /* how often a name was lost: release behind wf_name.lost, acquire by chains' users */
    void (*gone)(weft_text name, weft_pid pid, void *arg); /* NULL: nobody is told */
    void *gone_arg;
    struct wf_list waits[WAITS]; /* wf_name_wait.on_names, by hash */
};

int wf_names_create(struct wf_names **out)
{
    struct wf_names *n = calloc(1, sizeof *n);
    if (n == NULL) return WEFT_ENOMEM;
    for (int i = 0; i < WAITS; i++) wf_list_init(&n->waits[i]);
    n->bucket_count = BUCKETS_AT_FIRST;
    n->buckets = calloc(n->bucket_count, sizeof *n->buckets);
    int rc = n->buckets == NULL ? WEFT_ENOMEM : pf_mutex_create(&n->lock);
    if (rc < 0) {
        free(n->buckets);
        free(n);
        return rc;
    }
    *out = n;
    return WEFT_OK;
}

void wf_names_destroy(struct wf_names *n)
{
    if (n == NULL) return;
    for (size_t i = 0; i < n->bucket_count; i++) {
        for (struct wf_name *e = n->buckets[i], *next; e != NULL; e = next) {
            next = e->next;
            free(e);
        }
    }
    pf_mutex_destroy(n->lock);
    free(n->buckets);
    free(n);
}

int wf_name_check(weft_text name)
{
    if (name.size > WF_NAME_MAX) return WEFT_ETOOBIG;
    if (name.size == 0) return WEFT_EINVAL;
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] != '.' && !wf_is_word_char(name.data[i])) return WEFT_EINVAL;
    }
    return WEFT_OK;
}

static struct wf_name **bucket_of(struct wf_names *n, uint32_t hash)
{
    WF_ASSERT((n->bucket_count & (n->bucket_count - 1)) == 0);
    return &n->buckets[hash & (n->bucket_count - 1)];
}

static bool same(const struct wf_name *e, weft_text name)
{
    return e->size == name.size && memcmp(e->text, name.data, name.size) == 0;
}

/* Of this node. */
static struct wf_name *find(struct wf_names *n, weft_text name, uint32_t hash)
{
    struct wf_name *e = *bucket_of(n, hash);
    while (e != NULL && (e->hash != hash || e->copy || !same(e, name))) e = e->next;
    return e;
}

/* The one that holds: this node's own, which hides all others, or else the winner of the copies. */
static struct wf_name *find_any(struct wf_names *n, weft_text name, uint32_t hash)
{
    struct wf_name *best = NULL;
    for (struct wf_name *e = *bucket_of(n, hash); e != NULL; e = e->next) {
        if (e->hash != hash || !same(e, name)) continue;
        if (!e->copy) return e;
        if (best == NULL || wf_name_wins(e->stamp, e->pid.node, best->stamp, best->pid.node)) best = e;
    }
    return best;
}

static struct wf_name *find_copy(struct wf_names *n, weft_text name, uint32_t hash, uint64_t node)
{
    struct wf_name *e = *bucket_of(n, hash);
    while (e != NULL && (e->hash != hash || !e->copy || e->pid.node != node || !same(e, name))) e = e->next;
    return e;
}

static void grow(struct wf_names *n)
{
    size_t old_count = n->bucket_count;
    struct wf_name **old = n->buckets, **bigger = calloc(old_count * 2, sizeof *bigger);
    if (bigger == NULL) return;
    n->buckets = bigger;
    n->bucket_count = old_count * 2;
    for (size_t i = 0; i < old_count; i++) {
        for (struct wf_name *e = old[i], *next; e != NULL; e = next) {
            next = e->next;
            struct wf_name **bucket = bucket_of(n, e->hash);
            e->next = *bucket;
            *bucket = e;
        }
    }
    free(old);
}

/* Under the lock. */
static void tell_waits(struct wf_names *n, const struct wf_name *e)
{
    WF_LIST_EACH(k, &n->waits[e->hash % WAITS]) {
        struct wf_name_wait *wait = WF_CONTAINER(k, struct wf_name_wait, on_names);
        if (wait->hash != e->hash || !same(e, weft_str(wait->text, wait->size))) continue;
        wf_unlink(k);
        wait->found = e->pid;
        wait->wake(wait);
    }
}

static struct wf_name *entry_new(weft_text name, weft_pid pid, uint64_t stamp, bool copy)
{
    struct wf_name *e = malloc(sizeof *e + name.size + 1);
    if (e == NULL) return NULL;
    e->next_of_actor = e->prev_of_actor = NULL;
    e->pid = pid;
    e->stamp = stamp;
    e->hash = wf_hash(name.data, name.size, 0);
    e->size = (uint16_t)name.size;
    e->copy = copy;
    atomic_init(&e->lost, false);
    memcpy(e->text, name.data, name.size);
    e->text[name.size] = '\0';
    return e;
}

/* Under the lock. */
static void put_in(struct wf_names *n, struct wf_name *e)
{
    if (n->count + n->copies == n->bucket_count) grow(n);
    struct wf_name **bucket = bucket_of(n, e->hash);
    e->next = *bucket;
    *bucket = e;
    *(e->copy ? &n->copies : &n->count) += 1;
    tell_waits(n, e);
}

/* Under the lock. */
static void take_out(struct wf_names *n, struct wf_name *e)
{
    struct wf_name **at = bucket_of(n, e->hash);
    while (*at != e) {
        WF_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = e->next;
    *(e->copy ? &n->copies : &n->count) -= 1;
}

static bool is_lost(const struct wf_name *e)
{
    return atomic_load_explicit(&e->lost, memory_order_acquire);
}

static void take_off_chain(struct wf_name **chain, struct wf_name *e)
{
    *(e->prev_of_actor == NULL ? chain : &e->prev_of_actor->next_of_actor) = e->next_of_actor;
    if (e->next_of_actor != NULL) e->next_of_actor->prev_of_actor = e->prev_of_actor;
    e->next_of_actor = e->prev_of_actor = NULL;
}

/* Frees what the chain has lost: note (5). A chain is looked through only if any name was lost since it last was. */
static void sweep(struct wf_names *n, struct wf_name **chain)
{
    uint32_t losses = atomic_load_explicit(&n->losses, memory_order_acquire);
    if (*chain == NULL || (*chain)->swept == losses) return;
    for (struct wf_name *e = *chain, *next; e != NULL; e = next) {
        next = e->next_of_actor;
        if (!is_lost(e)) continue;
        take_off_chain(chain, e);
        free(e);
    }
    if (*chain != NULL) (*chain)->swept = losses;
}

static int add(struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, struct wf_name **chain)
{
    WF_ASSERT(!weft_pid_is_nobody(pid));
    int rc = wf_name_check(name);
    if (rc < 0) return rc;
    struct wf_name *e = entry_new(name, pid, stamp, false);
    if (e == NULL) return WEFT_ENOMEM;
    uint32_t swept = atomic_load_explicit(&n->losses, memory_order_relaxed);
    pf_mutex_lock(n->lock);
    bool taken = (stamp == 0 ? find(n, name, e->hash) : find_any(n, name, e->hash)) != NULL;
    if (!taken) put_in(n, e);
    pf_mutex_unlock(n->lock);
    if (taken) {
        free(e);
        return WEFT_EEXIST;
    }
    sweep(n, chain);
    e->next_of_actor = *chain;
    if (*chain != NULL) (*chain)->prev_of_actor = e;
    /* before it was in the table nobody could lose it */
    e->swept = *chain != NULL ? (*chain)->swept : swept;
    *chain = e;
    return WEFT_OK;
}

int wf_names_add(struct wf_names *n, weft_text name, weft_pid pid, struct wf_name **chain)
{
    return add(n, name, pid, 0, chain);
}

int wf_names_add_global(struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, struct wf_name **chain)
{
    WF_ASSERT(stamp > 0);
    return add(n, name, pid, stamp, chain);
}

typedef struct wf_name *find_function(struct wf_names *n, weft_text name, uint32_t hash);

static int pid_of(struct wf_names *n, weft_text name, find_function *which, weft_pid *out)
{
    uint32_t hash = wf_hash(name.data, name.size, 0);
    pf_mutex_lock(n->lock);
    struct wf_name *e = which(n, name, hash);
    if (e != NULL) *out = e->pid;
    pf_mutex_unlock(n->lock);
    return e != NULL ? WEFT_OK : WEFT_ENOACTOR;
}

int wf_names_find(struct wf_names *n, weft_text name, weft_pid *out)
{
    return pid_of(n, name, find, out);
}

int wf_names_find_any(struct wf_names *n, weft_text name, weft_pid *out)
{
    return pid_of(n, name, find_any, out);
}

int wf_names_await(struct wf_names *n, weft_text name, struct wf_name_wait *wait, weft_pid *out)
{
    WF_ASSERT(name.size <= sizeof wait->text);
    wait->hash = wf_hash(name.data, name.size, 0);
    wait->size = (uint32_t)name.size;
    wait->found = weft_nobody();
    wait->on_names = (struct wf_list_node){NULL, NULL};
    memcpy(wait->text, name.data, name.size);
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_any(n, name, wait->hash);
    if (e != NULL) *out = e->pid;
    else wf_list_push(&n->waits[wait->hash % WAITS], &wait->on_names);
    pf_mutex_unlock(n->lock);
    return e != NULL ? WEFT_OK : WEFT_ENOACTOR;
}

void wf_names_forget(struct wf_names *n, struct wf_name_wait *wait)
{
    pf_mutex_lock(n->lock);
    wf_unlink(&wait->on_names);
    pf_mutex_unlock(n->lock);
}

/* Takes a whole chain out of the table and frees it. */
static void remove_chain(struct wf_names *n, struct wf_name *chain)
{
    sweep(n, &chain);
    if (chain == NULL) return;
    pf_mutex_lock(n->lock);
    for (struct wf_name *e = chain; e != NULL; e = e->next_of_actor) {
        if (!atomic_load_explicit(&e->lost, memory_order_relaxed)) take_out(n, e);
        else e->stamp = 0; /* the others know */
    }
    pf_mutex_unlock(n->lock);
    for (struct wf_name *e = chain, *next; e != NULL; e = next) {
        next = e->next_of_actor;
        if (e->stamp > 0 && n->gone != NULL) n->gone(weft_str(e->text, e->size), e->pid, n->gone_arg);
        free(e);
    }
}

/* Under the lock. NULL: the user of that chain has no such name. */
static struct wf_name *find_own(struct wf_names *n, weft_text name, const struct wf_name *chain)
{
    struct wf_name *e = find(n, name, wf_hash(name.data, name.size, 0));
    return e != NULL && weft_pid_equal(e->pid, chain->pid) ? e : NULL;
}

bool wf_names_has_global(struct wf_names *n, weft_text name, const struct wf_name *chain)
{
    if (chain == NULL) return false;
    pf_mutex_lock(n->lock);
    const struct wf_name *e = find_own(n, name, chain);
    bool global = e != NULL && e->stamp > 0;
    pf_mutex_unlock(n->lock);
    return global;
}

int wf_names_remove(struct wf_names *n, weft_text name, struct wf_name **chain)
{
    sweep(n, chain);
    if (*chain == NULL) return WEFT_ENOACTOR;
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_own(n, name, *chain);
    pf_mutex_unlock(n->lock);
    if (e == NULL) return WEFT_ENOACTOR;
    uint32_t swept = (*chain)->swept;
    take_off_chain(chain, e);
    if (*chain != NULL) (*chain)->swept = swept;
    e->swept = swept;
    remove_chain(n, e);
    return WEFT_OK;
}

void wf_names_remove_all(struct wf_names *n, struct wf_name **chain)
{
    remove_chain(n, *chain);
    *chain = NULL;
}

void wf_names_remove_others(struct wf_names *n, const char *name, struct wf_name **chain)
{
    struct wf_name **at = chain;
    while (*at != NULL && !same(*at, weft_cstr(name))) at = &(*at)->next_of_actor;
    struct wf_name *stays = *at;
    uint32_t swept = stays == NULL ? 0 : (*chain)->swept;
    if (stays != NULL) take_off_chain(chain, stays);
    if (*chain != NULL) (*chain)->swept = swept;
    wf_names_remove_all(n, chain);
    if (stays != NULL) stays->swept = swept;
    *chain = stays;
}

void wf_names_on_removal(struct wf_names *n, void (*gone)(weft_text name, weft_pid pid, void *arg), void *arg)
{
    n->gone = gone;
    n->gone_arg = arg;
}

/* ---- Chains ---------------------------------------------------------------------------------------------------- */

bool wf_names_global(const struct wf_name *chain)
{
    while (chain != NULL && chain->stamp == 0) chain = chain->next_of_actor;
    return chain != NULL;
}

const char *wf_names_first(const struct wf_name *chain)
{
    const char *first = "";
    for (; chain != NULL; chain = chain->next_of_actor) {
        if (!is_lost(chain)) first = chain->text;
    }
    return first;
}

const char *wf_names_at(const struct wf_name *chain, size_t i)
{
    size_t count = 0;
    for (const struct wf_name *e = chain; e != NULL; e = e->next_of_actor) count += !is_lost(e);
    for (const struct wf_name *e = chain; e != NULL; e = e->next_of_actor) {
        if (!is_lost(e) && --count == i) return e->text;
    }
    return NULL;
}

/* ---- Copies of other nodes' ------------------------------------------------------------------------------------ */

/* Under the lock. */
static bool give_way(struct wf_names *n, weft_text name, uint64_t node, uint64_t stamp, weft_pid *loser)
{
    struct wf_name *own = find(n, name, wf_hash(name.data, name.size, 0));
    bool wins = own != NULL && own->stamp > 0 && wf_name_wins(stamp, node, own->stamp, own->pid.node);
    if (!wins || WF_MUTANT(name_never_yields)) return false;
    take_out(n, own);
    *loser = own->pid;
    atomic_store_explicit(&own->lost, true, memory_order_release); /* nothing of it is touched after this */
    atomic_fetch_add_explicit(&n->losses, 1, memory_order_release);
    return true;
}

bool wf_names_give_way(struct wf_names *n, weft_text name, uint64_t node, uint64_t stamp, weft_pid *loser)
{
    pf_mutex_lock(n->lock);
    bool gives = give_way(n, name, node, stamp, loser);
    pf_mutex_unlock(n->lock);
    return gives;
}

bool wf_names_copy_of(struct wf_names *n, weft_text name, uint64_t node, weft_pid *pid, uint64_t *stamp)
{
    pf_mutex_lock(n->lock);
    const struct wf_name *e = find_copy(n, name, wf_hash(name.data, name.size, 0), node);
    if (e != NULL) {
        *pid = e->pid;
        *stamp = e->stamp;
    }
    pf_mutex_unlock(n->lock);
    return e != NULL;
}

size_t wf_names_claims(struct wf_names *n, weft_text name)
{
    uint32_t hash = wf_hash(name.data, name.size, 0);
    size_t count = 0;
    pf_mutex_lock(n->lock);
    for (const struct wf_name *e = *bucket_of(n, hash); e != NULL; e = e->next)
        count += e->hash == hash && e->copy && same(e, name);
    pf_mutex_unlock(n->lock);
    return count;
}

int wf_names_put_copy(struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, weft_pid *loser)
{
    *loser = weft_nobody();
    struct wf_name *fresh = entry_new(name, pid, stamp, true);
    if (fresh == NULL) return WEFT_ENOMEM;
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_copy(n, name, fresh->hash, pid.node);
    if (e != NULL) take_out(n, e);
    put_in(n, fresh);
    (void)give_way(n, name, pid.node, stamp, loser);
    pf_mutex_unlock(n->lock);
    free(e);
    return e == NULL;
}

bool wf_names_take_copy(struct wf_names *n, weft_text name, uint64_t node)
{
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_copy(n, name, wf_hash(name.data, name.size, 0), node);
    if (e != NULL) take_out(n, e);
    pf_mutex_unlock(n->lock);
    free(e);
    return e != NULL;
}

size_t wf_names_drop_copies(struct wf_names *n, uint64_t node)
{
    size_t dropped = 0;
    pf_mutex_lock(n->lock);
    for (size_t i = 0; i < n->bucket_count && n->copies > 0; i++) {
        for (struct wf_name **at = &n->buckets[i]; *at != NULL;) {
            struct wf_name *e = *at;
            if (!e->copy || e->pid.node != node) {
                at = &e->next;
                continue;
            }
            *at = e->next;
            n->copies--;
            dropped++;
            free(e);
        }
    }
    pf_mutex_unlock(n->lock);
    return dropped;
}

/* ---- For people and tests -------------------------------------------------------------------------------------- */

size_t wf_names_count(struct wf_names *n)
{
    pf_mutex_lock(n->lock);
    size_t count = n->count;
    pf_mutex_unlock(n->lock);
    return count;
}

size_t wf_names_waits(struct wf_names *n)
{
    size_t count = 0;
    pf_mutex_lock(n->lock);
    for (int i = 0; i < WAITS; i++) {
        for (struct wf_list_node *k = n->waits[i].head.next; k != &n->waits[i].head; k = k->next) count++;
    }
    pf_mutex_unlock(n->lock);
    return count;
}

bool wf_names_some(struct wf_names *n, uint64_t *at,
                   bool (*see)(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg), void *arg)
{
    bool more = true;
    pf_mutex_lock(n->lock);
    for (int i = 0; i < BUCKETS_AT_ONCE && more && *at < WF_HASH_PARTS_END; i++) {
        for (struct wf_name *e = n->buckets[wf_hash_part(at, n->bucket_count)]; e != NULL; e = e->next) {
            weft_text name = weft_str(e->text, e->size);
            more &= see(name, e->pid, e->stamp, find_any(n, name, e->hash) == e, arg);
        }
    }
    pf_mutex_unlock(n->lock);
    return *at < WF_HASH_PARTS_END;
}
