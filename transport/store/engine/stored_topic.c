/* transport/store/engine/stored_topic.c -- topics and patterns, by the rules of weft/topic.h. */
#include <string.h>

#include "engine.h"
#include "hash.h"
#include "stored_topic.h"

enum { WORDS_MAX = 16, CURSOR_NAME_MAX = 64 };

static bool is_word(const char *at, size_t size)
{
    if (size == 0) return false;
    for (size_t i = 0; i < size; i++)
        if (!wf_is_word_char(at[i])) return false;
    return true;
}

static bool check_words(const char *text, bool wild)
{
    if (text == NULL || memchr(text, '\0', WF_STORE_TOPIC_MAX + 1) == NULL) return false;
    for (int words = 1; words <= WORDS_MAX; words++) {
        size_t size = strcspn(text, ".");
        bool last = text[size] == '\0';
        bool is_wild = wild && size == 1 && (text[0] == '*' || (text[0] == '>' && last));
        if (!is_wild && !is_word(text, size)) return false;
        if (last) return true;
        text += size + 1;
    }
    return false;
}

bool wf_store_topic_ok(const char *topic)
{
    return check_words(topic, false);
}

bool wf_store_pattern_ok(const char *pattern)
{
    return check_words(pattern, true);
}

bool wf_store_cursor_ok(const char *name)
{
    size_t size = name == NULL ? 0 : strnlen(name, CURSOR_NAME_MAX + 1);
    for (size_t i = 0; i < size; i++)
        if (name[i] != '.' && (name[i] == '$' || !wf_is_word_char(name[i]))) return false;
    return size > 0 && size <= CURSOR_NAME_MAX;
}

bool wf_store_topic_matches(const char *pattern, const char *topic)
{
    for (;;) {
        size_t p = strcspn(pattern, "."), t = strcspn(topic, ".");
        if (p == 1 && pattern[0] == '>') return t > 0;
        bool any = p == 1 && pattern[0] == '*';
        if (!any && (p != t || memcmp(pattern, topic, p) != 0)) return false;
        if (pattern[p] == '\0' || topic[t] == '\0') return pattern[p] == topic[t];
        pattern += p + 1;
        topic += t + 1;
    }
}

bool wf_store_key_ok(const char *key)
{
    return key != NULL && key[0] != '\0' && memchr(key, '\0', WF_STORE_KEY_MAX + 1) != NULL;
}
