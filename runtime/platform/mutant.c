/* runtime/platform/mutant.c -- only in builds with -Dmutants=true. */
#include "mutant.h"

#include <stdlib.h>
#include <string.h>

bool wf_mutant(const char *name)
{
    const char *chosen = getenv("WEFT_MUTANT"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    return chosen != NULL && strcmp(chosen, name) == 0;
}
