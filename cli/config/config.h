/* cli/config/config.h -- the configuration file, weft.conf: lines of `key = value`, in front of and under sections.
 *
 * A key is the name of an option that also comes from a variable. Lines before the first section hold for every verb
 * that has such an option; lines under [VERB] hold for that verb only, and override the former. One file is read:
 * that of --config, else $WEFT_CONFIG, else the user's own, else /etc/weft/weft.conf.
 *
 * This reads text and knows no files: config_file.h does. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "verbs.h"

#include <limits.h>

/* The mistake of a line; `key` is "" if the line has no key. */
typedef void cli_config_report(void *arg, int line, const char *key, const char *why);
/* Reads `text`, which is `size` bytes and a NUL, in place. Reports each mistake and returns their number. It does not
 * check values. */
int cli_config_parse(struct cli_config *f, char *text, size_t size, cli_config_report *report, void *arg);
/* Tries every value on a verb that takes it. Reports each wrong value and returns their number. It splits values that
 * are lists in place, so the file cannot be used afterwards. */
int cli_config_try(const struct cli_config *f, cli_config_report *report, void *arg);
/* Sets the options of the verb that no flag and no variable has set. CLI_OK or an exit code after a message. */
int cli_config_apply(struct cli *c);
/* Whether a file may contain this option. */
bool cli_is_setting(enum cli_option_id id);

#endif
