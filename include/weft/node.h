/* weft/node.h -- running a node: its workers, its links to other nodes, its end. A process may hold several. */
#ifndef WEFT_NODE_H
#define WEFT_NODE_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
WEFT_BEGIN

typedef struct weft_node weft_node;

/* When a node is in a minority it refuses what only one side of a cut may do, with WEFT_EMINORITY, until it is back
 * with the others; docs/membership.md lists it. */
typedef enum {
    WEFT_PARTITION_NONE,     /* both sides go on */
    WEFT_PARTITION_MAJORITY, /* of all nodes there were; of two halves that with the node whose name comes first */
    WEFT_PARTITION_QUORUM    /* a fixed number: weft_node_options.quorum */
} weft_partition;

/* Zero means the default for every field. Strings and arrays are copied. */
typedef struct {
    /* letters, digits, '_', '-', '.', at most 64 bytes; default "weft-" and 8 hex digits */
    const char *name;
    const char *cluster; /* nodes link only within one cluster; default "weft" */
    /* URLs that other nodes may dial: tcp://127.0.0.1:4001, ipc:///path. Default: a free port of the address from
     * which the node has reached its first seed (of `join` or `discover`), with the seed's scheme; beside a seed that
     * is a local socket the socket NAME.link. On an address that other machines reach that needs `tls` or `insecure`,
     * as any other listener does. "none", alone: no listener. A node without a listener is a leaf: it has links only
     * with nodes that have one, and the log says so. docs/clusters.md
     * inherited://NAME: a TCP socket that the service manager has opened, as weft_listen_inherited takes them
     * (weft/stream.h), without TLS; once taken it stays so, also if the node does not start. docs/operations.md */
    const char *const *listen;
    size_t listen_count;
    const char *const *join; /* URLs of seeds: dialled for ever, with back-off */
    size_t join_count;
    /* Where other nodes are found, besides `join`; docs/discovery.md. What is found is dialled as long as it is
     * listed.
     *     dns:HOST:PORT                   every A and AAAA record of HOST
     *     dns-srv:_weft._tcp.NAME         every SRV record, with its port
     *     etcd:http://HOST:PORT/PREFIX    every node registered there, and this one registers itself
     *     tcp://127.0.0.1:4001            a URL, as in `join` */
    const char *const *discover;
    size_t discover_count;
    /* Where nodes of which other nodes tell may be dialled on networks: "10.0.0.0/8", "fd00::/8", "192.168.1.7", a
     * name, or ".example.com" for all names that end so; at most 16. Seeds, and what `discover` finds, need not be
     * named. None: everywhere. docs/security.md, "What a member may say of others" */
    const char *const *dial_only;
    size_t dial_only_count;
    int workers;              /* for your actors; default: one per core, at most 63. weft's own have one more */
    bool embedded;            /* no thread: a loop of yours turns its one worker. weft/embed.h */
    size_t stack_bytes;       /* of an actor; default 64 KiB */
    uint32_t actors_max;      /* per worker; default and limit 16,777,215 */
    uint32_t far_actors_max;  /* alive at a time that one other node may have started here; default 65,536 */
    size_t mailbox_bytes_max; /* of all mailboxes of the node together; default 1 GiB */
    /* What weft_publish_retained keeps of each node, and of all nodes that are gone together: messages, default
     * 65,536, and bytes, default 64 MiB. How long after its publisher's node has gone a message is kept, ns; default
     * a day, WEFT_FOREVER: until others that are gone have taken its place. All nodes should have the same. */
    uint32_t retained_max;
    size_t retained_bytes_max;
    int64_t retained_keep;
    /* Different topic patterns that actors of this node subscribe to at a time, and that it takes of each other node;
     * default 1,000,000. One too many is refused by weft_subscribe with WEFT_EFULL; a link with a node that has more
     * is closed. All nodes should have the same: docs/limits.md */
    uint32_t patterns_max;
    uint32_t subscriptions_max; /* of one actor at a time, then WEFT_EFULL; default 100,000 */
    int64_t send_timeout;       /* of weft_send to a full mailbox; default 5 s */
    int64_t grace;              /* between weft_stop and the kill; default 5 s */
    int64_t heartbeat;          /* of a quiet link, a fifth as often of others; default 1 s */
    int heartbeats_lost; /* a connection silent for so many of the other side's is lost; default 5, at most 1000 */
    /* A lost connection is dialled again for so long, and the link goes on without loss; what is sent meanwhile
     * waits. Then the node is down. Default 10 s. */
    int64_t resume_window;
    /* Membership (docs/membership.md): how often this node probes another one, ns, default as `heartbeat`; after how
     * many periods, times log10 of the number of nodes if that is more than 1, a suspect is down, also if the window
     * is still open: at most 1000, default one more than fit into the window, at least 4. */
    int64_t probe_period;
    int suspicion;
    const char *const *meta; /* what this node says of itself, "KEY=VALUE": weft/cluster.h */
    size_t meta_count;
    weft_partition partition; /* what it does when it reaches only a part of the cluster; default: nothing */
    uint32_t quorum;          /* of WEFT_PARTITION_QUORUM: how many nodes there have to be, itself among them */
    /* weft_main and `weft run` also end when their node gets into a minority, suspects counted as there; others go
     * on, and refuse some calls. So does one that has been in a minority since its start. */
    bool partition_ends;
    /* An actor that has waited in weft_recv* or weft_sleep for this long (at most twice as long) is parked: what its
     * stack holds is put aside and the stack's memory given back, until it next runs. Not if its deadline is nearer
     * than ten times this. Nobody else may use its stack meanwhile: see weft_spawn_options.shares_stack. Default 1 s;
     * WEFT_FOREVER: never. docs/memory.md */
    int64_t park_after;
    /* An actor that has held its worker up for so long, without a wait, is named in the log, with where it is, and by
     * `weft top`, `weft ps` and `weft inspect`. Default 1 s; WEFT_FOREVER: never. docs/looking.md */
    int64_t stuck_after;
    int offload_threads; /* for blocking functions (weft_offload); default 4, at most 256 */
    int offload_queue;   /* functions that wait for one of them before actors wait; default 1024 */
    /* Events that each worker keeps (weft/record.h), rounded up to a power of two, 32 bytes each; default 2048, at
     * most 1,048,576; < 0: none. */
    int record_events;
    bool record_sends; /* also each message sent to an actor of the same worker: it costs a tenth more */
    /* of tcp:// URLs with a numeric address: "nng", the library that carries all other URLs, too; "tcp", sockets of
     * weft's own. Default "nng". The bytes are the same: nodes with one link with nodes with the other. */
    const char *carrier;
    int wire_version; /* 1: speak to all as a node of the version before; default: the newest that both speak */
    /* A folder with ca.crt, NAME.crt and NAME.key, as `weft certs` makes it, or "auto": where weft certs keeps them.
     * Then tls+tcp:// URLs can be listened on and dialled; both sides prove who they are. NULL: no TLS.
     * docs/security.md */
    const char *tls;
    const char *tls_as; /* NAME there; default: the node's name. A client's own name may be NAME-ANYTHING */
    /* What each other node or tool may send here in a second; 0: no limit. Who is faster is slowed: less is read from
     * it, nothing is lost. Spawns too many are refused with WEFT_EFULL. More than 30 times the limit at once ends the
     * link. */
    uint64_t peer_frames, peer_bytes, peer_spawns;
    bool insecure; /* listen without TLS where other machines can reach it, and dial other machines so */
    /* Pages of a browser that ws:// and wss:// listeners let in, as browsers name their sites:
     * "https://board.example", "http://127.0.0.1:8000". Requests over ws:// may be for the hosts in them, besides
     * addresses, localhost and the host in the listener's own URL. Default: no page. docs/security.md */
    const char *const *ws_origins;
    size_t ws_origin_count;
    const char *control; /* path of a 0600 ipc socket for the command line; NULL: none */
    /* Whoever reaches a plain listener on this machine may control this node: list its actors, stop it, load code, as
     * the command line does. Default: only who comes by `control`, by another socket of mode 0600, or with a
     * certificate that grants it. `insecure` says the same of other machines, too. docs/security.md */
    bool loopback_control;
    uint32_t socket_mode; /* of the files of ipc:// listeners; default 0600 */
    bool client;          /* join as a tool: not listed as a node, given no topics unless it subscribes */
} weft_node_options;

/* [T] Starts workers and listeners. `*out` is to be ended with weft_node_stop. On failure nothing is left behind, and
 * the log has said which option or URL failed and why. WEFT_EINVAL, WEFT_EADDRESS, WEFT_EINUSE, WEFT_ENOMEM,
 * WEFT_ESYSTEM; of inherited:// URLs also WEFT_ENOTFOUND (there is none of that name) and WEFT_ENOTSUP (Windows). */
WEFT_API WEFT_CHECKED int weft_node_start(weft_node **out, const weft_node_options *options /* NULL: defaults */);

/* [T] Asks every actor to stop, waits until they have ended (at the deadline it kills the rest), drains the links,
 * says BYE to the peers, ends the workers and frees the node. Not from one of its own actors. 0, or WEFT_ETIMEDOUT if
 * it had to kill, or if a blocking function (weft_offload) still runs: its thread is left behind and ends with it. */
WEFT_API int weft_node_stop(weft_node *node, int64_t deadline);

/* [T] Loads the node's certificates anew, from the folder and under the name that it was started with: links that
 * begin from now on show the new ones, those that are there go on. weft_main does it at SIGHUP, too. WEFT_ENOTFOUND:
 * the node was started without any, or a file is missing; WEFT_EACCESS: they do not fit together, or not this node;
 * WEFT_ENOMEM. On an error the old ones stay, and the log says why. Blocks for the file system. */
WEFT_API int weft_node_renew_certs(weft_node *node);

/* [T] Waits until no user actor is left. WEFT_ETIMEDOUT. Not from one of its own actors. */
WEFT_API int weft_node_wait(weft_node *node, int64_t deadline);

/* [T] weft_spawn for the first actors and for foreign threads. */
WEFT_API WEFT_CHECKED int weft_node_spawn(weft_node *node, weft_pid *out, weft_actor *body, const void *arg,
                                          size_t size, const weft_spawn_options *options);

/* [T] weft_try_send for foreign threads, to actors of this node: never waits, WEFT_EFULL at the bound, WEFT_ENONODE
 * for an actor of another node. Inside an actor use weft_send. */
WEFT_API WEFT_CHECKED int weft_node_send(weft_node *node, weft_pid to, uint32_t tag, const void *data, size_t size);

/* [T] The usual main(): starts a node, runs `first` as its first actor and returns when no user actor is left or,
 * after SIGTERM or SIGINT, when the node is drained. The result suits main(): 0; 1 when the node did not start or the
 * first actor ended by weft_exit with a reason that is not WEFT_EXIT_NORMAL or WEFT_EXIT_STOPPED; 5 when not all was
 * drained in time. Call it before other threads exist: it blocks the two signals in the calling
 * thread, and new threads inherit that. It raises the limit of open descriptors (ulimit -n) as far as is allowed. */
WEFT_API int weft_main(const weft_node_options *options, weft_actor *first, const void *arg, size_t size);

/* [T] The node an actor lives on; NULL outside of actors. */
WEFT_API weft_node *weft_here(void);
/* [T] Lives as long as the node. */
WEFT_API const char *weft_node_name(const weft_node *node);
/* [T] The random number of this run of the node; never 0. */
WEFT_API uint64_t weft_node_incarnation(const weft_node *node);
/* [T] The URL of the i-th listener with its real port, or NULL past the last; of an inherited one tcp:// and what it
 * is bound to. Without the option `listen` there is none until a seed has been reached. Lives as long as the node. */
WEFT_API const char *weft_node_url(const weft_node *node, size_t i);

/* The body of WEFT_TAG_NODE_UP, _SUSPECT and _DOWN, see weft_watch_nodes; of WEFT_TAG_MINORITY and _MAJORITY, too:
 * name and incarnation are then those of this node. */
struct weft_node_news {
    uint64_t incarnation;
    char name[65];
    /* of NODE_DOWN and NODE_SUSPECT: "no heartbeat for 5.0 s", "left", "left, not drained" (actors had to be killed),
     * "found to be down by node b"; of MINORITY: "in a minority: 2 of 5 nodes are there"; else "" */
    char reason[128];
};
/* [T] 0, or WEFT_EFORMAT if `m` is no such message. */
WEFT_API int weft_node_news_read(const weft_msg *m, struct weft_node_news *out);

/* What `weft run MODULE.so` looks for: the module's first actor, given the words after "--" as struct weft_args. */
#define WEFT_MODULE_ENTRY "weft_module_main"
struct weft_args {
    int argc;
    const char *const *argv; /* argv[0] is the module's path; live as long as the node */
};
/* WEFT_MODULE(body) at file level makes `body` the entry point of a module. */
#ifdef __cplusplus
#define WEFT_MODULE(body)                                                   \
    extern "C" WEFT_API void weft_module_main(const void *arg, size_t size) \
    {                                                                       \
        body(arg, size);                                                    \
    }
#else
#define WEFT_MODULE(body)                                         \
    WEFT_API void weft_module_main(const void *arg, size_t size); \
    void weft_module_main(const void *arg, size_t size)           \
    {                                                             \
        body(arg, size);                                          \
    }
#endif

WEFT_END
#endif
