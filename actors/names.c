/* actors/names.c -- see names.h.
 *
 * Design notes.
 * (1) Buckets of chained entries; the table doubles when there are as many entries as buckets. If there is no memory
 *     for that the chains just get longer: only the entry itself can fail.
 * (2) `next_of_actor` belongs to the actor's chain and is touched by its user alone; everything else by whoever holds
 *     the lock. An entry's text and pid never change. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "platform.h"

struct wf_name {
    struct wf_name *next;          /* wf_names.buckets */
    struct wf_name *next_of_actor; /* the actor's chain, newest first */
    weft_pid pid;
    uint32_t hash;
    uint32_t size;
    char text[]; /* and a NUL */
};

enum { BUCKETS_AT_FIRST = 16, WAITS = 64 };

struct wf_names {
    pf_mutex *lock;
    struct wf_name **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
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

static struct wf_name *find(struct wf_names *n, weft_text name, uint32_t hash)
{
    struct wf_name *e = *bucket_of(n, hash);
    while (e != NULL && (e->hash != hash || !same(e, name))) e = e->next;
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

int wf_names_add(struct wf_names *n, weft_text name, weft_pid pid, struct wf_name **chain)
{
    WF_ASSERT(!weft_pid_is_nobody(pid));
    int rc = wf_name_check(name);
    if (rc < 0) return rc;
    struct wf_name *e = malloc(sizeof *e + name.size + 1);
    if (e == NULL) return WEFT_ENOMEM;
    e->pid = pid;
    e->hash = wf_hash(name.data, name.size, 0);
    e->size = (uint32_t)name.size;
    memcpy(e->text, name.data, name.size);
    e->text[name.size] = '\0';

    pf_mutex_lock(n->lock);
    bool taken = find(n, name, e->hash) != NULL;
    if (!taken) {
        if (n->count == n->bucket_count) grow(n);
        struct wf_name **bucket = bucket_of(n, e->hash);
        e->next = *bucket;
        *bucket = e;
        n->count++;
        tell_waits(n, e);
    }
    pf_mutex_unlock(n->lock);
    if (taken) {
        free(e);
        return WEFT_EEXIST;
    }
    e->next_of_actor = *chain;
    *chain = e;
    return WEFT_OK;
}

int wf_names_find(struct wf_names *n, weft_text name, weft_pid *out)
{
    uint32_t hash = wf_hash(name.data, name.size, 0);
    pf_mutex_lock(n->lock);
    struct wf_name *e = find(n, name, hash);
    if (e != NULL) *out = e->pid;
    pf_mutex_unlock(n->lock);
    return e != NULL ? WEFT_OK : WEFT_ENOACTOR;
}

int wf_names_await(struct wf_names *n, weft_text name, struct wf_name_wait *wait, weft_pid *out)
{
    WF_ASSERT(name.size <= sizeof wait->text);
    wait->hash = wf_hash(name.data, name.size, 0);
    wait->size = (uint32_t)name.size;
    wait->found = weft_nobody();
    wait->on_names = (struct wf_link){NULL, NULL};
    memcpy(wait->text, name.data, name.size);
    pf_mutex_lock(n->lock);
    struct wf_name *e = find(n, name, wait->hash);
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

/* Under the lock. */
static void take_out(struct wf_names *n, struct wf_name *e)
{
    struct wf_name **at = bucket_of(n, e->hash);
    while (*at != e) {
        WF_ASSERT(*at != NULL);
        at = &(*at)->next;
    }
    *at = e->next;
    n->count--;
}

int wf_names_remove(struct wf_names *n, weft_text name, struct wf_name **chain)
{
    struct wf_name **at = chain;
    while (*at != NULL && !same(*at, name)) at = &(*at)->next_of_actor;
    struct wf_name *e = *at;
    if (e == NULL) return WEFT_ENOACTOR;
    *at = e->next_of_actor;
    pf_mutex_lock(n->lock);
    take_out(n, e);
    pf_mutex_unlock(n->lock);
    free(e);
    return WEFT_OK;
}

void wf_names_remove_all(struct wf_names *n, struct wf_name **chain)
{
    if (*chain == NULL) return;
    pf_mutex_lock(n->lock);
    for (struct wf_name *e = *chain; e != NULL; e = e->next_of_actor) take_out(n, e);
    pf_mutex_unlock(n->lock);
    for (struct wf_name *e = *chain, *next; e != NULL; e = next) {
        next = e->next_of_actor;
        free(e);
    }
    *chain = NULL;
}

void wf_names_remove_others(struct wf_names *n, const char *name, struct wf_name **chain)
{
    struct wf_name **at = chain;
    while (*at != NULL && !same(*at, weft_cstr(name))) at = &(*at)->next_of_actor;
    struct wf_name *stays = *at;
    if (stays != NULL) *at = stays->next_of_actor;
    wf_names_remove_all(n, chain);
    if (stays != NULL) stays->next_of_actor = NULL;
    *chain = stays;
}

const char *wf_names_first(const struct wf_name *chain)
{
    if (chain == NULL) return "";
    while (chain->next_of_actor != NULL) chain = chain->next_of_actor;
    return chain->text;
}

const char *wf_names_at(const struct wf_name *chain, size_t i)
{
    size_t count = 0;
    for (const struct wf_name *e = chain; e != NULL; e = e->next_of_actor) count++;
    for (const struct wf_name *e = chain; e != NULL; e = e->next_of_actor) {
        if (--count == i) return e->text;
    }
    return NULL;
}

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
        for (struct wf_link *k = n->waits[i].head.next; k != &n->waits[i].head; k = k->next) count++;
    }
    pf_mutex_unlock(n->lock);
    return count;
}

void wf_names_each(struct wf_names *n, void (*see)(weft_text name, weft_pid pid, void *arg), void *arg)
{
    pf_mutex_lock(n->lock);
    for (size_t i = 0; i < n->bucket_count; i++) {
        for (struct wf_name *e = n->buckets[i]; e != NULL; e = e->next) see(weft_str(e->text, e->size), e->pid, arg);
    }
    pf_mutex_unlock(n->lock);
}
