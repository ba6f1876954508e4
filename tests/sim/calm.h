/* tests/sim/calm.h -- the end of a scenario: from a time on its actors cause no trouble, so that checks of the end hold.
 * Checks are called first when all faults are over. */
#ifndef SIM_CALM_H
#define SIM_CALM_H

#include "kit.h"

static int64_t calm_at = WEFT_FOREVER;

__attribute__((unused)) static bool is_calm(void)
{
    return weft_now() >= calm_at;
}

/* The scenario is calm `span` after the first of these calls. */
static void calm_after(int64_t span)
{
    if (calm_at == WEFT_FOREVER) calm_at = weft_now() + span;
}

#endif
