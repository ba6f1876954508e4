/* cli/config.h -- the configuration file, weft.conf: lines of `key = value`, in front of and under sections.
 *
 * A key is the name of an option that also comes from a variable. What stands in front of all sections holds for
 * every verb that has such an option; what stands under [VERB] for that verb only, and goes before the former. One
 * file is read: that of --config, else $WEFT_CONFIG, else the user's own, else /etc/weft/weft.conf.
 *
 * config.c reads text and knows no files; config_file.c finds and opens them; config_show.c has the verbs. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli.h"

enum { CLI_CONFIG_BYTES = 65536, CLI_CONFIG_LINES = 256 };
enum { CLI_CONFIG_EVERY = -1 }; /* a section: in front of all of them */

struct cli_config_line {
    int number;  /* 1 is the first of the file */
    int section; /* CLI_CONFIG_EVERY, or which of cli_verbs */
    enum cli_option_id id;
    char *value; /* in the text */
};
struct cli_config {
    char path[PATH_MAX];
    char *text; /* NULL: there is no file */
    size_t count;
    struct cli_config_line line[CLI_CONFIG_LINES];
};

/* What is wrong with a line; `key` is "" where there is none. */
typedef void cli_config_tell(void *arg, int line, const char *key, const char *why);
/* Reads `text`, which is `size` bytes and a NUL, in place. How many mistakes it has; each is told. Values are not
 * looked at. */
int cli_config_parse(struct cli_config *f, char *text, size_t size, cli_config_tell *tell, void *arg);
/* Tries every value on a verb that takes it. How many are wrong; each is told. Values that are lists are taken apart
 * by it: after that the file is of no more use. */
int cli_config_try(const struct cli_config *f, cli_config_tell *tell, void *arg);
/* Sets the options of the verb that no flag and no variable has set. CLI_OK or an exit code after a message. */
int cli_config_apply(struct cli *c);
/* Whether such an option may stand in a file. */
bool cli_is_setting(enum cli_option_id id);

/* config_file.c: reads the file that `asked` names, or the one that is there; `f->text` is NULL if there is none.
 * False after a message. A file that was asked for has to be there. */
bool cli_config_load(const struct cli *c, const char *asked, struct cli_config *f, size_t *size);
/* The places that are looked at; how many. */
enum { CLI_CONFIG_PLACES = 2 };
size_t cli_config_places(char out[CLI_CONFIG_PLACES][PATH_MAX]);

#endif
