/* transport/wire/frame.h -- the frames that nodes exchange. docs/wire.md describes every frame byte by byte.
 *
 * One message of the carrier is one batch: a sequence of frames. A frame is a msgpack array [kind, ...]. Unknown kinds
 * are skipped, and so are values behind the known ones, so that nodes of different versions understand each other. Any
 * other fault ends the link. */
#ifndef WF_FRAME_H
#define WF_FRAME_H

#include "base.h"
#include "msg.h"
#include "route.h"
#include "tables.h"

#include <weft/pack.h>
#include <weft/pid.h>

enum {
    WF_WIRE_OLDEST = 1, /* versions that this node speaks: wire.md describes them */
    WF_WIRE_NEWEST = 2,
    WF_FRAME_URLS = 8,      /* the URLs of one node */
    WF_FRAME_URL_MAX = 255, /* bytes */
    WF_NODE_NAME_MAX = 64,
    WF_FRAME_TRACE = 17,           /* bytes of a trace id and its flags */
    WF_FRAME_SPARE = 72,           /* bytes of a message's frame at most, without body and name */
    WF_FRAME_REASON_MAX = 4 + 127, /* bytes of the body of DOWN and EXIT; also the limit for kinds without a body */
    WF_FRAME_PROBE_MAX = 8192,     /* bytes of the body of PROBE */
    WF_FRAME_SPAWN_MAX = 65536,    /* bytes of SPAWN: WEFT_REMOTE_ARGS_MAX, a name, and values of later versions */
    WF_FRAME_SPAWNED_MAX = 512,    /* bytes of the body of SPAWNED: struct weft_why has 160 */
    WF_FRAME_PEERS_MAX = 4096      /* nodes or patterns in one frame */
};

/* The first value of a frame. They travel: append only. */
enum wf_frame_kind {
    WF_FRAME_UNKNOWN = 0,
    WF_FRAME_HELLO = 1,
    WF_FRAME_WELCOME = 2,
    WF_FRAME_REFUSED = 3,
    WF_FRAME_BYE = 4,
    WF_FRAME_PING = 5,
    WF_FRAME_PONG = 6,
    WF_FRAME_PEERS = 7,
    WF_FRAME_INTEREST = 8,
    WF_FRAME_ACK = 9,
    WF_FRAME_START = 10,
    WF_FRAME_CHUNK = 11,
    WF_FRAME_TO_ACTOR = 16, /* + wf_msg_kind SEND .. STOP */
    WF_FRAME_SEND_NAME = 24,
    WF_FRAME_CALL_NAME = 25,
    WF_FRAME_PUBLISH = 32,
    WF_FRAME_TIES = 40, /* + wf_msg_kind - WF_MSG_WATCH: WATCH .. KILL, PROBE */
    /* between nodes only: gossip, tables of names, groups and topics */
    WF_FRAME_GOSSIP = 50,
    WF_FRAME_TABLE = 54, /* up to 59: frame_tables.c */
    WF_FRAME_GROUP_SEND = 55,
    WF_FRAME_PUBLISH_TO = 56,
    WF_FRAME_RETAINED = 57,
    WF_FRAME_MISSED = 58,
    WF_FRAME_REMOTE = 60, /* + wf_msg_kind - WF_MSG_CREDIT_REQUEST: CREDIT_REQUEST, CREDIT, SPAWN, SPAWNED */
    WF_FRAME_CREDIT_REQUEST_NAME = 64,
};

/* The frame kind of a message to an actor; and the message kind of a frame, -1: it has none. */
static inline uint32_t wf_frame_of(enum wf_msg_kind kind)
{
    if (kind <= WF_MSG_STOP) return WF_FRAME_TO_ACTOR + (uint32_t)kind;
    if (kind >= WF_MSG_CREDIT_REQUEST) return WF_FRAME_REMOTE + (uint32_t)kind - WF_MSG_CREDIT_REQUEST;
    return WF_FRAME_TIES + (uint32_t)kind - WF_MSG_WATCH;
}
static inline int wf_frame_message(uint64_t frame)
{
    if (frame >= WF_FRAME_TO_ACTOR && frame <= WF_FRAME_TO_ACTOR + WF_MSG_STOP)
        return (int)(frame - WF_FRAME_TO_ACTOR);
    if (frame >= WF_FRAME_TIES && frame <= WF_FRAME_TIES + WF_MSG_KILL - WF_MSG_WATCH)
        return (int)(frame - WF_FRAME_TIES) + WF_MSG_WATCH;
    if (frame == WF_FRAME_TIES + WF_MSG_PROBE - WF_MSG_WATCH) return WF_MSG_PROBE;
    if (frame >= WF_FRAME_REMOTE && frame <= WF_FRAME_REMOTE + WF_MSG_SPAWNED - WF_MSG_CREDIT_REQUEST)
        return (int)(frame - WF_FRAME_REMOTE) + WF_MSG_CREDIT_REQUEST;
    return -1;
}

/* Why a HELLO was refused. They travel: append only. */
enum wf_refusal {
    WF_REFUSED_VERSION = 1,
    WF_REFUSED_CLUSTER = 2,
    WF_REFUSED_NAME_TAKEN = 3,
    WF_REFUSED_DUPLICATE = 4, /* there is a link between these two already */
    WF_REFUSED_SELF = 5,      /* it dialled itself */
    WF_REFUSED_STOPPING = 6,
    WF_REFUSED_IDENTITY = 7, /* its certificate names another node, or may not be used by a node */
    WF_REFUSED_FAULT = 8,    /* its last links failed through its own faults: it must dial later */
};

enum { WF_HELLO_CLIENT = 1 }; /* wf_hello.flags: a tool, not a node */

/* What a node can do beyond the oldest version: wf_hello.capabilities. A frame that needs one goes only to peers that
 * have said it. They travel: append only. */
enum wf_capability {
    WF_CAN_RESUME = 1 << 0,
    WF_CAN_CHUNKS = 1 << 1,
    WF_CAN_GOSSIP = 1 << 2, /* the frames of swim_wire.h */
    WF_CAN_TABLES = 1 << 3,
    WF_CAN_CREDIT = 1 << 4,   /* CREDIT_REQUEST, CREDIT */
    WF_CAN_SPAWN = 1 << 5,    /* SPAWN, SPAWNED */
    WF_CAN_TOPICS = 1 << 6,   /* tables of topics: queue groups and retained messages */
    WF_CAN_PATTERNS = 1 << 7, /* accepts more than 65,536 patterns */
};
/* Of this version. */
enum {
    WF_CAPABILITIES = WF_CAN_RESUME | WF_CAN_CHUNKS | WF_CAN_GOSSIP | WF_CAN_TABLES | WF_CAN_CREDIT | WF_CAN_SPAWN |
                      WF_CAN_TOPICS | WF_CAN_PATTERNS
};

/* The state of the link that a WELCOME names. */
enum wf_welcome_state { WF_LINK_OVER = 0, WF_LINK_BROKEN = 1, WF_LINK_UP = 2 };

enum wf_interest_op { WF_INTEREST_ADD = 1, WF_INTEREST_REMOVE = 2 };

struct wf_hello {
    uint64_t version, newest; /* the oldest and the newest version that it speaks */
    uint64_t capabilities;
    weft_text cluster, name;
    uint64_t incarnation, flags, heartbeat_ms;
    uint64_t clock; /* microseconds since 1970 on its clock; 0: unknown */
    weft_text url[WF_FRAME_URLS];
    uint32_t url_count;
};

/* One node in PEERS. */
struct wf_frame_peer {
    weft_text name;
    uint64_t incarnation;
    weft_text url[WF_FRAME_URLS];
    uint32_t url_count;
};

/* A decoded frame; its texts point into the batch. */
struct wf_frame {
    uint32_t kind; /* wf_frame_kind; UNKNOWN: skip it */
    bool counted;  /* it has a number on its link: see docs/wire.md */
    uint32_t tag;
    uint64_t to, from, ref;
    weft_text name;    /* a name, a topic, or the reason of REFUSED and BYE */
    weft_text checked; /* the last topic of a PUBLISH that wf_frame_next_of_batch has checked */
    weft_text body;
    weft_text trace; /* WF_FRAME_TRACE bytes of a message that carries a trace id: wf_frame_trace; else empty */
    /* CALL, CALL_NAME: microseconds left, WF_FRAME_NO_DEADLINE; PING, PONG: the time; REFUSED: wf_refusal; INTEREST:
     * wf_interest_op; ACK, START: counted frames; MISSED: publications; WELCOME: number of the last link, its `ref`
     * of frames received, its `tag` wf_welcome_state; PUBLISH_TO: how often it was passed on; CHUNK: bytes of the
     * body that begins, 0: `body` is the next part of the one before */
    uint64_t number;
    uint32_t flags; /* PUBLISH_TO, RETAINED: wf_publish_flag */
    uint32_t count; /* PEERS, INTEREST, PUBLISH_TO: of items */
    /* of the same: checked, to be read by wf_frame_next_peer, _pattern and _queue; CHUNK: the message's frame with
     * the first part of its body, for wf_frame_next */
    weft_reader items;
    struct wf_hello hello; /* HELLO only; untouched by other frames, which come by the million */
};

/* The next frame of a batch. 1; 0 at the end; WEFT_EFORMAT: `f->kind` and wf_frame_fault() say what and where. */
int wf_frame_next(weft_reader *r, struct wf_frame *f);
/* The same with one `f` for all frames of a batch: a topic that equals `f->checked` is not checked again. Before the
 * first frame `f->checked` must be empty. */
int wf_frame_next_of_batch(weft_reader *r, struct wf_frame *f);
void wf_frame_next_peer(struct wf_frame *f, struct wf_frame_peer *out);
const char *wf_frame_name(uint32_t kind);
/* The most bytes that the body of a kind may have: few where the receiver may keep the message while an actor lives. */
size_t wf_frame_body_max(uint32_t kind);
/* Whether messages of that kind carry trace ids. */
bool wf_frame_may_trace(uint32_t kind);
/* "malformed SEND frame at offset 17" */
void wf_frame_fault(const weft_reader *r, const struct wf_frame *f, char *out, size_t size);

void wf_put_hello(weft_writer *w, const struct wf_hello *h);
void wf_put_welcome(weft_writer *w);
/* The WELCOME to a peer that can resume links. */
void wf_put_welcome_link(weft_writer *w, uint64_t number, uint64_t received, enum wf_welcome_state state);
void wf_put_refused(weft_writer *w, enum wf_refusal code, const char *reason);
void wf_put_bye(weft_writer *w, const char *reason);
void wf_put_number(weft_writer *w, uint32_t kind /* PING, PONG, ACK, START */, uint64_t number);
/* PEERS and INTEREST: the head; `count` items follow. */
void wf_put_peers(weft_writer *w, uint32_t count);
void wf_put_peer(weft_writer *w, weft_text name, uint64_t incarnation, const weft_text *urls, uint32_t url_count);
void wf_put_interest(weft_writer *w, enum wf_interest_op op, uint32_t count);
/* wf_frame.number of a request without a deadline. */
#define WF_FRAME_NO_DEADLINE UINT64_MAX
/* At most WF_FRAME_SPARE + size bytes. `from` 0: no sender. `left`: as wf_frame.number of a CALL; ignored for other
 * kinds. */
void wf_put_to_actor(weft_writer *w, unsigned kind /* wf_msg_kind */, uint64_t to, uint64_t from, uint32_t tag,
                     uint64_t ref, const void *body, size_t size, uint64_t left);
/* At most WF_FRAME_SPARE + name.size + size bytes. */
void wf_put_to_name(weft_writer *w, bool call, weft_text name, uint64_t from, uint32_t tag, uint64_t ref,
                    const void *body, size_t size, uint64_t left);
/* A CREDIT_REQUEST to a name. */
void wf_put_credit_request_name(weft_writer *w, weft_text name, uint64_t from, uint32_t number, uint64_t key);
/* PUBLISH and GROUP_SEND: to a topic or a group. At most WF_FRAME_SPARE + name.size + size bytes. */
void wf_put_to_all(weft_writer *w, enum wf_frame_kind kind, weft_text name, uint64_t from, uint32_t tag,
                   const void *body, size_t size);

#endif
