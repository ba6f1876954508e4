/* cli/drain.h -- weft drain. */
#ifndef CLI_DRAIN_H
#define CLI_DRAIN_H

#include "options.h"

int cli_drain(const struct cli *c);

#endif
