/* cli/os/sockets.c -- the control sockets of the nodes that this user runs on this machine: one file each, in a
 * folder that only this user may enter. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sockets.h"
#include "values.h"

enum { NODES_MAX = 64 };

struct nodes {
    size_t count;
    char name[NODES_MAX][CLI_NODE_NAME_MAX + 1];
};

static int socket_folder(const struct cli *c, char out[PATH_MAX])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = runtime != NULL && runtime[0] == '/' ? snprintf(out, PATH_MAX, "%s/weft", runtime)
                                                 : snprintf(out, PATH_MAX, "/tmp/weft-%u", (unsigned)getuid());
    if (n >= PATH_MAX) return cli_fail(c, CLI_FAILED, "XDG_RUNTIME_DIR is too long");
    struct stat info;
    if (mkdir(out, 0700) < 0 && errno != EEXIST)
        return cli_fail(c, CLI_FAILED, "cannot make the folder %s: %s", out, strerror(errno));
    if (lstat(out, &info) < 0) return cli_fail(c, CLI_FAILED, "cannot look at %s: %s", out, strerror(errno));
    if (!S_ISDIR(info.st_mode) || info.st_uid != getuid() || (info.st_mode & 077) != 0) {
        return cli_fail(c, CLI_FAILED,
                        "%s must be a folder that you own and that no other user may enter; try: %s %s", out,
                        S_ISDIR(info.st_mode) && info.st_uid == getuid() ? "chmod 700" : "rm -r", out);
    }
    return CLI_OK;
}

static int socket_path(const struct cli *c, const char *name, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    int rc = cli_check_node_name(c, name);
    if (rc == CLI_OK) rc = socket_folder(c, folder);
    if (rc != CLI_OK) return rc;
    int n = snprintf(out, PATH_MAX, "%s/%s.sock", folder, name);
    size_t limit = sizeof((struct sockaddr_un *)NULL)->sun_path;
    if (n < 0 || (size_t)n >= limit) {
        return cli_fail(c, CLI_FAILED, "the path %s is longer than the %zu bytes a socket may have; %s", out,
                        limit - 1, "set XDG_RUNTIME_DIR to a shorter one");
    }
    return CLI_OK;
}

bool cli_socket_answers(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof at.sun_path) return false;
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) return false;
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    bool answers = connect(fd, (struct sockaddr *)&at, sizeof at) == 0 || errno == EAGAIN || errno == EINPROGRESS;
    close(fd);
    return answers;
}

int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX])
{
    int rc = socket_path(c, name, out);
    if (rc != CLI_OK) return rc;
    if (cli_socket_answers(out))
        return cli_fail(c, CLI_FAILED, "a node named '%s' runs here already; give this one another --name", name);
    (void)unlink(out); /* a killed node may have left one */
    return CLI_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Of several sockets, takes those that answer, and skips sockets that killed nodes have left. A single socket is not
 * tested, because its node would log a silent connection, and dialling it shows whether it answers. */
static void forget_silent(const char *folder, struct nodes *nodes)
{
    size_t kept = 0;
    for (size_t i = 0; i < nodes->count; i++) {
        char path[PATH_MAX + CLI_NODE_NAME_MAX + 8];
        snprintf(path, sizeof path, "%s/%s.sock", folder, nodes->name[i]);
        if (cli_socket_answers(path)) memmove(nodes->name[kept++], nodes->name[i], sizeof nodes->name[i]);
    }
    nodes->count = kept;
}

static void list_nodes(const char *folder, struct nodes *out)
{
    DIR *dir = opendir(folder);
    out->count = 0;
    if (dir == NULL) return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL && out->count < NODES_MAX) {
        size_t n = strlen(entry->d_name);
        if (n <= 5 || n - 5 > CLI_NODE_NAME_MAX || strcmp(entry->d_name + n - 5, ".sock") != 0) continue;
        memcpy(out->name[out->count], entry->d_name, n - 5);
        out->name[out->count++][n - 5] = '\0';
    }
    closedir(dir);
    if (out->count > 1) forget_silent(folder, out);
    qsort(out->name, out->count, sizeof out->name[0], by_name);
}

static void print_nodes(const struct nodes *nodes)
{
    if (nodes->count == 0) {
        fputs("No node of yours runs here: start one with 'weft run', or give --node URL.\n", stderr);
        return;
    }
    fputs("Nodes here:", stderr);
    for (size_t i = 0; i < nodes->count; i++) fprintf(stderr, " %s", nodes->name[i]);
    fputc('\n', stderr);
}

void cli_each_node(const struct cli *c, void (*each)(const char *name, void *arg), void *arg)
{
    char folder[PATH_MAX];
    struct nodes nodes;
    if (socket_folder(c, folder) != CLI_OK) return;
    list_nodes(folder, &nodes);
    for (size_t i = 0; i < nodes.count; i++) each(nodes.name[i], arg);
}

int cli_node_url(const struct cli *c, char out[PATH_MAX + 8])
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct nodes nodes;
    if (c->node != NULL && strstr(c->node, "://") != NULL) {
        snprintf(out, PATH_MAX + 8, "%s", c->node);
        return CLI_OK;
    }
    int rc = socket_folder(c, folder);
    if (rc != CLI_OK) return rc;
    const char *name = c->node;
    if (name == NULL) {
        list_nodes(folder, &nodes);
        if (nodes.count == 1) {
            name = nodes.name[0];
        } else {
            rc = nodes.count == 0 ? cli_fail(c, CLI_UNREACHABLE, "there is no node to ask")
                                  : cli_fail(c, CLI_USAGE, "several nodes run here; choose one with --node NAME");
            print_nodes(&nodes);
            return rc;
        }
    }
    rc = socket_path(c, name, path);
    if (rc != CLI_OK) return rc;
    if (c->node != NULL && access(path, F_OK) < 0) {
        rc = cli_fail(c, CLI_UNREACHABLE, "node '%s' does not run here, or not as your user", name);
        list_nodes(folder, &nodes);
        print_nodes(&nodes);
        return rc;
    }
    snprintf(out, PATH_MAX + 8, "ipc://%s", path);
    return CLI_OK;
}
