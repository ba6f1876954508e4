/* cli/module/module_file.h -- a module as a file. */
#ifndef CLI_MODULE_FILE_H
#define CLI_MODULE_FILE_H

#include "options.h"

/* Whether it may be one for this machine; false after a message. */
bool cli_looks_loadable(const struct cli *c, const char *path);

#endif
