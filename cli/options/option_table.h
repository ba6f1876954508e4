/* cli/options/option_table.h -- all options: what each is called, where its value goes, and what it may be. */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include "options.h"

enum { CLI_WHY = 512 };

enum cli_option_kind { CLI_FLAG, CLI_WORD, CLI_LIST, CLI_NUMBER, CLI_SECONDS };

struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum cli_option_kind kind;
    const char *value; /* as help shows it; NULL for a flag */
    const char *help;
    const char *variable; /* NULL: not from the environment */
    size_t field;         /* in struct cli */
    size_t given;         /* the offset of the bool that is set if it was given; 0: there is none */
    int64_t min, max;     /* of a number; max of a word: its bytes, of a list: its items; 0: any, CLI_LIST_MAX */
    const char *preset;   /* the default, as help shows it */
    const char *choices;  /* words that it may be, separated by blanks */
    /* Whether it may be another one; NULL: no if there are choices. If not, `why` gets the value and what is wrong with
     * it, or stays empty, and the value is not `wanted`. */
    bool (*check)(const char *value, char why[CLI_WHY]);
    const char *wanted;
};
extern const size_t cli_option_count; /* ids are smaller */
const struct cli_option *cli_option(enum cli_option_id id);

/* What the option --store may be, and what is shown of it. The files of the verbs that use stores know it; main sets
 * it. NULL: any value is right, and is shown as it is. */
struct cli_store_rules {
    bool (*check)(const char *url, char why[CLI_WHY]); /* as cli_option.check */
    const char *(*show)(const char *url);              /* without its password */
};
extern const struct cli_store_rules *cli_store_rules;

#endif
