/* Any text as the body of `weft send`: JSON that is read is printed as JSON with the same meaning. Any bytes as a
 * body that is shown: msgpack is printed as JSON, and anything else as text without control characters. */
#include "json.h"
#include "fuzz.h"

#include <jansson.h>

int cli_fail(const struct cli *c, int code, const char *format, ...)
{
    (void)c;
    (void)format;
    return code;
}

static char *printed(void (*print)(FILE *, const void *, size_t), const void *data, size_t size, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    MUST(out != NULL);
    print(out, data, size);
    fclose(out);
    MUST(text != NULL);
    return text;
}

static void check_text(const char *json)
{
    struct cli_body body = {0}, again = {0};
    size_t length;
    if (cli_body_from_json(NULL, json, &body) != CLI_OK) return;
    MUST(cli_is_pack(body.data, body.size) || body.size > WEFT_ELEMENTS_MAX);
    char *text = printed(cli_print_json, body.data, body.size, &length);
    MUST(cli_body_from_json(NULL, text, &again) == CLI_OK);
    MUST(again.size == body.size && memcmp(again.data, body.data, body.size) == 0);
    free(text);
    free(body.data);
    free(again.data);
}

static void check_bytes(const uint8_t *data, size_t size)
{
    size_t length;
    char *text = printed(cli_print_body, data, size, &length);
    for (size_t i = 0; i < length; i++) MUST((unsigned char)text[i] >= 0x20 && text[i] != 0x7F);
    /* jansson has no space for NULs in keys */
    if (size > 0 && cli_is_pack(data, size) && strstr(text, "\\u0000") == NULL) {
        json_t *j = json_loadb(text, length, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
        MUST(j != NULL);
        json_decref(j);
    }
    free(text);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    char *text = input_string(&in);
    check_text(text);
    check_bytes(data, size);
    free(text);
    return 0;
}
