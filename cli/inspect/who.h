/* cli/inspect/who.h -- names of actors: what the asked node, and other nodes through it, answer about a pid (WHO of
 * docs/wire.md); and the chain of actors that wait for each other's replies. */
#ifndef CLI_WHO_H
#define CLI_WHO_H

#include "client.h"

enum { CLI_WHO_ASKED = 132, CLI_WHO_TEXT = 360, CLI_WHOS_MAX = 4096, CLI_CHAIN_MAX = 32 };

/* The known data of one actor. A text is "" if it is not known. */
struct cli_who {
    char asked[CLI_WHO_ASKED]; /* a pid, a name, or name@node */
    char node[68];             /* "(tool)": the weft command; "(gone)": an incarnation that no node knows any more */
    char why[64];              /* why no more is known */
    char pid[WEFT_PID_TEXT], kind[32], name[68], state[16], waits_for[32];
    char ask[CLI_WHO_ASKED]; /* the actor whose answer it waits for, the first of `asks` */
    int64_t waits_ns;        /* how long it has waited for a reply; 0: it does not wait for one */
    uint64_t asks;
    bool needs_all; /* it needs all of those answers */
};

/* "3.2 s" */
const char *cli_span(int64_t ns, char out[32]);

/* ---- who.c ----------------------------------------------------------------------------------------------------- */

/* Zero at first. */
struct cli_whos {
    struct cli_who *at;
    size_t count, capacity;
    size_t asked; /* this number of them were asked for */
};
/* Adds an actor to ask for, unless it was added before or is "". Beyond CLI_WHOS_MAX, or without memory, it stays
 * unknown. */
void cli_who_add(struct cli_whos *all, weft_text asked);
/* [A] Asks the nodes for the actors that were added since the last call. An actor that stays unknown has only
 * `asked`; if the node has an older version, all of them stay unknown. Returns CLI_OK, or an exit code after a
 * message. */
int cli_who_ask(struct cli_client *k, struct cli_whos *all);
/* NULL: it was not added. */
const struct cli_who *cli_who_of(const struct cli_whos *all, weft_text asked);
void cli_who_free(struct cli_whos *all);
/* The text for people: "till (server 0.3.1)", or "0.3.1 (server)" if the actor has no name; for another node than
 * `here` "b/till (server 0.3.1)". Without an actor it is "nobody known". */
const char *cli_who_text(const struct cli_who *w, const char *here, char out[CLI_WHO_TEXT]);
/* The same text for one actor of the list. */
const char *cli_who_text_of(const struct cli_whos *all, weft_text asked, const char *here, char out[CLI_WHO_TEXT]);
/* Prints to standard output, for programs: , "to_node": "b", "to_kind": "server", "to_name": "till" */
void cli_who_json(const char *prefix, const struct cli_who *w);

#endif
