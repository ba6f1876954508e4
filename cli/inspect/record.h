/* cli/inspect/record.h -- between the files of weft inspect --record. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "who.h"

#include <weft/pack.h>
#include <weft/record.h>

#include <stdbool.h>
#include <stddef.h>

struct cli_event {
    struct weft_record r; /* r.what: the text below */
    char what[64];
    char tag_name[64]; /* the WEFT_MESSAGE of a sent or received message; "": not known */
};

/* "spawn", "send", ... */
const char *cli_event_name(const struct weft_record *e);

/* weft inspect. */
int cli_inspect(const struct cli *c);
/* [A] Prints the last events that the flight recorder has of an actor, a dozen at most, with names: `whos` gets the
 * names of all actors in them. `*last`: the ns between the actor's last event and the newest event of the node; -1:
 * the actor has no event. CLI_OK or an exit code after a message. */
int cli_last_events(struct cli_client *k, const char *pid, struct cli_whos *whos, int64_t *last);

#endif
