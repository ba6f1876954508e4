/* cli/run.c -- weft run: this process becomes a node that runs a module. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "lacks.h"
#include "main.h"

bool cli_is_node_name(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = strlen(name);
    return n > 0 && n <= CLI_NODE_NAME_MAX && strspn(name, letters) == n && name[0] != '.';
}

int cli_check_node_name(const struct cli *c, const char *name)
{
    if (cli_is_node_name(name)) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "'%s' is no node name: 1 to %d letters, digits, '_', '-' and '.', no leading dot",
                    name, CLI_NODE_NAME_MAX);
}

/* The node has to have a name before it starts: its control socket is called after it. */
static const char *own_name(char out[16])
{
    uint32_t random = (uint32_t)getpid();
    (void)cli_random(&random, sizeof random);
    snprintf(out, 16, "weft-%08x", (unsigned)random);
    return out;
}

static int set_log(const struct cli *c)
{
    static const char *const levels[] = {"debug", "info", "warn", "error", "silent"};
    if (c->log == NULL) return CLI_OK;
    bool json = strncmp(c->log, "json", 4) == 0;
    const char *level = !json ? c->log : c->log[4] == ':' ? c->log + 5 : c->log[4] == '\0' ? "info" : c->log;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (strcmp(level, levels[i]) != 0) continue;
        weft_log_set((weft_log_level)i, json);
        return CLI_OK;
    }
    return cli_fail(c, CLI_USAGE, "--log: '%s' is no level: debug, info, warn, error, silent, json or json:LEVEL",
                    c->log);
}

/* "frames=100000,bytes=20M,spawns=100" */
static int read_limits(const struct cli *c, weft_node_options *o)
{
    const struct {
        const char *name;
        uint64_t *value;
    } limits[] = {{"frames=", &o->peer_frames}, {"bytes=", &o->peer_bytes}, {"spawns=", &o->peer_spawns}};
    for (const char *at = c->peer_limit; at != NULL && at[0] != '\0';) {
        size_t i = 0;
        while (i < 3 && strncmp(at, limits[i].name, strlen(limits[i].name)) != 0) i++;
        const char *digits = i < 3 ? at + strlen(limits[i].name) : at;
        char *end;
        uint64_t n = strtoull(digits, &end, 10);
        uint64_t unit = *end == 'k' ? 1000 : *end == 'M' ? 1000000 : *end == 'G' ? 1000000000 : 1;
        if (unit > 1) end++;
        if (i == 3 || digits[0] < '0' || digits[0] > '9' || end - digits > 12 || (*end != ',' && *end != '\0'))
            return cli_fail(c, CLI_USAGE, "--peer-limit: '%s' is not like frames=100k,bytes=20M,spawns=100", at);
        *limits[i].value = n * unit;
        at = *end == ',' ? end + 1 : end;
    }
    return CLI_OK;
}

static int partition(const struct cli *c, weft_node_options *o)
{
    const char *policy = c->partition == NULL ? "none" : c->partition, *action = c->minority;
    char *end;
    unsigned long quorum = strtoul(policy, &end, 10);
    if (strcmp(policy, "majority") == 0) {
        o->partition = WEFT_PARTITION_MAJORITY;
    } else if (*policy >= '1' && *policy <= '9' && *end == '\0' && quorum <= 4096) {
        o->partition = WEFT_PARTITION_QUORUM;
        o->quorum = (uint32_t)quorum;
    } else if (strcmp(policy, "none") != 0) {
        return cli_fail(c, CLI_USAGE, "--partition %s: none, majority, or a number of nodes from 1 to 4096", policy);
    }
    o->partition_ends = action != NULL && strcmp(action, "end") == 0;
    if (action != NULL && !o->partition_ends && strcmp(action, "refuse") != 0)
        return cli_fail(c, CLI_USAGE, "--minority %s: refuse or end", action);
    if (action != NULL && o->partition == WEFT_PARTITION_NONE)
        return cli_fail(c, CLI_USAGE, "--minority needs --partition, which says what a minority is");
    return CLI_OK;
}

int cli_run(const struct cli *c)
{
    bool known = c->carrier == NULL || strcmp(c->carrier, "tcp") == 0 || strcmp(c->carrier, "nng") == 0;
    if (!known) return cli_fail(c, CLI_USAGE, "--carrier %s: tcp or nng", c->carrier);
    char made_name[16], module[PATH_MAX], control[PATH_MAX];
    const char *path = c->argv[0], *name = c->name != NULL ? c->name : own_name(made_name);
    int rc = set_log(c);
    if (rc == CLI_OK && c->tls != NULL && c->name == NULL)
        rc = cli_fail(c, CLI_USAGE, "--tls: give the node the --name of its certificate");
    if (rc == CLI_OK && c->tls != NULL) rc = cli_check_tls(c, name);
    if (rc == CLI_OK) rc = cli_module(c, &path, module);
    if (rc == CLI_OK) rc = cli_control_socket(c, name, control);
    if (rc != CLI_OK) return rc;
    weft_actor *first = cli_load(c, path);
    if (first == NULL) return CLI_FAILED;
    const char **argv = calloc((size_t)c->rest_count + 2, sizeof *argv);
    if (argv == NULL) return cli_fail(c, CLI_FAILED, "out of memory");
    argv[0] = c->argv[0];
    for (int i = 0; i < c->rest_count; i++) argv[i + 1] = c->rest[i];
    const struct weft_args args = {c->rest_count + 1, argv};
    weft_node_options options = {.name = name,
                                 .cluster = c->cluster,
                                 .listen = c->listen.item,
                                 .listen_count = c->listen.count,
                                 .join = c->join.item,
                                 .join_count = c->join.count,
                                 .discover = c->discover.item,
                                 .discover_count = c->discover.count,
                                 .workers = (int)c->workers,
                                 .probe_period = c->probe,
                                 .suspicion = (int)c->suspicion,
                                 .meta = c->meta.item,
                                 .meta_count = c->meta.count,
                                 .carrier = c->carrier,
                                 .heartbeat = c->heartbeat,
                                 .heartbeats_lost = (int)c->heartbeats_lost,
                                 .resume_window = c->resume_window,
                                 .wire_version = (int)c->wire,
                                 .control = control[0] == '\0' ? NULL : control,
                                 .tls = c->tls,
                                 .insecure = c->insecure};
    rc = read_limits(c, &options);
    if (rc == CLI_OK) rc = partition(c, &options);
    weft_spawn_options spawn = {.kind = "main"};
    struct wf_main run = {&options, first, &args, sizeof args, &spawn, c->has_drain ? c->drain : WEFT_SEC(10)};
    if (rc == CLI_OK) rc = wf_main_run(&run);
    free(argv);
    return rc;
}
