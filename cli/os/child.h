/* cli/os/child.h -- another program, and what it prints. Not on Windows. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct cli_child {
    pid_t pid;
    FILE *out; /* gets the output of the child; NULL: the output goes where this command's output goes */
};

/* Starts a program. `words`, up to a NULL: the program, which is searched for in PATH unless it has a slash, and its
 * arguments. `read`: k->out receives its output; `mute`: its standard error is discarded. Returns 0, or an errno. */
int cli_child_start(struct cli_child *k, char *const words[], bool read, bool mute);
/* Closes k->out, then waits for its end: the status of waitpid(2). */
int cli_child_end(struct cli_child *k);

#endif
