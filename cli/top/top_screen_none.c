/* cli/top/top_screen_none.c -- a weft that was built without ncurses prints, and has no screen. */
#include "client.h"
#include "top.h"

int top_show(const struct cli *c)
{
    return cli_fail(
        c, CLI_FAILED,
        "this weft was built without ncurses: install libncurses-dev and build weft again; or use --once for "
        "one report, or --json for one after the other");
}
