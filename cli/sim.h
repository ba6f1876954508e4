/* cli/sim.h -- weft sim. */
#ifndef CLI_SIM_H
#define CLI_SIM_H

#include "options.h"

int cli_sim(const struct cli *c);

#endif
