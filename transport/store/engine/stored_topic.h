/* transport/store/engine/stored_topic.h -- topics and patterns, by the rules of weft/topic.h. */
#ifndef WF_STORED_TOPIC_H
#define WF_STORED_TOPIC_H

#include <stdbool.h>

#include <weft/api.h>

/* A topic is words of letters, digits, '_', '-' and '$', joined by dots: at most 255 bytes and 16 words. A pattern
 * may also have '*' for a word, and '>' for its last words. */
WEFT_API bool wf_store_topic_ok(const char *topic);
WEFT_API bool wf_store_pattern_ok(const char *pattern);
/* Checks the name of a cursor: 1 to 64 letters, digits, '_', '-' and '.'. */
bool wf_store_cursor_ok(const char *name);
/* Checks what an engine takes as the name of a cursor, or as the key of a job: 1 to WF_STORE_KEY_MAX bytes. NULL is not. */
bool wf_store_key_ok(const char *key);
bool wf_store_topic_matches(const char *pattern, const char *topic);

#endif
