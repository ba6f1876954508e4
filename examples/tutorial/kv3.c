/* kv3.c -- step 3 of docs/tutorial.md: a supervisor starts the store again. But its table was lost.
 *
 *     $ weft run kv3.c
 *     color is blue
 *      not saved: the request was freed without a reply
 *     color is (nothing)
 */
#include "kv.h"

static void store(const void *arg, size_t size)
{
    struct table t = {.count = 0};
    weft_msg *m;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) { /* until it is asked to stop */
        struct put p;
        struct get g;
        if (put_read(m, &p) == 0) {
            weft_require(p.key.size > 0); /* "nobody would do that" */
            done_reply(m, &(struct done){.ok = table_put(&t, p.key, p.value)});
        } else if (get_read(m, &g) == 0) {
            value_reply(m, &(struct value){.value = table_get(&t, g.key)});
        }
        weft_msg_free(m); /* a request that was not answered fails its caller: WEFT_ENOREPLY */
    }
}

static void service(const void *arg, size_t size)
{
    const weft_child_spec children[] = {{.name = "kv", .body = store}}; /* registered by its supervisor */
    (void)arg, (void)size;
    weft_supervise(&(weft_supervisor_spec){.children = children, .child_count = 1}); /* does not return */
}

static void first(const void *arg, size_t size)
{
    weft_pid top, kv;
    (void)arg, (void)size;
    if (weft_spawn(&top, service, NULL, 0, NULL) < 0) return;
    if (weft_await_name("kv", &kv, WEFT_FOREVER) < 0) return;
    save("color", "blue");
    show("color");
    save("", "nothing");
    if (weft_await_name("kv", &kv, WEFT_FOREVER) < 0) return; /* that of the new store */
    show("color");
    weft_stop(top);
}

WEFT_MODULE(first)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
