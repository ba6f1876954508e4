/* actors/data/topic_trie.c -- see topic_trie.h.
 *
 * Design notes.
 * (1) A node stands for a prefix of a pattern, one word per level. The edges to children lie in one hash table for
 *     the whole trie, keyed by the parent's serial number and the word; a node also has pointers to its '*' and '>'
 *     children, because each step of a match looks for them.
 * (2) A node without children and subscribers is freed at once, and so are ancestors that are then without both.
 * (3) Matching is a depth-first walk with a fixed stack: one path down never leaves more than one open branch behind
 *     per word. It visits each node at most once, so no subscriber is met twice. */
#include "topic_trie.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct wf_trie_node {
    struct wf_list subscribers; /* wf_subscriber.on_node */
    struct wf_trie_node *parent;
    struct wf_hashed in_table; /* wf_trie.nodes; not the root */
    struct wf_trie_node *star, *rest;
    uint32_t children; /* includes star and rest */
    uint32_t serial;
    uint8_t size;
    char word[];
};

struct words {
    uint32_t count;
    weft_text at[WF_TOPIC_WORDS];
};

/* False if there are too many words, an empty one, or too many bytes. */
static bool split(weft_text text, struct words *out)
{
    out->count = 0;
    if (text.size == 0 || text.size > WF_TOPIC_MAX) return false;
    size_t start = 0;
    for (size_t i = 0; i <= text.size; i++) {
        if (i < text.size && text.data[i] != '.') continue;
        if (i == start || out->count == WF_TOPIC_WORDS) return false;
        out->at[out->count++] = weft_str(text.data + start, i - start);
        start = i + 1;
    }
    return true;
}

static bool is(weft_text word, char only)
{
    return word.size == 1 && word.data[0] == only;
}

static bool same(weft_text a, weft_text b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static bool is_plain(weft_text word)
{
    for (size_t i = 0; i < word.size; i++) {
        if (!wf_is_word_char(word.data[i])) return false;
    }
    return true;
}

static bool split_pattern(weft_text pattern, struct words *out)
{
    if (!split(pattern, out)) return false;
    for (uint32_t i = 0; i < out->count; i++) {
        bool last = i + 1 == out->count;
        if (!is(out->at[i], '*') && !(last && is(out->at[i], '>')) && !is_plain(out->at[i])) return false;
    }
    return true;
}

/* In one pass and without `split`, as each publication from another node is checked. */
int wf_topic_check(weft_text topic)
{
    if (topic.size > WF_TOPIC_MAX) return WEFT_EINVAL;
    const char *at = topic.data, *end = at + topic.size;
    for (uint32_t words = 0; words < WF_TOPIC_WORDS; words++) {
        const char *start = at;
        while (at < end && wf_is_word_char(*at)) at++;
        if (at == start) return WEFT_EINVAL;
        if (at == end) return WEFT_OK;
        if (*at++ != '.') return WEFT_EINVAL;
    }
    return WEFT_EINVAL;
}

int wf_pattern_check(weft_text pattern)
{
    struct words w;
    return split_pattern(pattern, &w) ? WEFT_OK : WEFT_EINVAL;
}

bool wf_pattern_matches(weft_text pattern, weft_text topic)
{
    struct words p, t;
    if (!split(pattern, &p) || !split(topic, &t)) return false;
    for (uint32_t i = 0; i < p.count; i++) {
        if (i == t.count) return false;
        if (is(p.at[i], '>')) return true;
        if (!is(p.at[i], '*') && !same(p.at[i], t.at[i])) return false;
    }
    return p.count == t.count;
}

/* ---- Trie ------------------------------------------------------------------------------------------------------ */

void wf_trie_init(struct wf_trie *t, uint64_t secret)
{
    *t = (struct wf_trie){.secret = secret};
}

static struct wf_trie_node *node_of(struct wf_hashed *e)
{
    return WF_CONTAINER(e, struct wf_trie_node, in_table);
}

static void drop_subscribers(struct wf_trie_node *n)
{
    WF_LIST_EACH(k, &n->subscribers) {
        struct wf_subscriber *s = WF_CONTAINER(k, struct wf_subscriber, on_node);
        wf_unlink(k);
        s->node = NULL;
    }
}

void wf_trie_finish(struct wf_trie *t)
{
    WF_ASSERT(!t->matching);
    for (uint32_t i = 0; i < t->nodes.bucket_count; i++) {
        WF_HASHED_IN(e, &t->nodes, i)
        {
            wf_hash_table_remove(&t->nodes, e);
            drop_subscribers(node_of(e));
            free(node_of(e));
        }
    }
    wf_hash_table_finish(&t->nodes);
    free(t->root);
    wf_trie_init(t, t->secret);
}

static uint32_t hash_of(const struct wf_trie *t, const struct wf_trie_node *parent, weft_text word)
{
    return wf_hash(word.data, word.size, t->secret + parent->serial);
}

static struct wf_trie_node *child(const struct wf_trie *t, const struct wf_trie_node *parent, weft_text word)
{
    if (is(word, '*')) return parent->star;
    if (is(word, '>')) return parent->rest;
    if (parent->children == 0) return NULL;
    WF_HASHED_WITH(e, &t->nodes, hash_of(t, parent, word))
    {
        struct wf_trie_node *n = node_of(e);
        if (n->parent == parent && same(weft_str(n->word, n->size), word)) return n;
    }
    return NULL;
}

static struct wf_trie_node *node_new(struct wf_trie *t, struct wf_trie_node *parent, weft_text word)
{
    WF_ASSERT(word.size <= UINT8_MAX);
    struct wf_trie_node *n = calloc(1, sizeof *n + word.size);
    if (n == NULL) return NULL;
    wf_list_init(&n->subscribers);
    n->parent = parent;
    n->serial = t->serial++;
    n->size = (uint8_t)word.size;
    if (word.size > 0) memcpy(n->word, word.data, word.size);
    return n;
}

static struct wf_trie_node *add_child(struct wf_trie *t, struct wf_trie_node *parent, weft_text word)
{
    struct wf_trie_node *n = node_new(t, parent, word);
    if (n == NULL || !wf_hash_table_add(&t->nodes, &n->in_table, hash_of(t, parent, word))) {
        free(n);
        return NULL;
    }
    if (is(word, '*')) parent->star = n;
    if (is(word, '>')) parent->rest = n;
    parent->children++;
    return n;
}

/* Frees `n` and its ancestors, up to the first one that has a child or a subscriber. */
static void prune(struct wf_trie *t, struct wf_trie_node *n)
{
    while (n->parent != NULL && n->children == 0 && wf_list_empty(&n->subscribers)) {
        struct wf_trie_node *parent = n->parent;
        wf_hash_table_remove(&t->nodes, &n->in_table);
        if (parent->star == n) parent->star = NULL;
        if (parent->rest == n) parent->rest = NULL;
        WF_ASSERT(parent->children > 0);
        parent->children--;
        free(n);
        n = parent;
    }
}

int wf_trie_add(struct wf_trie *t, weft_text pattern, struct wf_subscriber *s)
{
    WF_ASSERT(!t->matching);
    WF_ASSERT(s->node == NULL);
    struct words w;
    if (!split_pattern(pattern, &w)) return WEFT_EINVAL;
    if (t->root == NULL) t->root = node_new(t, NULL, weft_str("", 0));
    if (t->root == NULL) return WEFT_ENOMEM;
    struct wf_trie_node *n = t->root;
    for (uint32_t i = 0; i < w.count; i++) {
        struct wf_trie_node *next = child(t, n, w.at[i]);
        if (next == NULL) next = add_child(t, n, w.at[i]);
        if (next == NULL) {
            prune(t, n);
            return WEFT_ENOMEM;
        }
        n = next;
    }
    bool first = wf_list_empty(&n->subscribers);
    wf_list_push(&n->subscribers, &s->on_node);
    s->node = n;
    t->subscribers++;
    t->changes++;
    return first;
}

bool wf_trie_remove(struct wf_trie *t, struct wf_subscriber *s)
{
    WF_ASSERT(!t->matching);
    struct wf_trie_node *n = s->node;
    if (n == NULL) return false;
    WF_ASSERT(t->subscribers > 0);
    wf_unlink(&s->on_node);
    s->node = NULL;
    t->subscribers--;
    t->changes++;
    bool last = wf_list_empty(&n->subscribers);
    prune(t, n);
    return last;
}

/* A walk over the nodes at which a pattern that matches the topic ends. */
struct walk {
    const struct wf_trie *trie;
    struct words topic;
    uint32_t open; /* branches still to be walked */
    struct {
        struct wf_trie_node *node;
        uint32_t depth;           /* words of the topic that are matched already */
    } branch[WF_TOPIC_WORDS + 1]; /* each level leaves at most its '*' for later */
    struct wf_trie_node *after;   /* the node to be returned next; NULL: continue the walk */
};

static void walk_push(struct walk *w, struct wf_trie_node *n, uint32_t depth)
{
    if (n == NULL) return;
    WF_ASSERT(w->open < WF_COUNT(w->branch));
    w->branch[w->open].node = n;
    w->branch[w->open++].depth = depth;
}

static bool walk_start(struct walk *w, const struct wf_trie *t, weft_text topic)
{
    w->trie = t;
    w->open = 0;
    w->after = NULL;
    if (t->subscribers == 0 || !split(topic, &w->topic)) return false;
    walk_push(w, t->root, 0);
    return true;
}

/* The next node with subscribers that match; NULL at the end. */
static struct wf_trie_node *walk_next(struct walk *w)
{
    struct wf_trie_node *found = w->after;
    w->after = NULL;
    while (found == NULL && w->open > 0) {
        struct wf_trie_node *n = w->branch[--w->open].node;
        uint32_t depth = w->branch[w->open].depth;
        if (depth == w->topic.count) {
            if (!wf_list_empty(&n->subscribers)) found = n;
            continue;
        }
        walk_push(w, n->star, depth + 1);
        walk_push(w, child(w->trie, n, w->topic.at[depth]), depth + 1);
        found = n->rest;
    }
    return found;
}

size_t wf_trie_match(struct wf_trie *t, weft_text topic, void (*hit)(struct wf_subscriber *s, void *arg), void *arg)
{
    struct walk w;
    size_t hits = 0;
    if (!walk_start(&w, t, topic)) return 0;
    t->matching = true;
    for (struct wf_trie_node *n; (n = walk_next(&w)) != NULL;) {
        WF_LIST_EACH(k, &n->subscribers) {
            hit(WF_CONTAINER(k, struct wf_subscriber, on_node), arg);
            hits++;
        }
    }
    t->matching = false;
    return hits;
}

bool wf_trie_matches(const struct wf_trie *t, weft_text topic)
{
    struct walk w;
    return walk_start(&w, t, topic) && walk_next(&w) != NULL;
}

struct wf_subscriber *wf_trie_find(const struct wf_trie *t, weft_text pattern)
{
    struct words w;
    if (t->root == NULL || !split_pattern(pattern, &w)) return NULL;
    const struct wf_trie_node *n = t->root;
    for (uint32_t i = 0; i < w.count && n != NULL; i++) n = child(t, n, w.at[i]);
    if (n == NULL || wf_list_empty(&n->subscribers)) return NULL;
    return WF_CONTAINER(wf_list_first(&n->subscribers), struct wf_subscriber, on_node);
}

struct wf_subscriber *wf_trie_next(const struct wf_subscriber *s)
{
    struct wf_list_node *k = s->on_node.next;
    return k == &s->node->subscribers.head ? NULL : WF_CONTAINER(k, struct wf_subscriber, on_node);
}

weft_text wf_trie_pattern(const struct wf_subscriber *s, char out[WF_TOPIC_MAX + 1])
{
    char *at = out + WF_TOPIC_MAX;
    *at = 0;
    for (const struct wf_trie_node *n = s->node; n->parent != NULL; n = n->parent) {
        if (*at != 0) *--at = '.';
        at -= n->size;
        memcpy(at, n->word, n->size);
    }
    size_t size = (size_t)(out + WF_TOPIC_MAX - at);
    memmove(out, at, size + 1);
    return weft_str(out, size);
}

/* ---- Interest -------------------------------------------------------------------------------------------------- */

struct wf_interest_entry {
    struct wf_subscriber subscriber; /* wf_interest.trie */
    struct wf_list_node on_list;     /* wf_interest.patterns */
    struct wf_list_node on_lost;     /* wf_interest.lost, if `lost` is not 0 */
    uint32_t count;
    uint32_t size;
    uint64_t lost;  /* messages counted by wf_interest_lose */
    char pattern[]; /* ends with a NUL */
};

void wf_interest_init(struct wf_interest *i, uint64_t secret)
{
    wf_trie_init(&i->trie, secret);
    wf_list_init(&i->patterns);
    wf_list_init(&i->lost);
    i->count = 0;
    i->answered_for = 0;
    i->answers = NULL;
}

static void entry_free(struct wf_interest *i, struct wf_interest_entry *e)
{
    wf_trie_remove(&i->trie, &e->subscriber);
    wf_unlink(&e->on_list);
    wf_unlink(&e->on_lost);
    free(e);
    i->count--;
}

bool wf_interest_clear(struct wf_interest *i, uint32_t most)
{
    struct wf_list_node *k;
    for (; most > 0 && (k = wf_list_first(&i->patterns)) != NULL; most--)
        entry_free(i, WF_CONTAINER(k, struct wf_interest_entry, on_list));
    return wf_list_empty(&i->patterns);
}

void wf_interest_finish(struct wf_interest *i)
{
    (void)wf_interest_clear(i, UINT32_MAX);
    WF_ASSERT(i->count == 0);
    wf_trie_finish(&i->trie);
    free(i->answers);
    i->answers = NULL;
}

static struct wf_interest_entry *entry_of(const struct wf_interest *i, weft_text pattern)
{
    struct wf_subscriber *s = wf_trie_find(&i->trie, pattern);
    return s == NULL ? NULL : WF_CONTAINER(s, struct wf_interest_entry, subscriber);
}

int wf_interest_add(struct wf_interest *i, weft_text pattern)
{
    struct wf_interest_entry *e = entry_of(i, pattern);
    if (e != NULL) {
        WF_ASSERT(e->count < UINT32_MAX);
        e->count++;
        return 0;
    }
    if (wf_pattern_check(pattern) < 0) return WEFT_EINVAL; /* before its size is used */
    e = calloc(1, sizeof *e + pattern.size + 1);
    if (e == NULL) return WEFT_ENOMEM;
    int rc = wf_trie_add(&i->trie, pattern, &e->subscriber);
    if (rc < 0) {
        free(e);
        return rc;
    }
    e->count = 1;
    e->size = (uint32_t)pattern.size;
    memcpy(e->pattern, pattern.data, pattern.size);
    wf_list_push(&i->patterns, &e->on_list);
    i->count++;
    return 1;
}

bool wf_interest_remove(struct wf_interest *i, weft_text pattern)
{
    struct wf_interest_entry *e = entry_of(i, pattern);
    if (e == NULL || --e->count > 0) return false;
    entry_free(i, e);
    return true;
}

bool wf_interest_matches(const struct wf_interest *i, weft_text topic)
{
    return wf_trie_matches(&i->trie, topic);
}

bool wf_interest_find_answer(struct wf_interest *i, weft_text topic, uint64_t number)
{
    bool matches = wf_trie_matches(&i->trie, topic);
    if (i->answers == NULL) i->answers = calloc(WF_INTEREST_ANSWERS, sizeof *i->answers);
    else if (i->answered_for != i->trie.changes) memset(i->answers, 0, WF_INTEREST_ANSWERS * sizeof *i->answers);
    i->answered_for = i->trie.changes;
    if (i->answers != NULL) i->answers[number % WF_INTEREST_ANSWERS] = number << 1 | matches;
    return matches;
}

static void lose_one(struct wf_subscriber *s, void *arg)
{
    struct wf_interest *i = arg;
    struct wf_interest_entry *e = WF_CONTAINER(s, struct wf_interest_entry, subscriber);
    if (e->lost++ == 0) wf_list_push(&i->lost, &e->on_lost);
}

void wf_interest_lose(struct wf_interest *i, weft_text topic)
{
    (void)wf_trie_match(&i->trie, topic, lose_one, i);
}

bool wf_interest_take_lost(struct wf_interest *i, bool (*see)(weft_text pattern, uint64_t lost, void *arg), void *arg)
{
    WF_LIST_EACH(k, &i->lost) {
        struct wf_interest_entry *e = WF_CONTAINER(k, struct wf_interest_entry, on_lost);
        if (!see(weft_str(e->pattern, e->size), e->lost, arg)) return false;
        e->lost = 0;
        wf_unlink(k);
    }
    return true;
}
