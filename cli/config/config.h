/* cli/config/config.h -- the configuration file, weft.conf: lines of `key = value`, in front of and under sections.
 *
 * A key is the name of an option that also comes from a variable. What stands in front of all sections holds for
 * every verb that has such an option; what stands under [VERB] for that verb only, and goes before the former. One
 * file is read: that of --config, else $WEFT_CONFIG, else the user's own, else /etc/weft/weft.conf.
 *
 * This reads text and knows no files: config_file.h does. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "verbs.h"

#include <limits.h>

/* What is wrong with a line; `key` is "" where there is none. */
typedef void cli_config_report(void *arg, int line, const char *key, const char *why);
/* Reads `text`, which is `size` bytes and a NUL, in place. How many mistakes it has; each is told. Values are not
 * looked at. */
int cli_config_parse(struct cli_config *f, char *text, size_t size, cli_config_report *report, void *arg);
/* Tries every value on a verb that takes it. How many are wrong; each is told. Values that are lists are taken apart
 * by it: after that the file is of no more use. */
int cli_config_try(const struct cli_config *f, cli_config_report *report, void *arg);
/* Sets the options of the verb that no flag and no variable has set. CLI_OK or an exit code after a message. */
int cli_config_apply(struct cli *c);
/* Whether such an option may stand in a file. */
bool cli_is_setting(enum cli_option_id id);

#endif
