/* transport/link/rights.c -- see rights.h. */
#include "rights.h"

#include "channel.h"
#include "send_queue.h"
#include "transport.h"
#include "requests.h"
#include "roles.h"

#include <stdio.h>
#include <string.h>

enum {
    WATCH = WF_FRAME_TIES,
    UNWATCH = WF_FRAME_TIES + WF_MSG_UNWATCH - WF_MSG_WATCH,
    DOWN = WF_FRAME_TIES + WF_MSG_DOWN - WF_MSG_WATCH,
    LINK = WF_FRAME_TIES + WF_MSG_LINK - WF_MSG_WATCH,
    UNLINK = WF_FRAME_TIES + WF_MSG_UNLINK - WF_MSG_WATCH,
    EXIT = WF_FRAME_TIES + WF_MSG_EXIT - WF_MSG_WATCH,
    KILL = WF_FRAME_TIES + WF_MSG_KILL - WF_MSG_WATCH,
    PROBE = WF_FRAME_TIES + WF_MSG_PROBE - WF_MSG_WATCH,
    CREDIT_REQUEST = WF_FRAME_REMOTE,
    CREDIT = WF_FRAME_REMOTE + WF_MSG_CREDIT - WF_MSG_CREDIT_REQUEST,
    SPAWN = WF_FRAME_REMOTE + WF_MSG_SPAWN - WF_MSG_CREDIT_REQUEST,
    SPAWNED = WF_FRAME_REMOTE + WF_MSG_SPAWNED - WF_MSG_CREDIT_REQUEST,
};

static uint32_t right_of_verb(uint32_t verb)
{
    switch (verb) {
    case WF_CONTROL_PS:
    case WF_CONTROL_PAGE:
    case WF_CONTROL_NODES:
    case WF_CONTROL_INFO:
    case WF_CONTROL_NAMES:
    case WF_CONTROL_GROUPS:
    case WF_CONTROL_INSPECT:
    case WF_CONTROL_WAITS:
    case WF_CONTROL_STUCK:
    case WF_CONTROL_DROPS:
    case WF_CONTROL_WHO:
    case WF_CONTROL_TOP:   /* also asks other nodes: the right holds for the whole cluster */
    case WF_CONTROL_TRACE: /* senders and receivers, without the bodies */
    case WF_CONTROL_RECORD:
    case WF_CONTROL_SUBSCRIBE: return WF_RIGHT_OBSERVE;
    case WF_CONTROL_TRACE_BODIES: return WF_RIGHT_OBSERVE | WF_RIGHT_TALK;
    case WF_CONTROL_PUBLISH: return WF_RIGHT_TALK;
    default: return WF_RIGHT_ADMIN; /* new verbs need it, too, unless they are listed above */
    }
}

static bool is_for_control(const struct wf_channel *ch, const struct wf_frame *f)
{
    if (f->kind != WF_FRAME_SEND_NAME && f->kind != WF_FRAME_CALL_NAME) return f->to == ch->t->control.actor;
    return f->name.size == 5 && memcmp(f->name.data, "$node", 5) == 0;
}

/* Lists each kind by name: docs/security.md has the same table, and a test compares them. */
static uint32_t right_for(const struct wf_channel *ch, const struct wf_frame *f)
{
    switch (f->kind) {
    case WF_FRAME_TO_ACTOR + WF_MSG_SEND:
    case WF_FRAME_TO_ACTOR + WF_MSG_CALL:
    case WF_FRAME_SEND_NAME:
    case WF_FRAME_CALL_NAME: return is_for_control(ch, f) ? right_of_verb(f->tag) : WF_RIGHT_TALK;
    case WF_FRAME_PUBLISH:
    case PROBE:
    case WATCH:
    case CREDIT_REQUEST:
    case WF_FRAME_CREDIT_REQUEST_NAME: return WF_RIGHT_TALK;
    case WF_FRAME_GROUP_SEND:
    case WF_FRAME_PUBLISH_TO:
    case WF_FRAME_RETAINED: return WF_RIGHT_JOIN | WF_RIGHT_TALK;
    case WF_FRAME_PEERS:
    case WF_SWIM_PING:
    case WF_SWIM_ACK:
    case WF_SWIM_ASK:
    case WF_SWIM_SYNC:
    case WF_FRAME_TABLE:
    case WF_FRAME_MISSED: return WF_RIGHT_JOIN;
    case WF_FRAME_TO_ACTOR + WF_MSG_STOP:
    case KILL:
    case LINK: return WF_RIGHT_STOP;
    case SPAWN: return WF_RIGHT_SPAWN;
    /* Answers need no right: one that answers no request of this node is ignored. */
    case WF_FRAME_TO_ACTOR + WF_MSG_REPLY:
    case WF_FRAME_TO_ACTOR + WF_MSG_FAILED:
    case SPAWNED:
    case CREDIT:
    case DOWN:
    case EXIT:
    /* They take back a WATCH or LINK of the same actor. */
    case UNWATCH:
    case UNLINK:
    /* All roles may receive publications. */
    case WF_FRAME_INTEREST:
    /* Frames of the link itself; the frame in the first CHUNK is checked on its own. */
    case WF_FRAME_HELLO:
    case WF_FRAME_WELCOME:
    case WF_FRAME_REFUSED:
    case WF_FRAME_BYE:
    case WF_FRAME_PING:
    case WF_FRAME_PONG:
    case WF_FRAME_ACK:
    case WF_FRAME_START:
    case WF_FRAME_CHUNK:
    case WF_FRAME_UNKNOWN: return 0;
    default: return WF_RIGHT_ALL; /* new kinds must be listed above */
    }
}

static void answer(struct wf_channel *ch, const struct wf_frame *f, int error)
{
    static const char by_role[] = "the role of your certificate does not grant this";
    static const char by_way[] =
        "not by this address, as any user may be there: use --node NAME, as the user of the node; "
        "or a certificate; or start it with --loopback-control";
    static const char by_ws[] = "not over ws://: use the node's control socket (--node NAME), or wss:// with a "
                                "certificate that grants it";
    const char *text = ch->conn->plain_ws ? by_ws : ch->conn->who == NULL ? by_way : by_role;
    bool call = f->kind == WF_FRAME_CALL_NAME || f->kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL;
    struct wf_batch *b = wf_batch_new(ch->link, WF_FRAME_SPARE + strlen(text));
    if (b == NULL) return;
    weft_writer w = wf_batch_writer(b);
    if (call && is_for_control(ch, f)) {
        wf_put_to_actor(&w, WF_MSG_REPLY, f->from, ch->t->control.actor, WF_CONTROL_ERROR, f->ref, text, strlen(text),
                        WF_FRAME_NO_DEADLINE);
    } else if (f->kind == LINK || f->kind == WATCH) {
        uint8_t body[4];
        wf_put_u32(body, (uint32_t)error);
        wf_put_to_actor(&w, f->kind == LINK ? WF_MSG_EXIT : WF_MSG_DOWN, f->from, f->to, 0, f->ref, body, sizeof body,
                        WF_FRAME_NO_DEADLINE);
    } else {
        wf_put_to_actor(&w, WF_MSG_FAILED, f->from, f->to, (uint32_t)-error, f->ref, NULL, 0, WF_FRAME_NO_DEADLINE);
    }
    wf_link_send(ch->link, b, &w);
}

void wf_rights_refuse(struct wf_channel *ch, const struct wf_frame *f, int error)
{
    WF_ASSERT(error < 0);
    bool asks = f->kind == WF_FRAME_CALL_NAME || f->kind == WF_FRAME_TO_ACTOR + WF_MSG_CALL || f->kind == LINK ||
                f->kind == WATCH || f->kind == SPAWN;
    uint64_t before = atomic_fetch_add_explicit(&ch->link->refused, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ch->t->dropped_refused, 1, memory_order_relaxed);
    if (before == 0)
        wf_peer_log(&ch->t->bursts, wf_transport_now(ch->t), WEFT_WARN,
                    "refused a %s of %s (%s): %s; from now on refusals are only counted", wf_frame_name(f->kind),
                    ch->name, ch->conn->remote,
                    error != WEFT_EACCESS   ? "it asks for more than its limit"
                    : ch->conn->plain_ws    ? "not over ws://"
                    : ch->conn->who == NULL ? "it has no certificate, and this is not the node's own socket"
                                            : "no role of its certificate grants it");
    if (asks) answer(ch, f, error);
}

bool wf_rights_allow(struct wf_channel *ch, const struct wf_frame *f)
{
    WF_ASSERT(ch->guarded && ch->link != NULL);
    if ((ch->denied & right_for(ch, f)) == 0) return f->kind != SPAWN || wf_limits_spawn(ch, f);
    if (f->kind != PROBE) wf_rights_refuse(ch, f, WEFT_EACCESS); /* the calls of a tool send probes, too */
    return false;
}
