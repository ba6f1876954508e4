/* cli/module/compile.h -- from a source file to a module. */
#ifndef CLI_COMPILE_H
#define CLI_COMPILE_H

#include "options.h"

#include <limits.h>

/* `*path` is a module, or a source file: then it becomes that of the module made of it, in `made`. CLI_OK, or
 * an exit code after a message. */
int cli_module(const struct cli *c, const char **path, char made[PATH_MAX]);

#endif
