/* cli/certs/certs_show.h -- weft certs show. */
#ifndef CLI_CERTS_SHOW_H
#define CLI_CERTS_SHOW_H

#include "options.h"

int cli_certs_show(const struct cli *c);
/* Prints the contents of a certificate, for people or as JSON. Returns an exit code. */
int cli_certs_print(const struct cli *c, const char *path);

#endif
