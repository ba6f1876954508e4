/* cli/config/config_file.h -- finds the configuration file and opens it. */
#ifndef CLI_CONFIG_FILE_H
#define CLI_CONFIG_FILE_H

#include "config.h"

/* Takes the options that no flag and no variable sets from the file. CLI_OK or an exit code after a message. */
int cli_configure(struct cli *c);
/* Reads the file that `asked` names, or else the first default file that exists; `f->text` is NULL if there is none.
 * If `asked` names a file, it must exist. Returns false after a message. */
bool cli_config_load(const struct cli *c, const char *asked, struct cli_config *f, size_t *size);
/* The places that are looked at; how many. */
enum { CLI_CONFIG_PLACES = 2 };
size_t cli_config_places(char out[CLI_CONFIG_PLACES][PATH_MAX]);

#endif
