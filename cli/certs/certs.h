/* cli/certs/certs.h -- weft certs init, weft certs issue. */
#ifndef CLI_CERTS_H
#define CLI_CERTS_H

#include "options.h"

#include <limits.h>

/* --dir, or where certificates are kept. */
int cli_certs_folder(const struct cli *c, char out[PATH_MAX]);
int cli_certs_init(const struct cli *c);
int cli_certs_issue(const struct cli *c);

#endif
