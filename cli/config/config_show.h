/* cli/config/config_show.h -- weft config check, weft config show. */
#ifndef CLI_CONFIG_SHOW_H
#define CLI_CONFIG_SHOW_H

#include "options.h"

int cli_config_check(const struct cli *c);
int cli_config_show(const struct cli *c);

#endif
