/* cli/run.c -- weft run: this process becomes a node that runs a module. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "client.h"
#include "compile.h"
#include "compat.h"
#include "main.h"
#include "module.h"
#include "sockets.h"
#include "stored.h"
#include "values.h"

/* The node has to have a name before it starts: its control socket is called after it. */
static const char *own_name(char out[16])
{
    uint32_t random = (uint32_t)getpid();
    (void)cli_random(&random, sizeof random);
    snprintf(out, 16, "weft-%08x", (unsigned)random);
    return out;
}

static void set_log(const struct cli *c)
{
    if (c->log != NULL) (void)weft_log_configure(c->log, NULL);
}

static int open_log(const struct cli *c)
{
    int rc = c->log_file == NULL ? WEFT_OK : weft_log_file(c->log_file);
    return rc == WEFT_OK ? CLI_OK
                         : cli_fail(c, CLI_FAILED, "--log-file %s: %s", CLI_PATH(c->log_file), weft_strerror(rc));
}

static void set_limits(const struct cli *c, weft_node_options *o)
{
    struct cli_limits limits = {0};
    o->patterns_max = (uint32_t)c->max_patterns;
    o->subscriptions_max = (uint32_t)c->max_subscriptions;
    if (c->peer_limit == NULL || !cli_read_limits(c->peer_limit, &limits)) return;
    o->peer_frames = limits.frames;
    o->peer_bytes = limits.bytes;
    o->peer_spawns = limits.spawns;
}

static int set_partition(const struct cli *c, weft_node_options *o)
{
    struct cli_partition p = {WEFT_PARTITION_NONE, 0};
    if (c->partition != NULL) (void)cli_read_partition(c->partition, &p);
    o->partition = (weft_partition)p.policy;
    o->quorum = p.quorum;
    o->partition_ends = c->minority != NULL && strcmp(c->minority, "end") == 0;
    if (c->minority != NULL && o->partition == WEFT_PARTITION_NONE)
        return cli_fail(c, CLI_USAGE, "--minority needs --partition, which defines what a minority is");
    return CLI_OK;
}

/* The value of the option for weft_node_options, where 0 is the default. */
static int64_t stuck_after_of(const struct cli *c)
{
    return c->has_stuck_after && c->stuck_after == 0 ? WEFT_FOREVER : c->stuck_after;
}

static void print_ready(const weft_node *node, const char *metrics)
{
    printf("{\"node\": \"%s\", \"incarnation\": \"%016" PRIx64 "\", \"urls\": [", weft_node_name(node),
           weft_node_incarnation(node));
    for (size_t i = 0; weft_node_url(node, i) != NULL; i++) {
        if (i > 0) fputs(", ", stdout);
        cli_print_string(stdout, weft_node_url(node, i), strlen(weft_node_url(node, i)));
    }
    printf("], \"metrics\": \"%s\"}\n", metrics);
    fflush(stdout);
}

int cli_run(const struct cli *c)
{
    char made_name[16], module[PATH_MAX], control[PATH_MAX];
    const char *path = c->argv[0], *name = c->name != NULL ? c->name : own_name(made_name);
    int rc = CLI_OK;
    cli_merge_memory();
    set_log(c);
    if (c->tls != NULL && c->name == NULL)
        rc = cli_fail(c, CLI_USAGE, "--tls: give the node the --name of its certificate");
    if (rc == CLI_OK && c->tls != NULL) rc = cli_check_tls(c, name, false); /* the node itself warns */
    if (rc == CLI_OK) rc = open_log(c);
    if (rc == CLI_OK) rc = cli_module(c, &path, module);
    if (rc == CLI_OK) rc = cli_control_socket(c, name, control);
    if (rc != CLI_OK) return rc;
    weft_actor *first = cli_load(c, path);
    if (first == NULL) return CLI_FAILED;
    rc = cli_store_first(c, &first);
    if (rc != CLI_OK) return rc;
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
                                 .dial_only = c->dial_only.item,
                                 .dial_only_count = c->dial_only.count,
                                 .workers = (int)c->workers,
                                 .probe_period = c->probe,
                                 .suspicion = (int)c->suspicion,
                                 .meta = c->meta.item,
                                 .meta_count = c->meta.count,
                                 .carrier = c->carrier,
                                 .heartbeat = c->heartbeat,
                                 .heartbeats_lost = (int)c->heartbeats_lost,
                                 .stuck_after = stuck_after_of(c),
                                 .resume_window = c->resume_window,
                                 .wire_version = (int)c->wire,
                                 .control = control[0] == '\0' ? NULL : control,
                                 .tls = c->tls,
                                 .insecure = c->insecure,
                                 .loopback_control = c->loopback_control,
                                 .socket_mode = c->socket_mode == NULL ? 0
                                                                       : (uint32_t)strtoul(c->socket_mode, NULL, 8),
                                 .ws_origins = c->ws_origin.item,
                                 .ws_origin_count = c->ws_origin.count};
    set_limits(c, &options);
    rc = set_partition(c, &options);
    weft_spawn_options spawn = {.kind = "main"};
    const struct wf_main run = {.options = &options,
                                .first = first,
                                .arg = &args,
                                .size = sizeof args,
                                .spawn = &spawn,
                                .drain = c->has_drain ? c->drain : WEFT_SEC(10),
                                .metrics = c->metrics,
                                .ready = c->json ? print_ready : NULL,
                                .load = cli_load_beside};
    if (rc == CLI_OK) rc = wf_main_run(&run);
    free(argv);
    return rc;
}
