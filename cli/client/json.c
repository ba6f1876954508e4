/* cli/client/json.c -- between JSON and msgpack. Reading JSON is Jansson's work; writing is ours, because msgpack
 * has values that Jansson's have no place for. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "compat.h"

/* ---- JSON to msgpack ------------------------------------------------------------------------------------------- */

static void put(weft_writer *w, const json_t *v, int depth)
{
    const char *key;
    json_t *item;
    size_t i;
    if (depth == WEFT_NEST_MAX && (json_is_array(v) || json_is_object(v))) {
        w->error = WEFT_ETOOBIG;
        return;
    }
    switch (json_typeof(v)) {
    case JSON_NULL: weft_put_nil(w); break;
    case JSON_TRUE: weft_put_bool(w, true); break;
    case JSON_FALSE: weft_put_bool(w, false); break;
    case JSON_INTEGER: weft_put_int(w, json_integer_value(v)); break;
    case JSON_REAL: weft_put_real(w, json_real_value(v)); break;
    case JSON_STRING: weft_put_str(w, weft_str(json_string_value(v), json_string_length(v))); break;
    case JSON_ARRAY:
        weft_put_array(w, (uint32_t)json_array_size(v));
        json_array_foreach(v, i, item) put(w, item, depth + 1);
        break;
    case JSON_OBJECT:
        weft_put_map(w, (uint32_t)json_object_size(v));
        json_object_foreach((json_t *)(uintptr_t)v, key, item)
        {
            weft_put_str(w, weft_cstr(key));
            put(w, item, depth + 1);
        }
        break;
    }
}

static int no_body(struct cli_json_fault *why, int code, const char *text)
{
    *why = (struct cli_json_fault){.line = 0};
    snprintf(why->text, sizeof why->text, "%s", text);
    return code;
}

int cli_json_read(const char *text, struct cli_body *out, struct cli_json_fault *why)
{
    json_error_t error;
    json_t *v = json_loadb(text, strlen(text), JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
    if (v == NULL) {
        *why = (struct cli_json_fault){.line = error.line, .column = error.column};
        snprintf(why->text, sizeof why->text, "%.*s", (int)sizeof why->text - 1, error.text);
        return CLI_USAGE;
    }
    weft_writer w = weft_writer_on(NULL, 0);
    put(&w, v, 0);
    int rc = CLI_OK;
    char nests[80];
    snprintf(nests, sizeof nests, "the body nests deeper than %d levels", WEFT_NEST_MAX);
    if (w.error != 0) rc = no_body(why, CLI_USAGE, nests);
    else if (w.size > WEFT_MESSAGE_MAX) rc = no_body(why, CLI_USAGE, "the body is larger than 16 MiB");
    else if ((out->data = malloc(w.size)) == NULL) rc = no_body(why, CLI_FAILED, "out of memory");
    if (rc == CLI_OK) {
        out->size = w.size;
        w = weft_writer_on(out->data, out->size);
        put(&w, v, 0);
    }
    json_decref(v);
    return rc;
}

int cli_body_from_json(const struct cli *c, const char *text, struct cli_body *out)
{
    struct cli_json_fault why;
    int rc = cli_json_read(text, out, &why);
    if (rc == CLI_OK) return CLI_OK;
    if (why.line == 0) return cli_fail(c, rc, "%s", why.text);
    cli_fail(c, 0, "the body is not JSON: line %d, column %d: %s", why.line, why.column, why.text);
    fputs("Text in JSON stands in double quotes ('\"hello\"'); --text TEXT sends bytes as they are.\n", stderr);
    return rc;
}

int cli_body(const struct cli *c, int word, struct cli_body *out)
{
    if (c->text != NULL && c->argc > word)
        return cli_fail(c, CLI_USAGE, "%s and --text are two bodies; give one of them", CLI_QUOTE(c->argv[word]));
    if (c->text == NULL && c->argc <= word) {
        cli_fail(c, 0, "there is no body: give it as JSON, or with --text");
        fprintf(stderr, "See 'weft %s --help'.\n", c->verb->name);
        return CLI_USAGE;
    }
    if (c->text == NULL) return cli_body_from_json(c, c->argv[word], out);
    out->size = strlen(c->text);
    out->data = strdup(c->text);
    return out->data != NULL ? CLI_OK : cli_fail(c, CLI_FAILED, "out of memory");
}

/* ---- Text ------------------------------------------------------------------------------------------------------ */

/* The bytes of the character with that code, which weft_printable has found. */
static size_t width_of(uint32_t code)
{
    return code < 0x80 || code == 0xFFFD ? 1 : code < 0x800 ? 2 : 3;
}

void cli_print_string(FILE *out, const char *text, size_t size)
{
    fputc('"', out);
    for (size_t at = 0; at < size;) {
        uint32_t stop;
        size_t plain = weft_printable(text + at, size - at, &stop);
        for (size_t i = 0; i < plain; i++, at++) {
            if (text[at] == '"' || text[at] == '\\') fputc('\\', out);
            fputc(text[at], out);
        }
        if (at == size) break;
        if (stop == '\n') fputs("\\n", out);
        else if (stop == '\t') fputs("\\t", out);
        else fprintf(out, "\\u%04x", (unsigned)stop);
        at += width_of(stop);
    }
    fputc('"', out);
}

void cli_print_text(const char *key, weft_text text)
{
    printf("\"%s\": ", key);
    cli_print_string(stdout, text.data, text.size);
}

/* Within msgpack: bodies are no texts, they are escaped where they are printed. */
static void plain_texts(uint8_t *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    while (r.error == 0 && r.at < r.end) {
        weft_text t;
        switch (weft_peek_type(&r)) {
        case WEFT_ARRAY: (void)weft_get_array(&r); break;
        case WEFT_MAP: (void)weft_get_map(&r); break;
        case WEFT_TEXT:
            t = weft_get_str(&r);
            if (t.size > 0) cli_plain((char *)(uintptr_t)t.data, t.size);
            break;
        default: weft_skip(&r);
        }
    }
}

void cli_plain_answer(const struct cli *c, const weft_msg *m)
{
    uint8_t *data = (uint8_t *)(uintptr_t)weft_data(m); /* this process has it alone */
    if (c->json) return;                                /* texts are escaped there */
    if (cli_is_pack(data, weft_size(m))) plain_texts(data, weft_size(m));
    else cli_plain((char *)data, weft_size(m));
}

static void print_hex(FILE *out, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) fprintf(out, "%02x", ((const unsigned char *)data)[i]);
}

/* ---- msgpack to JSON ------------------------------------------------------------------------------------------- */

bool cli_is_pack(const void *data, size_t size)
{
    return weft_pack_check(data, size, WEFT_ELEMENTS_MAX, NULL) == 0;
}

static void print_real(FILE *out, double value)
{
    char text[40];
    if (!isfinite(value)) {
        fputs("null", out);
        return;
    }
    /* The shortest form that reads back as the same number; one with neither point nor exponent gets ".0". */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    fprintf(out, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void print_value(FILE *out, weft_reader *r, bool in_key);

/* A key that is no text becomes a string of its JSON, with a backslash before each quote and each backslash. So a
 * list or a map that is a key within a key would double with each level, to gigabytes: its bytes are shown. */
static void print_key(FILE *out, weft_reader *r, bool in_key)
{
    int type = weft_peek_type(r);
    const uint8_t *start = r->at;
    if (type == WEFT_TEXT) {
        print_value(out, r, in_key);
        return;
    }
    if (in_key && (type == WEFT_ARRAY || type == WEFT_MAP)) {
        weft_skip(r);
        fputs("\"$pack ", out);
        print_hex(out, start, (size_t)(r->at - start));
        fputc('"', out);
        return;
    }
    FILE *key = cli_scratch();
    if (key == NULL) {
        weft_skip(r);
        fputs("\"\"", out);
        return;
    }
    print_value(key, r, true);
    long size = ftell(key);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    rewind(key);
    cli_print_string(out, text, text == NULL ? 0 : fread(text, 1, (size_t)size, key));
    free(text);
    fclose(key);
}

static void print_bytes(FILE *out, const char *kind, const void *data, size_t size)
{
    fprintf(out, "{\"%s\": \"", kind);
    print_hex(out, data, size);
    fputs("\"}", out);
}

/* Recursion is bounded: the value has been checked, so it nests WEFT_NEST_MAX deep at most. */
static void print_value(FILE *out, weft_reader *r, bool in_key)
{
    uint32_t count;
    weft_text t;
    const uint8_t *start = r->at;
    switch (weft_peek_type(r)) {
    case WEFT_NIL:
        (void)weft_get_nil(r);
        fputs("null", out);
        break;
    case WEFT_BOOL: fputs(weft_get_bool(r) ? "true" : "false", out); break;
    case WEFT_INT: fprintf(out, "%lld", (long long)weft_get_int(r)); break;
    case WEFT_UINT: fprintf(out, "%llu", (unsigned long long)weft_get_uint(r)); break;
    case WEFT_REAL: print_real(out, weft_get_real(r)); break;
    case WEFT_TEXT:
        t = weft_get_str(r);
        cli_print_string(out, t.data, t.size);
        break;
    case WEFT_BIN:
        t = weft_get_bin(r);
        print_bytes(out, "$bin", t.data, t.size);
        break;
    case WEFT_ARRAY:
        count = weft_get_array(r);
        fputc('[', out);
        for (uint32_t i = 0; i < count; i++) {
            if (i > 0) fputs(", ", out);
            print_value(out, r, in_key);
        }
        fputc(']', out);
        break;
    case WEFT_MAP:
        count = weft_get_map(r);
        fputc('{', out);
        for (uint32_t i = 0; i < count; i++) {
            if (i > 0) fputs(", ", out);
            print_key(out, r, in_key);
            fputs(": ", out);
            print_value(out, r, in_key);
        }
        fputc('}', out);
        break;
    default: weft_skip(r); print_bytes(out, "$ext", start, (size_t)(r->at - start));
    }
}

void cli_print_json(FILE *out, const void *data, size_t size)
{
    weft_reader r = weft_reader_on(data, size);
    print_value(out, &r, false);
}

void cli_print_body(FILE *out, const void *data, size_t size)
{
    const unsigned char *s = data;
    if (size == 0) return;
    if (cli_is_pack(data, size)) {
        cli_print_json(out, data, size);
        return;
    }
    for (size_t at = 0; at < size;) {
        uint32_t stop;
        size_t plain = weft_printable((const char *)s + at, size - at, &stop);
        for (size_t i = 0; i < plain; i++, at++) {
            if (s[at] == '\\') fputc('\\', out);
            fputc(s[at], out);
        }
        for (size_t left = at == size ? 0 : width_of(stop); left > 0; left--, at++) fprintf(out, "\\x%02x", s[at]);
    }
}

void cli_print_json_body(const void *data, size_t size)
{
    bool pack = cli_is_pack(data, size);
    fputs(pack ? "\"body\": " : "\"text\": ", stdout);
    if (pack) cli_print_json(stdout, data, size);
    else cli_print_string(stdout, data, size);
}
