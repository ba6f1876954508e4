/* runtime/platform/sometimes.h -- what a mark of a state does in the build of ./dev states: see WF_SOMETIMES in
 * base.h. */
#ifndef WF_SOMETIMES_H
#define WF_SOMETIMES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds a line to the file that WEFT_STATES names: one for each state and process, and each seed has its process. */
static inline void wf_state_reached(const char *name)
{
    const char *path = getenv("WEFT_STATES");
    if (path == NULL) return;
    FILE *file = fopen(path, "ae");
    if (file == NULL || fprintf(file, "%s\n", name) < 0 || fclose(file) != 0) abort();
}

#define WF_SOMETIMES(name, condition)     \
    do {                                  \
        static bool wf_reached;           \
        if (!wf_reached && (condition)) { \
            wf_reached = true;            \
            wf_state_reached(name);       \
        }                                 \
    } while (0)

#endif
