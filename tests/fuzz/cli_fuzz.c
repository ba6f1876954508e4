/* The input is the words of a command line, one a line; lines like $WEFT_NAME=VALUE are the environment. The first
 * byte chooses one of two verbs, which together have all options. */
#include "fuzz.h"

/* What `weft run` reads of its options is its own affair; the rest of it is not called. */
#include "../../cli/run.c"

int cli_module(const struct cli *c, const char **path, char made[PATH_MAX])
{
    (void)c;
    (void)path;
    (void)made;
    return CLI_FAILED;
}
int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX])
{
    (void)c;
    (void)name;
    (void)out;
    return CLI_FAILED;
}
bool cli_socket_answers(const char *path)
{
    (void)path;
    return false;
}
weft_actor *cli_load(const struct cli *c, const char *path)
{
    (void)c;
    (void)path;
    return NULL;
}
int cli_load_beside(const char *path, weft_migrate **hook, char *why, size_t size)
{
    (void)path, (void)hook, (void)why, (void)size;
    return WEFT_ESYSTEM;
}
void cli_print_string(FILE *out, const char *text, size_t size)
{
    (void)out, (void)text, (void)size;
}
int cli_store_first(const struct cli *c, weft_actor **first)
{
    (void)c, (void)first;
    return CLI_FAILED;
}
int cli_check_tls(const struct cli *c, const char *name, bool warn)
{
    (void)c;
    (void)name, (void)warn;
    return CLI_FAILED;
}

static const struct cli_verb verbs[] = {
    {.name = "one",
     .arguments = "WORD",
     .summary = "half of all options",
     .args_min = 1,
     .args_max = 3,
     .takes_rest = true,
     .options = {CLI_NAME,
                 CLI_LISTEN,
                 CLI_JOIN,
                 CLI_DISCOVER,
                 CLI_DIAL_ONLY,
                 CLI_WORKERS,
                 CLI_CLUSTER,
                 CLI_CARRIER,
                 CLI_HEARTBEAT,
                 CLI_HEARTBEATS_LOST,
                 CLI_STUCK_AFTER,
                 CLI_RESUME_WINDOW,
                 CLI_WIRE,
                 CLI_META,
                 CLI_PROBE,
                 CLI_SUSPICION,
                 CLI_PARTITION,
                 CLI_MINORITY,
                 CLI_LOG,
                 CLI_LOG_FILE,
                 CLI_METRICS,
                 CLI_DRAIN,
                 CLI_TLS,
                 CLI_INSECURE,
                 CLI_LOOPBACK_CONTROL,
                 CLI_SOCKET_MODE,
                 CLI_PEER_LIMIT,
                 CLI_MAX_PATTERNS,
                 CLI_MAX_SUBSCRIPTIONS,
                 CLI_END}},
    {.name = "two",
     .arguments = "",
     .summary = "the other half",
     .about = "About.",
     .example = "weft two",
     .args_max = 2,
     .options = {CLI_NODE,  CLI_JSON,  CLI_TAG,    CLI_TEXT,    CLI_COUNT,  CLI_REPORT, CLI_RECORD,   CLI_SEEDS,
                 CLI_FIRST, CLI_NODES, CLI_FAULTS, CLI_TIME,    CLI_SETTLE, CLI_REPLAY, CLI_MINIMISE, CLI_LIMITS,
                 CLI_HUNT,  CLI_JOBS,  CLI_TRACE,  CLI_TIMEOUT, CLI_DIR,    CLI_ROLE,   CLI_SAN,      CLI_DAYS,
                 CLI_FORCE, CLI_AS,    CLI_CONFIG, CLI_ACTOR,   CLI_TOPIC,  CLI_END}},
};
static const char *const variables[] = {"WEFT_NAME",     "WEFT_LISTEN",    "WEFT_JOIN",    "WEFT_DISCOVER",
                                        "WEFT_WORKERS",  "WEFT_HEARTBEAT", "WEFT_META",    "WEFT_PEER_LIMIT",
                                        "WEFT_INSECURE", "WEFT_JSON",      "WEFT_TIMEOUT", "WEFT_LOG"};
enum { WORDS = 64 };

/* As the table in options.c says. */
static void check_values(const struct cli *c)
{
    MUST(c->workers >= 0 && c->workers <= 64 && c->wire >= 0 && c->wire <= 2 && c->nodes >= 0 && c->nodes <= 16);
    MUST(c->tag >= 0 && c->tag <= 0xFFFFFEFF && c->days >= 0 && c->days <= 36500 && c->jobs <= 64);
    MUST(c->heartbeat >= 0 && c->heartbeat <= WEFT_SEC(3600) && c->drain >= 0 && c->drain <= WEFT_SEC(86400));
    MUST(c->count >= 0 && (!c->has_count || c->count > 0));
    const struct cli_list *const lists[] = {&c->listen, &c->join, &c->discover, &c->dial_only, &c->san, &c->meta};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        MUST(lists[i]->count <= CLI_LIST_MAX);
        for (size_t k = 0; k < lists[i]->count; k++) MUST(lists[i]->item[k] != NULL);
    }
    MUST(c->argc >= c->verb->args_min && c->argc <= c->verb->args_max);
    MUST(c->rest_count == 0 || c->verb->takes_rest);
}

static void check_configuration(const struct cli *c)
{
    weft_node_options o = {0};
    const uint64_t most = UINT64_C(100000000000) * 1000000000 / 1000;
    set_limits(c, &o);
    MUST(o.peer_frames <= most && o.peer_bytes <= most && o.peer_spawns <= most);
    if (set_partition(c, &o) == CLI_OK)
        MUST(o.partition != WEFT_PARTITION_QUORUM || (o.quorum > 0 && o.quorum <= 4096));
    set_log(c);
    weft_log_set(WEFT_INFO, false);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    struct cli c = {0};
    const struct cli_verb *verb = &verbs[input_byte(&in) % 2];
    char *text = input_string(&in), *at = text, *words[WORDS + 1], *word;
    int count = 0;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    while (count < WORDS && (word = strsep(&at, "\n")) != NULL) {
        char *equals = strchr(word, '=');
        if (strncmp(word, "$WEFT_", 6) == 0 && equals != NULL) {
            *equals = '\0';
            (void)setenv(word + 1, equals + 1, 1);
        } else words[count++] = word;
    }
    words[count] = NULL;
    int rc = cli_parse(&c, verb, count, words);
    MUST(rc == CLI_OK || rc == CLI_USAGE || rc == -1);
    if (rc == CLI_OK) {
        check_values(&c);
        check_configuration(&c);
    } else if (rc == -1) {
        FILE *nowhere = fopen("/dev/null", "w");
        MUST(nowhere != NULL);
        cli_help(nowhere, verb);
        fclose(nowhere);
    }
    cli_finish(&c);
    free(text);
    return 0;
}
