/* cli/run.c -- weft run: this process becomes a node that runs a module. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli.h"
#include "main.h"

/* The node has to have a name before it starts: its control socket is called after it. */
static const char *own_name(char out[16])
{
    uint32_t random = (uint32_t)getpid();
    (void)!getrandom(&random, sizeof random, 0);
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

static bool is_source(const char *path)
{
    size_t n = strlen(path);
    return n > 2 && strcmp(path + n - 2, ".c") == 0;
}

static int control_path(const struct cli *c, const char *name, char out[PATH_MAX])
{
    int rc = cli_socket_path(c, name, out);
    if (rc != CLI_OK) return rc;
    if (cli_socket_answers(out))
        return cli_fail(c, CLI_FAILED, "a node named '%s' runs here already; give this one another --name", name);
    (void)unlink(out); /* what a killed node left behind */
    return CLI_OK;
}

int cli_run(const struct cli *c)
{
    bool known = c->carrier == NULL || strcmp(c->carrier, "tcp") == 0 || strcmp(c->carrier, "nng") == 0;
    if (!known) return cli_fail(c, CLI_USAGE, "--carrier %s: tcp or nng", c->carrier);
    char made_name[16], module[PATH_MAX], control[PATH_MAX];
    const char *path = c->argv[0], *name = c->name != NULL ? c->name : own_name(made_name);
    int rc = set_log(c);
    if (rc == CLI_OK && is_source(path)) {
        rc = cli_compile(c, path, module);
        path = module;
    }
    if (rc == CLI_OK) rc = control_path(c, name, control);
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
                                 .carrier = c->carrier,
                                 .control = control};
    weft_spawn_options spawn = {.kind = "main"};
    struct wf_main run = {&options, first, &args, sizeof args, &spawn, c->has_drain ? c->drain : WEFT_SEC(10)};
    rc = wf_main_run(&run);
    free(argv);
    return rc;
}
