/* weft/monitor.h -- notice of the end of other actors: monitors, which notify, and links, which end actors together.
 *
 * Both work across nodes. If the other actor has ended already, or its node is unreachable, the notification comes at
 * once, in the same way. The design follows Erlang/OTP; docs/semantics.md compares the two.
 *
 * Order: messages that an actor sent you before it ended are received before the notification of its end. */
#ifndef WEFT_MONITOR_H
#define WEFT_MONITOR_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
WEFT_BEGIN

/* [A] Monitors `target`: when `target` ends, the calling actor gets one WEFT_TAG_DOWN message for each monitor, in
 * its system queue. An actor may have several monitors of the same actor. A monitor of the actor itself has no
 * effect. `out` may be NULL. To monitor a child from its very start, spawn it with weft_spawn_options.monitor.
 * Errors: WEFT_EINVAL (`target` is weft_nobody()), WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_monitor(weft_pid target, weft_monitor_ref *out);

/* [A] Ends a monitor of the calling actor. Its DOWN message is not received after this call, even if it has already
 * arrived. WEFT_ECLOSED: its DOWN message has been received, or the monitor was ended before. */
WEFT_API int weft_demonitor(weft_monitor_ref ref);

/* [A] Links the calling actor and `other`: when one ends, the other is notified, once. An actor that is notified of
 * an end with a reason other than WEFT_EXIT_NORMAL is asked to stop (as by weft_stop) and ends with the same reason
 * and text, unless it traps exits. A second link between the same two actors changes nothing.
 * Errors: WEFT_EINVAL (`other` is weft_nobody() or the caller), WEFT_ENOMEM. If the link cannot be made on the other
 * side, the caller is notified as of an end, with reason WEFT_ENOMEM. */
WEFT_API WEFT_CHECKED int weft_link(weft_pid other);

/* [A] Removes the link. After this call the end of `other` does not stop the calling actor, and no WEFT_TAG_EXIT
 * message about it is received. If `other` is on another node, it is notified some time later; a link that it makes
 * before that is removed, too. WEFT_ECLOSED: there was no link. */
WEFT_API int weft_unlink(weft_pid other);

/* [A] With `on`, the end of a linked actor arrives as a WEFT_TAG_EXIT message in the system queue, whatever its
 * reason, and does not stop the calling actor. The default is off. */
WEFT_API int weft_trap_exits(bool on);

/* [A] With `on`, a request to stop (weft_stop, or the stop of the node) arrives as one WEFT_TAG_STOP message in the
 * system queue. Waits do not fail and no grace period runs: the actor ends when it is ready, unless it is killed
 * (weft_kill, or the deadline of weft_node_stop). Use it in an actor that has to end other actors in a certain order.
 * A stop request that came before this call still makes the waits fail. */
WEFT_API int weft_trap_stop(bool on);

/* The content of a WEFT_TAG_DOWN or WEFT_TAG_EXIT message. */
struct weft_down {
    weft_pid who;
    weft_monitor_ref ref; /* the monitor, in a DOWN; 0 in an EXIT */
    int reason;           /* WEFT_EXIT_*, a WEFT_E* code, or the actor's own number */
    char text[128];       /* the text of weft_fail, cut to fit; else "" */
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API int weft_down_read(const weft_msg *m, struct weft_down *out);

/* [S] Returns a reason in words: "normal", "asked to stop", "name is taken", "reason 17". The result is static text
 * or points into `out`. */
WEFT_API const char *weft_reason_text(int reason, char out[32]);

WEFT_END
#endif
