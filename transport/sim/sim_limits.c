/* transport/sim/sim_limits.c -- see sim_limits.h. */
#include "sim_limits.h"

#include "hash.h"
#include "log_levels.h"

#include <weft/log.h>
#include <weft/time.h>

#include <inttypes.h>

static struct {
    bool on;
    uint64_t seed;
} drawn;

enum { CHOICES = 3 };

/* Chooses one of the values; in half of the seeds it is 0, the default. */
static int64_t choose(uint64_t which, const int64_t values[CHOICES])
{
    uint64_t bits = wf_mix(drawn.seed ^ wf_mix(which));
    return bits % 2 == 0 ? 0 : values[(bits >> 8) % CHOICES];
}

void wf_sim_limits_draw(bool on, uint64_t seed)
{
    drawn.on = on;
    drawn.seed = wf_mix(seed ^ UINT64_C(0x6F7074696F6E73));
#ifdef WF_STATES
    wf_limits_draw(on ? drawn.seed | 1 : 0, wf_log_wanted("transport", WEFT_INFO));
#endif
}

/* Draws only allowed values. A node that receives nothing for heartbeat * heartbeats_lost takes the connection for
 * lost, so this product is larger than the time that a late message takes (sim_run.c). All nodes of a run have the
 * same limits, except for record_events. Only options on which no program relies are drawn: with another
 * send_timeout, another number of retained messages or less memory for mailboxes, more sends would fail. */
void wf_sim_limits_options(weft_node_options *o, unsigned host)
{
    if (!drawn.on) return;
    const int64_t heartbeat = choose(1, (int64_t[CHOICES]){WEFT_MS(200), WEFT_MS(500), WEFT_SEC(2)});
    const int64_t lost = choose(2, (int64_t[CHOICES]){2, 3, 12});
    const int64_t window = choose(3, (int64_t[CHOICES]){WEFT_SEC(1), WEFT_SEC(3), WEFT_SEC(20)});
    const int64_t records = choose(4 + host, (int64_t[CHOICES]){-1, 4, 64});
    if (o->heartbeat == 0) o->heartbeat = heartbeat;
    if (o->heartbeats_lost == 0) o->heartbeats_lost = (int)lost;
    if (o->resume_window == 0) o->resume_window = window;
    if (o->record_events == 0) o->record_events = (int)records;
    weft_log(WEFT_INFO,
             "drawn: heartbeat_ms=%" PRId64 " heartbeats_lost=%d resume_window_ms=%" PRId64
             " record_events=%d (0: the default)",
             o->heartbeat / WEFT_MS(1), o->heartbeats_lost, o->resume_window / WEFT_MS(1), o->record_events);
}
