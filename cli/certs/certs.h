/* cli/certs.h -- between the two files of weft certs. */
#ifndef CLI_CERTS_H
#define CLI_CERTS_H

#include "options.h"

#include <limits.h>

/* --dir, or where certificates are kept. */
int cli_certs_folder(const struct cli *c, char out[PATH_MAX]);
/* What a certificate says, for people or as JSON. An exit code. */
int cli_certs_print(const struct cli *c, const char *path);

#endif
