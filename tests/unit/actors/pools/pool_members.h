/* tests/unit/actors/pools/pool_members.h -- members that execute commands in messages, and functions to inspect their
 * pool. */
#ifndef WF_POOL_MEMBERS_H
#define WF_POOL_MEMBERS_H

#include "../node_harness.h"
#include "../random.h"

#include <weft/monitor.h>
#include <weft/pool.h>

enum { WHO = 1, HOLD, LET_GO, FAIL, LEAVE, GO, DONE };

/* ---- Members --------------------------------------------------------------------------------------------------- */

__attribute__((unused)) static void member(const void *arg, size_t size)
{
    weft_msg *m, *held[64];
    int count = 0;
    (void)arg, (void)size;
    while (weft_recv(&m, WEFT_FOREVER) == 0) {
        switch (weft_tag(m)) {
        case WHO: {
            weft_pid self = weft_self();
            want_int(weft_reply(m, WHO, &self, sizeof self), 0);
            break;
        }
        case HOLD: held[count++] = m; continue;
        case LET_GO:
            while (count > 0) weft_msg_free(held[--count]);
            break;
        case FAIL: weft_exit(77);
        case LEAVE: return;
        default: want_int(say(weft_from(m), DONE, value_of(m)), 0); break;
        }
        weft_msg_free(m);
    }
}

__attribute__((unused)) static weft_pid pool_with(weft_pool_options o)
{
    weft_pid pool;
    want_int(weft_spawn_pool(&pool, member, NULL, 0, &o), 0);
    return pool;
}

__attribute__((unused)) static weft_pid who(weft_pid pool, int64_t value)
{
    weft_msg *m;
    weft_pid pid;
    want_int(weft_call(pool, WHO, &value, sizeof value, &m, WEFT_FOREVER), 0);
    memcpy(&pid, weft_data(m), sizeof pid);
    want(weft_pid_equal(pid, weft_from(m))); /* it came straight from him */
    weft_msg_free(m);
    return pid;
}

__attribute__((unused)) static struct weft_pool_info info_of(weft_pid pool)
{
    struct weft_pool_info info;
    want_int(weft_pool_inspect(pool, &info, NULL, 0, WEFT_FOREVER), 0);
    return info;
}

__attribute__((unused)) static struct weft_pool_member member_of(weft_pid pool, int i)
{
    struct weft_pool_member all[16];
    want(weft_pool_inspect(pool, NULL, all, 16, WEFT_FOREVER) > i);
    return all[i];
}

__attribute__((unused)) static void stop_in_order(weft_pid pool)
{
    want_int(weft_pool_stop(pool, WEFT_FOREVER), 0);
    await_end(pool);
    want_int(weft_pool_stop(pool, WEFT_FOREVER), WEFT_ENOACTOR);
}

__attribute__((unused)) static int index_of(weft_pid pool, weft_pid who)
{
    struct weft_pool_member all[16];
    int count = weft_pool_inspect(pool, NULL, all, 16, WEFT_FOREVER);
    for (int i = 0; i < count; i++) {
        if (weft_pid_equal(all[i].pid, who)) return i;
    }
    return -1;
}

#define POOL(...) pool_with((weft_pool_options){__VA_ARGS__})

__attribute__((unused)) static void asks(const void *arg, size_t size)
{
    struct kid k;
    weft_msg *m;
    (void)size;
    memcpy(&k, arg, sizeof k);
    int rc = weft_call(k.other, (uint32_t)k.n, &k.n, sizeof k.n, &m, WEFT_FOREVER);
    if (rc == 0) weft_msg_free(m);
    want_int(say(k.parent, DONE, rc), 0);
}

__attribute__((unused)) static void hear_down(int reason, const char *text)
{
    struct weft_down d;
    weft_msg *m;
    want_int(weft_recv_tag(&m, WEFT_TAG_DOWN, WEFT_FOREVER), 0);
    want_int(weft_down_read(m, &d), 0);
    want_int(d.reason, reason);
    want(strstr(d.text, text) != NULL);
    weft_msg_free(m);
}

#endif
