/* cli/options/quote.h -- how messages show what the user has written. */
#ifndef CLI_QUOTE_H
#define CLI_QUOTE_H

#include <stddef.h>
#include <string.h>

/* A text of a user, in quotes, as messages show it: a long one is cut, with its length behind it; bytes that a terminal would
 * obey are escapes. */
enum { CLI_QUOTE_BYTES = 64, CLI_QUOTED = 4 * CLI_QUOTE_BYTES + 40 };
const char *cli_quote(char out[CLI_QUOTED], const char *text, size_t size);
/* These are valid until the end of the block. */
#define CLI_QUOTE_PART(text, size) cli_quote((char[CLI_QUOTED]){0}, text, size)
#define CLI_QUOTE(text) CLI_QUOTE_PART(text, strlen(text))
/* The name of a file, which is cut only if it is much longer than most. */
enum { CLI_PATH_BYTES = 250 };
#define CLI_PATH(path) (strlen(path) <= CLI_PATH_BYTES ? (path) : CLI_QUOTE(path))

#endif
