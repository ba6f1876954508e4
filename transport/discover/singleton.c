/* transport/discover/singleton.c -- weft_singleton: a keeper that runs an actor while it holds an exclusive name. */
#include "etcd.h"
#include "text.h"

#include <weft/cluster.h>
#include <weft/exclusive.h>
#include <weft/local.h>
#include <weft/monitor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE WEFT_SEC(1) /* gives another node the time to take the name */

struct keeper {
    char name[WF_NAME_MAX + 1];
    weft_actor *body;
    weft_spawn_options options;
    size_t size;
    _Alignas(max_align_t) uint8_t arg[]; /* of the body */
};

/* Waits for the end of the body; returns its reason. `*stop`: the keeper was asked to stop. `*moves`: the node
 * drains, so the body is to run on another node. */
static int see_to_its_end(weft_pid body, weft_monitor_ref ref, bool *stop, bool *moves)
{
    weft_msg *m;
    while (weft_recv(&m, WEFT_FOREVER) == WEFT_OK) {
        struct weft_down down = {.reason = WEFT_EXIT_NORMAL};
        bool ended = weft_tag(m) == WEFT_TAG_DOWN && weft_down_read(m, &down) == WEFT_OK && down.ref.id == ref.id;
        *stop = *stop || weft_tag(m) == WEFT_TAG_STOP;
        *moves = *moves || weft_tag(m) == WEFT_TAG_DRAIN;
        if (weft_tag(m) == WEFT_TAG_STOP || weft_tag(m) == WEFT_TAG_DRAIN) (void)weft_stop(body);
        if (weft_tag(m) == WEFT_TAG_EXCLUSIVE_LOST) (void)weft_kill(body);
        weft_msg_free(m);
        if (ended) return down.reason;
    }
    return WEFT_EXIT_STOPPED;
}

/* False: the keeper was asked to stop. */
static bool wait_while_draining(void)
{
    while (weft_is_draining(weft_here())) {
        weft_msg *m;
        if (weft_recv_tag(&m, WEFT_TAG_UNDRAIN, WEFT_FOREVER) < 0) return false;
        weft_msg_free(m);
    }
    return true;
}

static void keeper_main(const void *arg, size_t size)
{
    const struct keeper *k = arg;
    bool stop = false;
    weft_msg *m;
    (void)size;
    int watching = weft_watch_drain();
    if (watching < 0) weft_fail(watching, "singleton %s: %s", k->name, weft_strerror(watching));
    while (!stop) {
        weft_exclusive held;
        weft_pid body;
        weft_monitor_ref ref;
        bool moves = false;
        if (!wait_while_draining()) return;
        int rc = weft_exclusive_acquire(k->name, &held, WEFT_FOREVER);
        if (rc == WEFT_ECANCELED) return;
        if (rc < 0) weft_fail(rc, "the exclusive name %s cannot be had: %s", k->name, weft_strerror(rc));
        if (weft_is_draining(weft_here())) { /* draining began during the wait */
            (void)weft_exclusive_release(k->name);
            continue;
        }
        /* From here on, whatever ends this actor ends the body first. */
        (void)weft_trap_exits(true);
        (void)weft_trap_stop(true);
        weft_spawn_options options = k->options;
        options.link = true;
        options.monitor = &ref;
        weft_log(WEFT_INFO, "singleton %s: runs on this node, token %llu", k->name, (unsigned long long)held.token);
        rc = weft_spawn(&body, k->body, k->arg, k->size, &options);
        int reason = rc < 0 ? rc : see_to_its_end(body, ref, &stop, &moves);
        (void)weft_exclusive_release(k->name);
        if ((reason == WEFT_EXIT_NORMAL && !moves) || stop) return;
        if (moves) weft_log(WEFT_INFO, "singleton %s: no longer runs on this node, which drains", k->name);
        else stop = weft_recv_tag(&m, WEFT_TAG_STOP, weft_after(PAUSE)) != WEFT_ETIMEDOUT;
        (void)weft_trap_stop(false);
    }
}

int weft_singleton(weft_pid *out, const char *name, weft_actor *body, const void *arg, size_t size,
                   const weft_spawn_options *options)
{
    weft_exclusive held;
    int rc = weft_exclusive_find(name, &held); /* checks the name, and that there is an etcd */
    if (rc < 0 && rc != WEFT_ENOACTOR) return rc;
    if (body == NULL || (arg == NULL && size > 0)) return WEFT_EINVAL;
    if (size > 60 * 1024) return WEFT_ETOOBIG;       /* an actor's argument holds a little more */
    struct keeper *k = weft_alloc(sizeof *k + size); /* it is freed also if the caller is killed during the spawn */
    if (k == NULL) return WEFT_ENOMEM;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->body = body;
    k->size = size;
    if (options != NULL) k->options = *options;
    if (size > 0) memcpy(k->arg, arg, size);
    weft_spawn_options own = {.kind = "singleton keeper"};
    rc = weft_spawn(out, keeper_main, k, sizeof *k + size, &own);
    (void)weft_release(k);
    return rc;
}
