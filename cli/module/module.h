/* cli/module/module.h -- loading a module. */
#ifndef CLI_MODULE_H
#define CLI_MODULE_H

#include "options.h"

#include <weft.h>

/* NULL after a message. The module stays loaded until the process ends: actors may run its code to the last. */
weft_actor *cli_load(const struct cli *c, const char *path);
/* A wf_load_module of control.h. */
int cli_load_beside(const char *path, weft_migrate **hook, char *why, size_t size);
/* Finds a function of a loaded module; NULL: it has no function of that name. */
void (*cli_find(const char *path, const char *name))(void);

#endif
