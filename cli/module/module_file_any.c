/* cli/module/module_file_any.c -- where modules are no ELF files: dlopen says what is wrong with one. */
#include "module_file.h"

bool cli_looks_loadable(const struct cli *c, const char *path)
{
    (void)c;
    (void)path;
    return true;
}
