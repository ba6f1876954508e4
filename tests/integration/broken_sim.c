/* A module whose simulated runs end badly: its first word says how. */
#include <stdlib.h>
#include <string.h>
#include <weft.h>
#include <weft/sim.h>

static bool happens(void *arg)
{
    (void)arg;
    return false;
}

static volatile char *volatile nowhere;

static void body(const void *arg, size_t size)
{
    const struct weft_args *args = arg;
    const char *how = args->argv[1];
    (void)size;
    weft_sleep(weft_after(WEFT_SEC(1)));
    if (strcmp(how, "says") == 0) weft_sim_fail("node %s says %d", weft_node_name(weft_here()), 7);
    if (strcmp(how, "crash") == 0) *nowhere = 1;
    if (strcmp(how, "exit") == 0) _Exit(3);
    weft_sleep(WEFT_FOREVER);
}

static void checks(void)
{
    weft_sim_eventually("it happens", happens, NULL);
}

WEFT_MODULE(body)
WEFT_SIM(checks)
