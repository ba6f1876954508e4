/* runtime/platform/mutant.h -- known bugs, put back one at a time to see whether the simulation finds them, by
 * `./dev mutants`, which builds with -Dmutants=true. `if (WF_MUTANT(name))` guards what the bug does, and
 * WEFT_MUTANT=name in the environment chooses it. Elsewhere it is the constant false, and the bug is not compiled. */
#ifndef WF_MUTANT_H
#define WF_MUTANT_H

#include <stdbool.h>

bool wf_mutant(const char *name); /* with -Dmutants=true only */

#ifdef WF_MUTANTS
#define WF_MUTANT(name) __builtin_expect(wf_mutant(#name), 0)
#else
#define WF_MUTANT(name) false
#endif

#endif
