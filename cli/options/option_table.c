/* cli/options/option_table.c -- see option_table.h. */
#include "option_table.h"

#include "option_check.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

#define FIELD(name) offsetof(struct cli, name)

/* ---- What a value may be --------------------------------------------------------------------------------------- */

/* Nothing else judges a value: `weft config check` says of a file what the verb says. What the verb finds out later
 * depends on files, on the network or on other options. */

/* False, and why: "'VALUE': REASON". */
static bool wrong(const char *value, const char *reason, char why[CLI_WHY])
{
    snprintf(why, CLI_WHY, "%s: %s", CLI_QUOTE(value), reason);
    return false;
}

static bool check_any(const char *value, char why[CLI_WHY])
{
    (void)value, (void)why;
    return true;
}

static bool check_filled(const char *value, char why[CLI_WHY])
{
    (void)why;
    return value[0] != '\0';
}

static bool check_mode(const char *value, char why[CLI_WHY])
{
    size_t size = strlen(value);
    (void)why;
    return size > 0 && size <= 4 && strspn(value, "01234567") == size && strtol(value, NULL, 8) > 0 &&
           strtol(value, NULL, 8) <= 0777;
}

static bool check_name(const char *value, char why[CLI_WHY])
{
    (void)why;
    return cli_is_node_name(value);
}

static bool check_cluster(const char *value, char why[CLI_WHY])
{
    (void)why;
    return cli_is_cluster_name(value);
}

/* As a node judges it. */
static bool node_takes(enum wf_option option, const char *value, char why[CLI_WHY])
{
    char text[WF_OPTION_WHY];
    const char *reason = wf_option_check(option, value, text);
    return reason == NULL || wrong(value, reason, why);
}

static bool check_listen(const char *value, char why[CLI_WHY])
{
    bool is_url = strstr(value, "://") != NULL || strcmp(value, "none") == 0;
    return is_url && node_takes(WF_OPTION_LISTEN, value, why);
}

static bool check_join(const char *value, char why[CLI_WHY])
{
    return strstr(value, "://") != NULL && node_takes(WF_OPTION_JOIN, value, why);
}

static bool check_node(const char *value, char why[CLI_WHY])
{
    return cli_is_node_name(value) || check_join(value, why);
}

static bool check_discover(const char *value, char why[CLI_WHY])
{
    return node_takes(WF_OPTION_DISCOVER, value, why);
}

static bool check_dial_only(const char *value, char why[CLI_WHY])
{
    return node_takes(WF_OPTION_DIAL_ONLY, value, why);
}

static bool check_ws_origin(const char *value, char why[CLI_WHY])
{
    return node_takes(WF_OPTION_WS_ORIGIN, value, why);
}

static bool check_meta(const char *value, char why[CLI_WHY])
{
    const char *equals = strchr(value, '=');
    return equals != NULL && equals != value && node_takes(WF_OPTION_META, value, why);
}

static bool check_pattern(const char *value, char why[CLI_WHY])
{
    return node_takes(WF_OPTION_PATTERN, value, why);
}

static bool check_log(const char *value, char why[CLI_WHY])
{
    (void)why;
    return weft_log_check(value, NULL) == WEFT_OK;
}

/* A node that is asked more often has work for nothing. */
static bool check_interval(const char *value, char why[CLI_WHY])
{
    (void)why;
    return strtod(value, NULL) >= 0.1;
}

/* "9464", "127.0.0.1:9464", "[::1]:0" */
static bool check_address(const char *value, char why[CLI_WHY])
{
    const char *colon = strrchr(value, ':'), *port = colon == NULL ? value : colon + 1;
    size_t digits = strspn(port, "0123456789"), size = strlen(value);
    (void)why;
    return digits > 0 && digits <= 5 && port[digits] == '\0' && strtol(port, NULL, 10) <= 65535 && colon != value &&
           size < 60 && strcspn(value, " /?#@") == size;
}

static bool check_limits(const char *value, char why[CLI_WHY])
{
    (void)why;
    return value[0] != '\0' && cli_read_limits(value, &(struct cli_limits){0});
}

static bool check_partition(const char *value, char why[CLI_WHY])
{
    (void)why;
    return cli_read_partition(value, &(struct cli_partition){0});
}

static bool check_cursor(const char *value, char why[CLI_WHY])
{
    (void)why;
    return cli_is_cursor(value);
}

static bool check_shared(const char *value, char why[CLI_WHY])
{
    char queue[80], text[WF_OPTION_WHY]; /* the one in which its records wait */
    if (!cli_is_cursor(value)) return false;
    snprintf(queue, sizeof queue, "$shared.%s", value);
    bool is_right = wf_option_check(WF_OPTION_PATTERN, queue, text) == NULL;
    return is_right || wrong(value, "a name is up to 15 words with dots between them", why);
}

const struct cli_store_rules *cli_store_rules;

static bool check_store(const char *value, char why[CLI_WHY])
{
    return cli_store_rules == NULL || cli_store_rules->check(value, why);
}

static bool check_stored(const char *value, char why[CLI_WHY])
{
    struct cli_stored read = {0};
    return cli_read_stored(value, &read) && check_pattern(read.pattern, why);
}

static bool check_queues(const char *value, char why[CLI_WHY])
{
    struct cli_queues read = {0};
    return cli_read_queues(value, &read) && check_pattern(read.pattern, why);
}

static bool check_position(const char *value, char why[CLI_WHY])
{
    (void)why;
    return cli_read_position(value, &(struct cli_position){0});
}

static const struct cli_option options[] = {
    [CLI_NAME] = {"name", 'n', CLI_WORD, "NAME", "the node's name", "WEFT_NAME", FIELD(name), 0, 0, 0,
                  .check = check_name, .wanted = "a node's name: " CLI_NODE_NAME_RULE,
                  .preset = "weft- and 8 hex digits"},
    [CLI_LISTEN] =
        {"listen", 'l', CLI_LIST, "URL",
         "where other nodes may dial, tcp://127.0.0.1:4001, or inherited://NAME, a socket of systemd's, or "
         "none; may be repeated",
         "WEFT_LISTEN", FIELD(listen), 0, 0, WF_OPTION_LISTEN_MAX, .check = check_listen,
         .wanted = "a URL, such as tcp://127.0.0.1:4001, or none", .preset = "any port, where it reaches a seed"},
    [CLI_JOIN] = {"join", 'j', CLI_LIST, "URL", "a node to dial until it answers; may be repeated", "WEFT_JOIN",
                  FIELD(join), 0, 0, 0, .check = check_join, .wanted = "a URL, such as tcp://127.0.0.1:4001"},
    [CLI_DISCOVER] =
        {"discover", 0, CLI_LIST, "SPEC",
         "where nodes are found: dns:HOST:PORT, dns-srv:NAME, etcd:http://HOST:PORT/PREFIX; may be repeated",
         "WEFT_DISCOVER", FIELD(discover), 0, 0, 0, .check = check_discover, .preset = NULL},
    [CLI_DIAL_ONLY] =
        {"dial-only", 0, CLI_LIST, "RANGE",
         "dial nodes that other nodes report only at these places: 10.0.0.0/8, a name, .example.com; may be repeated",
         "WEFT_DIAL_ONLY", FIELD(dial_only), 0, 0, 0, .check = check_dial_only, .preset = "everywhere"},
    [CLI_WORKERS] = {"workers", 'w', CLI_NUMBER, "N", "worker threads", "WEFT_WORKERS", FIELD(workers), 0, 1, 63,
                     .preset = "one per core"},
    [CLI_CLUSTER] = {"cluster", 'c', CLI_WORD, "NAME", "nodes link only within one cluster", "WEFT_CLUSTER",
                     FIELD(cluster), 0, 0, 0, .check = check_cluster,
                     .wanted = "a name of a cluster: " CLI_CLUSTER_NAME_RULE, .preset = "weft"},
    [CLI_CARRIER] = {"carrier", 0, CLI_WORD, "NAME", "what carries tcp:// links: nng, or tcp, sockets of weft's own",
                     "WEFT_CARRIER", FIELD(carrier), 0, 0, 0, .preset = "nng", .choices = "nng tcp"},
    [CLI_HEARTBEAT] = {"heartbeat", 0, CLI_SECONDS, "SECONDS", "how often an idle link sends a heartbeat",
                       "WEFT_HEARTBEAT", FIELD(heartbeat), 0, 0, 3600, .preset = "1"},
    [CLI_HEARTBEATS_LOST] = {"heartbeats-lost", 0, CLI_NUMBER, "N",
                             "a connection without data for N heartbeats of the peer is lost", "WEFT_HEARTBEATS_LOST",
                             FIELD(heartbeats_lost), 0, 1, 1000, .preset = "5"},
    [CLI_STUCK_AFTER] = {"stuck-after", 0, CLI_SECONDS, "SECONDS",
                         "an actor that runs for this time without waiting is named in the log; 0: never",
                         "WEFT_STUCK_AFTER", FIELD(stuck_after), FIELD(has_stuck_after), 0, 86400, .preset = "1"},
    [CLI_RESUME_WINDOW] = {"resume-window", 0, CLI_SECONDS, "SECONDS",
                           "how long a lost connection is dialled again before the node is down",
                           "WEFT_RESUME_WINDOW", FIELD(resume_window), 0, 0, 86400, .preset = "10"},
    [CLI_WIRE] = {"wire", 0, CLI_NUMBER, "N", "1: use the wire format of the previous version", "WEFT_WIRE",
                  FIELD(wire), 0, 1, 2, .preset = "2, the newest"},
    [CLI_META] = {"meta", 0, CLI_LIST, "KEY=VALUE", "metadata of this node that all other nodes see; may be repeated",
                  "WEFT_META", FIELD(meta), 0, 0, 0, .check = check_meta, .wanted = "like zone=eu", .preset = NULL},
    [CLI_PROBE] = {"probe", 0, CLI_SECONDS, "SECONDS", "how often the node probes another node", "WEFT_PROBE",
                   FIELD(probe), 0, 0, 3600, .preset = "as --heartbeat"},
    [CLI_SUSPICION] =
        {"suspicion", 0, CLI_NUMBER, "N",
         "a suspect is down after N --probe periods, times log10 of the number of nodes if that is over 1",
         "WEFT_SUSPICION", FIELD(suspicion), 0, 1, 1000,
         .preset = "one more than fit into --resume-window, at least 4"},
    [CLI_PARTITION] =
        {"partition", 0, CLI_WORD, "POLICY",
         "none; majority: the side with more than half of all nodes continues; N: a side with at least N nodes",
         "WEFT_PARTITION", FIELD(partition), 0, 0, 0, .preset = "none", .choices = "none majority",
         .check = check_partition, .wanted = "none, majority, or a number of nodes from 1 to 4096"},
    [CLI_MINORITY] = {"minority", 0, CLI_WORD, "ACTION",
                      "with --partition, what a node on the other side does: refuse some calls, or also end",
                      "WEFT_MINORITY", FIELD(minority), 0, 0, 0, .preset = "refuse", .choices = "refuse end"},
    [CLI_LOG] =
        {"log", 0, CLI_WORD, "LEVEL,...",
         "debug, info, warn, error or silent; MODULE=LEVEL for lines of runtime, actors, transport, app or a "
         "module of yours; json, or json:LEVEL, for JSON lines",
         "WEFT_LOG", FIELD(log), 0, 0, 0, .preset = "info", .choices = "debug info warn error silent json",
         .check = check_log,
         .wanted = "LEVEL (debug, info, warn, error, silent), MODULE=LEVEL, json or json:LEVEL, with commas between"},
    [CLI_LOG_FILE] = {"log-file", 0, CLI_WORD, "FILE", "append log lines to this file; SIGHUP opens it again",
                      "WEFT_LOG_FILE", FIELD(log_file), 0, 0, 0, .check = check_filled,
                      .wanted = "the name of a file", .preset = "standard error"},
    [CLI_METRICS] =
        {"metrics", 0, CLI_WORD, "[HOST:]PORT",
         "serve a page at /, /metrics for Prometheus, /healthz and /readyz over HTTP; HOST is 127.0.0.1 if left out, "
         "PORT 0: any",
         "WEFT_METRICS", FIELD(metrics), 0, 0, 0, .preset = NULL, .check = check_address,
         .wanted = "PORT, 127.0.0.1:PORT or [::1]:PORT"},
    [CLI_DRAIN] = {"drain", 0, CLI_SECONDS, "SECONDS", "how long actors may take to end when the node stops",
                   "WEFT_DRAIN", FIELD(drain), FIELD(has_drain), 0, 86400, .preset = "10"},
    [CLI_NODE] = {"node", 'N', CLI_WORD, "NAME|URL", "which node to ask; not needed if only one runs here",
                  "WEFT_NODE", FIELD(node), 0, 0, 0, .check = check_node,
                  .wanted = "a URL, or a node's name: " CLI_NODE_NAME_RULE, .preset = NULL},
    [CLI_JSON] = {"json", 0, CLI_FLAG, NULL, "one JSON object a line", "WEFT_JSON", FIELD(json), 0, 0, 0,
                  .preset = NULL},
    [CLI_TAG] = {"tag", 't', CLI_NUMBER, "N", "the message's tag; left out, it is 0, and for trace any", NULL,
                 FIELD(tag), FIELD(has_tag), 0, 0xFFFFFEFF, .preset = NULL},
    [CLI_TEXT] = {"text", 0, CLI_WORD, "TEXT", "the body is these bytes, instead of JSON", NULL, FIELD(text), 0, 0, 0,
                  .preset = NULL},
    [CLI_COUNT] = {"count", 0, CLI_NUMBER, "N", "end after N messages", NULL, FIELD(count), FIELD(has_count), 1,
                   INT64_MAX, .preset = NULL},
    [CLI_TIMEOUT] = {"timeout", 0, CLI_SECONDS, "SECONDS", "give up after this time, with exit code 4",
                     "WEFT_TIMEOUT", FIELD(timeout), FIELD(has_timeout), 0, 86400, .preset = NULL},
    [CLI_DIR] = {"dir", 0, CLI_WORD, "DIR", "where the certificates are", "WEFT_CERTS", FIELD(dir), 0, 0, 0,
                 .check = check_filled, .wanted = "the name of a folder", .preset = "~/.config/weft/certs"},
    [CLI_ROLE] = {"role", 0, CLI_WORD, "ROLE,...", "node, guest, observe or admin", NULL, FIELD(role), 0, 0, 0,
                  .preset = "node", .choices = "node guest observe admin", .check = check_any},
    [CLI_SAN] = {"san", 0, CLI_LIST, "HOST|ADDRESS", "another name or address of the node's machine; may be repeated",
                 NULL, FIELD(san), 0, 0, 0, .preset = NULL},
    [CLI_DAYS] = {"days", 0, CLI_NUMBER, "N", "how many days the certificate is valid", NULL, FIELD(days),
                  FIELD(has_days), 1, 36500, .preset = "365, an authority 3650"},
    [CLI_REPORT] = {"report", 0, CLI_FLAG, NULL, "wait until each node has reported how many subscribers got it",
                    NULL, FIELD(report), 0, 0, 0, .preset = NULL},
    [CLI_UNDO] = {"undo", 0, CLI_FLAG, NULL, "the node takes new work again", NULL, FIELD(undo), 0, 0, 0,
                  .preset = NULL},
    [CLI_RECORD] = {"record", 0, CLI_FLAG, NULL, "show the last events: the flight recorder", NULL, FIELD(record), 0,
                    0, 0, .preset = NULL},
    [CLI_TRACE] = {"trace", 0, CLI_FLAG, NULL, "the last events as a trace for Perfetto or chrome://tracing", NULL,
                   FIELD(trace), 0, 0, 0, .preset = NULL},
    [CLI_SEEDS] = {"seeds", 0, CLI_NUMBER, "N", "the number of runs", NULL, FIELD(seeds), 0, 1, INT64_MAX / 2,
                   .preset = "100"},
    [CLI_FIRST] = {"first", 0, CLI_NUMBER, "SEED", "the seed of the first run", NULL, FIELD(first), 0, 1,
                   INT64_MAX / 2, .preset = "1"},
    [CLI_NODES] = {"nodes", 0, CLI_NUMBER, "N", "the number of nodes of each cluster", NULL, FIELD(nodes), 0, 1, 16,
                   .preset = "3"},
    [CLI_FAULTS] =
        {"faults", 0, CLI_WORD, "KINDS",
         "none, all, or some of reset,cut,oneway,split,freeze,crash,power,late,clock,slow; memory is not in all",
         NULL, FIELD(faults), 0, 0, 0, .preset = "all",
         .choices = "none all reset cut oneway split freeze crash power late clock slow memory", .check = check_any},
    [CLI_TIME] = {"time", 0, CLI_SECONDS, "SECONDS", "the virtual time in which faults begin", NULL, FIELD(time), 0,
                  1, 86400, .preset = "30"},
    [CLI_SETTLE] = {"settle", 0, CLI_SECONDS, "SECONDS", "the virtual time from the last fault to the final checks",
                    NULL, FIELD(settle), 0, 1, 86400, .preset = "60"},
    [CLI_HEAP] = {"heap", 0, CLI_NUMBER, "MIB",
                  "fail if all nodes together allocate more, or if something is not freed at the end", NULL,
                  FIELD(heap), 0, 1, 1 << 20, .preset = NULL},
    [CLI_REPLAY] = {"replay", 0, CLI_WORD, "SEED[:N,...]",
                    "run this seed again, with its log; with N,... only with these faults", NULL, FIELD(replay), 0, 0,
                    0, .preset = NULL},
    [CLI_MINIMISE] = {"minimise", 0, CLI_FLAG, NULL, "leave out faults that a failure does not need", NULL,
                      FIELD(minimise), 0, 0, 0, .preset = NULL},
    [CLI_LIMITS] = {"limits", 0, CLI_FLAG, NULL, "also draw limits of the nodes from the seed, such as heartbeats",
                    NULL, FIELD(limits), 0, 0, 0, .preset = NULL},
    [CLI_HUNT] = {"hunt", 0, CLI_NUMBER, "MINUTES",
                  "run for this time, and vary the plans of runs that reach new combinations of states", NULL,
                  FIELD(hunt), 0, 1, 10080, .preset = NULL},
    [CLI_JOBS] = {"jobs", 0, CLI_NUMBER, "N", "the number of runs at the same time", NULL, FIELD(jobs), 0, 1, 64,
                  .preset = "one for each core"},
    [CLI_FORCE] = {"force", 0, CLI_FLAG, NULL, "replace files that are there already", NULL, FIELD(force), 0, 0, 0,
                   .preset = NULL},
    [CLI_TLS] = {"tls", 0, CLI_WORD, "DIR|auto",
                 "the folder of the certificates that weft certs made; auto: the default folder of weft certs",
                 "WEFT_TLS", FIELD(tls), 0, 0, 0, .choices = "auto", .check = check_filled,
                 .wanted = "the name of a folder, or auto"},
    [CLI_AS] = {"as", 0, CLI_WORD, "NAME", "which certificate of --tls to use", "WEFT_AS", FIELD(as), 0, 0, 0,
                .check = check_name, .wanted = "a name: " CLI_NODE_NAME_RULE, .preset = "admin, or the only one"},
    [CLI_PEER_LIMIT] = {"peer-limit", 0, CLI_WORD, "LIMITS",
                        "the most that each peer may send in a second: frames=N,bytes=N,spawns=N", "WEFT_PEER_LIMIT",
                        FIELD(peer_limit), 0, 0, 0, .check = check_limits,
                        .wanted = "like frames=100k,bytes=20M,spawns=100"},
    [CLI_MAX_PATTERNS] = {"max-patterns", 0, CLI_NUMBER, "N",
                          "the most different topic patterns of this node's actors, and of each peer",
                          "WEFT_MAX_PATTERNS", FIELD(max_patterns), 0, 1, UINT32_MAX - 1, .preset = "1000000"},
    [CLI_MAX_SUBSCRIPTIONS] = {"max-subscriptions", 0, CLI_NUMBER, "N", "the most subscriptions of one actor",
                               "WEFT_MAX_SUBSCRIPTIONS", FIELD(max_subscriptions), 0, 1, UINT32_MAX - 1,
                               .preset = "100000"},
    [CLI_LOOPBACK_CONTROL] = {"loopback-control", 0, CLI_FLAG, NULL,
                              "let every user of this machine control the node, over any plain listener",
                              "WEFT_LOOPBACK_CONTROL", FIELD(loopback_control), 0, 0, 0, .preset = NULL},
    [CLI_SOCKET_MODE] = {"socket-mode", 0, CLI_WORD, "MODE",
                         "the file mode of ipc:// listeners, in octal: which users may dial them", "WEFT_SOCKET_MODE",
                         FIELD(socket_mode), 0, 0, 0, .check = check_mode,
                         .wanted = "an octal mode such as 600 or 660", .preset = "600"},
    [CLI_INSECURE] = {"insecure", 0, CLI_FLAG, NULL, "talk with other machines without TLS", "WEFT_INSECURE",
                      FIELD(insecure), 0, 0, 0, .preset = NULL},
    [CLI_WS_ORIGIN] =
        {"ws-origin", 0, CLI_LIST, "URL",
         "accept web pages of this site over ws:// and wss://, and requests for its host; may be repeated",
         "WEFT_WS_ORIGIN", FIELD(ws_origin), 0, 0, 0, .check = check_ws_origin, .preset = "none"},
    [CLI_ACTOR] = {"actor", 0, CLI_WORD, "PID|NAME", "messages from and to this actor", NULL, FIELD(actor), 0, 0,
                   CLI_ACTOR_MAX, .check = check_filled, .wanted = "a pid or a name", .preset = NULL},
    [CLI_TOPIC] = {"topic", 0, CLI_WORD, "PATTERN", "messages that are published under this pattern", NULL,
                   FIELD(topic), 0, 0, 0, .check = check_pattern, .preset = NULL},
    [CLI_NO_BODY] = {"no-body", 0, CLI_FLAG, NULL, "leave out the bodies of messages; the role observe needs this",
                     NULL, FIELD(no_body), 0, 0, 0, .preset = NULL},
    [CLI_ALL] = {"all", 0, CLI_FLAG, NULL, "also show the other nodes of the cluster", NULL, FIELD(all), 0, 0, 0,
                 .preset = NULL},
    [CLI_SORT] = {"sort", 0, CLI_WORD, "ORDER",
                  "the order of actors: mailbox, rate, received, dropped, stack, name, kind, state or pid",
                  "WEFT_TOP_SORT", FIELD(sort), 0, 0, 0, .preset = "mailbox",
                  .choices = "mailbox rate received dropped stack name kind state pid"},
    [CLI_ORDER] = {"sort", 0, CLI_WORD, "ORDER",
                   "pid, kind, name, state, or the most first: mailbox, received, dropped or stack", NULL,
                   FIELD(order), 0, 0, 0, .preset = "pid",
                   .choices = "pid kind name state mailbox received dropped stack"},
    [CLI_LIMIT] = {"limit", 0, CLI_NUMBER, "N", "show only the first N", NULL, FIELD(limit), 0, 1, INT64_MAX,
                   .preset = NULL},
    [CLI_KIND] = {"kind", 0, CLI_WORD, "KIND", "only actors of this kind", NULL, FIELD(kind), 0, 0, CLI_KIND_MAX,
                  .preset = NULL},
    [CLI_BY_KIND] = {"by-kind", 0, CLI_FLAG, NULL, "a line for each kind: the memory of its actors together", NULL,
                     FIELD(by_kind), 0, 0, 0, .preset = NULL},
    [CLI_PREFIX] = {"prefix", 0, CLI_WORD, "TEXT", "only names that begin with this text", NULL, FIELD(prefix), 0, 0,
                    CLI_NODE_NAME_MAX, .preset = NULL},
    [CLI_FILTER] = {"filter", 0, CLI_WORD, "TEXT", "only actors with this text in kind, name, pid or node", NULL,
                    FIELD(filter), 0, 0, CLI_FILTER_MAX, .preset = NULL},
    [CLI_INTERVAL] = {"interval", 0, CLI_SECONDS, "SECONDS", "how often the node is asked", "WEFT_TOP_INTERVAL",
                      FIELD(interval), 0, 0, 3600, .preset = "1", .check = check_interval,
                      .wanted = "a number of seconds from 0.1 to 3600, such as 2.5"},
    [CLI_ONCE] = {"once", 0, CLI_FLAG, NULL, "print one report, and end", NULL, FIELD(once), 0, 0, 0, .preset = NULL},
    [CLI_STORE] = {"store", 0, CLI_WORD, "URL", "where stored topics are: sqlite:FILE or postgres:URL", "WEFT_STORE",
                   FIELD(store), 0, 0, 0, .check = check_store, .preset = NULL},
    [CLI_STORE_STANDBY] = {"store-standby", 0, CLI_FLAG, NULL,
                           "another node may serve the store: stand by, and take over when it does not any more",
                           "WEFT_STORE_STANDBY", FIELD(store_standby), 0, 0, 0, .preset = NULL},
    [CLI_STORED_TOPICS] = {"stored", 0, CLI_LIST, "PATTERN[:count=N][:bytes=N][:age=S]",
                           "topics that the store of this node takes, and how much of each it keeps; may be repeated",
                           "WEFT_STORED", FIELD(stored_topics), 0, 0, 0, .check = check_stored,
                           .wanted = "like room.> or room.>:count=1000:bytes=64M:age=86400", .preset = NULL},
    [CLI_QUEUES] = {"queues", 0, CLI_LIST, "PATTERN[:lease=S][:attempts=N][:jobs=N]",
                    "work queues that the store of this node takes; may be repeated", "WEFT_QUEUES", FIELD(queues), 0,
                    0, 0, .check = check_queues, .wanted = "like mail.> or mail.>:lease=30:attempts=5:jobs=100k",
                    .preset = NULL},
    [CLI_STATES] = {"states", 0, CLI_LIST, "PATTERN",
                    "keys of states of actors that the store of this node takes; may be repeated", "WEFT_STATES",
                    FIELD(states), 0, 0, 0, .check = check_pattern, .preset = NULL},
    [CLI_STORED] = {"stored", 0, CLI_FLAG, NULL, "store it first, and print its position in the log", NULL,
                    FIELD(stored), 0, 0, 0, .preset = NULL},
    [CLI_CURSOR] = {"cursor", 0, CLI_WORD, "NAME",
                    "begin where this cursor of a stored topic is, and advance it to what was printed", NULL,
                    FIELD(cursor), 0, 0, 0, .check = check_cursor,
                    .wanted = "1 to 64 letters, digits, '_', '-' and '.'", .preset = NULL},
    [CLI_SHARED] = {"shared", 0, CLI_WORD, "NAME",
                    "be a member of this shared cursor of a stored topic, and acknowledge what was printed", NULL,
                    FIELD(shared), 0, 0, 0, .check = check_shared,
                    .wanted = "1 to 64 letters, digits, '_', '-' and '.'", .preset = NULL},
    [CLI_FROM] =
        {"from", 0, CLI_WORD, "start|now|[EPOCH:]N",
         "begin there in the log of a stored topic: with its first record, the next one, or that of offset N", NULL,
         FIELD(from), 0, 0, 0, .choices = "start now", .check = check_position,
         .wanted = "start, now, an offset such as 17, or an epoch and an offset such as 6fe2a1b09c4d3e58:17",
         .preset = NULL},
    [CLI_CONFIG] = {"config", 0, CLI_WORD, "FILE|none", "the configuration file, weft.conf(5); none: no file",
                    "WEFT_CONFIG", FIELD(config), 0, 0, 0,
                    .preset = "~/.config/weft/weft.conf, else /etc/weft/weft.conf", .choices = "none",
                    .check = check_filled, .wanted = "the name of a file, or none"},
};

const size_t cli_option_count = sizeof options / sizeof options[0];
_Static_assert(sizeof options / sizeof options[0] <= CLI_OPTIONS_ALL, "struct cli has a place for each origin");

const struct cli_option *cli_option(enum cli_option_id id)
{
    return &options[id];
}
