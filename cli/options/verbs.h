/* cli/options/verbs.h -- the table of all verbs, as those see it that complete, describe or configure them. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "options.h"

/* main sets them first of all. */
extern const struct cli_verb *cli_verbs;
extern size_t cli_verb_count;
/* Returns the verb with which the words begin (`next` may be NULL), and the number of words in its name; NULL: there
 * is no such verb. */
const struct cli_verb *cli_find_verb(const char *word, const char *next, int *words);

#endif
