/* cli/stop.h -- weft stop. */
#ifndef CLI_STOP_H
#define CLI_STOP_H

#include "options.h"

int cli_stop(const struct cli *c);

#endif
