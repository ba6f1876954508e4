/* Checks whether WEFT_MUTANT in the environment names a bug: see sites.py. Only the source tree that tools/mutants.py
 * makes includes it. */
#ifndef WF_MUTANT_H
#define WF_MUTANT_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool wf_mutant(const char *name)
{
    const char *chosen = getenv("WEFT_MUTANT");
    return chosen != NULL && strcmp(chosen, name) == 0;
}

#endif
