/* weft/monitor.h -- hearing of the end of other actors: monitors, which tell, and links, which end together.
 *
 * Both work across nodes. An actor that is gone already, or whose node is unreachable, has ended as far as they can
 * know: that is told at once, in the same way. After Erlang/OTP; docs/semantics.md compares the two.
 *
 * Order: what an actor sent you before it ended is received before the news of its end. */
#ifndef WEFT_MONITOR_H
#define WEFT_MONITOR_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
WEFT_BEGIN

/* [A] From now on the calling actor hears of the end of `target`: one WEFT_TAG_DOWN message for each monitor, in its
 * system lane. An actor may monitor another (or itself, in vain) several times. `out` may be NULL. To miss nothing of
 * a child, spawn it with weft_spawn_options.monitor. WEFT_EINVAL (nobody), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_monitor(weft_pid target, weft_monitor_ref *out);

/* [A] Ends a monitor of the calling actor. No DOWN of it is received afterwards, also if it has already come.
 * WEFT_ECLOSED if its DOWN was received, or it was ended before. */
WEFT_API int weft_demonitor(weft_monitor_ref ref);

/* [A] Ties the calling actor and `other` together: when one ends, the other is told, once. Unless it traps exits, an
 * actor that is told of an end with a reason that is not WEFT_EXIT_NORMAL is asked to stop (as by weft_stop) and ends
 * with that same reason and text. Linking twice is linking once. WEFT_EINVAL (nobody, itself), WEFT_ENOMEM; if the
 * link cannot be made on the other side, that is told like an end, with WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_link(weft_pid other);

/* [A] Unties. No end of `other` stops the calling actor, and no WEFT_TAG_EXIT of it is received, after this.
 * WEFT_ECLOSED if there was no link. */
WEFT_API int weft_unlink(weft_pid other);

/* [A] With `on`, ends of linked actors arrive as WEFT_TAG_EXIT messages in the system lane, whatever their reason,
 * and stop nobody. Off at first. */
WEFT_API int weft_trap_exits(bool on);

/* [A] With `on`, a request to stop (weft_stop, the end of the node) arrives as one WEFT_TAG_STOP message in the
 * system lane instead of failing waits, and no grace period runs: the actor ends in its own time, unless it is killed
 * (weft_kill, or the node's last deadline). For those who have to end others in order. A request that came before is
 * not undone. */
WEFT_API int weft_trap_stop(bool on);

/* What a WEFT_TAG_DOWN or WEFT_TAG_EXIT message says. */
struct weft_down {
    weft_pid who;
    weft_monitor_ref ref; /* of a DOWN; 0 in an EXIT */
    int reason;           /* WEFT_EXIT_*, a WEFT_E* code, or the actor's own */
    char text[128];       /* of weft_fail, cut to fit; else "" */
};
/* [T] 0, or WEFT_EFORMAT if `m` is no such message. */
WEFT_API int weft_down_read(const weft_msg *m, struct weft_down *out);

/* [S] A reason in words: "normal", "asked to stop", "name is taken", "reason 17". Writes into `out` if it has to. */
WEFT_API const char *weft_reason_text(int reason, char out[32]);

WEFT_END
#endif
