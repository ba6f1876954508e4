/* cli/run.h -- weft run. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "options.h"

int cli_run(const struct cli *c);

#endif
