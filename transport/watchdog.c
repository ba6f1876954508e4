/* transport/watchdog.c -- the actor $watchdog: tells the service manager that all workers turn, as often as it wants
 * to hear it. A worker that is stuck is one that has not come round in half that time: then nothing is said, and the
 * manager starts the node again. */
#include "watchdog.h"

#include "node_life.h"
#include "node_stats.h"

#include <string.h>

#include <weft/local.h>
#include <weft/log.h>

struct watch {
    weft_node *node;
    int64_t span;
};

static void log_who_is_stuck(const struct wf_node_stats *t, int64_t span)
{
    for (uint32_t i = 0; i < t->workers; i++) {
        if (!t->worker[i].counted)
            weft_log(WEFT_ERROR, "worker %u has been blocked for %.1f s: the watchdog is not notified", (unsigned)i,
                     (double)span / 2e9);
    }
}

static void watchdog_main(const void *arg, size_t size)
{
    struct watch w;
    struct wf_node_stats *tally = weft_alloc(sizeof *tally);
    memcpy(&w, arg, size);
    if (tally == NULL) {
        weft_log(WEFT_ERROR, "no memory: the watchdog is not notified");
        return;
    }
    for (;;) {
        int rc = wf_node_stats_take(w.node, false, tally, weft_after(w.span / 2));
        if (rc == WEFT_OK) pf_manager_notify("WATCHDOG=1");
        else if (rc == WEFT_ETIMEDOUT) log_who_is_stuck(tally, w.span);
        else if (rc == WEFT_ECANCELED) return;
        if (weft_sleep(weft_after(w.span / 3)) == WEFT_ECANCELED) return;
    }
}

void wf_watchdog_start(weft_node *node)
{
    struct watch w = {node, pf_manager_watchdog()};
    if (w.span == 0) return;
    int rc = wf_node_spawn_service(node, NULL, watchdog_main, &w, sizeof w, "$watchdog");
    if (rc < 0) weft_log(WEFT_ERROR, "the service manager's watchdog will not be notified: %s", weft_strerror(rc));
}
