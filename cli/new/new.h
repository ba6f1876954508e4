/* cli/new/new.h -- weft new: the files of a new project are those of cli/new/project, which tools/embed.py puts
 * into the command. */
#ifndef CLI_NEW_H
#define CLI_NEW_H

#include <stddef.h>

struct cli_new_file {
    const char *name;
    const char *text; /* @NAME@ stands for the name of the project */
};
extern const struct cli_new_file cli_new_files[];
extern const size_t cli_new_file_count;

struct cli;
int cli_new(const struct cli *c);

#endif
