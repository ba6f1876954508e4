/* cli/client/json.h -- between JSON and msgpack. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include "options.h"

#include <weft.h>

struct cli_body {
    void *data;
    size_t size;
};
/* What is wrong with a text. `line` 0: it is JSON, and no body all the same. */
struct cli_json_fault {
    int line, column;
    char text[160];
};
/* Text to msgpack. CLI_OK, or the exit code, with `why`. */
int cli_json_read(const char *text, struct cli_body *out, struct cli_json_fault *why);
/* Text to msgpack. CLI_OK, or CLI_USAGE after a message that says line and column. */
int cli_body_from_json(const struct cli *c, const char *text, struct cli_body *out);
/* The body asked for by --text or by the `word`-th word; data is to be freed. */
int cli_body(const struct cli *c, int word, struct cli_body *out);
/* Whether it is one well-formed msgpack value. */
bool cli_is_pack(const void *data, size_t size);
/* Writes msgpack that was checked, as JSON in one line. What JSON lacks: bytes become {"$bin": "HEX"}, extensions
 * {"$ext": "HEX"}, NaN and the infinities null; keys that are no text are written as the text of their JSON;
 * lists and maps that are keys within keys as "$pack HEX". */
void cli_print_json(FILE *out, const void *data, size_t size);
/* Writes any bytes as a JSON string; invalid UTF-8 becomes U+FFFD, and control characters of terminals become
 * escapes. */
void cli_print_string(FILE *out, const char *text, size_t size);
/* `"key": "text"`, to standard output; `key` is written as it is. */
void cli_print_text(const char *key, weft_text text);
/* A message's body for people: JSON, else text with escapes. */
void cli_print_body(FILE *out, const void *data, size_t size);
/* cli_plain for all texts of an answer, or news, of a node, unless --json is to tell what they were: everything that
 * a node says comes through here before it is printed. */
void cli_plain_answer(const struct cli *c, const weft_msg *m);
/* Prints to standard output: "body" with JSON if it is well-formed msgpack, else "text" with the bytes. */
void cli_print_json_body(const void *data, size_t size);

#endif
