/* cli/inspect/chain.h -- chains of actors that wait for each other's replies. */
#ifndef CLI_CHAIN_H
#define CLI_CHAIN_H

#include "who.h"

enum cli_chain_end {
    CLI_CHAIN_WORKS,   /* the last actor does not wait for a reply */
    CLI_CHAIN_UNKNOWN, /* the last one is not known; its `why` says why */
    CLI_CHAIN_HIDDEN,  /* the last one does not show for whose answer it waits */
    CLI_CHAIN_CIRCLE,  /* the last one waits for of[circle] */
    CLI_CHAIN_LONG,    /* it is longer than CLI_CHAIN_MAX */
};
struct cli_chain {
    uint32_t count, circle;
    enum cli_chain_end end;
    bool deadlock; /* a circle, each of whose members needs the answer of the next one */
    struct cli_who of[CLI_CHAIN_MAX];
};
/* From the actor `first` on; `ask` fills `*out` in, with `asked` set, or returns an exit code, which is passed on. */
int cli_chain_follow(struct cli_chain *c, const char *first,
                     int (*ask)(const char *asked, struct cli_who *out, void *arg), void *arg);
/* "works", "unknown", "hidden", "circle", "long" */
const char *cli_chain_end_name(enum cli_chain_end end);

#endif
