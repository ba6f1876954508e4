/* cli/os/sockets.h -- the nodes of this user on this machine. */
#ifndef CLI_SOCKETS_H
#define CLI_SOCKETS_H

#include "options.h"

#include <limits.h>

/* Where the node `name`, which is to be started, shall have its control socket: in $XDG_RUNTIME_DIR/weft or
 * /tmp/weft-UID, made if it is not there, refused unless it is ours alone. "": it has none. CLI_OK or an exit code
 * after a message. */
int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX]);
/* Whether somebody listens there. */
bool cli_socket_answers(const char *path);
/* The names of nodes that have a socket here. */
void cli_each_node(const struct cli *c, void (*each)(const char *name, void *arg), void *arg);
/* --node, or the one node that runs here, as a URL to join. */
int cli_node_url(const struct cli *c, char out[PATH_MAX + 8]);

#endif
