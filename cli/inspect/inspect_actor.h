/* cli/inspect/inspect_actor.h -- what a node says of one actor, and of the chain of actors that wait for each other. */
#ifndef CLI_INSPECT_ACTOR_H
#define CLI_INSPECT_ACTOR_H

#include "client.h"

/* [A] For cli_ask_node. The first shows one actor, the second the actors that wait for each other's replies. */
int cli_inspect_actor(struct cli_client *k);
int cli_inspect_waits(struct cli_client *k);
/* Writes to standard error how many rows an answer (WAITS or RECORD) has left out: the number follows the first
 * `columns` columns of its first row. */
void cli_print_cut(const weft_msg *m, uint32_t columns, const char *what);

#endif
