/* cli/config/complete.h -- weft completion. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "options.h"

int cli_completion(const struct cli *c);

#endif
