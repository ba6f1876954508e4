/* cli/log.h -- weft log. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "options.h"

int cli_log(const struct cli *c);

#endif
