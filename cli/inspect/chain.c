/* cli/inspect/chain.c -- follows the actors that wait for each other's replies, over any number of nodes. */
#include <stdio.h>
#include <string.h>

#include "chain.h"

/* Returns the index of an earlier member of the chain that is the same actor as the last one; `count` - 1: there is
 * none. */
static uint32_t seen_at(const struct cli_chain *c)
{
    const struct cli_who *last = &c->of[c->count - 1];
    uint32_t i = 0;
    while (i < c->count - 1 && (last->pid[0] == '\0' || strcmp(c->of[i].pid, last->pid) != 0)) i++;
    return i;
}

static void close_circle(struct cli_chain *c, uint32_t first)
{
    c->count--; /* it is there already */
    c->end = CLI_CHAIN_CIRCLE;
    c->circle = first;
    c->deadlock = true;
    for (uint32_t i = first; i < c->count; i++) c->deadlock &= c->of[i].needs_all;
}

int cli_chain_follow(struct cli_chain *c, const char *first,
                     int (*ask)(const char *asked, struct cli_who *out, void *arg), void *arg)
{
    const char *next = first;
    c->deadlock = false;
    c->end = CLI_CHAIN_LONG;
    for (c->count = 0; c->count < CLI_CHAIN_MAX;) {
        struct cli_who *w = &c->of[c->count];
        int rc = ask(next, w, arg);
        if (rc != CLI_OK) return rc;
        c->count++;
        uint32_t same = seen_at(c);
        if (same < c->count - 1) {
            close_circle(c, same);
            return CLI_OK;
        }
        if (w->state[0] == '\0') c->end = CLI_CHAIN_UNKNOWN;
        else if (w->waits_ns == 0) c->end = CLI_CHAIN_WORKS;
        else if (w->ask[0] == '\0') c->end = CLI_CHAIN_HIDDEN;
        if (c->end != CLI_CHAIN_LONG) return CLI_OK;
        next = w->ask;
    }
    return CLI_OK;
}

const char *cli_chain_end_name(enum cli_chain_end end)
{
    static const char *const names[] = {"works", "unknown", "hidden", "circle", "long"};
    return names[end];
}
