/* runtime/platform/native.c -- the native environment (pf_env_native), put together from the functions of each
 * system. */
#include "native.h"

static int native_cond_wait(struct pf_env *env, pf_cond *c, pf_mutex *m, int64_t deadline)
{
    (void)env;
    return pf_cond_wait(c, m, deadline);
}

static void native_cond_broadcast(struct pf_env *env, pf_cond *c)
{
    (void)env;
    pf_cond_broadcast(c);
}

struct pf_env *pf_env_native(void)
{
    static struct pf_env native = {
        .now = pf_native_now,
        .sleep_min = WEFT_US(50),
        .wall = pf_native_wall,
        .random = pf_native_random,
        .cond_wait = native_cond_wait,
        .cond_broadcast = native_cond_broadcast,
        .poller_create = pf_native_poller_create,
        .poller_destroy = pf_native_poller_destroy,
        .poller_add = pf_native_poller_add,
        .poller_remove = pf_native_poller_remove,
        .poller_arm = pf_native_poller_arm,
        .poller_arms = pf_native_poller_arms,
        .poller_wait = pf_native_poller_wait,
        .poller_wake = pf_native_poller_wake,
        .poller_handle = pf_native_poller_handle,
        .poller_alarm = pf_native_poller_alarm,
        .file_submit = pf_native_file_submit,
        .file_cancel = pf_native_file_cancel,
        .process_watch = pf_native_process_watch,
        .process_unwatch = pf_native_process_unwatch,
    };
    return &native;
}
