/* A script for a trie and an interest set, one command a line: "+PATTERN", "-PATTERN", "?TOPIC". Every answer is
 * compared with a plain list of what was added. */
#include "fuzz.h"
#include "topic_trie.h"

enum { SUBS = 64 };

struct model {
    struct wf_trie trie;
    struct wf_interest interest;
    struct wf_subscriber subs[SUBS];
    weft_text pattern[SUBS]; /* size 0: free */
    size_t used;
    weft_text topics[SUBS]; /* those that were asked about, for number_of */
    size_t topic_count;
};

static bool same(weft_text a, weft_text b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static void add(struct model *m, weft_text pattern)
{
    size_t at = 0;
    bool first = true;
    for (size_t i = 0; i < SUBS; i++) first = first && (m->pattern[i].size == 0 || !same(m->pattern[i], pattern));
    while (at < SUBS && m->pattern[at].size > 0) at++;
    if (at == SUBS) return;
    int rc = wf_trie_add(&m->trie, pattern, &m->subs[at]);
    MUST(wf_interest_add(&m->interest, pattern) == rc);
    if (wf_pattern_check(pattern) < 0) {
        MUST(rc == WEFT_EINVAL);
        return;
    }
    MUST(rc == first);
    m->pattern[at] = pattern;
    m->used++;
}

static void drop(struct model *m, weft_text pattern)
{
    size_t at = SUBS, count = 0;
    for (size_t i = 0; i < SUBS && pattern.size > 0; i++) {
        if (!same(m->pattern[i], pattern)) continue;
        at = i;
        count++;
    }
    MUST(wf_interest_remove(&m->interest, pattern) == (count == 1));
    MUST((wf_trie_find(&m->trie, pattern) != NULL) == (count > 0));
    if (at == SUBS) return;
    MUST(wf_trie_remove(&m->trie, &m->subs[at]) == (count == 1));
    m->pattern[at].size = 0;
    m->used--;
}

struct hits {
    const struct model *model;
    weft_text topic;
    uint64_t seen; /* one bit for each of model->subs */
};

static void hit(struct wf_subscriber *s, void *arg)
{
    struct hits *h = arg;
    size_t at = (size_t)(s - h->model->subs);
    MUST(at < SUBS && (h->seen >> at & 1) == 0);
    MUST(wf_pattern_matches(h->model->pattern[at], h->topic));
    h->seen |= UINT64_C(1) << at;
}

/* Equal topics have equal numbers. 0: there are too many. The numbers share eight places for answers. */
static uint64_t number_of(struct model *m, weft_text topic)
{
    size_t at = 0;
    while (at < m->topic_count && !same(m->topics[at], topic)) at++;
    if (at == SUBS) return 0;
    if (at == m->topic_count) m->topics[m->topic_count++] = topic;
    return (at / 8 + 1) * WF_INTEREST_ANSWERS + at % 8;
}

static void ask(struct model *m, weft_text topic)
{
    if (wf_topic_check(topic) < 0) return;
    MUST(wf_pattern_check(topic) == 0 && wf_pattern_matches(topic, topic));
    size_t expected = 0;
    for (size_t i = 0; i < SUBS; i++) expected += m->pattern[i].size > 0 && wf_pattern_matches(m->pattern[i], topic);
    struct hits h = {m, topic, 0};
    MUST(wf_trie_match(&m->trie, topic, hit, &h) == expected);
    MUST(wf_trie_matches(&m->trie, topic) == (expected > 0));
    MUST(wf_interest_matches(&m->interest, topic) == (expected > 0));
    for (int i = 0; i < 2; i++)
        MUST(wf_interest_matches_topic(&m->interest, topic, number_of(m, topic)) == (expected > 0));
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    static struct model m;
    memset(&m, 0, sizeof m);
    wf_trie_init(&m.trie, 7);
    wf_interest_init(&m.interest, 7);
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        weft_text text = weft_str(at + 1, stop > at ? (size_t)(stop - at - 1) : 0);
        if (stop > at && *at == '+') add(&m, text);
        if (stop > at && *at == '-') drop(&m, text);
        if (stop > at && *at == '?') ask(&m, text);
        at = stop + 1;
    }
    MUST(m.trie.subscribers == m.used);
    for (size_t i = 0; i < SUBS; i++) {
        while (m.pattern[i].size > 0) drop(&m, m.pattern[i]); /* the last of its kind goes first */
    }
    MUST(m.trie.nodes.count == 0 && m.interest.count == 0 && m.interest.trie.nodes.count == 0);
    wf_trie_finish(&m.trie);
    wf_interest_finish(&m.interest);
    return 0;
}
