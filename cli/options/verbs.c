/* cli/options/verbs.c -- see verbs.h. */
#include "verbs.h"

#include <string.h>

const struct cli_verb *cli_verbs;
size_t cli_verb_count;

/* "certs" is followed by a second word. */
static int words_of(const struct cli_verb *v, const char *word, const char *next)
{
    size_t n = strlen(word);
    if (strchr(v->name, ' ') == NULL) return strcmp(v->name, word) == 0;
    bool both = strncmp(v->name, word, n) == 0 && v->name[n] == ' ' && next != NULL &&
                strcmp(v->name + n + 1, next) == 0;
    return both ? 2 : 0;
}

const struct cli_verb *cli_find_verb(const char *word, const char *next, int *words)
{
    for (size_t i = 0; i < cli_verb_count; i++) {
        *words = words_of(&cli_verbs[i], word, next);
        if (*words > 0) return &cli_verbs[i];
    }
    return NULL;
}
