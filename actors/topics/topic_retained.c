/* actors/topics/topic_retained.c -- see topic_retained.h.
 *
 * Design notes.
 * (1) A pattern without wildcards is one look-up. Others go through the list and first compare the part of the
 *     pattern before its first wildcard: subscribing with one costs some nanoseconds for each topic kept. Cleared
 *     topics are skipped. */
#include "topic_retained.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "topic_trie.h"

enum { CLEARED_MAX = 16384 };
#define FORGOTTEN_AT_ONCE WF_LIMIT("retained: messages forgotten at once", 64, 1)
/* The time of a gone source that is kept forever: in the heap it is before the sources of linked nodes. */
#define WITHOUT_END (WEFT_FOREVER - 1)

static bool is_mark(const struct wf_retained *r)
{
    return r->body == NULL;
}

static size_t weight(const struct wf_body *body)
{
    return sizeof(struct wf_retained) + sizeof *body + body->topic_size + body->size;
}

/* ---- Sources --------------------------------------------------------------------------------------------------- */

static void init_source(struct wf_retained_source *s, enum wf_retained_kind kind, uint64_t node)
{
    *s = (struct wf_retained_source){.node = node, .kind = kind, .until.deadline = WEFT_FOREVER};
    wf_list_init(&s->all);
}

static struct wf_retained_source *new_source(struct wf_retained_pool *p, enum wf_retained_kind kind, uint64_t node)
{
    struct wf_retained_source *s = malloc(sizeof *s);
    if (s == NULL) return NULL;
    init_source(s, kind, node);
    if (wf_heap_add(&p->sources, &s->until) < 0) {
        free(s);
        return NULL;
    }
    return s;
}

static void free_if_unused(struct wf_retained_table *t, struct wf_retained_source *s)
{
    struct wf_retained_pool *p = &t->pool[s->kind];
    if (s->holders > 0 || s->count > 0) return;
    if (p->reported == s) p->reported = NULL;
    wf_heap_remove(&p->sources, &s->until);
    free(s);
}

static void enter(struct wf_retained_table *t, struct wf_retained *r, struct wf_retained_source *s)
{
    struct wf_retained_pool *p = &t->pool[s->kind];
    size_t bytes = weight(r->body);
    r->source = s;
    wf_list_push(&s->all, &r->in_source);
    s->count++;
    s->bytes += bytes;
    p->gone_count += s->gone;
    p->gone_bytes += s->gone ? bytes : 0;
}

static void leave(struct wf_retained_table *t, struct wf_retained *r)
{
    struct wf_retained_source *s = r->source;
    struct wf_retained_pool *p = &t->pool[s->kind];
    size_t bytes = weight(r->body);
    wf_unlink(&r->in_source);
    s->count--;
    s->bytes -= bytes;
    p->gone_count -= s->gone;
    p->gone_bytes -= s->gone ? bytes : 0;
    free_if_unused(t, s);
}

/* Its node has gone: from now on its messages have an end. The heap has space for it, as it was in the heap before. */
static void begin_to_go(struct wf_retained_table *t, struct wf_retained_source *s, int64_t gone_at)
{
    struct wf_retained_pool *p = &t->pool[s->kind];
    s->gone = true;
    s->gone_at = gone_at;
    p->gone_count += s->count;
    p->gone_bytes += s->bytes;
    wf_heap_remove(&p->sources, &s->until);
    s->until.deadline = t->keep >= WITHOUT_END - WF_MAX(gone_at, 0) ? WITHOUT_END : gone_at + t->keep;
    int rc = wf_heap_add(&p->sources, &s->until);
    WF_ASSERT(rc == WEFT_OK);
    (void)rc;
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

void wf_retained_init(struct wf_retained_table *t, uint64_t secret, uint32_t count_max, size_t bytes_max,
                      int64_t keep)
{
    *t = (struct wf_retained_table){.secret = secret};
    wf_list_init(&t->order);
    t->keep = keep;
    for (int kind = 0; kind < WF_RETAINED_KINDS; kind++) {
        struct wf_retained_pool *p = &t->pool[kind];
        p->count_max = kind == WF_RETAINED_KEPT ? count_max : WF_MIN(count_max, (uint32_t)CLEARED_MAX);
        p->bytes_max = kind == WF_RETAINED_KEPT ? bytes_max : SIZE_MAX;
        init_source(&p->own, (enum wf_retained_kind)kind, 0);
        p->own.holders = 1;
        wf_heap_init(&p->sources);
    }
}

static uint32_t hash_of(const struct wf_retained_table *t, weft_text topic)
{
    return wf_hash(topic.data, topic.size, t->secret);
}

/* Takes it out of the lists and counts. */
static void unlist(struct wf_retained_table *t, struct wf_retained *r)
{
    wf_unlink(&r->in_order);
    if (wf_retained_is_cleared(r)) t->cleared_count--;
    else t->count--;
    leave(t, r);
}

/* Removes it without a trace. */
static struct wf_body *take_out(struct wf_retained_table *t, struct wf_retained *r)
{
    struct wf_body *body = r->body;
    wf_hash_table_remove(&t->topics, &r->in_table);
    unlist(t, r);
    free(r);
    return body;
}

static void forget_oldest(struct wf_retained_table *t, struct wf_retained_source *s)
{
    wf_body_drop(NULL, take_out(t, WF_CONTAINER(wf_list_first(&s->all), struct wf_retained, in_source)));
}

/* The source of that kind whose time is over first. */
static struct wf_retained_source *first_to_go(struct wf_retained_pool *p)
{
    struct wf_timer *first = wf_heap_first(&p->sources);
    return first == NULL ? NULL : WF_CONTAINER(first, struct wf_retained_source, until);
}

void wf_retained_finish(struct wf_retained_table *t)
{
    WF_LIST_EACH(k, &t->order) {
        struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        WF_ASSERT(!is_mark(r));
        wf_body_drop(NULL, take_out(t, r));
    }
    for (int kind = 0; kind < WF_RETAINED_KINDS; kind++) {
        WF_ASSERT(first_to_go(&t->pool[kind]) == NULL);
        wf_heap_finish(&t->pool[kind].sources);
    }
    wf_hash_table_finish(&t->topics);
}

static struct wf_retained *find(const struct wf_retained_table *t, weft_text topic)
{
    WF_HASHED_WITH(e, &t->topics, hash_of(t, topic))
    {
        struct wf_retained *r = WF_CONTAINER(e, struct wf_retained, in_table);
        const char *own = wf_body_topic(r->body);
        if (strncmp(own, topic.data, topic.size) == 0 && own[topic.size] == 0) return r;
    }
    return NULL;
}

const struct wf_retained *wf_retained_find(const struct wf_retained_table *t, weft_text topic)
{
    const struct wf_retained *r = find(t, topic);
    return r == NULL || wf_retained_is_cleared(r) ? NULL : r;
}

struct wf_body *wf_retained_take(struct wf_retained_table *t, weft_text topic)
{
    struct wf_retained *r = find(t, topic);
    return r == NULL || wf_retained_is_cleared(r) ? NULL : take_out(t, r);
}

/* ---- Nodes come and go ----------------------------------------------------------------------------------------- */

int wf_retained_open(struct wf_retained_table *t, uint64_t node, struct wf_retained_source *by[WF_RETAINED_KINDS])
{
    for (int kind = 0; kind < WF_RETAINED_KINDS; kind++) {
        by[kind] = new_source(&t->pool[kind], (enum wf_retained_kind)kind, node);
        if (by[kind] != NULL) by[kind]->holders = 1;
    }
    if (by[0] != NULL && by[1] != NULL) return WEFT_OK;
    wf_retained_close(t, by, 0);
    return WEFT_ENOMEM;
}

/* Keeps gone nodes within their common bound. Forgets at most `most` messages; returns how many more it could have
 * forgotten. */
static uint32_t keep_bounds(struct wf_retained_table *t, enum wf_retained_kind kind, uint32_t most)
{
    struct wf_retained_pool *p = &t->pool[kind];
    for (; most > 0 && (p->gone_count > p->count_max || p->gone_bytes > p->bytes_max); most--)
        forget_oldest(t, first_to_go(p));
    return most;
}

bool wf_retained_trim(struct wf_retained_table *t, uint32_t most)
{
    for (int kind = 0; kind < WF_RETAINED_KINDS; kind++) most = keep_bounds(t, (enum wf_retained_kind)kind, most);
    return most == 0;
}

void wf_retained_close(struct wf_retained_table *t, struct wf_retained_source *by[WF_RETAINED_KINDS], int64_t time)
{
    for (int kind = 0; kind < WF_RETAINED_KINDS; kind++) {
        struct wf_retained_source *s = by[kind];
        by[kind] = NULL;
        if (s == NULL) continue;
        s->holders--;
        if (s->count > 0) begin_to_go(t, s, time);
        free_if_unused(t, s);
    }
}

int64_t wf_retained_expire(struct wf_retained_table *t, int64_t time, uint32_t most)
{
    int64_t next = WEFT_FOREVER;
    for (int kind = 0; kind < WF_RETAINED_KINDS; kind++) {
        struct wf_retained_source *s;
        for (; (s = first_to_go(&t->pool[kind])) != NULL && s->until.deadline <= time && most > 0; most--)
            forget_oldest(t, s);
        if (s != NULL && s->until.deadline < WITHOUT_END) next = WF_MIN(next, s->until.deadline);
    }
    return next;
}

/* ---- Which message holds --------------------------------------------------------------------------------------- */

static uint64_t rank_of(const struct wf_retained_copy *c, bool reported, int64_t wall)
{
    if (wf_stamp_is_believed(c->stamp, wall)) return c->stamp;
    uint64_t now = wf_stamp_of(wall);
    return reported || !c->live ? 0 : now - WF_MIN(now, WF_STAMP_APART);
}

/* A message with an impossible stamp, received from a node other than its publisher, proves nothing about the
 * publisher. */
static bool is_rumour(uint64_t rank, bool reported)
{
    return rank == 0 && reported;
}

static bool is_newer(const struct wf_retained_copy *c, uint64_t rank, bool reported, const struct wf_retained *r)
{
    uint64_t node = c->body->from.node, before = r->body->from.node;
    if (node != before) return rank != r->rank ? rank > r->rank : node > before;
    bool rumour = is_rumour(rank, reported), was_rumour = is_rumour(r->rank, r->source->reported);
    return rumour != was_rumour ? was_rumour && c->stamp != r->stamp : c->stamp > r->stamp;
}

/* ---- Keeping --------------------------------------------------------------------------------------------------- */

static enum wf_retained_kind kind_of(const struct wf_body *body)
{
    return body->size == 0 ? WF_RETAINED_CLEARED : WF_RETAINED_KEPT;
}

/* A new entry for the topic of `body`, in the hash table but not in the lists yet. NULL: no memory. */
static struct wf_retained *make(struct wf_retained_table *t, struct wf_body *body)
{
    struct wf_retained *r = calloc(1, sizeof *r);
    if (r != NULL && wf_hash_table_add(&t->topics, &r->in_table, hash_of(t, wf_body_topic_text(body)))) return r;
    free(r);
    return NULL;
}

/* Whether `body` may be kept at all. For a message that did not come from its publisher that is enough: messages of
 * gone nodes are forgotten for it. */
static bool could_fit(const struct wf_retained_table *t, const struct wf_body *body)
{
    return body->size == 0 || weight(body) <= t->pool[kind_of(body)].bytes_max;
}

/* Whether `body` fits the quota of `s`, if it replaces `r` (NULL: if it replaces nothing). */
static bool fits(const struct wf_retained_table *t, const struct wf_retained_source *s, const struct wf_body *body,
                 const struct wf_retained *r)
{
    const struct wf_retained_pool *p = &t->pool[kind_of(body)];
    if (body->size == 0) return true;
    bool instead = r != NULL && r->source == s;
    size_t bytes = s->bytes - (instead ? weight(r->body) : 0);
    return weight(body) <= p->bytes_max - WF_MIN(bytes, p->bytes_max) && s->count - instead < p->count_max;
}

/* The source for a message that did not come from its publisher; successive messages of one node share one. NULL: no
 * memory. */
static struct wf_retained_source *reported_source(struct wf_retained_table *t, const struct wf_retained_copy *c,
                                                  int64_t time)
{
    struct wf_retained_pool *p = &t->pool[kind_of(c->body)];
    if (p->reported != NULL && p->reported->node == c->body->from.node) return p->reported;
    struct wf_retained_source *s = new_source(p, kind_of(c->body), c->body->from.node);
    if (s == NULL) return NULL;
    s->reported = true;
    begin_to_go(t, s, time - c->gone);
    return p->reported = s;
}

/* Gives `r` a new body and returns the old one, or NULL if it had none. */
static struct wf_body *replace(struct wf_retained_table *t, struct wf_retained *r, struct wf_body *body,
                               struct wf_retained_source *s)
{
    struct wf_body *old = r->body;
    s->holders++; /* this keeps `s` if `old` was its last message */
    if (old != NULL) unlist(t, r);
    s->holders--;
    r->body = body;
    wf_body_keep(body);
    body->retained = ++t->last;
    wf_list_push(&t->order, &r->in_order);
    if (body->size == 0) t->cleared_count++;
    else t->count++;
    enter(t, r, s);
    return old;
}

/* Keeps a message that is the newest one and fits. */
static int keep(struct wf_retained_table *t, struct wf_retained *r, const struct wf_retained_copy *c, uint64_t rank,
                struct wf_retained_source *s, struct wf_body **old)
{
    enum wf_retained_kind kind = s->kind;
    if (r == NULL && (r = make(t, c->body)) == NULL) {
        free_if_unused(t, s);
        return WEFT_ENOMEM;
    }
    *old = replace(t, r, c->body, s);
    r->stamp = c->stamp;
    r->rank = rank;
    if (s->gone) (void)keep_bounds(t, kind, FORGOTTEN_AT_ONCE);
    else if (s->count > t->pool[kind].count_max) forget_oldest(t, s); /* only cleared topics */
    return 1;
}

int wf_retained_put(struct wf_retained_table *t, struct wf_body *body, const struct wf_retained_now *now,
                    struct wf_body **old)
{
    struct wf_retained *r = find(t, wf_body_topic_text(body));
    struct wf_retained_source *own = &t->pool[kind_of(body)].own;
    *old = NULL;
    if (!fits(t, own, body, r)) return WEFT_EFULL;
    t->last_stamp = wf_stamp_after(t->last_stamp, now->wall);
    WF_SOMETIMES("retained: the clock of this node is behind the timestamp of a kept message",
                 t->last_stamp > wf_stamp_of(now->wall) + 1);
    WF_SOMETIMES("retained: a topic is cleared", body->size == 0 && r != NULL);
    return keep(t, r, &(struct wf_retained_copy){.body = body, .stamp = t->last_stamp}, t->last_stamp, own, old);
}

/* The publisher's node, which was gone or not linked yet, sends a message that is kept already: moves it to that
 * node's source. */
static void bring_home(struct wf_retained_table *t, struct wf_retained *r, uint64_t rank,
                       struct wf_retained_source *s)
{
    r->rank = WF_MAX(r->rank, rank);
    if (r->source == s || !fits(t, s, r->body, r)) return;
    WF_SOMETIMES("retained: a publisher that was lost sends its own message again", true);
    leave(t, r);
    enter(t, r, s);
}

int wf_retained_put_copy(struct wf_retained_table *t, const struct wf_retained_copy *c,
                         const struct wf_retained_now *now, struct wf_body **old)
{
    struct wf_body *body = c->body;
    struct wf_retained *r = find(t, wf_body_topic_text(body));
    struct wf_retained_source *s = c->by == NULL ? NULL : c->by[kind_of(body)];
    bool reported = s == NULL, late = reported && t->keep < WITHOUT_END && c->gone >= t->keep;
    uint64_t rank = rank_of(c, reported, now->wall);
    *old = NULL;
    t->last_stamp = WF_MAX(t->last_stamp, rank);
    if (r != NULL && !is_newer(c, rank, reported, r)) {
        bool same_node = body->from.node == r->body->from.node;
        WF_SOMETIMES("retained: a copy is refused as older", !same_node);
        WF_SOMETIMES("retained: an older copy of the same node is refused", same_node && c->stamp < r->stamp);
        WF_SOMETIMES("retained: the same copy comes through another node", same_node && c->stamp == r->stamp);
        if (same_node && !reported && c->stamp == r->stamp) bring_home(t, r, rank, s);
        return same_node ? WEFT_EEXIST : 0;
    }
    if (late || !(reported ? could_fit(t, body) : fits(t, s, body, r))) {
        if (r != NULL) *old = take_out(t, r);
        return late ? 0 : WEFT_EFULL;
    }
    WF_SOMETIMES("retained: a copy comes from a node that is not its publisher", reported);
    WF_SOMETIMES("retained: a copy replaces that of another node",
                 r != NULL && r->body->from.node != body->from.node);
    if (reported && (s = reported_source(t, c, now->time)) == NULL) return WEFT_ENOMEM;
    return keep(t, r, c, rank, s, old);
}

void wf_retained_mark(struct wf_retained_table *t, struct wf_retained *mark)
{
    WF_ASSERT(is_mark(mark));
    wf_list_push_front(&t->order, &mark->in_order);
}

void wf_retained_after(const struct wf_retained_table *t, const struct wf_retained *mark,
                       bool (*see)(const struct wf_retained *r, void *arg), void *arg)
{
    for (const struct wf_list_node *k = mark->in_order.next; k != &t->order.head; k = k->next) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (!is_mark(r) && !see(r, arg)) return;
    }
}

void wf_retained_pass(const struct wf_retained_table *t, struct wf_retained *mark, uint64_t number)
{
    struct wf_list_node *k = mark->in_order.next;
    for (; k != &t->order.head; k = k->next) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (!is_mark(r) && r->body->retained > number) break;
    }
    wf_unlink(&mark->in_order);
    wf_list_insert_before(k, &mark->in_order);
}

void wf_retained_each(const struct wf_retained_table *t, weft_text pattern,
                      bool (*see)(const struct wf_retained *r, void *arg), void *arg)
{
    size_t plain = 0;
    while (plain < pattern.size && pattern.data[plain] != '*' && pattern.data[plain] != '>') plain++;
    if (t->count == 0) return;
    if (plain == pattern.size) {
        const struct wf_retained *r = wf_retained_find(t, pattern);
        if (r != NULL) (void)see(r, arg);
        return;
    }
    WF_LIST_EACH(k, &t->order) {
        const struct wf_retained *r = WF_CONTAINER(k, struct wf_retained, in_order);
        if (is_mark(r) || wf_retained_is_cleared(r)) continue;
        const char *topic = wf_body_topic(r->body);
        if (strncmp(topic, pattern.data, plain) != 0 || !wf_pattern_matches(pattern, weft_cstr(topic))) continue;
        if (!see(r, arg)) return;
    }
}
