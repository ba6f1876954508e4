/* cli/inspect/inspect.h -- weft ps, nodes, names, groups. */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "options.h"

int cli_ps(const struct cli *c);
int cli_nodes(const struct cli *c);
int cli_names(const struct cli *c);
int cli_groups(const struct cli *c);

#endif
