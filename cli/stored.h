/* cli/stored.h -- stored topics, work queues and states of actors from the command line: weft store, publish --stored, subscribe --from, run */
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include <weft/actor.h>

#include "client.h"

int cli_store_topics(const struct cli *c);
int cli_store_read(const struct cli *c);
int cli_store_check(const struct cli *c);
int cli_store_cursors(const struct cli *c);
int cli_store_queues(const struct cli *c);
int cli_store_states(const struct cli *c);
int cli_store_dead(const struct cli *c);
int cli_store_retry(const struct cli *c);
/* [A] Stores the body under the topic and prints where it is. CLI_OK or an exit code after a message. */
int cli_publish_stored(struct cli_client *k);
/* [A] Prints the records of a topic from --from on. */
int cli_subscribe_stored(struct cli_client *k);
/* For weft run: with --store, `*first` becomes an actor that opens the store and goes on as the module's first actor.
 * CLI_OK or an exit code after a message. */
int cli_store_first(const struct cli *c, weft_actor **first);

#endif
