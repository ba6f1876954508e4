/* cli/main.c -- weft: the table of verbs. */
#include <string.h>

#include "bench.h"
#include "certs.h"
#include "certs_reload.h"
#include "certs_show.h"
#include "complete.h"
#include "config_file.h"
#include "config_show.h"
#include "drain.h"
#include "drops.h"
#include "inspect.h"
#include "log.h"
#include "main.h"
#include "manual.h"
#include "new.h"
#include "record.h"
#include "reload.h"
#include "run.h"
#include "sim.h"
#include "stop.h"
#include "stored.h"
#include "talk.h"
#include "top.h"
#include "trace.h"

static int version(const struct cli *c)
{
    const char *has = WEFT_FEATURES, *before = "";
    if (!c->json) {
        printf("weft %s\nfeatures: %s\n", WEFT_VERSION, has[0] == '\0' ? "none" : has);
        return CLI_OK;
    }
    printf("{\"version\": \"%s\", \"features\": [", WEFT_VERSION);
    for (; *has != '\0'; has += strspn(has, " "), before = ", ") {
        const size_t size = strcspn(has, " ");
        printf("%s\"%.*s\"", before, (int)size, has);
        has += size;
    }
    puts("]}");
    return CLI_OK;
}

static const struct cli_verb verbs[] = {
    {"run",
     "MODULE.so|FILE.c",
     "Starts a node and runs the module's first actor in it",
     "A .c file is compiled with $CC (cc), and the result is cached. On Windows modules are DLLs. The\n"
     "arguments behind -- belong to the module. SIGTERM and SIGINT shut the node down: its actors are\n"
     "asked to stop, and have the time of --drain; a second signal ends the node at once. A seed that does\n"
     "not answer is dialled until it does. The node ends by itself when its last actor has ended. With\n"
     "--json the first line of standard output says where the node listens; the output of the module\n"
     "follows.",
     "weft run chat.c --name a --listen tcp://127.0.0.1:4001 -- --port 4101",
     {CLI_NAME,
      CLI_LISTEN,
      CLI_JOIN,
      CLI_DISCOVER,
      CLI_DIAL_ONLY,
      CLI_WORKERS,
      CLI_CLUSTER,
      CLI_CARRIER,
      CLI_META,
      CLI_PROBE,
      CLI_SUSPICION,
      CLI_PARTITION,
      CLI_MINORITY,
      CLI_TLS,
      CLI_INSECURE,
      CLI_LOOPBACK_CONTROL,
      CLI_SOCKET_MODE,
      CLI_PEER_LIMIT,
      CLI_WS_ORIGIN,
      CLI_MAX_PATTERNS,
      CLI_MAX_SUBSCRIPTIONS,
      CLI_STORE,
      CLI_STORE_STANDBY,
      CLI_STORED_TOPICS,
      CLI_QUEUES,
      CLI_STATES,
      CLI_HEARTBEAT,
      CLI_HEARTBEATS_LOST,
      CLI_STUCK_AFTER,
      CLI_RESUME_WINDOW,
      CLI_WIRE,
      CLI_LOG,
      CLI_LOG_FILE,
      CLI_METRICS,
      CLI_DRAIN,
      CLI_JSON,
      CLI_CONFIG,
      CLI_END},
     1,
     1,
     true,
     cli_run},
    {"ps",
     "",
     "Lists the actors of a node",
     "STACK is the largest stack use that was seen of an actor of the same kind on the same worker, in\n"
     "whole pages: choose stack_bytes by it. 0: no stack was looked at yet. The list is sent in pages,\n"
     "which are printed as they arrive; --sort needs all of them first. With --by-kind there is a line for\n"
     "each kind and one for all: the number of actors, messages in mailboxes, messages that were received\n"
     "or made and not freed (HELD), their bytes, the memory of stacks, and the heap memory that the\n"
     "runtime uses for them. The kind with the most bytes comes first. Kinds beyond 63 are counted as one,\n"
     "named other.",
     "weft ps --node a --sort mailbox --limit 20",
     {CLI_ORDER, CLI_KIND, CLI_BY_KIND, CLI_LIMIT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS,
      CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_ps},
    {"top",
     "",
     "Shows a node, or all of them, on a terminal as they work",
     "Shows workers, links, dropped messages, and the actors with the fullest mailboxes, or the first ones\n"
     "by --sort. Rates are those since the last request. Keys: s and r change the order, f filters, /\n"
     "searches, Enter inspects the chosen actor, a shows all nodes, ? lists all keys, q quits. --once\n"
     "prints the difference of two answers, --json prints each answer of a node as one object a line,\n"
     "again and again.",
     "weft top --node a --sort rate",
     {CLI_ALL, CLI_SORT, CLI_FILTER, CLI_INTERVAL, CLI_ONCE, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS,
      CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_top},
    {"inspect",
     "[PID|NAME]",
     "Shows what an actor does and waits for, or all calls under way",
     "For one actor (0.17.1, or its registered name): what it waits for and since when, in which functions\n"
     "of its program, whose reply it waits for, its links and monitors, which carriers lead to their\n"
     "nodes, and its last events. Then the chain of actors that wait for each other's replies, over all\n"
     "nodes: the actor at its end holds up the others. Actors of other nodes are NODE/NAME. Without a\n"
     "name: all calls under way, each with its caller and the actor that has to reply. With --record: the\n"
     "last events of the node's flight recorder, of all actors or of one: starts, sends, receives, waits,\n"
     "ends. Times are seconds before the last event. A message to an actor on the same worker is shown\n"
     "when it is received.",
     "weft inspect counter --node a",
     {CLI_RECORD, CLI_TRACE, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_inspect},
    {"trace",
     "",
     "Prints messages as they pass, and those that follow from them, on all nodes",
     "Chooses messages from or to one --actor, with one --tag, published under a --topic, or all messages;\n"
     "with several of these options, messages that match all of them. Each message gets a trace id, which\n"
     "the messages that its receiver then sends get as well, and so on. Shown are the send and the receive\n"
     "of each: time (UTC), trace id, node, actor, tag, other actor, and the body as JSON or text. Messages\n"
     "that come faster than they can be printed are counted as missed. Ends as subscribe does.",
     "weft trace --actor counter --node a",
     {CLI_ACTOR, CLI_TAG, CLI_TOPIC, CLI_NO_BODY, CLI_COUNT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS,
      CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_trace},
    {"why-dropped",
     "",
     "Shows how many messages a node has dropped, why, and the last of them",
     "Each worker remembers its last 32 dropped messages. The sender is not known of all of them. Actors\n"
     "are shown by name and kind, those of other nodes as NODE/NAME, messages by the name of their\n"
     "WEFT_MESSAGE.",
     "weft why-dropped --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_why_dropped},
    {"nodes",
     "",
     "Lists the nodes that a node knows, and the state of their links",
     "The first line is the node itself, with a note if it is in a minority. A node that is down or\n"
     "suspect is shown with the reason. Each node's metadata is at the end of its line.",
     "weft nodes --json",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_nodes},
    {"names",
     "",
     "Lists the registered names that a node knows, of all nodes",
     "SCOPE is node for a name of one node, cluster for a global name, and loses for a global name that\n"
     "another node registered earlier: its registration here is about to be removed.",
     "weft names --node a",
     {CLI_PREFIX, CLI_LIMIT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_names},
    {"groups",
     "",
     "Lists the members of all groups that a node knows, of all nodes",
     NULL,
     "weft groups --json",
     {CLI_PREFIX, CLI_LIMIT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_groups},
    {"publish",
     "TOPIC [JSON]",
     "Publishes a message under a topic",
     "The body is the msgpack of the JSON, or the bytes of --text. Prints the number of nodes that the\n"
     "message was sent to; a node without subscribers is sent nothing. With --report: the number of nodes\n"
     "and subscribers that received it; a node that has not reported before the timeout counts as silent.\n"
     "With --stored the message is on disk before it is published, and its epoch and offset are printed;\n"
     "the node of --node has to be the one that runs the store.",
     "weft publish room.lobby '[\"ann\", \"hello\"]' --tag 1",
     {CLI_TEXT, CLI_TAG, CLI_REPORT, CLI_STORED, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS,
      CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_publish},
    {"subscribe",
     "PATTERN",
     "Prints the messages that are published under a pattern",
     "Prints a line for each message: topic, tag, body. '*' matches one word, '>' at the end matches the\n"
     "rest. Ends after --count messages, at SIGINT, or with exit code 4 when the time of --timeout has\n"
     "passed. Messages that come faster than they can be printed wait on the node; if there are too many,\n"
     "a line on standard error says how many were dropped. With --from a stored topic is read from that\n"
     "position on, first what is stored, then what is stored later, and nothing is lost; each line begins\n"
     "with its epoch and offset. With --cursor the store remembers under NAME what was printed, of each\n"
     "topic of the pattern: the next one with that name continues there, and a line that was cut off when\n"
     "this one was killed comes again; each line begins with topic, epoch and offset. With --shared it is a\n"
     "member of the shared cursor NAME: each record goes to one member, and is acknowledged when it was\n"
     "printed. The node of --node has to be the one that runs the store.",
     "weft subscribe 'room.>' --json",
     {CLI_COUNT, CLI_FROM, CLI_CURSOR, CLI_SHARED, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS,
      CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_subscribe},
    {"store topics",
     "",
     "Lists the topics in a store: how many records each has, and from which offset to which",
     "Reads the store, also while a node has it open.",
     "weft store topics --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_topics},
    {"store read",
     "TOPIC",
     "Prints the records of a topic in a store",
     "Reads the store, also while a node has it open. A line for each record: epoch and offset, tag, body. If the\n"
     "log ends before the record of --from, code 1 and the records that it has; if only that record is not\n"
     "stored yet, code 0 and a line on standard error.",
     "weft store read room.tea --store sqlite:rooms.db --from 17",
     {CLI_STORE, CLI_FROM, CLI_COUNT, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_store_read},
    {"store export",
     "[TOPIC]",
     "Writes the records of a store to standard output, one JSON object a line",
     "Reads the store, also while a node has it open. Each object has topic, epoch, offset, time,\n"
     "tag, and the bytes as text, or as base64 where they are no text. The first one has \"export\" besides, the\n"
     "version of the format, and the last one \"records\", their number: by these 'weft store import', which\n"
     "reads them, notices that a file was cut off.",
     "weft store export --store sqlite:rooms.db > rooms.jsonl",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_store_export},
    {"store import",
     "",
     "Adds the records that 'weft store export' has written, from standard input",
     "They keep their epochs, offsets and times. So each has to begin a topic, or to follow the last record\n"
     "of its topic; another one is refused, and the lines before it stay. Code 1 if the export is cut off, or\n"
     "lacks lines: what is there is imported. No node may have the file of --store open; it is made if there\n"
     "is none.",
     "weft store import --store sqlite:copy.db < rooms.jsonl",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_import},
    {"store check",
     "",
     "Reads all of a store and says what is damaged or missing",
     "Reads the store, also while a node has it open. Code 1 if there is a fault.",
     "weft store check --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_check},
    {"store cursors",
     "",
     "Lists the cursors in a store: where each is, and how many records are behind it",
     "Reads the store, also while a node has it open. A line for each cursor: name, topic, epoch and "
     "offset. For a shared cursor the line also says how many records of all its topics were given out and\n"
     "not acknowledged, and how many are dead: 'weft store dead $shared.NAME' prints these.",
     "weft store cursors --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_cursors},
    {"store queues",
     "",
     "Lists the work queues in a store: how many of their jobs are ready, delayed, leased and dead",
     "Reads the store, also while a node has it open.",
     "weft store queues --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_queues},
    {"store reminders",
     "",
     "Lists the reminders in a store: when each is due, and how often it was given since",
     "Reads the store, also while a node has it open. A line for each reminder: queue, key, time (UTC), period,\n"
     "attempts, and 'dead' after the last one.",
     "weft store reminders --store sqlite:bank.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_reminders},
    {"store states",
     "",
     "Lists the states of actors in a store: how large each is, and how often it was opened",
     "Reads the store, also while a node has it open. A line for each state: key, bytes of the snapshot, "
     "events since and their bytes, openings.",
     "weft store states --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_states},
    {"store dead",
     "QUEUE",
     "Prints the dead jobs of a queue: those that were taken too often and not done",
     "Reads the store, also while a node has it open. A line for each job: id, attempts, tag, body. The\n"
     "queue of a shared cursor is $shared.NAME; each line then has topic, epoch and offset before the tag.",
     "weft store dead mail.out --store sqlite:rooms.db",
     {CLI_STORE, CLI_COUNT, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_store_dead},
    {"store drop",
     "QUEUE [ID]",
     "Removes dead jobs of a queue: one of them, or all",
     "The node of --node has to be the one that runs the store.",
     "weft store drop mail.out 17 --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_store_drop},
    {"store retry",
     "QUEUE [ID]",
     "Lets dead jobs of a queue be taken again: one of them, or all",
     "The node of --node has to be the one that runs the store.",
     "weft store retry mail.out --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_store_retry},
    {"send",
     "NAME [JSON]",
     "Sends a message to a registered actor of a node",
     "NAME is a name on the node of --node, or NAME@NODE. Success means that the node has accepted the\n"
     "message.",
     "weft send counter '[3]' --tag 7",
     {CLI_TEXT, CLI_TAG, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_send},
    {"call",
     "NAME [JSON]",
     "Sends a request to a registered actor and prints the reply",
     NULL,
     "weft call counter '[]' --tag 8 --timeout 2",
     {CLI_TEXT, CLI_TAG, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_call},
    {"spawn",
     "NAME [JSON]",
     "Starts an actor that a node exports and prints its pid",
     "NAME is that of WEFT_EXPORT_ACTOR; the body holds the arguments of the actor, in the order of its\n"
     "fields. The node checks them.",
     "weft spawn chat.room '[\"tea\", 40]' --node b",
     {CLI_TEXT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_spawn},
    {"sim",
     "MODULE.so|FILE.c",
     "Runs clusters of a module's actors in virtual time, with injected faults, each run from a seed",
     "Each run is a cluster of --nodes nodes n1, n2, ... in one thread; each node runs the module's first\n"
     "actor. Faults are drawn from the seed. The module states in WEFT_SIM (weft/sim.h) what has to be\n"
     "true. The same seed gives the same run, step by step: a run that fails is shown with its seed, its\n"
     "faults and the last events, and --replay runs it again. Ends with code 1 if a run fails.",
     "weft sim ledger.c --seeds 1000 --minimise",
     {CLI_SEEDS, CLI_FIRST, CLI_NODES, CLI_FAULTS, CLI_TIME, CLI_SETTLE, CLI_HEAP, CLI_LIMITS, CLI_HUNT, CLI_REPLAY,
      CLI_MINIMISE, CLI_JOBS, CLI_JSON, CLI_END},
     1,
     1,
     true,
     cli_sim},
    {"log",
     "[LEVEL|MODULE=LEVEL,...]",
     "Shows or changes the levels of a node's log while it runs",
     "Levels are written as for --log of run, but levels that are not named stay as they are:\n"
     "transport=debug changes the level of that module, warn changes that of all modules without a level\n"
     "of their own. Prints the levels that are then set. They last until the node's process ends; all\n"
     "nodes of one process share them.",
     "weft log transport=debug --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_log},
    {"stop",
     "",
     "Shuts a node down: its actors are asked to stop, its links are closed",
     "Waits until the node has ended. Actors that do not end within --drain are killed; the exit code is\n"
     "then 5. It is also 5 if the node ended without closing its links.",
     "weft stop --node a --drain 5",
     {CLI_DRAIN, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_stop},
    {"drain",
     "",
     "Makes a node take no new work, while it continues with the work it has",
     "The node refuses global names and spawns of other nodes; /readyz answers 503; singletons run\n"
     "elsewhere; actors that watch for it (weft_watch_drain) hand over what other nodes can continue, as\n"
     "the rooms of the chat do. Prints which global names its actors still have. 'weft stop' ends the\n"
     "node; --undo makes it take work again.",
     "weft drain --node a",
     {CLI_UNDO, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_drain},
    {"reload",
     "MODULE.so|FILE.c",
     "Replaces the code of a node's module while its actors keep running",
     "The node loads the file beside the module that it runs. The file has to be on the node's machine,\n"
     "and to belong to the node's user or to root. Actors that have called weft_trap_reload\n"
     "(weft/reload.h) pass on their state and continue in the new code, with their pids, names and\n"
     "messages. Others keep the old code. Code 1, and nothing has changed, if the file cannot be compiled\n"
     "or loaded; code 1 also if an actor keeps the old code, with its reason. Not for nodes on Windows.",
     "weft reload chat.c --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_reload},
#ifdef WF_TLS
    {"certs init",
     "",
     "Makes the authority (CA) that issues the certificates of a cluster",
     "Writes ca.crt, which every node gets, and ca.key, which stays where it is.",
     "weft certs init",
     {CLI_DIR, CLI_CLUSTER, CLI_DAYS, CLI_FORCE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_certs_init},
    {"certs issue",
     "NAME",
     "Issues a certificate for a node, or for a person with a tool",
     "Writes NAME.crt and NAME.key beside ca.crt. A machine with these two files can act as node NAME, and\n"
     "as no other. Roles:\n"
     "  node     a member of the cluster: messages, names, topics; inspects, spawns and stops actors elsewhere\n"
     "  guest    a member that may only send, call, publish and subscribe\n"
     "  observe  a tool that may look: ps, top, nodes, names, groups, inspect, why-dropped, subscribe, and trace\n"
     "           --no-body\n"
     "  admin    a tool that may do everything, and stop nodes",
     "weft certs issue b --san 10.0.0.2 --days 90",
     {CLI_ROLE, CLI_SAN, CLI_DAYS, CLI_DIR, CLI_FORCE, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_certs_issue},
    {"certs show",
     "FILE|NAME",
     "Shows what a certificate contains: its name, its roles, how long it is valid",
     NULL,
     "weft certs show b",
     {CLI_DIR, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_certs_show},
    {"certs reload",
     "",
     "Makes a running node load its certificates again",
     "They are loaded from the folder and under the name with which the node was started. Links that begin\n"
     "afterwards use the new ones; existing links continue. SIGHUP does the same. Code 1, and the old ones\n"
     "stay in use, if the files are missing or do not belong together.",
     "weft certs issue a --force && weft certs reload --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_certs_reload},
#endif
    {"new",
     "DIR",
     "Makes a project: an actor, a program that runs it, and its test",
     "The last part of DIR becomes the name of the module. It is built with make, pkg-config and a C compiler.",
     "weft new counter && cd counter && make test",
     {CLI_FORCE, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_new},
    {"config check",
     "[FILE]",
     "Reports the mistakes in the configuration file",
     "Prints each mistake with its line and its key; code 1 if there is one. Without FILE the file is\n"
     "checked that the other verbs would read.",
     "weft config check",
     {CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_config_check},
    {"config show",
     "[VERB]",
     "Shows each value that a verb would use, and where it comes from",
     "A value comes from a flag, else from a WEFT_ variable, else from the configuration file, else it is\n"
     "the default. Without VERB the values of run are shown. Behind -- stand the arguments that the verb\n"
     "would be given.",
     "weft config show run -- --workers 4",
     {CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     2,
     true,
     cli_config_show},
    {"bench",
     "[WORKLOAD]...",
     "Measures the speed of this machine: messages, spawns, publications, two processes over TCP",
     "Prints a line for each workload, or for the named ones: the median, the least and the most of five\n"
     "runs. Takes half a minute; other programs that run meanwhile change the results. Behind -- one\n"
     "workload of bench/ is run once, with its numbers, and its results are printed unchanged: 'weft bench\n"
     "-- pingpong 1 1000000', 'weft bench -- remote rtt 16 10000'. Linux only.",
     "weft bench --json",
     {CLI_JSON, CLI_END},
     0,
     16,
     true,
     cli_bench},
    {"completion",
     "bash|zsh|fish",
     "Prints a script with which a shell completes the arguments of weft",
     "Once: eval \"$(weft completion bash)\", the same for zsh, weft completion fish | source. A package\n"
     "installs it. These scripts call 'weft completion words -- WORD...', which prints what may stand for\n"
     "the last word.",
     "eval \"$(weft completion bash)\"",
     {CLI_END},
     1,
     1,
     true,
     cli_completion},
    {"manual",
     "[VERB|weft.conf]",
     "Prints the manual page of weft, of a verb or of the configuration file, for scdoc",
     NULL,
     "weft manual run | scdoc >weft-run.1",
     {CLI_END},
     0,
     2,
     false,
     cli_manual},
    {"version",
     "",
     "Prints the version, and what this weft was built with",
     "The features are those meson options (see docs/packaging.md) that this build has.",
     "weft version --json",
     {CLI_JSON, CLI_END},
     0,
     0,
     false,
     version},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static int help(FILE *out, int code)
{
    fputs("Runs nodes of actors, and inspects and controls running nodes.\n\nusage: weft VERB [OPTIONS]\n\n", out);
    for (int i = 0; i < VERBS; i++) fprintf(out, "  %-12s %s\n", verbs[i].name, verbs[i].summary);
    fputs("  help         This text; 'weft VERB --help' describes a verb\n", out);
    return code;
}

static int checked(const struct cli *c, int rc)
{
    if (!cli_output_failed() || rc != CLI_OK) return rc;
    return cli_reader_has_gone() ? CLI_FAILED : cli_fail(c, CLI_FAILED, "cannot write the output");
}

/* The first word of verbs with two, without the right second one. */
static int half_a_verb(const char *word, const char *next)
{
    bool asked = next != NULL && (strcmp(next, "--help") == 0 || strcmp(next, "-h") == 0);
    FILE *out = asked ? stdout : stderr;
    size_t n = strlen(word);
    bool any = false;
    for (int i = 0; i < VERBS; i++) {
        if (strncmp(verbs[i].name, word, n) != 0 || verbs[i].name[n] != ' ') continue;
        if (!any && next != NULL && !asked)
            fprintf(out, "weft %s: there is no %s; there is:\n", word, CLI_QUOTE(next));
        else if (!any) fprintf(out, "weft %s needs a second word:\n", word);
        fprintf(out, "  weft %-12s %s\n", verbs[i].name, verbs[i].summary);
        any = true;
    }
    return !any ? -1 : asked ? CLI_OK : CLI_USAGE;
}

static int unknown_verb(const char *word)
{
#ifndef WF_TLS
    if (strcmp(word, "certs") == 0) {
        fputs("weft certs: this weft was built without TLS: install libmbedtls-dev (2.28) and build weft again\n",
              stderr);
        return CLI_FAILED;
    }
#endif
    const char *names[VERBS + 1];
    for (int i = 0; i < VERBS; i++) names[i] = verbs[i].name;
    names[VERBS] = "help";
    const char *close = cli_closest(word, names, VERBS + 1);
    if (close != NULL) fprintf(stderr, "weft: there is no verb %s; did you mean '%s'?\n", CLI_QUOTE(word), close);
    else fprintf(stderr, "weft: there is no verb %s\n", CLI_QUOTE(word));
    fputs("See 'weft help'.\n", stderr);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    wf_main_hold_standard();
    cli_verbs = verbs;
    cli_verb_count = VERBS;
    cli_store_rules = &cli_stored_rules;
    if (argc < 2) return help(stderr, CLI_USAGE);
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return checked(NULL, help(stdout, CLI_OK));
    if (strcmp(word, "--version") == 0) word = "version";
    bool of_verb = strcmp(word, "help") == 0;
    if (of_verb && argc == 2) return checked(NULL, help(stdout, CLI_OK));
    if (of_verb) word = argv[2];
    const char *next = argc > 2 + of_verb ? argv[2 + of_verb] : NULL;
    int words;
    const struct cli_verb *verb = cli_find_verb(word, next, &words);
    if (verb == NULL) {
        int half = half_a_verb(word, next);
        return half >= 0 ? checked(NULL, half) : unknown_verb(word);
    }
    struct cli c = {0};
    int rc = of_verb ? -1 : cli_parse(&c, verb, argc - 1 - words, argv + 1 + words);
    if (rc < 0) cli_help(stdout, verb);
    else cli_store_hide(&c, argc, argv);
    bool about_file = verb->run == cli_config_check || verb->run == cli_config_show; /* which may be wrong */
    if (rc == CLI_OK && !about_file) rc = cli_configure(&c);
    if (rc == CLI_OK) rc = verb->run(&c);
    cli_finish(&c);
    if (verb->run == cli_run && rc == CLI_OK) return rc; /* what the module prints is its own affair */
    return checked(&c, rc < 0 ? CLI_OK : rc);
}
