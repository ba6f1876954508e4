/* cli/inspect/carriers.h -- which carrier has the links to the nodes of actors. */
#ifndef CLI_CARRIERS_H
#define CLI_CARRIERS_H

#include "who.h"

/* [A] Of the nodes, other than the one that is asked, on which actors of `all` are: a line each, as "over  nng to node
 * b". With --json one member of an object: , "carriers": {"b": "nng"}. An older node does not say its carriers.
 * CLI_OK, or an exit code after a message. */
int cli_print_carriers(struct cli_client *k, const struct cli_whos *all);

#endif
