/* cli/certs/certs_reload.h -- weft certs reload. */
#ifndef CLI_CERTS_RELOAD_H
#define CLI_CERTS_RELOAD_H

#include "options.h"

int cli_certs_reload(const struct cli *c);

#endif
