/* actors/names/names.c -- see names.h.
 *
 * Design notes.
 * (1) There is one hash table, keyed with the node's secret, as peers choose most of the names.
 * (2) `next_of_actor` and `prev_of_actor` belong to the actor's chain, and only the chain's user touches them;
 *     everything else is touched by the thread that holds the lock. The text of an entry never changes, and neither
 *     does the pid of an entry of this node.
 * (3) A name has at most one entry for each node. Entries of other nodes are copies, in the same table, but in no
 *     chain.
 * (4) The table is read in parts with wf_hash_part: each name is in one part, even if the table has grown in between.
 * (5) A global name that is lost to another node leaves the table at once, on the thread that learns of it. It stays
 *     in its chain, marked as lost, until the chain's user next uses the chain.
 * (6) Of two claims to a name the one with the lower stamp wins, and a peer can claim any stamp. But a node that knew
 *     the holder of a name registers the name only after the holder has given it up, so an older claim of that node
 *     is false. Such a claim is doubted: a name of this node does not give way to it, and of two copies the one with
 *     less doubt wins. A node may make such a claim in good faith, with a slow clock, or because the claim was under
 *     way for long. So this node defends its name: it announces the name again with a stamp that is lower than that
 *     of the claim. An honest node then gives way: whether this node's claim is doubted depends on what this node
 *     knew when it first claimed the name. Each defence is sent to all peers, so a name is defended at most DEFENCES
 *     times. A guest must not end actors of this node, and so must not take their names: its claims get more
 *     doubt.
 * (7) Thousands of actors may wait for one name, so they are notified in parts: name_waits.h. The worker on which the
 *     name came goes on with them in its later turns. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "platform.h"

#include <weft/time.h>

struct wf_name {
    struct wf_hashed in_table; /* wf_names.table; the mark of a copy is the round in which it came: copies.h */
    union {
        struct {
            struct wf_name *next_of_actor; /* the actor's chain, newest first */
            struct wf_name *prev_of_actor; /* NULL: the newest */
        };
        struct wf_list_node in_copies; /* the link of a copy in wf_copies.names */
    };
    weft_pid pid;
    uint64_t stamp; /* the timestamp of a global name; 0: the name is not global */
    int64_t since;  /* when a global name was registered, or when this node learned of it; monotonic */
    int64_t known;  /* of a copy: wf_copies.known when its node first claimed the name for this actor */
    uint16_t size;
    bool global; /* the chain's user reads this without the lock, as a stamp may change: note (6) */
    bool copy;
    uint8_t doubt;     /* the doubt about a copy, note (6); the claim with less doubt wins */
    uint8_t defences;  /* counts for a name of this node, note (6) */
    _Atomic bool lost; /* note (5): release by the removing thread, acquire by the chain's user, which frees it */
    uint32_t swept;    /* in the newest of a chain: wf_names.losses at the last sweep of the chain */
    char text[];       /* ends with a NUL */
};

/* After this time a node has told all others of a name. It usually takes milliseconds. */
#define ALL_TOLD WEFT_SEC(60)
#define BUCKETS_AT_ONCE WF_LIMIT("names: buckets in a part", 4096, 1)

enum { DEFENCES = 16, DOUBTED = 1, OF_A_GUEST = 2 };
enum { NOTIFIED_AT_ONCE = WF_TURN_BUDGET / 2 }; /* fewer than the tasks that a turn runs */

struct wf_names {
    pf_mutex *lock;
    struct wf_hash_table table;
    uint64_t secret;         /* the key of its hashes */
    size_t count;            /* names of this node */
    _Atomic uint32_t losses; /* how many names were lost: release after wf_name.lost, acquire by chains' users */
    void (*gone)(weft_text name, weft_pid pid, void *arg); /* may be NULL */
    void *gone_arg;
    struct wf_name_waits waits;
    struct wf_call notify; /* goes on with those that are due in a later turn of a worker */
    bool is_posted;        /* `notify` is in an inbox */
};

static void notify_more(struct wf_worker *w, struct wf_call *c);

int wf_names_create(struct wf_names **out, uint64_t secret)
{
    struct wf_names *n = calloc(1, sizeof *n);
    if (n == NULL) return WEFT_ENOMEM;
    wf_name_waits_init(&n->waits);
    n->notify = (struct wf_call){.post = {.kind = WF_POST_CALL, .block_class = WF_POOL_LARGE}, .call = notify_more};
    n->secret = secret;
    int rc = pf_mutex_create(&n->lock);
    if (rc == WEFT_OK) *out = n;
    else free(n);
    return rc;
}

static struct wf_name *name_of(struct wf_hashed *e)
{
    return WF_CONTAINER(e, struct wf_name, in_table);
}

void wf_names_destroy(struct wf_names *n)
{
    if (n == NULL) return;
    for (uint32_t i = 0; i < n->table.bucket_count; i++) {
        WF_HASHED_IN(e, &n->table, i)
        {
            wf_hash_table_remove(&n->table, e);
            free(name_of(e));
        }
    }
    wf_hash_table_finish(&n->table);
    wf_name_waits_finish(&n->waits);
    pf_mutex_destroy(n->lock);
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

static uint32_t hash_of(const struct wf_names *n, weft_text name)
{
    return wf_hash(name.data, name.size, n->secret);
}

static bool same(const struct wf_name *e, weft_text name)
{
    return e->size == name.size && memcmp(e->text, name.data, name.size) == 0;
}

/* Finds a name of this node. */
static struct wf_name *find(struct wf_names *n, weft_text name, uint32_t hash)
{
    WF_HASHED_WITH(e, &n->table, hash)
    {
        if (!name_of(e)->copy && same(name_of(e), name)) return name_of(e);
    }
    return NULL;
}

static struct wf_name_claim claim_of(const struct wf_name *e)
{
    return (struct wf_name_claim){e->pid, e->stamp, e->doubt};
}

static bool holds_before(const struct wf_name *e, const struct wf_name *other)
{
    struct wf_name_claim a = claim_of(e), b = claim_of(other);
    return wf_claim_wins(&a, &b);
}

/* The entry that a look-up finds: this node's own, which hides all others, or else the winner of the copies. */
static struct wf_name *find_any(struct wf_names *n, weft_text name, uint32_t hash)
{
    struct wf_name *best = NULL;
    WF_HASHED_WITH(k, &n->table, hash)
    {
        struct wf_name *e = name_of(k);
        if (!same(e, name)) continue;
        if (!e->copy) return e;
        WF_SOMETIMES("names: two other nodes claim a name", best != NULL);
        if (best == NULL || holds_before(e, best)) best = e;
    }
    return best;
}

static struct wf_name *find_copy(struct wf_names *n, weft_text name, uint32_t hash, uint64_t node)
{
    WF_HASHED_WITH(k, &n->table, hash)
    {
        struct wf_name *e = name_of(k);
        if (e->copy && e->pid.node == node && same(e, name)) return e;
    }
    return NULL;
}

/* Under the lock: goes on in the next turn of this worker. */
static void notify_later(struct wf_names *n)
{
    if (n->is_posted) return;
    n->is_posted = true;
    wf_worker_post(wf_here, &n->notify.post);
}

static void notify_more(struct wf_worker *w, struct wf_call *c)
{
    struct wf_names *n = WF_CONTAINER(c, struct wf_names, notify);
    pf_mutex_lock(n->lock);
    n->is_posted = false;
    uint32_t notified = wf_name_waits_notify(&n->waits, NOTIFIED_AT_ONCE);
    if (wf_name_waits_are_due(&n->waits)) notify_later(n);
    pf_mutex_unlock(n->lock);
    wf_worker_charge(w, notified * WF_ENTRY_WORK);
}

/* Under the lock: a name has come. */
static void notify_waits(struct wf_names *n, const struct wf_name *e)
{
    wf_name_waits_came(&n->waits, weft_str(e->text, e->size), e->in_table.hash, e->pid, e->copy);
    if (n->is_posted) return; /* those that are due before come first */
    /* Outside of workers, only tests add names. */
    (void)wf_name_waits_notify(&n->waits, wf_here == NULL ? UINT32_MAX : NOTIFIED_AT_ONCE);
    if (wf_name_waits_are_due(&n->waits)) notify_later(n);
}

static struct wf_name *entry_new(const struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, bool copy)
{
    struct wf_name *e = malloc(sizeof *e + name.size + 1);
    if (e == NULL) return NULL;
    e->next_of_actor = e->prev_of_actor = NULL;
    if (copy) e->in_copies = (struct wf_list_node){NULL, NULL};
    e->pid = pid;
    e->stamp = stamp;
    e->since = 0;
    e->in_table = (struct wf_hashed){.hash = hash_of(n, name)};
    e->size = (uint16_t)name.size;
    e->global = stamp > 0;
    e->copy = copy;
    e->doubt = 0;
    e->defences = 0;
    atomic_init(&e->lost, false);
    memcpy(e->text, name.data, name.size);
    e->text[name.size] = '\0';
    return e;
}

/* Under the lock. False: no memory for the table. */
static bool put_in(struct wf_names *n, struct wf_name *e)
{
    if (!wf_hash_table_add(&n->table, &e->in_table, e->in_table.hash)) return false;
    n->count += !e->copy;
    notify_waits(n, e);
    return true;
}

/* Under the lock. */
static void take_out(struct wf_names *n, struct wf_name *e)
{
    wf_hash_table_remove(&n->table, &e->in_table);
    n->count -= !e->copy;
    if (e->copy) wf_unlink(&e->in_copies);
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

/* Frees the names that the chain has lost: note (5). Reads the chain only if any name was lost since the last
 * sweep. */
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

static int add(struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, int64_t now, struct wf_name **chain)
{
    WF_ASSERT(!weft_pid_is_nobody(pid));
    int rc = wf_name_check(name);
    if (rc < 0) return rc;
    struct wf_name *e = entry_new(n, name, pid, stamp, false);
    if (e == NULL) return WEFT_ENOMEM;
    e->since = now;
    uint32_t swept = atomic_load_explicit(&n->losses, memory_order_relaxed);
    pf_mutex_lock(n->lock);
    uint32_t hash = e->in_table.hash;
    WF_SOMETIMES("names: a name is taken by an actor of another node",
                 stamp > 0 && find(n, name, hash) == NULL && find_any(n, name, hash) != NULL);
    WF_SOMETIMES("names: a name is lost, and taken back by the same actor",
                 stamp > 0 && *chain != NULL && is_lost(*chain) && same(*chain, name) &&
                     find_any(n, name, hash) == NULL);
    if ((stamp == 0 ? find(n, name, hash) : find_any(n, name, hash)) != NULL) rc = WEFT_EEXIST;
    else if (!put_in(n, e)) rc = WEFT_ENOMEM;
    pf_mutex_unlock(n->lock);
    if (rc < 0) {
        free(e);
        return rc;
    }
    sweep(n, chain);
    e->next_of_actor = *chain;
    if (*chain != NULL) (*chain)->prev_of_actor = e;
    /* it could not be lost before it was in the table */
    e->swept = *chain != NULL ? (*chain)->swept : swept;
    *chain = e;
    return WEFT_OK;
}

int wf_names_add(struct wf_names *n, weft_text name, weft_pid pid, struct wf_name **chain)
{
    return add(n, name, pid, 0, 0, chain);
}

int wf_names_add_global(struct wf_names *n, weft_text name, weft_pid pid, uint64_t stamp, int64_t now,
                        struct wf_name **chain)
{
    WF_ASSERT(stamp > 0);
    return add(n, name, pid, stamp, now, chain);
}

typedef struct wf_name *find_function(struct wf_names *n, weft_text name, uint32_t hash);

static int pid_of(struct wf_names *n, weft_text name, find_function *which, weft_pid *out)
{
    uint32_t hash = hash_of(n, name);
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
    const uint32_t hash = hash_of(n, name);
    wait->found = weft_nobody();
    wait->group = NULL;
    pf_mutex_lock(n->lock);
    const struct wf_name *e = find_any(n, name, hash);
    if (e != NULL) *out = e->pid;
    int rc = e != NULL ? WEFT_OK : wf_name_waits_add(&n->waits, name, hash, wait);
    pf_mutex_unlock(n->lock);
    return e == NULL && rc == WEFT_OK ? WEFT_ENOACTOR : rc;
}

void wf_names_forget(struct wf_names *n, struct wf_name_wait *wait)
{
    pf_mutex_lock(n->lock);
    wf_name_waits_drop(&n->waits, wait);
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
        else e->stamp = 0; /* the other nodes know already */
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
    struct wf_name *e = find(n, name, hash_of(n, name));
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

bool wf_names_remove_some(struct wf_names *n, uint32_t most, struct wf_name **chain)
{
    WF_ASSERT(most > 0);
    struct wf_name *first = *chain, *last = first;
    if (first == NULL) return false;
    for (uint32_t i = 1; i < most && last->next_of_actor != NULL; i++) last = last->next_of_actor;
    *chain = last->next_of_actor;
    last->next_of_actor = NULL;
    if (*chain != NULL) {
        (*chain)->prev_of_actor = NULL;
        (*chain)->swept = first->swept;
    }
    remove_chain(n, first);
    return *chain != NULL;
}

struct wf_name *wf_names_set_aside(struct wf_names *n, const char *name, struct wf_name **chain)
{
    sweep(n, chain);
    if (*chain == NULL) return NULL;
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_own(n, weft_cstr(name), *chain);
    pf_mutex_unlock(n->lock);
    if (e == NULL) return NULL;
    uint32_t swept = (*chain)->swept;
    take_off_chain(chain, e);
    if (*chain != NULL) (*chain)->swept = swept;
    e->swept = swept;
    return e;
}

void wf_names_on_removal(struct wf_names *n, void (*gone)(weft_text name, weft_pid pid, void *arg), void *arg)
{
    n->gone = gone;
    n->gone_arg = arg;
}

/* ---- Chains ---------------------------------------------------------------------------------------------------- */

bool wf_names_global(const struct wf_name *chain, uint32_t most)
{
    for (; chain != NULL && most > 0; chain = chain->next_of_actor, most--) {
        if (chain->global) return true;
    }
    return false;
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

/* Under the lock: note (6). Whether the node that made the claim knew of `e`: a name of this node, or of a third
 * node, which has told that node itself. */
static bool knew_of(const struct wf_name *claim, const struct wf_name *e)
{
    if (!e->copy) return e->global && e->since <= claim->known;
    return e->pid.node != claim->pid.node && e->since + ALL_TOLD <= claim->known;
}

/* Under the lock. Whether the claim, which replaces `before` (may be NULL), cannot have been first. */
static bool is_doubtful(const struct wf_names *n, const struct wf_name *claim, const struct wf_name *before)
{
    bool doubted = before != NULL && (before->doubt & DOUBTED) != 0;
    if (doubted || (before != NULL && claim->stamp >= before->stamp)) return doubted;
    WF_HASHED_WITH(k, &n->table, claim->in_table.hash)
    {
        const struct wf_name *e = name_of(k);
        if (!same(e, weft_str(claim->text, claim->size)) || !knew_of(claim, e)) continue;
        if (wf_name_wins(claim->stamp, claim->pid.node, e->stamp, e->pid.node)) return true;
    }
    return false;
}

/* Under the lock. */
static void defend(struct wf_names *n, const struct wf_name *claim, struct wf_name_clash *clash)
{
    struct wf_name *own = find(n, weft_str(claim->text, claim->size), claim->in_table.hash);
    bool claimed = own != NULL && own->global && own->stamp >= claim->stamp;
    if (!claimed || own->defences == DEFENCES) return;
    WF_SOMETIMES("names: a name is defended against a claim that came later", true);
    own->defences++;
    own->stamp = WF_MAX(claim->stamp - 1, 1);
    clash->defender = own->pid;
    clash->stamp = own->stamp;
}

/* Under the lock. */
static bool give_way(struct wf_names *n, weft_text name, uint64_t node, uint64_t stamp, weft_pid *loser)
{
    struct wf_name *own = find(n, name, hash_of(n, name));
    bool wins = own != NULL && own->global && wf_name_wins(stamp, node, own->stamp, own->pid.node);
    if (!wins) return false;
    WF_SOMETIMES("names: a name is lost to an older claim", true);
    take_out(n, own);
    *loser = own->pid;
    atomic_store_explicit(&own->lost, true, memory_order_release); /* it must not be touched after this */
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

bool wf_names_copy_of(struct wf_names *n, weft_text name, uint64_t node, struct wf_name_claim *out)
{
    pf_mutex_lock(n->lock);
    const struct wf_name *e = find_copy(n, name, hash_of(n, name), node);
    if (e != NULL) *out = claim_of(e);
    pf_mutex_unlock(n->lock);
    return e != NULL;
}

size_t wf_names_claims(struct wf_names *n, weft_text name)
{
    uint32_t hash = hash_of(n, name);
    size_t count = 0;
    pf_mutex_lock(n->lock);
    WF_HASHED_WITH(e, &n->table, hash) count += name_of(e)->copy && same(name_of(e), name);
    pf_mutex_unlock(n->lock);
    return count;
}

int wf_names_put_copy(struct wf_names *n, struct wf_copies *from, weft_text name, weft_pid pid, uint64_t stamp,
                      int64_t now, struct wf_name_clash *clash)
{
    *clash = (struct wf_name_clash){.loser = weft_nobody(), .defender = weft_nobody()};
    struct wf_name *fresh = entry_new(n, name, pid, stamp, true);
    if (fresh == NULL) return WEFT_ENOMEM;
    fresh->in_table.mark = from->round;
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_copy(n, name, fresh->in_table.hash, from->node);
    fresh->since = e == NULL ? now : e->since;
    fresh->known = e == NULL || !weft_pid_equal(e->pid, pid) ? from->known : e->known;
    fresh->doubt = (uint8_t)((from->guest ? OF_A_GUEST : 0) | (is_doubtful(n, fresh, e) ? DOUBTED : 0));
    WF_SOMETIMES("names: a claim is doubted", (fresh->doubt & DOUBTED) != 0);
    WF_SOMETIMES("names: a node claims its name again with an older stamp", e != NULL && fresh->stamp < e->stamp);
    bool put = put_in(n, fresh);
    if (put) wf_list_push(&from->names, &fresh->in_copies);
    if (put && e != NULL) take_out(n, e);
    if (put && fresh->doubt == 0) (void)give_way(n, name, from->node, stamp, &clash->loser);
    if (put && fresh->doubt != 0) defend(n, fresh, clash);
    pf_mutex_unlock(n->lock);
    if (!put) {
        free(fresh);
        return WEFT_ENOMEM;
    }
    bool had = e != NULL && e->in_table.mark == from->round;
    free(e);
    return !had;
}

bool wf_names_take_copy(struct wf_names *n, struct wf_copies *from, weft_text name)
{
    pf_mutex_lock(n->lock);
    struct wf_name *e = find_copy(n, name, hash_of(n, name), from->node);
    if (e != NULL) take_out(n, e);
    pf_mutex_unlock(n->lock);
    bool had = e != NULL && e->in_table.mark == from->round;
    free(e);
    return had;
}

static struct wf_name *first_over(const struct wf_copies *from)
{
    struct wf_list_node *k = wf_list_first(&from->names);
    struct wf_name *e = k == NULL ? NULL : WF_CONTAINER(k, struct wf_name, in_copies);
    return e == NULL || e->in_table.mark == from->round ? NULL : e;
}

void wf_names_clear_copies(struct wf_names *n, struct wf_copies *from, uint32_t *work)
{
    pf_mutex_lock_behind(n->lock);
    for (struct wf_name *e; *work > 0 && (e = first_over(from)) != NULL; --*work) {
        WF_SOMETIMES("names: the names of a lost node are removed", true);
        take_out(n, e);
        free(e);
    }
    pf_mutex_unlock(n->lock);
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
    pf_mutex_lock(n->lock);
    size_t count = n->waits.count;
    pf_mutex_unlock(n->lock);
    return count;
}

bool wf_names_some(struct wf_names *n, uint64_t *at,
                   bool (*see)(weft_text name, weft_pid pid, uint64_t stamp, bool holds, void *arg), void *arg)
{
    bool more = true;
    pf_mutex_lock_behind(n->lock);
    if (n->table.bucket_count == 0) *at = WF_HASH_PARTS_END;
    for (int i = 0; i < BUCKETS_AT_ONCE && more && *at < WF_HASH_PARTS_END; i++) {
        uint32_t bucket = wf_hash_part(at, n->table.bucket_count);
        WF_HASHED_IN(k, &n->table, bucket)
        {
            const struct wf_name *e = name_of(k);
            weft_text name = weft_str(e->text, e->size);
            more &= see(name, e->pid, e->stamp, find_any(n, name, e->in_table.hash) == e, arg);
        }
    }
    pf_mutex_unlock(n->lock);
    return *at < WF_HASH_PARTS_END;
}
