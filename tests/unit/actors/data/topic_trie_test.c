/* Tests of actors/data/topic_trie.c: tables of cases, and random changes compared with a naive matcher. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "topic_trie.h"
#include "../../../suite.h"

/* ---- What topics and patterns may be, and which mean which ---- */

#define SIXTEEN "1.2.3.4.5.6.7.8.9.10.11.12.13.14.15.16"

static const struct {
    const char *text;
    bool topic, pattern;
} texts[] = {
    {"a", true, true},
    {"room.lobby", true, true},
    {"A-Z.a_z.$0", true, true},
    {SIXTEEN, true, true},
    {SIXTEEN ".17", false, false},
    {"", false, false},
    {".", false, false},
    {".a", false, false},
    {"a.", false, false},
    {"a..b", false, false},
    {"a b", false, false},
    {"a/b", false, false},
    {"caf\xC3\xA9", false, false},
    {"*", false, true},
    {">", false, true},
    {"a.*", false, true},
    {"*.*.a", false, true},
    {"a.*.>", false, true},
    {"a.>", false, true},
    {"a.>.b", false, false},
    {">.a", false, false},
    {"a*", false, false},
    {"**", false, false},
    {"a.b>", false, false},
    {">>", false, false},
};

START_TEST(texts_are_accepted_as_topics_and_patterns_as_in_the_table)
{
    ck_assert_int_eq(wf_topic_check(weft_cstr(texts[_i].text)), texts[_i].topic ? 0 : WEFT_EINVAL);
    ck_assert_int_eq(wf_pattern_check(weft_cstr(texts[_i].text)), texts[_i].pattern ? 0 : WEFT_EINVAL);
}
END_TEST

START_TEST(topics_and_patterns_have_at_most_255_bytes)
{
    char text[257];
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(wf_topic_check(weft_str(text, 255)), 0);
    ck_assert_int_eq(wf_topic_check(weft_str(text, 256)), WEFT_EINVAL);
    ck_assert_int_eq(wf_pattern_check(weft_str(text, 255)), 0);
    ck_assert_int_eq(wf_pattern_check(weft_str(text, 256)), WEFT_EINVAL);
    ck_assert_int_eq(wf_topic_check(weft_str("a\0b", 3)), WEFT_EINVAL);
}
END_TEST

static const struct {
    const char *pattern, *topic;
    bool match;
} pairs[] = {
    {"a", "a", true},
    {"a", "b", false},
    {"a", "a.b", false},
    {"a.b", "a", false},
    {"a.b", "a.b", true},
    {"a.b", "a.bc", false},
    {"a.bc", "a.b", false},
    {"*", "a", true},
    {"*", "a.b", false},
    {"a.*", "a.b", true},
    {"a.*", "a", false},
    {"a.*", "a.b.c", false},
    {"a.*.c", "a.b.c", true},
    {"a.*.c", "a.b.d", false},
    {"*.b", "a.b", true},
    {">", "a", true},
    {">", "a.b.c", true},
    {"a.>", "a", false},
    {"a.>", "a.b", true},
    {"a.>", "a.b.c", true},
    {"a.>", "b.c", false},
    {"*.>", "a", false},
    {"*.>", "a.b", true},
    {"*.*.>", "a.b", false},
    {SIXTEEN, SIXTEEN, true},
    {"*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.*", SIXTEEN, true},
    {"*.*.*.*.*.*.*.*.*.*.*.*.*.*.*.>", SIXTEEN, true},
};

START_TEST(patterns_match_topics_as_in_the_table)
{
    weft_text pattern = weft_cstr(pairs[_i].pattern), topic = weft_cstr(pairs[_i].topic);
    ck_assert_int_eq(wf_pattern_matches(pattern, topic), pairs[_i].match);
    struct wf_trie t;
    struct wf_subscriber s = {0};
    wf_trie_init(&t, 7);
    ck_assert_int_eq(wf_trie_add(&t, pattern, &s), 1);
    ck_assert_int_eq(wf_trie_matches(&t, topic), pairs[_i].match);
    wf_trie_finish(&t);
    ck_assert_ptr_null(s.node);
}
END_TEST

/* ---- The trie ---- */

struct sub {
    struct wf_subscriber subscriber;
    int number;
};

struct hits {
    int numbers[2048];
    size_t count;
};

static void note(struct wf_subscriber *s, void *arg)
{
    struct hits *h = arg;
    ck_assert_uint_lt(h->count, WF_COUNT(h->numbers));
    h->numbers[h->count++] = WF_CONTAINER(s, struct sub, subscriber)->number;
}

START_TEST(subscribers_of_a_pattern_in_order)
{
    enum { MANY = 1000 };
    struct sub *subs = calloc(MANY, sizeof *subs);
    static struct hits h;
    struct wf_trie t;
    wf_trie_init(&t, 7);
    h.count = 0;
    for (int i = 0; i < MANY; i++) {
        subs[i].number = i;
        ck_assert_int_eq(wf_trie_add(&t, weft_cstr("room.lobby"), &subs[i].subscriber), i == 0);
    }
    ck_assert_uint_eq(t.nodes.count, 2);
    ck_assert_uint_eq(wf_trie_match(&t, weft_cstr("room.lobby"), note, &h), MANY);
    ck_assert_uint_eq(h.count, MANY);
    for (int i = 0; i < MANY; i++) ck_assert_int_eq(h.numbers[i], i);
    ck_assert_ptr_eq(wf_trie_find(&t, weft_cstr("room.lobby")), &subs[0].subscriber);
    ck_assert_ptr_null(wf_trie_find(&t, weft_cstr("room")));
    ck_assert_ptr_null(wf_trie_find(&t, weft_cstr("room.*")));
    for (int i = 0; i < MANY; i++) ck_assert_int_eq(wf_trie_remove(&t, &subs[i].subscriber), i == MANY - 1);
    ck_assert(!wf_trie_remove(&t, &subs[0].subscriber));
    ck_assert_uint_eq(t.nodes.count, 0);
    ck_assert_uint_eq(wf_trie_match(&t, weft_cstr("room.lobby"), note, &h), 0);
    wf_trie_finish(&t);
    free(subs);
}
END_TEST

START_TEST(malformed_patterns_change_nothing)
{
    struct wf_trie t;
    struct wf_subscriber s = {0};
    wf_trie_init(&t, 7);
    ck_assert_int_eq(wf_trie_add(&t, weft_cstr("a..b"), &s), WEFT_EINVAL);
    ck_assert_int_eq(wf_trie_add(&t, weft_cstr("a.>.b"), &s), WEFT_EINVAL);
    ck_assert_ptr_null(s.node);
    ck_assert_uint_eq(t.nodes.count, 0);
    ck_assert_uint_eq(wf_trie_match(&t, weft_cstr("a"), note, NULL), 0);
    wf_trie_finish(&t);
}
END_TEST

START_TEST(branches_go_when_nobody_needs_them)
{
    struct wf_trie t;
    struct wf_subscriber s[4];
    memset(s, 0, sizeof s);
    wf_trie_init(&t, 7);
    ck_assert_int_eq(wf_trie_add(&t, weft_cstr("a.b.c"), &s[0]), 1);
    ck_assert_int_eq(wf_trie_add(&t, weft_cstr("a.b"), &s[1]), 1);
    ck_assert_int_eq(wf_trie_add(&t, weft_cstr("a.*.>"), &s[2]), 1);
    ck_assert_uint_eq(t.nodes.count, 5);
    ck_assert(wf_trie_remove(&t, &s[1])); /* a.b still leads to c */
    ck_assert_uint_eq(t.nodes.count, 5);
    ck_assert(wf_trie_remove(&t, &s[0]));
    ck_assert_uint_eq(t.nodes.count, 3);
    ck_assert(wf_trie_matches(&t, weft_cstr("a.b.c")));
    ck_assert(wf_trie_remove(&t, &s[2]));
    ck_assert_uint_eq(t.nodes.count, 0);
    ck_assert_int_eq(wf_trie_add(&t, weft_cstr("a.*.>"), &s[3]), 1);
    ck_assert(wf_trie_matches(&t, weft_cstr("a.b.c")));
    wf_trie_finish(&t);
}
END_TEST

/* Every pattern of 10 words, each "x" or '*': 1024 paths that all mean one topic. */
START_TEST(each_of_a_thousand_patterns_of_one_topic_matches_once)
{
    enum { WORDS = 10, MANY = 1 << WORDS };
    struct sub *subs = calloc(MANY, sizeof *subs);
    static struct hits h;
    static bool met[MANY];
    struct wf_trie t;
    wf_trie_init(&t, 7);
    for (int i = 0; i < MANY; i++) {
        char pattern[2 * WORDS + 1] = "";
        for (int word = 0; word < WORDS; word++) {
            pattern[2 * word] = i >> word & 1 ? '*' : 'x';
            pattern[2 * word + 1] = '.';
        }
        subs[i].number = i;
        ck_assert_int_eq(wf_trie_add(&t, weft_str(pattern, 2 * WORDS - 1), &subs[i].subscriber), 1);
    }
    h.count = 0;
    ck_assert_uint_eq(wf_trie_match(&t, weft_cstr("x.x.x.x.x.x.x.x.x.x"), note, &h), MANY);
    for (size_t i = 0; i < h.count; i++) {
        ck_assert(!met[h.numbers[i]]);
        met[h.numbers[i]] = true;
    }
    h.count = 0;
    ck_assert_uint_eq(wf_trie_match(&t, weft_cstr("y.x.x.x.x.x.x.x.x.x"), note, &h), MANY / 2);
    wf_trie_finish(&t);
    free(subs);
}
END_TEST

/* The naive way, on the text and by recursion. */
static bool means(const char *pattern, const char *topic)
{
    size_t p = strcspn(pattern, "."), t = strcspn(topic, ".");
    if (strcmp(pattern, ">") == 0) return true;
    bool word = (p == 1 && *pattern == '*') || (p == t && strncmp(pattern, topic, p) == 0);
    if (!word) return false;
    if (pattern[p] == '\0' || topic[t] == '\0') return pattern[p] == topic[t];
    return means(pattern + p + 1, topic + t + 1);
}

static void random_text(uint64_t *seed, char *out, bool pattern)
{
    static const char *const words[] = {"a", "b", "c", "aa", "ab", "*", "*"};
    uint32_t count = 1 + random_below(seed, 5);
    *out = '\0';
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) strcat(out, ".");
        bool rest = pattern && i + 1 == count && random_below(seed, 5) == 0;
        strcat(out, rest ? ">" : words[random_below(seed, pattern ? 7 : 5)]);
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

START_TEST(random_changes_against_a_list)
{
    enum { SUBS = 300 };
    static struct sub subs[SUBS];
    static char patterns[SUBS][32];
    static struct hits h, expected;
    struct wf_trie t;
    uint64_t seed = 11;
    wf_trie_init(&t, 7);
    for (int step = 0; step < repeats(2000); step++) {
        uint32_t i = random_below(&seed, SUBS);
        if (subs[i].subscriber.node == NULL) {
            subs[i].number = (int)i;
            random_text(&seed, patterns[i], true);
            ck_assert_int_eq(wf_trie_find(&t, weft_cstr(patterns[i])) == NULL,
                             wf_trie_add(&t, weft_cstr(patterns[i]), &subs[i].subscriber));
        } else {
            bool last = wf_trie_remove(&t, &subs[i].subscriber);
            ck_assert_int_eq(wf_trie_find(&t, weft_cstr(patterns[i])) == NULL, last);
        }
        char topic[32];
        random_text(&seed, topic, false);
        h.count = expected.count = 0;
        for (int k = 0; k < SUBS; k++) {
            if (subs[k].subscriber.node == NULL) continue;
            bool match = means(patterns[k], topic);
            ck_assert_int_eq(wf_pattern_matches(weft_cstr(patterns[k]), weft_cstr(topic)), match);
            if (match) expected.numbers[expected.count++] = k;
        }
        ck_assert_uint_eq(wf_trie_match(&t, weft_cstr(topic), note, &h), expected.count);
        ck_assert_int_eq(wf_trie_matches(&t, weft_cstr(topic)), expected.count > 0);
        qsort(h.numbers, h.count, sizeof *h.numbers, by_number);
        for (size_t k = 0; k < h.count; k++) ck_assert_int_eq(h.numbers[k], expected.numbers[k]);
    }
    for (int k = 0; k < SUBS; k++) wf_trie_remove(&t, &subs[k].subscriber);
    ck_assert_uint_eq(t.nodes.count, 0);
    ck_assert_uint_eq(t.subscribers, 0);
    wf_trie_finish(&t);
}
END_TEST

/* ---- Interest ---- */

START_TEST(interest_counts)
{
    struct wf_interest i;
    wf_interest_init(&i, 7);
    ck_assert(!wf_interest_matches(&i, weft_cstr("room.a")));
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("room.*")), 1);
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("room.*")), 0);
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("log.>")), 1);
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("log")), 1);
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("log..")), WEFT_EINVAL);
    ck_assert_int_eq(wf_interest_add(&i, weft_str("x", SIZE_MAX / 2)), WEFT_EINVAL);
    ck_assert_uint_eq(i.count, 3);
    ck_assert(!wf_interest_remove(&i, weft_cstr("room.*")));
    ck_assert(wf_interest_matches(&i, weft_cstr("room.a")));
    ck_assert(wf_interest_remove(&i, weft_cstr("room.*")));
    ck_assert(!wf_interest_remove(&i, weft_cstr("room.*")));
    ck_assert(!wf_interest_remove(&i, weft_cstr("never.was")));
    ck_assert(!wf_interest_remove(&i, weft_cstr("")));
    ck_assert(!wf_interest_matches(&i, weft_cstr("room.a")));
    ck_assert(wf_interest_matches(&i, weft_cstr("log.a.b")));
    wf_interest_finish(&i);
}
END_TEST

START_TEST(interest_goes_in_parts)
{
    struct wf_interest i;
    char pattern[32];
    wf_interest_init(&i, 7);
    for (int k = 0; k < 1000; k++) {
        snprintf(pattern, sizeof pattern, "room.%d", k);
        ck_assert_int_eq(wf_interest_add(&i, weft_cstr(pattern)), 1);
    }
    ck_assert(!wf_interest_clear(&i, 600));
    ck_assert_uint_eq(i.count, 400);
    ck_assert(!wf_interest_matches(&i, weft_cstr("room.599")) && wf_interest_matches(&i, weft_cstr("room.600")));
    ck_assert(wf_interest_clear(&i, 600));
    ck_assert_uint_eq(i.count, 0);
    ck_assert(wf_interest_clear(&i, 600));
    wf_interest_finish(&i);
}
END_TEST

START_TEST(interest_against_a_list)
{
    enum { PATTERNS = 60 };
    static char patterns[PATTERNS][32];
    uint32_t count[PATTERNS] = {0};
    struct wf_interest i;
    uint64_t seed = 5;
    wf_interest_init(&i, 7);
    for (int k = 0; k < PATTERNS; k++) {
        random_text(&seed, patterns[k], true);
        for (int j = 0; j < k; j++) {
            if (strcmp(patterns[k], patterns[j]) == 0) sprintf(patterns[k], "only.%d", k);
        }
    }
    for (int step = 0; step < repeats(5000); step++) {
        uint32_t k = random_below(&seed, PATTERNS);
        if (random_below(&seed, 2) == 0) {
            ck_assert_int_eq(wf_interest_add(&i, weft_cstr(patterns[k])), count[k]++ == 0);
        } else {
            ck_assert_int_eq(wf_interest_remove(&i, weft_cstr(patterns[k])), count[k] == 1);
            if (count[k] > 0) count[k]--;
        }
        char topic[32];
        random_text(&seed, topic, false);
        bool any = false;
        for (int j = 0; j < PATTERNS; j++) any = any || (count[j] > 0 && means(patterns[j], topic));
        ck_assert_int_eq(wf_interest_matches(&i, weft_cstr(topic)), any);
    }
    wf_interest_finish(&i);
}
END_TEST

/* The topics 1 and 65 share a place for their answers, and so on. */
START_TEST(answers_are_remembered_only_until_the_set_changes)
{
    enum { TOPICS = 200, PATTERNS = 20 };
    static const char *const patterns[PATTERNS] = {"room.1", "room.65", "room.*", "room.>", "*.7", "room.129"};
    struct wf_interest i;
    uint64_t seed = 11;
    uint32_t yes = 0;
    wf_interest_init(&i, 7);
    ck_assert(!wf_interest_matches_topic(&i, weft_cstr("room.1"), 1));
    for (int step = 0; step < repeats(5000); step++) {
        const char *pattern = patterns[random_below(&seed, PATTERNS)]; /* most are NULL: no change */
        if (pattern != NULL && random_below(&seed, 2) == 0) (void)wf_interest_add(&i, weft_cstr(pattern));
        else if (pattern != NULL) (void)wf_interest_remove(&i, weft_cstr(pattern));
        uint64_t number = 1 + random_below(&seed, TOPICS);
        char topic[32];
        snprintf(topic, sizeof topic, "room.%d", (int)number);
        bool matches = wf_interest_matches(&i, weft_cstr(topic));
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(wf_interest_matches_topic(&i, weft_cstr(topic), number), matches);
        yes += matches;
    }
    ck_assert_uint_gt(yes, 0);
    wf_interest_finish(&i);
}
END_TEST

START_TEST(topics_without_a_number_are_looked_up_each_time)
{
    struct wf_interest i;
    wf_interest_init(&i, 7);
    ck_assert(!wf_interest_matches_topic(&i, weft_cstr("a"), 0));
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("a")), 1);
    ck_assert(wf_interest_matches_topic(&i, weft_cstr("a"), 0));
    ck_assert(!wf_interest_matches_topic(&i, weft_cstr("b"), 0));
    ck_assert(wf_interest_matches_topic(&i, weft_cstr("a"), 0));
    wf_interest_finish(&i);
}
END_TEST

struct losses {
    uint32_t left; /* that may be seen */
    char text[64];
};

static bool see_lost(weft_text pattern, uint64_t lost, void *arg)
{
    struct losses *l = arg;
    size_t size = strlen(l->text);
    if (l->left == 0) return false;
    l->left--;
    snprintf(l->text + size, sizeof l->text - size, "%.*s=%d ", WEFT_STR(pattern), (int)lost);
    return true;
}

static const char *take_lost(struct wf_interest *i, uint32_t most, bool all)
{
    static struct losses l;
    l = (struct losses){.left = most};
    ck_assert_int_eq(wf_interest_take_lost(i, see_lost, &l), all);
    ck_assert_int_eq(wf_interest_has_lost(i), !all);
    return l.text;
}

/* Only patterns that have missed something are looked at, in the order in which they began to miss. */
START_TEST(losses_are_reported_in_order_and_the_rest_later)
{
    struct wf_interest i;
    char text[16];
    wf_interest_init(&i, 7);
    for (int k = 0; k < 1000; k++) {
        snprintf(text, sizeof text, "a.%d", k);
        ck_assert_int_eq(wf_interest_add(&i, weft_cstr(text)), 1);
    }
    ck_assert_int_eq(wf_interest_add(&i, weft_cstr("b.*")), 1);
    ck_assert_str_eq(take_lost(&i, 9, true), "");
    wf_interest_lose(&i, weft_cstr("nobody"));
    ck_assert(!wf_interest_has_lost(&i));
    for (int k = 0; k < 3; k++) wf_interest_lose(&i, weft_cstr("b.x"));
    wf_interest_lose(&i, weft_cstr("a.700"));
    wf_interest_lose(&i, weft_cstr("a.7"));
    wf_interest_lose(&i, weft_cstr("a.8"));
    ck_assert_str_eq(take_lost(&i, 1, false), "b.*=3 ");
    wf_interest_lose(&i, weft_cstr("b.x"));
    ck_assert(wf_interest_remove(&i, weft_cstr("a.7"))); /* nobody is left to be told */
    ck_assert_str_eq(take_lost(&i, 9, true), "a.700=1 a.8=1 b.*=1 ");
    ck_assert_str_eq(take_lost(&i, 9, true), "");
    wf_interest_lose(&i, weft_cstr("a.8"));
    wf_interest_finish(&i);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("topic_trie");
    TCase *t = tcase_create("patterns");
    tcase_add_loop_test(t, texts_are_accepted_as_topics_and_patterns_as_in_the_table, 0, (int)WF_COUNT(texts));
    tcase_add_test(t, topics_and_patterns_have_at_most_255_bytes);
    tcase_add_loop_test(t, patterns_match_topics_as_in_the_table, 0, (int)WF_COUNT(pairs));
    suite_add_tcase(s, t);
    t = tcase_create("trie");
    tcase_add_test(t, subscribers_of_a_pattern_in_order);
    tcase_add_test(t, malformed_patterns_change_nothing);
    tcase_add_test(t, branches_go_when_nobody_needs_them);
    tcase_add_test(t, each_of_a_thousand_patterns_of_one_topic_matches_once);
    tcase_add_test(t, random_changes_against_a_list);
    suite_add_tcase(s, t);
    t = tcase_create("interest");
    tcase_add_test(t, interest_counts);
    tcase_add_test(t, interest_goes_in_parts);
    tcase_add_test(t, interest_against_a_list);
    tcase_add_test(t, answers_are_remembered_only_until_the_set_changes);
    tcase_add_test(t, topics_without_a_number_are_looked_up_each_time);
    tcase_add_test(t, losses_are_reported_in_order_and_the_rest_later);
    suite_add_tcase(s, t);
    return run_suite(s);
}
