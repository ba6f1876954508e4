/* cli/config/manual.h -- weft manual. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "options.h"

int cli_manual(const struct cli *c);

#endif
