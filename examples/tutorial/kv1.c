/* kv1.c -- step 1 of docs/tutorial.md: a store is an actor that answers requests.
 *
 *     $ weft run kv1.c
 *     color is blue
 *     shape is (nothing)
 */
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

static void store(const void *arg, size_t size)
{
    struct table t = {.count = 0};
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("kv") < 0) return;
    while (weft_recv(&m, WEFT_FOREVER) == 0) { /* until it is asked to stop */
        struct put p;
        struct get g;
        if (put_read(m, &p) == 0) done_reply(m, &(struct done){.ok = table_put(&t, p.key, p.value)});
        else if (get_read(m, &g) == 0) value_reply(m, &(struct value){.value = table_get(&t, g.key)});
        weft_msg_free(m); /* a request that was not answered fails its caller: WEFT_ENOREPLY */
    }
}

static void show(const char *key)
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

static void save(const char *key, const char *value)
{
    weft_msg *m;
    struct put p = {.key = weft_cstr(key), .value = weft_cstr(value)};
    int rc = put_call_name("kv", &p, &m, weft_after(WEFT_SEC(1)));
    if (rc < 0) printf("%s not saved: %s\n", key, weft_strerror(rc));
    else weft_msg_free(m);
}

static void first(const void *arg, size_t size)
{
    weft_pid kv;
    (void)arg, (void)size;
    if (weft_spawn(&kv, store, NULL, 0, NULL) < 0 || weft_await_name("kv", &kv, WEFT_FOREVER) < 0) return;
    save("color", "blue");
    show("color");
    show("shape");
    weft_stop(kv);
}

WEFT_MODULE(first)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
