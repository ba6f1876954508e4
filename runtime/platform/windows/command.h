/* runtime/platform/windows/command.h -- the program, command line and environment of a child, in the form that the
 * system expects. */
#ifndef PF_WINDOWS_COMMAND_H
#define PF_WINDOWS_COMMAND_H

#include "system.h"

struct pf_command {
    wchar_t *program; /* its absolute path */
    wchar_t *line;
    wchar_t *env;       /* NULL: this process's */
    wchar_t *directory; /* NULL: this process's */
};

/* WEFT_ENOTFOUND, WEFT_EFORMAT, WEFT_ETOOBIG, WEFT_EINVAL (no UTF-8), WEFT_ENOMEM. */
int pf_command_make(struct pf_command *out, const struct pf_process_options *o);
void pf_command_free(struct pf_command *c);

#endif
