/* cli/os/sockets.h -- the nodes of this user on this machine. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include "options.h"

#include <limits.h>

/* Returns the path for the control socket of the node `name`, which will be started: in $XDG_RUNTIME_DIR/weft or
 * /tmp/weft-UID. The folder is created if it does not exist, and refused if other users may enter it. "": the node
 * has no control socket. CLI_OK or an exit code after a message. */
int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX]);
/* Whether a process listens there. */
bool cli_socket_answers(const char *path);
/* The names of nodes that have a socket here. */
void cli_each_node(const struct cli *c, void (*each)(const char *name, void *arg), void *arg);
/* --node, or the one node that runs here, as a URL to join. */
int cli_node_url(const struct cli *c, char out[PATH_MAX + 8]);

#endif
