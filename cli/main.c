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
    if (c->json) printf("{\"version\": \"%s\"}\n", WEFT_VERSION);
    else printf("weft %s\n", WEFT_VERSION);
    return CLI_OK;
}

static const struct cli_verb verbs[] = {
    {"run",
     "MODULE.so|FILE.c",
     "Starts a node and runs the module's first actor in it",
     "A .c file is compiled with $CC (cc) and kept in the cache; not on Windows, where modules are DLLs. The words\n"
     "behind -- are the module's. SIGTERM and SIGINT end the node: its actors are asked to stop and get\n"
     "the time of --drain; a second signal ends it at once. A seed that does not answer is dialled for\n"
     "ever. The node ends by itself when none of its actors is left. With --json the first line of standard output "
     "says\n"
     "where it listens, once it does; the module writes behind it.",
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
      CLI_STORED_TOPICS,
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
     "STACK is the most bytes of stack that an actor of the same kind on the same worker was seen to use, in whole\n"
     "pages: what to go by when choosing stack_bytes. 0: none was looked at yet. The list comes in pages, which are\n"
     "printed as they come; --sort needs all of them first. With --by-kind a line for each kind, and one for all: "
     "how\n"
     "many actors, messages in mailboxes, messages that were received or made and not freed (HELD), their bytes, "
     "the\n"
     "memory of stacks, and what the runtime keeps on the heap for them; the kind that takes most comes first. "
     "Kinds\n"
     "beyond 63 are counted as one, named other.",
     "weft ps --node a --sort mailbox --limit 20",
     {CLI_ORDER, CLI_KIND, CLI_BY_KIND, CLI_LIMIT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS,
      CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_ps},
#ifdef WF_TOP
    {"top",
     "",
     "Shows a node, or all of them, on a terminal as they work",
     "Workers, links, what was dropped, and the actors with the fullest mailboxes, or those that come first by "
     "--sort.\n"
     "Rates are those since the question before. Keys: s and r change the order, f filters, / searches, Enter "
     "inspects\n"
     "the chosen actor, a shows all nodes, ? says what there is, q quits. --once prints two answers' difference,\n"
     "--json what each node answers, one object a line, again and again.",
     "weft top --node a --sort rate",
     {CLI_ALL, CLI_SORT, CLI_FILTER, CLI_INTERVAL, CLI_ONCE, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS,
      CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_top},
#endif
    {"inspect",
     "[PID|NAME]",
     "Shows what an actor does and waits for, or who waits for whom",
     "Of one actor (0.17.1, or its registered name): what it waits for and since when, in which functions of its\n"
     "program, whose answer it waits for, its links and monitors, what carries messages to their nodes, its last\n"
     "events; and the chain of those who wait for each other's answers, over all nodes: its end is who holds up the\n"
     "others. Actors of other nodes are NODE/NAME.\n"
     "Without a name: all calls under way, who waits for whose answer.\n"
     "With --record: the last events of the node's flight recorder, of all actors or of one: who started, sent,\n"
     "received, waited, ended. Times are seconds before the last one. What is sent to an actor of the same worker "
     "is\n"
     "shown when it is received.",
     "weft inspect counter --node a",
     {CLI_RECORD, CLI_TRACE, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_inspect},
    {"trace",
     "",
     "Prints messages as they pass, and what follows from them, on all nodes",
     "Those from or to one --actor, with one --tag, published under a --topic, or all of them; of several, those "
     "that\n"
     "fit all. Each gets a trace id, and so do those that its receiver sends then, and so on: they are shown, too, "
     "with\n"
     "time (UTC), trace id, node, who, tag, whom, and what is in it: JSON, or text. Shown is the sending and the "
     "taking\n"
     "out of the mailbox. What comes faster than it can be printed is counted as missed. Ends as subscribe does.",
     "weft trace --actor counter --node a",
     {CLI_ACTOR, CLI_TAG, CLI_TOPIC, CLI_NO_BODY, CLI_COUNT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS,
      CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_trace},
    {"why-dropped",
     "",
     "Says how many messages a node has dropped, why, and which were the last",
     "Each worker remembers its last 32. The sender is not known of all of them. Actors are shown by name and kind,\n"
     "those of other nodes as NODE/NAME, messages by the name of their WEFT_MESSAGE.",
     "weft why-dropped --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_why_dropped},
    {"nodes",
     "",
     "Lists the nodes that a node knows, and how their links are",
     "The first line is the node itself; it says if it is in a minority. A node that is down or suspect is shown "
     "with\n"
     "the reason. What each node says of itself comes last.",
     "weft nodes --json",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_nodes},
    {"names",
     "",
     "Lists the registered names that a node knows, of all nodes",
     "SCOPE is node for a name of that node only, cluster for a global one, and loses for a global one that another\n"
     "node registered before and that is about to be taken back.",
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
     "The body is the msgpack of the JSON, or the bytes of --text. Says to how many nodes it went; one without\n"
     "subscribers gets none. With --report, how many nodes and subscribers have got it; a node that has not said so\n"
     "before the time is over is counted as silent. With --stored it is on disk before it is published, and its "
     "epoch and\n"
     "offset are printed; the node of --node has to be the one that runs the store.",
     "weft publish room.lobby '[\"ann\", \"hello\"]' --tag 1",
     {CLI_TEXT, CLI_TAG, CLI_REPORT, CLI_STORED, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS,
      CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_publish},
    {"subscribe",
     "PATTERN",
     "Prints what is published under a pattern",
     "A line for each message: topic, tag, body. '*' stands for one word, '>' at the end for the rest. Ends after\n"
     "--count messages, at SIGINT, or with exit code 4 when the time of --timeout is over. What comes faster than\n"
     "it can be printed waits on the node; if that is too much, a line on standard error says how much is lost.\n"
     "With --from a stored topic is read from that place on, the past and then the live, and nothing is lost; each "
     "line\n"
     "begins with its epoch and offset. The node of --node has to be the one that runs the store.",
     "weft subscribe 'room.>' --json",
     {CLI_COUNT, CLI_FROM, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_subscribe},
    {"store topics",
     "",
     "Lists the topics in a store: how many records each has, and from which offset to which",
     "Reads the file of --store, also while a node has it open.",
     "weft store topics --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_topics},
    {"store read",
     "TOPIC",
     "Prints the records of a topic in a store",
     "Reads the file of --store, also while a node has it open. A line for each record: epoch and offset, tag, body.",
     "weft store read room.tea --store sqlite:rooms.db --from 17",
     {CLI_STORE, CLI_FROM, CLI_COUNT, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_store_read},
    {"store check",
     "",
     "Reads all of a store and says what is damaged or missing",
     "Reads the file of --store, also while a node has it open. Code 1 if there is a fault.",
     "weft store check --store sqlite:rooms.db",
     {CLI_STORE, CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_store_check},
    {"send",
     "NAME [JSON]",
     "Sends a message to a registered actor of a node",
     "NAME is a name on the node of --node, or NAME@NODE. Success means that the node has taken the message.",
     "weft send counter '[3]' --tag 7",
     {CLI_TEXT, CLI_TAG, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_send},
    {"call",
     "NAME [JSON]",
     "Sends a request to a registered actor and prints the answer",
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
     "NAME is that of WEFT_EXPORT_ACTOR; the body holds its arguments, in the order of their fields. The node checks "
     "them.",
     "weft spawn chat.room '[\"tea\", 40]' --node b",
     {CLI_TEXT, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     2,
     false,
     cli_spawn},
    {"sim",
     "MODULE.so|FILE.c",
     "Runs clusters of a module's actors in virtual time, under faults, each from a seed",
     "Each run is a cluster of --nodes nodes n1, n2, ... in one thread; each runs the module's first actor. Faults "
     "are\n"
     "drawn from the seed. What has to be true the module says in WEFT_SIM (weft/sim.h). The same seed is the same "
     "run,\n"
     "step by step: one that fails is shown with its seed, its faults and the last events, and can be run again "
     "with\n"
     "--replay. Ends with code 1 if one fails.",
     "weft sim ledger.c --seeds 1000 --minimise",
     {CLI_SEEDS, CLI_FIRST, CLI_NODES, CLI_FAULTS, CLI_TIME, CLI_SETTLE, CLI_HEAP, CLI_REPLAY, CLI_MINIMISE, CLI_JOBS,
      CLI_JSON, CLI_END},
     1,
     1,
     true,
     cli_sim},
    {"log",
     "[LEVEL|MODULE=LEVEL,...]",
     "Shows or changes the levels of a node's log while it runs",
     "Words as for --log of run, but what is not said stays as it is: transport=debug changes the level of that\n"
     "module, warn that of all modules without a level of their own. Prints what is set then. The levels last until\n"
     "the node's process ends; all nodes of one process share them.",
     "weft log transport=debug --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_log},
    {"stop",
     "",
     "Ends a node in order: its actors are asked to stop, its links are closed",
     "Waits until the node is gone. Actors that do not end within --drain are killed; the code is 5 then, and if "
     "the\n"
     "node ended without closing its links.",
     "weft stop --node a --drain 5",
     {CLI_DRAIN, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_stop},
    {"drain",
     "",
     "Makes a node take no new work, while it goes on with what it has",
     "The node refuses global names and spawns of other nodes; /readyz says 503; singletons run elsewhere; actors "
     "that\n"
     "watch for it (weft_watch_drain) hand over what other nodes can go on with, as the rooms of the chat do. "
     "Prints\n"
     "which global names are still its actors'. 'weft stop' ends the node; --undo makes it take work again.",
     "weft drain --node a",
     {CLI_UNDO, CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_drain},
    {"reload",
     "MODULE.so|FILE.c",
     "Replaces the code of a node's module while its actors live on",
     "The node loads the file beside what it runs; it has to be on the node's machine, and to belong to the node's "
     "user\n"
     "or to root. Actors that have called weft_trap_reload (weft/reload.h) hand their state over and go on with the "
     "new\n"
     "code, with their pids, names and messages. Others keep the old one. Code 1, and nothing has changed, if it "
     "cannot\n"
     "be compiled or loaded; code 1 also if an actor stays, with its reason. Not for nodes on Windows.",
     "weft reload chat.c --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_reload},
#ifdef WF_TLS
    {"certs init",
     "",
     "Makes the authority that issues the certificates of a cluster",
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
     "Writes NAME.crt and NAME.key beside ca.crt. Who has them can be the node NAME and nobody else. Roles:\n"
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
     "Says what a certificate says: whose it is, its roles, how long it is good",
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
     "From the folder and under the name that it was started with. Links that begin from then on show the new ones; "
     "those\n"
     "that are there go on. SIGHUP does the same. Code 1, and the old ones stay, if the files are missing or do not "
     "fit.",
     "weft certs issue a --force && weft certs reload --node a",
     {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TLS, CLI_AS, CLI_CONFIG, CLI_END},
     0,
     0,
     false,
     cli_certs_reload},
#endif
    {"new",
     "DIR",
     "Makes a project: an actor, what runs it, and its test",
     "The last part of DIR becomes the name of the module. It is built with make, pkg-config and a C compiler.",
     "weft new counter && cd counter && make test",
     {CLI_FORCE, CLI_JSON, CLI_CONFIG, CLI_END},
     1,
     1,
     false,
     cli_new},
    {"config check",
     "[FILE]",
     "Says what is wrong in the configuration file",
     "Each mistake with its line and its key; code 1 if there is one. Without FILE the one that the other verbs "
     "would "
     "read.",
     "weft config check",
     {CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     1,
     false,
     cli_config_check},
    {"config show",
     "[VERB]",
     "Shows each value that a verb would use, and where it comes from",
     "A value comes from a flag, else from a WEFT_ variable, else from the configuration file, else it is the "
     "default.\n"
     "Without VERB those of run. Behind -- the words that the verb would be given.",
     "weft config show run -- --workers 4",
     {CLI_JSON, CLI_CONFIG, CLI_END},
     0,
     2,
     true,
     cli_config_show},
    {"bench",
     "[WORKLOAD]...",
     "Measures what this machine does: messages, spawns, publications, two processes over TCP",
     "A line for each workload, or for those that are named: the median of five runs, and the least and the most of "
     "them. Takes half a minute; "
     "what\n"
     "else runs meanwhile is measured with it. Behind -- one workload of bench/ is run once, with its numbers, and "
     "its\n"
     "results printed as they are: 'weft bench -- pingpong 1 1000000', 'weft bench -- remote rtt 16 10000'. Linux "
     "only.",
     "weft bench --json",
     {CLI_JSON, CLI_END},
     0,
     16,
     true,
     cli_bench},
    {"completion",
     "bash|zsh|fish",
     "Prints what makes a shell complete the words of weft",
     "Once: eval \"$(weft completion bash)\", the same for zsh, weft completion fish | source. A package installs "
     "it.\n"
     "'weft completion words -- WORD...' is what these scripts ask: what may stand for the last word.",
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
    {"version", "", "Prints the version", NULL, NULL, {CLI_JSON, CLI_END}, 0, 0, false, version},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

static int help(FILE *out, int code)
{
    fputs("weft runs actors: nodes, and what one asks of them.\n\nusage: weft VERB [OPTIONS]\n\n", out);
    for (int i = 0; i < VERBS; i++) fprintf(out, "  %-12s %s\n", verbs[i].name, verbs[i].summary);
    fputs("  help         This text; 'weft VERB --help' says more\n", out);
    return code;
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
        if (!any && next != NULL && !asked) fprintf(out, "weft %s: there is no '%s'; there is:\n", word, next);
        else if (!any) fprintf(out, "weft %s needs one more word:\n", word);
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
#ifndef WF_TOP
    if (strcmp(word, "top") == 0) {
        fputs("weft top: this weft was built without ncurses: install libncurses-dev and build weft again\n", stderr);
        return CLI_FAILED;
    }
#endif
    const char *names[VERBS + 1];
    for (int i = 0; i < VERBS; i++) names[i] = verbs[i].name;
    names[VERBS] = "help";
    const char *close = cli_closest(word, names, VERBS + 1);
    if (close != NULL) fprintf(stderr, "weft: there is no verb '%s'; did you mean '%s'?\n", word, close);
    else fprintf(stderr, "weft: there is no verb '%s'\n", word);
    fputs("See 'weft help'.\n", stderr);
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    cli_verbs = verbs;
    cli_verb_count = VERBS;
    if (argc < 2) return help(stderr, CLI_USAGE);
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return help(stdout, CLI_OK);
    if (strcmp(word, "--version") == 0) word = "version";
    bool of_verb = strcmp(word, "help") == 0;
    if (of_verb && argc == 2) return help(stdout, CLI_OK);
    if (of_verb) word = argv[2];
    const char *next = argc > 2 + of_verb ? argv[2 + of_verb] : NULL;
    int words;
    const struct cli_verb *verb = cli_find_verb(word, next, &words);
    if (verb == NULL) {
        int half = half_a_verb(word, next);
        return half >= 0 ? half : unknown_verb(word);
    }
    struct cli c = {0};
    int rc = of_verb ? -1 : cli_parse(&c, verb, argc - 1 - words, argv + 1 + words);
    if (rc < 0) cli_help(stdout, verb);
    bool about_file = verb->run == cli_config_check || verb->run == cli_config_show; /* which may be wrong */
    if (rc == CLI_OK && !about_file) rc = cli_configure(&c);
    if (rc == CLI_OK) rc = verb->run(&c);
    cli_finish(&c);
    if (fflush(stdout) != 0 && rc == CLI_OK) rc = cli_fail(&c, CLI_FAILED, "cannot write the output");
    return rc < 0 ? CLI_OK : rc;
}
