/* kv.h -- the messages of the store, and functions that call it. */
#ifndef KV_H
#define KV_H

#include "table.h"

#include <stdio.h>

#define PUT(F) F(str, key) F(str, value)
#define GET(F) F(str, key)
#define VALUE(F) F(str, value)
#define DONE(F) F(bool, ok)
WEFT_MESSAGE(put, 1, PUT)
WEFT_MESSAGE(get, 2, GET)
WEFT_MESSAGE(value, 3, VALUE)
WEFT_MESSAGE(done, 4, DONE)

static inline void show(const char *key)
{
    weft_msg *m;
    struct value v;
    int rc = get_call_name("kv", &(struct get){.key = weft_cstr(key)}, &m, weft_after(WEFT_SEC(1)));
    if (rc < 0) {
        printf("%s: %s\n", key, weft_strerror(rc));
        return;
    }
    if (value_read(m, &v) == 0)
        printf("%s is %.*s\n", key, WEFT_STR(v.value.size > 0 ? v.value : weft_cstr("(nothing)")));
    weft_msg_free(m);
}

static inline void save(const char *key, const char *value)
{
    weft_msg *m;
    struct put p = {.key = weft_cstr(key), .value = weft_cstr(value)};
    int rc = put_call_name("kv", &p, &m, weft_after(WEFT_SEC(1)));
    if (rc < 0) printf("%s not saved: %s\n", key, weft_strerror(rc));
    else weft_msg_free(m);
}

#endif
