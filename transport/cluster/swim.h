/* transport/cluster/swim.h -- who is in the cluster: SWIM (Das, Gupta, Motivala 2002) with suspicion, and of
 * Lifeguard (Dadgar, Phillips, Currey 2018) what helps members that are slow themselves.
 *
 * Design notes.
 * (1) A state machine and nothing else: no clock, no sockets, no threads. Its owner says what came and what time it
 *     is; it says whom to send what, and which member has changed. The same code runs in a node (gossip.c) and, a
 *     thousand times over, in the test that compares it with the paper (tests/unit/transport/cluster/swim_net.h,
 *     bench/swim.c).
 * (2) A member is one run of a process: `node`, its random incarnation. Who restarts is another member, of the same
 *     name. `number` is what the paper calls incarnation number: only the member itself makes it grow, to refute what
 *     is said of it, or because its record has changed.
 * (3) What is to be told of a member is its current entry in the table. So there is no queue of updates: the entries
 *     themselves hang in lists by how often they have been told, the least told first. Nothing is told more often
 *     than `spread` * ln(n) times.
 * (4) Two tables that are the same have the same digest. PING and ACK carry it; where two differ and no news is under
 *     way the whole table is sent. That repairs whatever gossip has missed, and it is how a newcomer learns of
 *     all others and two halves of a cluster of each other.
 * (5) Deviations from the paper. A member that was declared down may come back by refuting it: its process may have
 *     been cut off, or stopped, for long. A member that says good-bye is LEFT, which counts as a kind of DOWN. Who is
 *     no longer there, but known, is told so when it talks.
 * (6) A tick that comes a period late (the process was stopped, the machine slept) says nothing about others: all
 *     deadlines move by as much.
 * (7) Probes find out who is gone. While the way to each member proves that it lives (wf_swim_user.heard), and there
 *     is nothing to tell, they only compare digests, and a period is WF_SWIM_QUIET times as long. News, or a doubt,
 *     end that.
 * (8) A number grows by one for each refutation and each new record. The update with the highest number is believed,
 *     and only the member itself raises its number. So there is a bound that no member can have reached
 *     (wf_swim_user.number_max), and updates with higher numbers are ignored. The bound grows with time: a member of
 *     which an update with the highest number was told refutes it, and is believed a moment later.
 * (9) Only learning of a new member, and of a new record, takes memory. If there is none, that is as if the message
 *     had been lost: the digests stay different, so it comes again. */
#ifndef WF_SWIM_H
#define WF_SWIM_H

#include "hash_table.h"
#include "list.h"
#include "swim_wire.h"

enum {
    WF_SWIM_ACCUSERS = 4,      /* of one suspect that are remembered */
    WF_SWIM_SENDS_MAX = 63,    /* of one piece of news by one member */
    WF_SWIM_RELAYS = 64,       /* PINGs on behalf of others that are under way; */
    WF_SWIM_RELAYS_OF_ONE = 4, /* on behalf of one of them, who asks about one member at a time */
    WF_SWIM_QUIET = 10,
    WF_SWIM_HEALTH_MAX = 7, /* worst: periods and patience are 8 times as long */
    WF_SWIM_INDIRECT_MAX = 16,
};

/* Zero: the default. */
struct wf_swim_options {
    int64_t period;     /* 1 s: one member is probed in each */
    int64_t patience;   /* a third of a period: without an answer for so long others are asked to probe it */
    uint32_t indirect;  /* 3: how many others */
    uint32_t suspicion; /* 4: a suspect is down after this many periods, times log10(n) if that is more than 1 */
    uint32_t stretch;   /* 6: and after so many times as long if nobody else suspects it */
    uint32_t spread;    /* 3: lambda: news are told lambda * ln(n) times by each */
    int64_t keep;       /* 60 periods: how long those that are gone are remembered */
    uint64_t seed;
};

struct wf_swim_member {
    uint64_t node, number;
    enum wf_swim_state state;
    bool recheck;  /* there is reason to look at it soon; good until it has answered */
    uint8_t sends; /* how often its entry has been told */
    uint8_t accuser_count;
    uint32_t place;                  /* index in wf_swim.at */
    int64_t since;                   /* in this state */
    int64_t due;                     /* SUSPECT: then it is down */
    uint64_t by[WF_SWIM_ACCUSERS];   /* SUSPECT: who says so, the first one first; DOWN: [0], who found it so */
    struct wf_list_node in_updates;  /* wf_swim.updates[sends] */
    struct wf_list_node in_state;    /* wf_swim.suspects or wf_swim.gone, oldest first */
    struct wf_list_node in_rechecks; /* wf_swim.rechecks */
    struct wf_list_node in_changed;  /* the user's, who is not told when the member is forgotten */
    struct wf_hashed by_node;        /* wf_swim.nodes */
    struct wf_hashed by_name;        /* wf_swim.names */
    bool newest;                     /* of its name: it is there */
    weft_text name;                  /* in `record` */
    weft_text record;                /* malloc'ed */
    /* What it was greeted for (wf_swim_greet_suspect); for the same it is not greeted again before `greet_at`. */
    enum wf_swim_state greeted_state;
    uint64_t greeted_number;
    int64_t greet_at;
};

struct wf_swim;
struct wf_swim_user {
    /* False: there is no way to it now. Must not call back. */
    bool (*send)(void *arg, uint64_t to, const void *frame, size_t size);
    /* A member is new (`before` is its state), in another state or has another record. Must not call back. */
    void (*changed)(void *arg, const struct wf_swim_member *m, enum wf_swim_state before);
    /* Whether something has come from that one lately: then it lives, whatever is said of it. When that is no
     * longer so wf_swim_recheck is called. NULL: nobody is heard. */
    bool (*heard)(void *arg, uint64_t node);
    /* The highest number of a member that can be true now. NULL: all that fit. */
    uint64_t (*number_max)(void *arg);
    /* Whether `from` may tell of a member that is new here. NULL: all may. */
    bool (*may_introduce)(void *arg, uint64_t from);
};

struct wf_swim_relay {
    uint64_t asker, asked, sequence; /* asked: the asker's number; sequence: ours; 0: free */
    uint64_t node;
    int64_t due; /* then it hears that there is no answer */
};

struct wf_swim {
    struct wf_swim_options o;
    const struct wf_swim_user *user;
    void *arg;
    uint64_t random;
    uint64_t speaker; /* whose message is being read; 0: none */
    struct wf_swim_member *self;
    struct wf_swim_member **at; /* all of them, in the order in which they are probed */
    uint32_t count, capacity, next;
    uint32_t present;                  /* ALIVE and SUSPECT, self among them */
    struct wf_hash_table nodes, names; /* names: the newest of each name */
    uint64_t secret;                   /* of their hashes */
    uint64_t digest;
    struct wf_list updates[WF_SWIM_SENDS_MAX + 1];
    uint32_t update_count;
    struct wf_list suspects, gone, rechecks;
    /* The probe of this period. */
    struct wf_swim_member *target; /* NULL: none, or it has answered */
    uint64_t sequence, probe_sequence;
    int64_t ask_at, period_end; /* ask_at WEFT_FOREVER: they have been asked */
    int64_t ordinary_end;       /* period_end of one that is not quiet */
    uint32_t asked, no_answers; /* how many others; how many of them said that it does not answer them either */
    uint64_t asked_of[WF_SWIM_INDIRECT_MAX]; /* who they are; 0: it has said so */
    int64_t due;                             /* what the last tick returned */
    int64_t sync_at;                         /* no SYNC without being asked before this */
    uint32_t health;                         /* 0: good */
    bool leaving;
    struct wf_swim_relay relay[WF_SWIM_RELAYS];
    uint32_t relay_count;
    uint64_t pings, asks, acks, syncs, refuted, unbelieved; /* counted, for who wants to know */
    uint8_t frame[WF_SWIM_MESSAGE_MAX];
};

/* `record`: its own, as wf_put_swim_record writes it. NULL: no memory. */
struct wf_swim *wf_swim_new(const struct wf_swim_options *o, const struct wf_swim_user *user, void *arg,
                            uint64_t self, weft_text record, int64_t now);
void wf_swim_free(struct wf_swim *s); /* NULL is fine */
/* A message from `from`. 0, or WEFT_EFORMAT if it is malformed. Then tick. */
int wf_swim_receive(struct wf_swim *s, uint64_t from, const void *frame, size_t size, int64_t now);
/* What is due; returns when to come again, earlier after any other call. */
int64_t wf_swim_tick(struct wf_swim *s, int64_t now);
/* There is a new way to that one, which may not be a member yet; or it lives, and is to hear what is said of it. */
void wf_swim_greet(struct wf_swim *s, uint64_t node);
/* The same for a member that is heard though it is held for suspect, or gone: but not if it has just been greeted for
 * that. Each greeting costs it an answer and perhaps its whole table, and each answer may be a reason to
 * look at it again. Without this bound, a slow node that is suspected has no time left to refute it. */
void wf_swim_greet_suspect(struct wf_swim *s, uint64_t node, int64_t now);
/* The way to it is broken, or nothing has come over it for a while: it is probed next. */
void wf_swim_recheck(struct wf_swim *s, uint64_t node, int64_t now);
/* There was never a way to it, and none was found in time: this member suspects it. */
void wf_swim_accuse(struct wf_swim *s, uint64_t node, int64_t now);
/* It is known from elsewhere: DOWN, or LEFT. */
void wf_swim_declare(struct wf_swim *s, uint64_t node, enum wf_swim_state state, int64_t now);
/* Another record for this member. WEFT_ENOMEM. */
int wf_swim_describe(struct wf_swim *s, weft_text record, int64_t now);
/* Tells some others, who tell the others, that this member leaves; it says nothing more afterwards. */
void wf_swim_leave(struct wf_swim *s, int64_t now);
int64_t wf_swim_longest(const struct wf_swim *s); /* how long a suspicion may last */
/* What is told a member of itself or of others by hand: for tests and for tables that start full. */
void wf_swim_learn(struct wf_swim *s, const struct wf_swim_update *u, int64_t now);
static inline bool wf_swim_present(const struct wf_swim_member *m)
{
    return m->state <= WF_SWIM_SUSPECT;
}

#endif
