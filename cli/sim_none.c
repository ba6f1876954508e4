/* cli/sim_none.c -- weft sim where it cannot be. */
#include "sim.h"

int cli_sim(const struct cli *c)
{
    return cli_fail(c, CLI_FAILED,
                    "not on Windows: its runs are child processes that begin as copies of their parent");
}
