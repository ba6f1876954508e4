/* kv2.c -- step 2 of docs/tutorial.md: the store has a bug; only the store ends, and its monitor gets the reason.
 *
 *     $ weft run kv2.c
 *     color is blue
 *      not saved: the request was freed without a reply
 *     the store has ended: failed (kv2.c:21: p.key.size > 0 does not hold)
 *     color: no such actor or name
 */
#include "kv.h"

static void store(const void *arg, size_t size)
{
    struct table t = {.count = 0};
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_register("kv") < 0) return;
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

static void first(const void *arg, size_t size)
{
    weft_pid kv;
    weft_monitor_ref ref;
    weft_msg *m;
    (void)arg, (void)size;
    if (weft_spawn(&kv, store, NULL, 0, &(weft_spawn_options){.monitor = &ref}) < 0) return;
    if (weft_await_name("kv", &kv, WEFT_FOREVER) < 0) return;
    save("color", "blue");
    show("color");
    save("", "nothing");
    struct weft_down down;
    char words[32];
    if (weft_recv_tag(&m, WEFT_TAG_DOWN, weft_after(WEFT_SEC(1))) == 0 && weft_down_read(m, &down) == 0)
        printf("the store has ended: %s (%s)\n", weft_reason_text(down.reason, words), down.text);
    show("color");
}

WEFT_MODULE(first)

int main(void)
{
    return weft_main(NULL, first, NULL, 0);
}
