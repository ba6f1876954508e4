/* table.h -- a small table of keys and values; plain C, nothing to do with actors. */
#ifndef TABLE_H
#define TABLE_H

#include <string.h>
#include <weft.h>

enum { TABLE_ENTRIES = 100, TABLE_KEY = 31, TABLE_VALUE = 63 };

struct table {
    struct {
        char key[TABLE_KEY + 1], value[TABLE_VALUE + 1];
    } at[TABLE_ENTRIES];
    int count;
};

static inline int table_find(const struct table *t, weft_text key)
{
    int i = 0;
    while (i < t->count && !weft_text_equal(key, t->at[i].key)) i++;
    return i;
}

/* Returns an empty text if there is no such key. */
static inline weft_text table_get(const struct table *t, weft_text key)
{
    int i = table_find(t, key);
    return weft_cstr(i < t->count ? t->at[i].value : "");
}

/* Returns false if a text is too long, or no place is left. */
static inline bool table_put(struct table *t, weft_text key, weft_text value)
{
    int i = table_find(t, key);
    char copy[TABLE_VALUE + 1];
    if (i == TABLE_ENTRIES || !weft_text_copy(value, copy, sizeof copy)) return false;
    if (!weft_text_copy(key, t->at[i].key, sizeof t->at[i].key)) return false;
    memcpy(t->at[i].value, copy, sizeof copy);
    if (i == t->count) t->count++;
    return true;
}

#endif
