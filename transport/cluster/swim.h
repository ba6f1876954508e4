/* transport/cluster/swim.h -- the membership of the cluster: SWIM (Das, Gupta, Motivala 2002) with suspicion, and the
 * parts of Lifeguard (Dadgar, Phillips, Currey 2018) that help members that are slow themselves.
 *
 * Design notes.
 * (1) This is a pure state machine: it has no clock, no sockets and no threads. Its owner passes received messages and
 *     the time; it calls the owner to send messages, and to report changed members. The same code runs in a node
 *     (gossip.c) and, a thousand times at once, in the test that compares it with the paper
 *     (tests/unit/transport/cluster/swim_net.h, bench/swim.c).
 * (2) A member is one run of a process: `node` is its random incarnation. A process that restarts is another member,
 *     with the same name. `number` is the paper's incarnation number: only the member itself raises it, to refute a
 *     suspicion, or because its record has changed.
 * (3) An update about a member is always its current entry in the table. So there is no queue of updates: the entries
 *     are in lists by how often they have been sent, and those that were sent least are sent first. A member sends an
 *     entry at most `spread` * ln(n) times.
 * (4) Equal tables have equal digests. PING and ACK carry the digest; if two differ while no updates are being spread,
 *     the whole table is sent. That repairs everything that gossip has missed. In this way a new member learns of all
 *     others, and two halves of a cluster learn of each other.
 * (5) Deviations from the paper: a member that was declared down may come back by refuting it, as its process may have
 *     been cut off or stopped for long. A member that leaves is LEFT, which counts as a kind of DOWN. If a member that
 *     is DOWN or LEFT here sends something, it is told of its state.
 * (6) A tick that comes a period late (the process was stopped, the machine slept) says nothing about other members:
 *     all deadlines move by the delay.
 * (7) Probes find members that have ended. While each member proves by other traffic that it lives
 *     (wf_swim_user.heard), and there are no updates to send, probes only compare digests, and a period is
 *     WF_SWIM_QUIET times as long. An update or a suspicion ends that.
 * (8) A number grows by one for each refutation and each new record. The update with the highest number is believed,
 *     and only the member itself raises its number. So there is a limit that no honest member can have reached
 *     (wf_swim_user.number_max), and updates with higher numbers are ignored. The limit grows with time: if a false
 *     update has used the highest number, the member refutes it and is believed a moment later.
 * (9) What a member says of another one is hearsay. It gives way to what that member says itself, or shows when a
 *     connection is made (wf_swim_user.may_be_named, wf_swim_show): its name, and a place in a full table. A member
 *     that learns that something else is said of it than its own record raises its number.
 *(10) Only new members and new records need memory. Lack of memory has the same effect as a lost message: the digests
 *     stay different, so the update comes again. */
#ifndef WF_SWIM_H
#define WF_SWIM_H

#include "hash_table.h"
#include "list.h"
#include "swim_wire.h"

enum {
    WF_SWIM_ACCUSERS = 4,      /* members that are remembered as having suspected one suspect */
    WF_SWIM_SENDS_MAX = 63,    /* how often a member sends one update at most */
    WF_SWIM_RELAYS = 64,       /* unanswered PINGs that were sent for other members; */
    WF_SWIM_RELAYS_OF_ONE = 4, /* for one of them, which asks about one member at a time */
    WF_SWIM_QUIET = 10,
    WF_SWIM_HEALTH_MAX = 7, /* the worst: periods and patience are 8 times as long */
    WF_SWIM_INDIRECT_MAX = 16,
};

/* Zero: the default. */
struct wf_swim_options {
    int64_t period;     /* 1 s: one member is probed per period */
    int64_t patience;   /* a third of a period: after this time without an answer other members are asked to probe */
    uint32_t indirect;  /* 3: how many others */
    uint32_t suspicion; /* 4: a suspect is down after this many periods, times log10(n) if that is more than 1 */
    uint32_t stretch;   /* 6: the time is this many times longer if no other member suspects it */
    uint32_t spread;    /* 3: lambda: each member sends an update lambda * ln(n) times */
    int64_t keep;       /* 60 periods: how long members that are DOWN or LEFT are remembered */
    uint64_t seed;
};

struct wf_swim_member {
    uint64_t node, number;
    enum wf_swim_state state;
    bool recheck;  /* it will be probed soon, for a reason; true until it has answered */
    uint8_t sends; /* how often its entry has been sent */
    uint8_t accuser_count;
    uint32_t place;                  /* index in wf_swim.at */
    int64_t since;                   /* in this state */
    int64_t due;                     /* SUSPECT: when it is declared down */
    uint64_t by[WF_SWIM_ACCUSERS];   /* SUSPECT: the members that suspect it, in order; DOWN: [0] has declared it */
    struct wf_list_node in_updates;  /* wf_swim.updates[sends] */
    struct wf_list_node in_state;    /* wf_swim.suspects or wf_swim.gone, oldest first */
    struct wf_list_node in_rechecks; /* wf_swim.rechecks */
    struct wf_list_node in_changed;  /* for the user; unlinked when the member is freed, without a call */
    struct wf_hashed by_node;        /* wf_swim.nodes */
    struct wf_hashed by_name;        /* wf_swim.names */
    bool own;                        /* its record is what it has told this member itself */
    bool newest;                     /* it is the newest member of its name, so it is in wf_swim.names */
    weft_text name;                  /* in `record` */
    weft_text record;                /* malloc'ed */
    /* State and number at the last wf_swim_greet_suspect: for the same ones the next is not before `greet_at`. */
    enum wf_swim_state greeted_state;
    uint64_t greeted_number;
    int64_t greet_at;
};

struct wf_swim;
struct wf_swim_user {
    /* Sends a frame to that member. False: it cannot be reached now. Must not call back. */
    bool (*send)(void *arg, uint64_t to, const void *frame, size_t size);
    /* A member is new (`before` is its state), is in another state or has another record. Must not call back. */
    void (*changed)(void *arg, const struct wf_swim_member *m, enum wf_swim_state before);
    /* Whether anything has come from that member lately: then it lives, whatever other members say. When this becomes
     * false, the owner calls wf_swim_recheck. NULL: always false. */
    bool (*heard)(void *arg, uint64_t node);
    /* The highest number that a member can have now: note (8). NULL: no limit. */
    uint64_t (*number_max)(void *arg);
    /* Whether that member may have that name: not if it has shown another one itself. NULL: it may have any. */
    bool (*may_be_named)(void *arg, uint64_t node, weft_text name);
    /* Whether `from` may introduce a member that is new here. NULL: all may. */
    bool (*may_introduce)(void *arg, uint64_t from);
};

struct wf_swim_relay {
    uint64_t requester, asked,
        sequence; /* asked: the requester's sequence number; sequence: this member's, 0: free */
    uint64_t node;
    int64_t due; /* when the requester is told that there is no answer */
};

struct wf_swim {
    struct wf_swim_options o;
    const struct wf_swim_user *user;
    void *arg;
    uint64_t random;
    uint64_t speaker; /* the sender of the message that is being read; 0: none */
    struct wf_swim_member *self;
    struct wf_swim_member **at; /* all members, in the order in which they are probed */
    uint32_t count, capacity, next;
    uint32_t present;                  /* ALIVE and SUSPECT, self among them */
    struct wf_hash_table nodes, names; /* names: the newest member of each name */
    uint64_t secret;                   /* the secret of their hashes */
    uint64_t digest;
    struct wf_list updates[WF_SWIM_SENDS_MAX + 1];
    uint32_t update_count;
    struct wf_list suspects, gone, rechecks;
    /* The probe of this period. */
    struct wf_swim_member *target; /* NULL: none, or it has answered */
    uint64_t sequence, probe_sequence;
    int64_t ask_at, period_end;              /* ask_at WEFT_FOREVER: others have been asked already */
    int64_t ordinary_end;                    /* the end of the period if it were not quiet: note (7) */
    uint32_t asked, no_answers;              /* members that were asked; those of them that got no answer either */
    uint64_t asked_of[WF_SWIM_INDIRECT_MAX]; /* the members that were asked; 0: it has said that it got no answer */
    int64_t due;                             /* the result of the last tick */
    int64_t sync_at;                         /* before this, no table is sent because digests differ */
    uint32_t health;                         /* 0: good */
    bool leaving;
    struct wf_swim_relay relay[WF_SWIM_RELAYS];
    uint32_t relay_count;
    uint64_t pings, asks, acks, syncs, refuted, unbelieved; /* counters for tests and benchmarks */
    uint8_t frame[WF_SWIM_MESSAGE_MAX];
};

/* `record`: the record of `self`, as wf_put_swim_record writes it. NULL: no memory. */
struct wf_swim *wf_swim_new(const struct wf_swim_options *o, const struct wf_swim_user *user, void *arg,
                            uint64_t self, weft_text record, int64_t now);
void wf_swim_free(struct wf_swim *s); /* NULL is fine */
/* Handles a message from `from`. 0, or WEFT_EFORMAT if it is malformed. Call tick afterwards. */
int wf_swim_receive(struct wf_swim *s, uint64_t from, const void *frame, size_t size, int64_t now);
/* Does what is due; returns when to call it again, or earlier if another function was called. */
int64_t wf_swim_tick(struct wf_swim *s, int64_t now);
/* There is a new connection to that node, which may not be a member yet: sends it PING, and its own entry if it is
 * not ALIVE here. */
void wf_swim_greet(struct wf_swim *s, uint64_t node);
/* That member has shown its name, for example by a certificate. If others have reported another name, it gets this
 * record, in which the metadata are missing, until it sends its own. WEFT_ENOMEM: it keeps the other name. */
int wf_swim_show(struct wf_swim *s, uint64_t node, weft_text record);
/* The same for a member that is heard although it is SUSPECT, DOWN or LEFT here, but not if it was greeted just before
 * for the same state. Each greeting costs the member an answer and perhaps its whole table, and each answer may cause
 * another greeting. Without this limit a slow node that is suspected would have no time to refute it. */
void wf_swim_greet_suspect(struct wf_swim *s, uint64_t node, int64_t now);
/* The connection to it is broken, or nothing has come over it for a while: it is probed next. */
void wf_swim_recheck(struct wf_swim *s, uint64_t node, int64_t now);
/* There was never a connection to it, and none was made in time: this member suspects it. */
void wf_swim_accuse(struct wf_swim *s, uint64_t node, int64_t now);
/* The owner knows by other means that it is DOWN, or LEFT. */
void wf_swim_declare(struct wf_swim *s, uint64_t node, enum wf_swim_state state, int64_t now);
/* Replaces the record of this member itself. WEFT_ENOMEM. */
int wf_swim_describe(struct wf_swim *s, weft_text record, int64_t now);
/* Tells some other members, which tell the rest, that this member leaves; it sends nothing more afterwards. */
void wf_swim_leave(struct wf_swim *s, int64_t now);
int64_t wf_swim_longest(const struct wf_swim *s); /* how long a suspicion may last */
/* Applies an update, as if a message had brought it; also for tests and for tables that start full. */
void wf_swim_learn(struct wf_swim *s, const struct wf_swim_update *u, int64_t now);
static inline bool wf_swim_present(const struct wf_swim_member *m)
{
    return m->state <= WF_SWIM_SUSPECT;
}

#endif
