/* weft/node.h -- running a node: its workers, its links to other nodes, its end. A process may run several nodes. */
#ifndef WEFT_NODE_H
#define WEFT_NODE_H

#include <weft/actor.h>
#include <weft/api.h>
#include <weft/message.h>
WEFT_BEGIN

typedef struct weft_node weft_node;

/* What a node does while it is in a minority. With a policy, calls that only one side of a partition may make fail
 * with WEFT_EMINORITY until the node is back in the majority; docs/membership.md lists them. */
typedef enum {
    WEFT_PARTITION_NONE, /* both sides continue */
    /* the majority of the nodes that were members; of two halves, the half with the node whose name comes first */
    WEFT_PARTITION_MAJORITY,
    WEFT_PARTITION_QUORUM /* a fixed number of nodes: weft_node_options.quorum */
} weft_partition;

/* Zero means the default for every field. Strings and arrays are copied. */
typedef struct {
    /* letters, digits, '_', '-', '.', at most 64 bytes; default "weft-" and 8 hex digits */
    const char *name;
    const char *cluster; /* nodes link only within one cluster; default "weft" */
    /* URLs that other nodes may dial: tcp://127.0.0.1:4001, ipc:///path. Default: a free port on the local address
     * from which the node has reached its first seed (of `join` or `discover`), with the seed's scheme; if the seed
     * is a Unix socket, the socket NAME.link in the same folder. An address that other machines can reach needs `tls`
     * or `insecure`; this holds for the default, too. "none", as the only entry: no listener. A node without a
     * listener is a leaf: it has links only with nodes that have a listener, and the log says so. docs/clusters.md
     *
     * inherited://NAME: a TCP socket that the service manager has opened, as for weft_listen_inherited
     * (weft/stream.h), without TLS. Once taken, the socket stays taken, also if the node does not start.
     * docs/operations.md */
    const char *const *listen;
    size_t listen_count;
    /* URLs of seeds: dialled indefinitely, with back-off. WEFT_EADDRESS: one that nobody could dial, as its scheme is
     * unknown, or it has no port from 1 to 65535 */
    const char *const *join;
    size_t join_count;
    /* Where other nodes are found, besides `join`; docs/discovery.md. A node that is found is dialled as long as it
     * is listed.
     *     dns:HOST:PORT                   every A and AAAA record of HOST
     *     dns-srv:_weft._tcp.NAME         every SRV record, with its port
     *     etcd:http://HOST:PORT/PREFIX    every node registered there; this node registers itself there, too
     *     tcp://127.0.0.1:4001            a URL, as in `join` */
    const char *const *discover;
    size_t discover_count;
    /* Networks on which this node may dial nodes that other nodes have told it about: "10.0.0.0/8", "fd00::/8",
     * "192.168.1.7", a name, or ".example.com" for all names that end with it; at most 16. Seeds, and nodes that
     * `discover` finds, need not be listed. No entries: all networks. docs/security.md, "What a member may say of
     * others" */
    const char *const *dial_only;
    size_t dial_only_count;
    /* workers for your actors; default: one per core, at most 63. weft's own actors have one more */
    int workers;
    bool embedded;      /* true: the node starts no thread; your own event loop runs its one worker. weft/embed.h */
    size_t stack_bytes; /* stack of an actor; default 64 KiB; rounded up as in weft_spawn_options */
    /* actors per worker; default and limit 16,777,215. From 65,536 on a spawn by another thread may fail when up to 32
     * places are left */
    uint32_t actors_max;
    uint32_t remote_actors_max; /* actors that one other node may have running here at a time; default 65,536 */
    size_t mailbox_bytes_max;   /* all mailboxes of the node together; default 1 GiB */
    /* Limits of retained messages (weft_publish_retained), for each node, and for all lost nodes together: messages,
     * default 65,536, and bytes, default 64 MiB. retained_keep: how long a message is kept after its publisher's node
     * was lost, ns; default one day; WEFT_FOREVER: until messages of other lost nodes need the space. Use the same
     * values on all nodes. */
    uint32_t retained_max;
    size_t retained_bytes_max;
    int64_t retained_keep;
    /* The number of different topic patterns to which actors of this node may subscribe at a time, and which this
     * node accepts from each other node; default 1,000,000. Above the limit weft_subscribe returns WEFT_EFULL, and
     * the link with a node that has more is closed. Use the same value on all nodes: docs/limits.md */
    uint32_t patterns_max;
    uint32_t subscriptions_max; /* subscriptions of one actor at a time, then WEFT_EFULL; default 100,000 */
    int64_t send_timeout;       /* ns that weft_send waits for a full mailbox; default 5 s */
    int64_t grace;              /* ns between weft_stop and the kill; default 5 s */
    int64_t heartbeat; /* ns between heartbeats on a quiet link, a fifth as often on other links; default 1 s */
    /* heartbeats of the peer that may be missed before a connection counts as lost; default 5, at most 1000 */
    int heartbeats_lost;
    /* How long weft tries to connect again when a connection is lost, ns; default 10 s. Messages sent meanwhile wait.
     * If it succeeds, the link resumes without loss. If it does not, the other node is down. */
    int64_t resume_window;
    /* Membership (docs/membership.md). probe_period: ns between probes of another node; default: as `heartbeat`.
     * suspicion: a suspect is down after this many periods, multiplied by log10 of the number of nodes if that is
     * more than 1, even if the resume window is still open. At most 1000; default: one period more than fit into the
     * window, at least 4. */
    int64_t probe_period;
    int suspicion;
    const char *const *meta; /* metadata that this node gives about itself, "KEY=VALUE": weft/cluster.h */
    size_t meta_count;
    weft_partition partition; /* what the node does when it reaches only a part of the cluster; default: nothing */
    uint32_t quorum;          /* for WEFT_PARTITION_QUORUM: the number of nodes needed, this node included */
    /* true: weft_main and `weft run` also end when their node is in a minority even with suspects counted as present;
     * but not if it has been in a minority since its start. false: they continue, and some calls are refused. */
    bool partition_ends;
    /* An actor that has waited in weft_recv* or weft_sleep for this long (ns; at most twice as long) is parked: the
     * contents of its stack are stored elsewhere and the memory of the stack is released until the actor next runs.
     * An actor whose deadline is nearer than ten times this is not parked. No other code may use its stack meanwhile:
     * see weft_spawn_options.shares_stack. Default 1 s; WEFT_FOREVER: never. docs/memory.md */
    int64_t park_after;
    /* If an actor blocks its worker for this long (ns) without a wait, the log, `weft top`, `weft ps` and `weft
     * inspect` name the actor and its place in the code. Default 1 s; WEFT_FOREVER: never. docs/looking.md */
    int64_t stuck_after;
    int offload_threads; /* threads for blocking functions (weft_offload); default 4, at most 256 */
    int offload_queue;   /* functions that may wait for such a thread; beyond that, actors wait; default 1024 */
    /* Events that each worker records (weft/record.h), rounded up to a power of two, 32 bytes each; default 2048, at
     * most 1,048,576; < 0: none. */
    int record_events;
    bool record_sends; /* also record each message sent to an actor of the same worker: sending costs a tenth more */
    /* Transport of tcp:// URLs with a numeric address: "nng", the library that also carries all other URLs; or "tcp",
     * weft's own sockets. Default "nng". The bytes on the wire are the same, so nodes with different values can
     * link. */
    const char *carrier;
    /* 1: use the protocol of the previous version with all nodes; default: the newest version that both nodes have */
    int wire_version;
    /* A folder with ca.crt, NAME.crt and NAME.key, as `weft certs` makes it, or "auto": the folder where weft certs
     * keeps them. tls+tcp:// URLs can then be listened on and dialled; both sides prove who they are. NULL: no TLS.
     * docs/security.md */
    const char *tls;
    /* the NAME in that folder; default: the node's name. A client's own name may be NAME-ANYTHING */
    const char *tls_as;
    /* What each other node or tool may send to this node per second; 0: no limit. weft reads more slowly from a peer
     * that sends faster; nothing is lost. Spawns above the limit are refused with WEFT_EFULL. More than 30 times the
     * limit at once ends the link. */
    uint64_t peer_frames, peer_bytes, peer_spawns;
    /* listen without TLS where other machines can reach the node, and dial other machines without TLS */
    bool insecure;
    /* Origins of browser pages that ws:// and wss:// listeners accept, as browsers write them:
     * "https://board.example", "http://127.0.0.1:8000". The Host of requests over ws:// may be one of the hosts in
     * them; addresses, localhost and the host in the listener's own URL are always allowed. Default: no page.
     * docs/security.md */
    const char *const *ws_origins;
    size_t ws_origin_count;
    /* path of a 0600 ipc socket for the command line; removed when the node stops, unless another process has replaced
     * it; NULL: none */
    const char *control;
    /* true: any program that reaches a plain listener on this machine may control this node as the command line does:
     * list its actors, stop it, load code. Default: only a peer that comes through `control`, through another socket
     * of mode 0600, or with a certificate that grants it. `insecure` allows the same to other machines, too.
     * docs/security.md */
    bool loopback_control;
    uint32_t socket_mode; /* mode of the files of ipc:// listeners; default 0600 */
    bool client;          /* true: join as a tool: not listed as a node, and sent no topics unless it subscribes */
} weft_node_options;

/* [T] Starts a node: its workers and listeners. End `*out` with weft_node_stop. On an error nothing is left
 * behind, and the log has said which option or URL failed and why.
 * Errors: WEFT_EINVAL, WEFT_EADDRESS, WEFT_EINUSE, WEFT_ENOMEM, WEFT_ESYSTEM; for inherited:// URLs also
 * WEFT_ENOTFOUND (there is no socket of that name) and WEFT_ENOTSUP (Windows). */
WEFT_API WEFT_CHECKED int weft_node_start(weft_node **out, const weft_node_options *options /* NULL: defaults */);

/* [T] Stops a node: asks every actor to stop and waits until they have ended; at the deadline it kills the rest.
 * Then it sends what is left on the links, for at most two seconds, tells the peers that the node leaves, ends the
 * workers and frees the node. Returns 0; WEFT_ETIMEDOUT if actors had to be killed, or if a blocking function
 * (weft_offload) still runs: its thread is left behind and ends with the function; or WEFT_EINVAL if an actor of the
 * node calls it. */
WEFT_API int weft_node_stop(weft_node *node, int64_t deadline);

/* [T] Loads the node's certificates again, from the folder and under the name with which it was started. New links
 * use the new certificates; existing links continue. weft_main also does this at SIGHUP. Blocks for the file system.
 * Errors, after which the old certificates stay, and the log says why: WEFT_ENOTFOUND (the node was started without
 * certificates, or a file is missing), WEFT_EACCESS (they do not match each other or this node), WEFT_ENOMEM. */
WEFT_API int weft_node_renew_certs(weft_node *node);

/* [T] Waits until no user actor is left. Returns 0, WEFT_ETIMEDOUT, or WEFT_EINVAL if an actor of the node calls
 * it. */
WEFT_API int weft_node_wait(weft_node *node, int64_t deadline);

/* [T] As weft_spawn, for the first actors and for threads that are not weft's. */
WEFT_API WEFT_CHECKED int weft_node_spawn(weft_node *node, weft_pid *out, weft_actor *body, const void *arg,
                                          size_t size, const weft_spawn_options *options);

/* [T] As weft_try_send, for threads that are not weft's, to actors of this node. Never waits: WEFT_EFULL if the
 * mailbox is full. WEFT_ENONODE for an actor of another node. Inside an actor use weft_send. */
WEFT_API WEFT_CHECKED int weft_node_send(weft_node *node, weft_pid to, uint32_t tag, const void *data, size_t size);

/* [T] The usual main(): starts a node, runs `first` as its first actor, and returns when no user actor is left, or
 * when the node has stopped after SIGTERM or SIGINT. The result suits main():
 *     0  all went well
 *     1  the node did not start, there was no memory to run the first actor, or it ended by weft_exit with a reason
 *        that is not WEFT_EXIT_NORMAL or WEFT_EXIT_STOPPED
 *     5  some actors had not ended in time
 * Call it before other threads exist: it blocks the two signals in the calling thread, and new threads inherit that.
 * It raises the limit of open descriptors (ulimit -n) as far as is allowed. */
WEFT_API int weft_main(const weft_node_options *options, weft_actor *first, const void *arg, size_t size);

/* [T] Returns the node of the calling actor; NULL outside of actors. */
WEFT_API weft_node *weft_here(void);
/* [T] Returns the name of the node. The text lives as long as the node. */
WEFT_API const char *weft_node_name(const weft_node *node);
/* [T] Returns the incarnation: the random number of this run of the node; never 0. */
WEFT_API uint64_t weft_node_incarnation(const weft_node *node);
/* [T] Returns the URL of the i-th listener with its real port, or NULL past the last. For an inherited listener it is
 * tcp:// and the address to which the socket is bound. Without the option `listen` there is none until a seed has
 * been reached. The text lives as long as the node. */
WEFT_API const char *weft_node_url(const weft_node *node, size_t i);

/* The body of WEFT_TAG_NODE_UP, _SUSPECT and _DOWN messages (see weft_watch_nodes), and of WEFT_TAG_MINORITY and
 * _MAJORITY; in these two, name and incarnation are those of this node. */
struct weft_node_news {
    uint64_t incarnation;
    char name[65];
    /* for NODE_DOWN and NODE_SUSPECT: "no heartbeat for 5.0 s", "left", "left, not drained" (actors had to be
     * killed), "found to be down by node b"; for MINORITY: "in a minority: 2 of 5 nodes are there"; else "" */
    char reason[128];
};
/* [T] Reads such a message into `out`. Returns 0, or WEFT_EFORMAT if `m` is another kind of message. */
WEFT_API int weft_node_news_read(const weft_msg *m, struct weft_node_news *out);

/* The entry point that `weft run MODULE.so` looks for: the module's first actor. Its argument is a struct weft_args
 * with the command line's arguments after "--". */
#define WEFT_MODULE_ENTRY "weft_module_main"
struct weft_args {
    int argc;
    const char *const *argv; /* argv[0] is the module's path; the texts live as long as the node */
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
