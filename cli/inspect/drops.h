/* cli/inspect/drops.h -- weft why-dropped. */
#ifndef CLI_DROPS_H
#define CLI_DROPS_H

#include "options.h"

int cli_why_dropped(const struct cli *c);

#endif
