/* cli/stored.h -- stored topics, work queues and states of actors from the command line: weft store, publish --stored, subscribe --from, run */
#ifndef CLI_STORED_H
#define CLI_STORED_H

#include <weft/actor.h>

#include "client.h"
#include "option_table.h"

/* What messages say of the store: without a password, if its URL has one. */
const char *cli_store_shown(const char *url);
/* What the option --store may be. */
extern const struct cli_store_rules cli_stored_rules;
/* Hides a password in the URL of --store from `ps`: the words are the process's own. */
void cli_store_hide(struct cli *c, int count, char **words);
struct wf_store_file;
/* Opens the file of --store. NULL: `*code` is the exit code. */
struct wf_store_file *cli_store_open(const struct cli *c, bool read_only, int *code);
int cli_store_topics(const struct cli *c);
int cli_store_read(const struct cli *c);
int cli_store_check(const struct cli *c);
int cli_store_cursors(const struct cli *c);
int cli_store_queues(const struct cli *c);
int cli_store_reminders(const struct cli *c);
int cli_store_states(const struct cli *c);
int cli_store_dead(const struct cli *c);
int cli_store_retry(const struct cli *c);
int cli_store_drop(const struct cli *c);
int cli_store_export(const struct cli *c);
int cli_store_import(const struct cli *c);
/* [A] Stores the body under the topic and prints where it is. CLI_OK or an exit code after a message. */
int cli_publish_stored(struct cli_client *k);
/* [A] Prints the records of a topic from --from on. */
int cli_subscribe_stored(struct cli_client *k);
struct weft_stored;
/* A line for a record: topic, epoch and offset, tag, body. */
void cli_print_stored(const struct cli *c, const struct weft_stored *r);
/* [A] Prints the records of a pattern from the cursor --cursor on, or those that a member of --shared is given, and
 * acknowledges what was printed. */
int cli_follow_cursor(struct cli_client *k);
/* For weft run: with --store, `*first` becomes an actor that opens the store and then becomes the module's first
 * actor. CLI_OK or an exit code after a message. */
int cli_store_first(const struct cli *c, weft_actor **first);

#endif
