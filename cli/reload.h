/* cli/reload.h -- weft reload. */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

#include "options.h"

int cli_reload(const struct cli *c);

#endif
