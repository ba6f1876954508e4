/* actors/lifecycle/ties.c -- see ties.h. */
#include "ties.h"

#include "actor.h"
#include "hash.h"
#include "monitors.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 4 }; /* the first messages in the chain of a set are in no hash table */
/* wf_post.word of these; the others have the number of the actor's slot there. An enum cannot hold it. */
#define IN_NO_TABLE UINT32_MAX

static bool is_remote(const struct wf_actor *a, uint64_t node)
{
    return node != wf_node_of(a->task.worker)->incarnation;
}

/* ---- Sets ------------------------------------------------------------------------------------------------------ */

static uint32_t node_hash(const struct wf_actors *wa, uint64_t node)
{
    return (uint32_t)wf_mix(node ^ wa->secret);
}

static uint32_t remote_hash(const struct wf_actors *wa, const struct wf_actor *a, uint64_t node)
{
    return (uint32_t)wf_mix(wf_mix(node ^ wa->secret) + wf_slot_number(&a->slot));
}

static struct wf_tied_node *find_node(const struct wf_actors *wa, uint64_t node)
{
    WF_HASHED_WITH(e, &wf_ties_of(wa->worker)->tied_nodes, node_hash(wa, node))
    {
        struct wf_tied_node *n = WF_CONTAINER(e, struct wf_tied_node, in_table);
        if (n->node == node) return n;
    }
    return NULL;
}

static void free_node_if_empty(struct wf_actors *wa, struct wf_tied_node *n)
{
    if (!wf_list_empty(&n->sets)) return;
    wf_hash_table_remove(&wf_ties_of(wa->worker)->tied_nodes, &n->in_table);
    free(n);
}

static struct wf_tied_node *find_or_make_node(struct wf_actors *wa, uint64_t node)
{
    struct wf_tied_node *n = find_node(wa, node);
    if (n != NULL || (n = calloc(1, sizeof *n)) == NULL) return n;
    n->node = node;
    wf_list_init(&n->sets);
    if (wf_hash_table_add(&wf_ties_of(wa->worker)->tied_nodes, &n->in_table, node_hash(wa, node))) return n;
    free(n);
    return NULL;
}

static struct wf_remote_ties *find_remote(const struct wf_actor *a, uint64_t node)
{
    const struct wf_actors *wa = wf_actors_of(a->task.worker);
    if (a->more == NULL || a->more->ties.far == NULL) return NULL;
    WF_HASHED_WITH(e, &wf_ties_of(wa->worker)->remote_ties, remote_hash(wa, a, node))
    {
        struct wf_remote_ties *f = WF_CONTAINER(e, struct wf_remote_ties, in_table);
        if (f->actor == a && f->node->node == node) return f;
    }
    return NULL;
}

static struct wf_remote_ties *remote_new(struct wf_actors *wa)
{
    struct wf_remote_ties *f = wf_pool_take(&wa->worker->pool, wf_pool_class(sizeof *f), sizeof *f);
    if (f != NULL) memset(f, 0, sizeof *f);
    return f;
}

static void remote_free(struct wf_actors *wa, struct wf_remote_ties *f)
{
    wf_pool_give(&wa->worker->pool, wf_pool_class(sizeof *f), f);
}

static struct wf_remote_ties *make_remote(struct wf_actors *wa, struct wf_actor *a, uint64_t node)
{
    struct wf_tied_node *n = find_or_make_node(wa, node);
    struct wf_remote_ties *f = n == NULL ? NULL : remote_new(wa);
    if (f == NULL ||
        !wf_hash_table_add(&wf_ties_of(wa->worker)->remote_ties, &f->in_table, remote_hash(wa, a, node))) {
        if (f != NULL) remote_free(wa, f);
        if (n != NULL) free_node_if_empty(wa, n);
        return NULL;
    }
    f->node = n;
    f->actor = a;
    wf_list_init(&f->set.monitors);
    wf_list_push(&n->sets, &f->on_node);
    f->next = a->more->ties.far;
    if (f->next != NULL) f->next->previous = f;
    a->more->ties.far = f;
    return f;
}

static void count_up(struct wf_remote_ties *f)
{
    if (f != NULL) f->count++;
}

static void count_down(struct wf_remote_ties *f)
{
    WF_ASSERT(f == NULL || f->count > 0);
    if (f == NULL || --f->count > 0) return;
    struct wf_actors *wa = wf_actors_of(f->actor->task.worker);
    *(f->previous == NULL ? &f->actor->more->ties.far : &f->previous->next) = f->next;
    if (f->next != NULL) f->next->previous = f->previous;
    wf_unlink(&f->on_node);
    wf_hash_table_remove(&wf_ties_of(wa->worker)->remote_ties, &f->in_table);
    free_node_if_empty(wa, f->node);
    remote_free(wa, f);
}

struct wf_tie_set *wf_tie_set_of(const struct wf_actor *a, uint64_t node)
{
    if (a->more == NULL) return NULL;
    if (!is_remote(a, node)) return &a->more->ties.here;
    struct wf_remote_ties *f = find_remote(a, node);
    return f == NULL ? NULL : &f->set;
}

struct wf_tie_set *wf_tie_set_next(const struct wf_actor *a, const struct wf_tie_set *before)
{
    struct wf_ties *t = a->more == NULL ? NULL : &a->more->ties;
    if (t == NULL) return NULL;
    if (before == NULL) return &t->here;
    struct wf_remote_ties *f = before == &t->here ? t->far : WF_CONTAINER(before, struct wf_remote_ties, set)->next;
    return f == NULL ? NULL : &f->set;
}

/* Finds or makes the set for that node. False: no memory. `*remote` is counted up; NULL: it is this node. */
static bool enter_set(struct wf_actor *a, struct wf_worker *w, uint64_t node, struct wf_tie_set **set,
                      struct wf_remote_ties **remote)
{
    struct wf_actor_more *more = wf_actor_more_from(a, w);
    *remote = NULL;
    if (more == NULL) return false;
    *set = &more->ties.here;
    if (!is_remote(a, node)) return true;
    *remote = find_remote(a, node);
    if (*remote == NULL) *remote = make_remote(wf_actors_of(w), a, node);
    if (*remote == NULL) return false;
    *set = &(*remote)->set;
    count_up(*remote);
    return true;
}

/* ---- Watchers and links ---------------------------------------------------------------------------------------- */

/* Another actor has at most one link with `a`, and any number of monitors of it. */
static bool is_tie(const weft_msg *e, unsigned kind, weft_pid other, uint64_t ref)
{
    return e->post.flags == kind && weft_pid_equal(e->from, other) && (kind != WF_MSG_WATCH || e->ref == ref);
}

static uint32_t tie_hash(const struct wf_actor *a, unsigned kind, weft_pid other, uint64_t ref)
{
    uint64_t hash = wf_mix(wf_actors_of(a->task.worker)->secret ^ other.actor);
    hash = wf_mix((hash ^ other.node) + wf_slot_number(&a->slot));
    return (uint32_t)(kind == WF_MSG_WATCH ? wf_mix(hash ^ ref) : hash);
}

static weft_msg *next_of(const weft_msg *e)
{
    return (weft_msg *)e->post.next;
}

static weft_msg *find(const struct wf_actor *a, unsigned kind, weft_pid other, uint64_t ref)
{
    const struct wf_tie_set *s = wf_tie_set_of(a, other.node);
    weft_msg *e = s == NULL ? NULL : s->ends;
    while (e != NULL && e->post.word == IN_NO_TABLE && !is_tie(e, kind, other, ref)) e = next_of(e);
    if (e == NULL || e->post.word == IN_NO_TABLE) return e;
    WF_HASHED_WITH(k, &wf_ties_of(a->task.worker)->ties, tie_hash(a, kind, other, ref))
    {
        e = WF_CONTAINER(k, weft_msg, in_ties);
        if (e->post.word == wf_slot_number(&a->slot) && is_tie(e, kind, other, ref)) return e;
    }
    return NULL;
}

weft_msg *wf_tie_watcher(const struct wf_actor *a, weft_pid watcher, uint64_t ref)
{
    return find(a, WF_MSG_WATCH, watcher, ref);
}

weft_msg *wf_tie_link(const struct wf_actor *a, weft_pid other)
{
    return find(a, WF_MSG_EXIT, other, 0);
}

/* The hash table used the fields of the body. */
static void clear_body(weft_msg *m)
{
    m->shared = NULL;
    m->size = m->topic_size = 0;
}

/* Chains `m` behind the first few, and adds it to the hash table. */
static bool put_in_table(struct wf_actor *a, weft_msg *few, weft_msg *m)
{
    uint32_t hash = tie_hash(a, m->post.flags, m->from, m->ref);
    if (!wf_hash_table_add(&wf_ties_of(a->task.worker)->ties, &m->in_ties, hash)) {
        clear_body(m);
        return false;
    }
    m->post.word = wf_slot_number(&a->slot);
    m->previous = few;
    m->post.next = few->post.next;
    if (m->post.next != NULL) next_of(m)->previous = m;
    few->post.next = &m->post;
    return true;
}

bool wf_tie_add(struct wf_actor *a, struct wf_worker *w, weft_msg *m)
{
    struct wf_tie_set *s;
    struct wf_remote_ties *f;
    if (!enter_set(a, w, m->from.node, &s, &f)) return false;
    wf_msg_drop_body(w, m);
    weft_msg *last = NULL;
    uint32_t few = 0;
    for (weft_msg *e = s->ends; e != NULL && e->post.word == IN_NO_TABLE; e = next_of(e), few++) last = e;
    if (few < FEW) {
        m->post.word = IN_NO_TABLE;
        wf_chain_add(&s->ends, m);
    } else if (!put_in_table(a, last, m)) {
        count_down(f);
        return false;
    }
    if (f != NULL) f->node->count++;
    return true;
}

void wf_tie_remove(struct wf_actor *a, weft_msg *m)
{
    struct wf_remote_ties *f = is_remote(a, m->from.node) ? find_remote(a, m->from.node) : NULL;
    WF_ASSERT(f != NULL || !is_remote(a, m->from.node));
    if (m->post.word != IN_NO_TABLE) wf_hash_table_remove(&wf_ties_of(a->task.worker)->ties, &m->in_ties);
    clear_body(m);
    m->post.word = 0;
    wf_chain_remove(f == NULL ? &a->more->ties.here.ends : &f->set.ends, m);
    if (f != NULL) f->node->count--;
    count_down(f);
}

void wf_tie_rename(struct wf_actor *a, weft_msg *m, weft_pid other)
{
    WF_ASSERT(m->from.node == other.node);
    m->from = other;
    if (m->post.word == IN_NO_TABLE) return;
    wf_hash_table_move(&wf_ties_of(a->task.worker)->ties, &m->in_ties, tie_hash(a, m->post.flags, m->from, m->ref));
}

/* ---- Monitors -------------------------------------------------------------------------------------------------- */

bool wf_tie_add_monitor(struct wf_monitor *mon)
{
    struct wf_actor *a = mon->watcher;
    struct wf_tie_set *s;
    struct wf_remote_ties *f;
    if (!enter_set(a, a->task.worker, mon->target.node, &s, &f)) return false;
    wf_list_push_front(&s->monitors, &mon->on_set);
    return true;
}

void wf_tie_remove_monitor(struct wf_monitor *mon)
{
    struct wf_remote_ties *f = is_remote(mon->watcher, mon->target.node) ? find_remote(mon->watcher, mon->target.node)
                                                                         : NULL;
    wf_unlink(&mon->on_set);
    count_down(f);
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

bool wf_ties_full(const struct wf_worker *w, uint64_t node)
{
    const struct wf_tied_node *n = find_node(wf_actors_of(w), node);
    return n != NULL && n->count >= WF_TIES_OF_NODE;
}

bool wf_ties_some(struct wf_worker *w, uint64_t node, uint32_t most,
                  uint32_t (*see)(struct wf_worker *w, struct wf_actor *a, struct wf_tie_set *s, uint32_t most))
{
    struct wf_tied_node *n = find_node(wf_actors_of(w), node);
    if (n == NULL) return false;
    struct wf_remote_ties last = {.node = n}; /* keeps the list from becoming empty */
    wf_list_push(&n->sets, &last.on_node);
    for (struct wf_list_node *k; most > 0 && (k = n->sets.head.next) != &last.on_node;) {
        struct wf_remote_ties *f = WF_CONTAINER(k, struct wf_remote_ties, on_node);
        wf_unlink(k);
        wf_list_push(&n->sets, k); /* behind `last`: it stays there if it is not emptied */
        count_up(f);
        most -= see(w, f->actor, &f->set, most);
        count_down(f);
    }
    wf_unlink(&last.on_node);
    free_node_if_empty(wf_actors_of(w), n);
    return most == 0;
}

void wf_ties_finish(struct wf_worker *w)
{
    struct wf_worker_ties *t = wf_ties_of(w);
    WF_ASSERT(t->ties.count == 0 && t->remote_ties.count == 0 && t->tied_nodes.count == 0);
    wf_hash_table_finish(&t->ties);
    wf_hash_table_finish(&t->remote_ties);
    wf_hash_table_finish(&t->tied_nodes);
}
