/* cli/options/verbs.h -- the table of all verbs, as those see it that complete, describe or configure them. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "options.h"

/* main sets them first of all. */
extern const struct cli_verb *cli_verbs;
extern size_t cli_verb_count;
/* The verb that the words begin with (`next` may be NULL), and how many of them are its name; NULL: there is none. */
const struct cli_verb *cli_find_verb(const char *word, const char *next, int *words);

#endif
