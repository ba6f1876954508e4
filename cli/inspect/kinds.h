/* cli/inspect/kinds.h -- weft ps --kinds. */
#ifndef CLI_KINDS_H
#define CLI_KINDS_H

#include "client.h"

/* [A] What the actors of each kind take together. */
int cli_actors_by_kind(struct cli_client *k);

#endif
