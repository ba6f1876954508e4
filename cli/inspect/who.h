/* cli/who.h -- actors by their names: what the node that is asked, and others through it, say of a pid (WHO of
 * docs/wire.md); and the chain of those who wait for each other's answers. */
#ifndef CLI_WHO_H
#define CLI_WHO_H

#include "cli.h"

enum { CLI_WHO_ASKED = 132, CLI_WHO_TEXT = 360, CLI_WHOS_MAX = 4096, CLI_CHAIN_MAX = 32 };

/* One actor, as it is known. Texts are "" where nothing is known. */
struct cli_who {
    char asked[CLI_WHO_ASKED]; /* a pid, a name, or name@node */
    char node[68];             /* "(tool)": the weft command; "(gone)": one that nobody knows any more */
    char why[64];              /* why no more is known */
    char pid[WEFT_PID_TEXT], kind[32], name[68], state[16], waits_for[32];
    char ask[CLI_WHO_ASKED]; /* whose answer it waits for, the first of `asks` */
    int64_t waits_ns;        /* how long already; 0: for nobody's */
    uint64_t asks;
    bool needs_all; /* of those answers */
};

/* "3.2 s" */
const char *cli_span(int64_t ns, char out[32]);

/* ---- who.c ----------------------------------------------------------------------------------------------------- */

/* Zero at first. */
struct cli_whos {
    struct cli_who *at;
    size_t count, room;
    size_t asked; /* so many of them were asked for */
};
/* One more to ask for, unless it is there or "". Beyond CLI_WHOS_MAX, and without memory, it stays unknown. */
void cli_who_add(struct cli_whos *all, weft_text asked);
/* [A] Asks for those that were added since. Of those that stay unknown only `asked` is told; so of all of them if the
 * node is of an older version. CLI_OK, or an exit code after a message. */
int cli_who_ask(struct cli_client *k, struct cli_whos *all);
/* NULL: it was not added. */
const struct cli_who *cli_who_of(const struct cli_whos *all, weft_text asked);
void cli_who_free(struct cli_whos *all);
/* For people: "till (server 0.3.1)", or "0.3.1 (server)" if it has no name; of another node than `here` "b/till
 * (server 0.3.1)". Nobody is "nobody known". */
const char *cli_who_text(const struct cli_who *w, const char *here, char out[CLI_WHO_TEXT]);
/* The same for one of them. */
const char *cli_who_text_of(const struct cli_whos *all, weft_text asked, const char *here, char out[CLI_WHO_TEXT]);
/* For programs, to standard output: , "to_node": "b", "to_kind": "server", "to_name": "till" */
void cli_who_json(const char *prefix, const struct cli_who *w);

/* ---- record.c -------------------------------------------------------------------------------------------------- */

/* [A] Prints the last events that the flight recorder has of an actor, a dozen at most, with names: `whos` gets those
 * of all actors in them. `*last`: how long before the youngest event of the node its own was, in ns; -1: it has none.
 * CLI_OK or an exit code after a message. */
int cli_last_events(struct cli_client *k, const char *pid, struct cli_whos *whos, int64_t *last);

/* ---- chain.c --------------------------------------------------------------------------------------------------- */

enum cli_chain_end {
    CLI_CHAIN_WORKS,   /* the last one waits for nobody's answer */
    CLI_CHAIN_UNKNOWN, /* of the last one it is not known; its `why` says why */
    CLI_CHAIN_HIDDEN,  /* of the last one it is not known for whose answer it waits */
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
