/* cli/inspect/inspect_actor.h -- what a node says of one actor, and of the chain of actors that wait for each other. */
#ifndef CLI_INSPECT_ACTOR_H
#define CLI_INSPECT_ACTOR_H

#include "client.h"

/* [A] For cli_ask_node: one actor; who waits for whom. */
int cli_inspect_actor(struct cli_client *k);
int cli_inspect_waits(struct cli_client *k);
/* Says on the standard error how many rows an answer, WAITS or RECORD, has left out: its first row has that behind
 * so many columns. */
void cli_print_cut(const weft_msg *m, uint32_t columns, const char *what);

#endif
