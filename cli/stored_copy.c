/* cli/stored_copy.c -- weft store export and import: the records of a store as lines of JSON.
 *
 * The first record of an export has "export" besides, the version of the format, and the last one has "records", their number. So
 * import can say that a file was cut off, also at the end of a line. Older versions write neither, and pass over both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft.h>

#include "compat.h"
#include "json.h"
#include "store_file.h"
#include "stored.h"
#include "stored_topic.h"
#include "values.h"

enum { AT_ONCE = 256, BYTES_AT_ONCE = 4 * 1024 * 1024 };

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- Export ---------------------------------------------------------------------------------------------------- */

enum { FORMAT = 1 }; /* of an export */

struct exporting {
    const struct cli *c;
    struct wf_store *store;
    struct wf_store_log log;
    uint64_t next, records;
    int rc;
};

/* Whether the bytes can be printed as text, so that import reads the same bytes again. */
static bool is_text(const char *at, size_t left)
{
    uint32_t stop;
    while (left > 0) {
        size_t plain = weft_printable(at, left, &stop);
        if (plain < left && stop != '\n' && stop != '\t') return false;
        plain += plain < left;
        at += plain;
        left -= plain;
    }
    return true;
}

static void print_base64(const uint8_t *at, size_t size)
{
    for (; size > 0; at += 3, size -= size < 3 ? size : 3) {
        uint32_t word = (uint32_t)at[0] << 16 | (size > 1 ? (uint32_t)at[1] << 8 : 0) | (size > 2 ? at[2] : 0);
        putchar(digits[word >> 18]);
        putchar(digits[word >> 12 & 63]);
        putchar(size > 1 ? digits[word >> 6 & 63] : '=');
        putchar(size > 2 ? digits[word & 63] : '=');
    }
}

/* The line of the last record ends when it is known that it is the last one. */
static bool export_record(void *arg, const struct wf_store_record *r)
{
    struct exporting *e = arg;
    bool text = is_text((const char *)r->data, r->size);
    fputs(e->records == 0 ? "{" : "}\n{", stdout);
    if (e->records == 0) printf("\"export\": %d, ", FORMAT);
    printf("\"topic\": \"%s\", \"epoch\": \"%016" PRIx64 "\", \"offset\": %" PRIu64 ", \"time\": %" PRId64
           ", \"tag\": %" PRIu32 ", \"%s\": ",
           e->log.topic, e->log.epoch, r->offset, r->time, r->tag, text ? "text" : "base64");
    if (text) cli_print_string(stdout, r->data, r->size);
    else putchar('"'), print_base64(r->data, r->size), putchar('"');
    e->next = r->offset + 1;
    e->records++;
    return true;
}

static bool export_log(void *arg, const struct wf_store_log *is)
{
    struct exporting *e = arg;
    struct wf_store_log now = *is;
    e->log = *is;
    e->next = is->first;
    while (e->rc >= 0 && e->next <= e->log.last && !cli_output_failed()) {
        uint64_t from = e->next;
        e->rc = e->store->engine->read(e->store, e->log.topic, from, AT_ONCE, BYTES_AT_ONCE, export_record, e, &now);
        if (e->rc == WEFT_EFORMAT)
            (void)cli_fail(e->c, CLI_FAILED, "%s: record %" PRIu64 " is damaged or missing", e->log.topic, from);
        if (e->rc == 0 && e->next == from) break; /* the limits have removed the rest meanwhile */
    }
    return e->rc >= 0;
}

int cli_store_export(const struct cli *c)
{
    int code;
    if (c->argc > 0 && !cli_is_topic(c, c->argv[0])) return CLI_USAGE;
    struct wf_store_file *f = cli_store_open(c, true, &code);
    if (f == NULL) return code;
    struct exporting e = {.c = c, .store = f->store};
    struct wf_store_log log = {.epoch = 0};
    const struct wf_store_engine *engine = f->store->engine;
    int rc = c->argc == 0 ? engine->list(f->store, NULL, export_log, &e) : engine->find(f->store, c->argv[0], &log);
    if (rc == WEFT_OK && c->argc > 0) (void)export_log(&e, &log);
    const bool is_whole = rc == WEFT_OK && e.rc >= 0;
    if (e.records > 0 && is_whole) printf(", \"records\": %" PRIu64 "}\n", e.records);
    else if (e.records > 0) puts("}");
    wf_store_file_release(f);
    if (rc == WEFT_ENOTFOUND)
        return cli_fail(c, CLI_FAILED, "%s has no topic %s", cli_store_shown(c->store), c->argv[0]);
    if (e.rc == WEFT_EFORMAT) return CLI_FAILED;
    if (rc == WEFT_OK && e.rc < 0) rc = e.rc;
    if (cli_output_failed()) return CLI_OK; /* main says so */
    return rc < 0 ? cli_fail(c, CLI_FAILED, "%s: %s", cli_store_shown(c->store), weft_strerror(rc)) : CLI_OK;
}

/* ---- Import ---------------------------------------------------------------------------------------------------- */

/* A record that was read, with its bytes; `data` is for free(). */
struct line {
    uint64_t format, records; /* 0, but in the first, or the last, record of an export */
    char topic[WF_STORE_TOPIC_MAX + 1];
    uint64_t epoch, offset, number; /* number: of the line */
    int64_t time;
    uint32_t tag;
    bool has_time, has_tag;
    void *data;
    size_t size;
};

struct importing {
    const struct cli *c;
    struct wf_store *store;
    struct line *line; /* AT_ONCE lines fit */
    size_t lines, bytes;
    uint64_t number, done;
    bool has_begun;   /* an export, whose last record has not come yet */
    uint64_t records; /* of this export, or of one without a begin */
};

static int value_of(char c)
{
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* False: it is no base64. `out` has space for three bytes of each four characters. */
static bool read_base64(weft_text text, uint8_t *out, size_t *size)
{
    const char *at = text.data;
    *size = 0;
    if (text.size % 4 != 0) return false;
    for (size_t i = 0; i < text.size; i += 4) {
        int last = i + 4 == text.size && at[i + 3] == '=' ? (at[i + 2] == '=' ? 2 : 3) : 4;
        uint32_t word = 0;
        for (int k = 0; k < 4; k++) {
            int value = k < last ? value_of(at[i + (size_t)k]) : 0;
            if (value < 0) return false;
            word = word << 6 | (uint32_t)value;
        }
        for (int k = 0; k < last - 1; k++) out[(*size)++] = (uint8_t)(word >> (16 - 8 * k));
    }
    return true;
}

static const char *read_body(struct line *l, weft_text value, bool is_base64)
{
    free(l->data);
    l->data = malloc(value.size + 1);
    if (l->data == NULL) return "out of memory";
    l->size = value.size;
    if (is_base64) return read_base64(value, l->data, &l->size) ? NULL : "\"base64\" is no base64";
    if (value.size > 0) memcpy(l->data, value.data, value.size);
    return NULL;
}

static bool is_key(weft_text key, const char *name)
{
    return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

static bool read_epoch(weft_text text, uint64_t *out)
{
    char hex[17], *end;
    if (text.size != 16 || !weft_text_copy(text, hex, sizeof hex)) return false;
    *out = strtoull(hex, &end, 16);
    return *end == '\0' && hex[strspn(hex, "0123456789abcdef")] == '\0' && *out != 0;
}

/* Reads the value of one field. Returns NULL, or what is wrong with it. */
static const char *read_field(struct line *l, weft_text key, weft_reader *r)
{
    if (is_key(key, "topic")) {
        bool fits = weft_text_copy(weft_get_str(r), l->topic, sizeof l->topic);
        return fits && wf_store_topic_ok(l->topic)
                   ? NULL
                   : "\"topic\" is not a topic: a topic is words with dots between them";
    }
    if (is_key(key, "epoch"))
        return read_epoch(weft_get_str(r), &l->epoch) ? NULL : "\"epoch\" has to be 16 hexadecimal digits, not all 0";
    if (is_key(key, "offset")) {
        l->offset = weft_get_uint(r);
        bool fine = r->error == 0 && l->offset >= 1 && l->offset <= WF_STORE_OFFSET_MAX;
        return fine ? NULL : "\"offset\" has to be a whole number from 1 to 1099511627775";
    }
    if (is_key(key, "time")) {
        l->time = weft_get_int(r);
        l->has_time = r->error == 0;
        return l->has_time ? NULL : "\"time\" has to be a whole number of nanoseconds";
    }
    if (is_key(key, "tag")) {
        uint64_t tag = weft_get_uint(r);
        l->tag = (uint32_t)tag;
        l->has_tag = r->error == 0 && tag < WEFT_TAG_SYSTEM;
        return l->has_tag ? NULL : "\"tag\" has to be a whole number from 0 to 4294967039";
    }
    if (is_key(key, "text") || is_key(key, "base64")) {
        weft_text value = weft_get_str(r);
        return r->error != 0 ? "\"text\" and \"base64\" have to be texts"
                             : read_body(l, value, is_key(key, "base64"));
    }
    if (is_key(key, "export")) {
        l->format = weft_get_uint(r);
        bool fine = r->error == 0 && l->format >= 1 && l->format <= FORMAT;
        return fine ? NULL : "\"export\" is a format that this weft does not know: use a newer weft";
    }
    if (is_key(key, "records")) {
        l->records = weft_get_uint(r);
        return r->error == 0 && l->records >= 1 ? NULL : "\"records\" has to be a whole number from 1 on";
    }
    weft_skip(r);
    return NULL;
}

/* Reads the map of a line. Returns NULL, or what is wrong. */
static const char *read_fields(struct line *l, weft_reader *r)
{
    const char *wrong = NULL;
    for (uint32_t left = weft_get_map(r); left > 0 && wrong == NULL && r->error == 0; left--)
        wrong = read_field(l, weft_get_str(r), r);
    if (wrong != NULL) return wrong;
    bool complete = l->topic[0] != '\0' && l->epoch != 0 && l->offset != 0 && l->has_time && l->has_tag &&
                    l->data != NULL && r->error == 0;
    if (!complete) return "it needs topic, epoch, offset, time, tag, and text or base64";
    return l->size > WF_STORE_RECORD_MAX ? "the record has more than a megabyte" : NULL;
}

/* Whether the line begins the log of its topic, or follows its last record: in the store, or in the lines before it. */
static bool follows(const struct importing *im, size_t i)
{
    const struct line *l = &im->line[i];
    struct wf_store_log log;
    for (const struct line *before = l; before-- > im->line;)
        if (strcmp(before->topic, l->topic) == 0) return before->epoch == l->epoch && before->offset + 1 == l->offset;
    if (im->store->engine->find(im->store, l->topic, &log) < 0) return true;
    return log.epoch == l->epoch && log.last + 1 == l->offset;
}

/* The line does not follow what is stored now. */
static int refuse(const struct importing *im, const struct line *l)
{
    struct wf_store_log log = {.epoch = 0};
    (void)im->store->engine->find(im->store, l->topic, &log);
    if (log.epoch != l->epoch)
        return cli_fail(im->c, CLI_FAILED,
                        "line %" PRIu64 ": %s has the epoch %016" PRIx64 " in this store, not %016" PRIx64, l->number,
                        l->topic, log.epoch, l->epoch);
    return cli_fail(im->c, CLI_FAILED,
                    "line %" PRIu64 ": record %" PRIu64 " of %s does not follow its last one, %" PRIu64 "%s",
                    l->number, l->offset, l->topic, log.last,
                    l->offset <= log.last ? ": leave out the lines whose records are in the store already" : "");
}

static void drop_lines(struct importing *im)
{
    for (size_t i = 0; i < im->lines; i++) free(im->line[i].data);
    im->lines = im->bytes = 0;
}

/* Stores the lines that were gathered, up to the first one that does not follow. An exit code. */
static int store_lines(struct importing *im)
{
    struct wf_store_append batch[AT_ONCE];
    size_t count = 0;
    int code = CLI_OK;
    while (count < im->lines && follows(im, count)) count++;
    for (size_t i = 0; i < count; i++) {
        const struct line *l = &im->line[i];
        batch[i] = (struct wf_store_append){.topic = l->topic,
                                            .time = l->time,
                                            .tag = l->tag,
                                            .data = l->data,
                                            .size = l->size,
                                            .as_epoch = l->epoch,
                                            .as_offset = l->offset};
    }
    if (count > 0) (void)im->store->engine->append(im->store, batch, count); /* each has its error */
    for (size_t i = 0; i < count && code == CLI_OK; i++) {
        if (batch[i].error < 0)
            code = cli_fail(im->c, CLI_FAILED, "line %" PRIu64 ": %s", im->line[i].number,
                            weft_strerror(batch[i].error));
        else im->done++;
    }
    if (code == CLI_OK && count < im->lines) code = refuse(im, &im->line[count]);
    drop_lines(im);
    return code;
}

/* Returns NULL, or what is wrong. */
static const char *read_line(struct line *l, const char *text)
{
    static char no_json[sizeof(struct cli_json_fault) + 64];
    struct cli_json_fault why;
    struct cli_body body;
    if (cli_json_read(text, &body, &why) != CLI_OK) {
        if (why.line == 0) snprintf(no_json, sizeof no_json, "%s", why.text);
        else snprintf(no_json, sizeof no_json, "this is no JSON: column %d: %s", why.column, why.text);
        return no_json;
    }
    weft_reader r = weft_reader_on(body.data, body.size);
    const char *wrong = read_fields(l, &r);
    free(body.data);
    return wrong;
}

/* An export begins behind line `behind`, or the input ends there. Several exports may follow each other. */
static int end_without_last(struct importing *im, uint64_t behind)
{
    const uint64_t records = im->records;
    im->records = 0;
    if (im->has_begun)
        return cli_fail(im->c, CLI_FAILED,
                        "the export is cut off behind line %" PRIu64 ": its last record is not here", behind);
    if (records > 0)
        fprintf(stderr,
                "weft store import: line %" PRIu64
                " does not say that it is the last one of an export: an older weft "
                "has written it, or lines behind it are missing\n",
                behind);
    return CLI_OK;
}

/* The last record of an export was stored. */
static int end_with_last(struct importing *im, const struct line *l)
{
    const uint64_t records = im->records;
    const bool has_begun = im->has_begun;
    im->records = 0;
    im->has_begun = false;
    if (records == l->records) return CLI_OK;
    if (has_begun)
        return cli_fail(im->c, CLI_FAILED,
                        "line %" PRIu64 ": the export had %" PRIu64 " records, and here are %" PRIu64
                        ": lines are missing, or were added",
                        l->number, l->records, records);
    fprintf(stderr,
            "weft store import: line %" PRIu64 " is the last one of an export of %" PRIu64 " records, whose begin is"
            " not here\n",
            l->number, l->records);
    return CLI_OK;
}

static int add_line(struct importing *im, const struct line *l)
{
    im->line[im->lines++] = *l;
    im->bytes += l->size;
    im->has_begun |= l->format != 0;
    im->records++;
    if (l->records == 0) return CLI_OK;
    int code = store_lines(im);
    return code == CLI_OK ? end_with_last(im, l) : code;
}

/* The lines before one that is wrong are stored. */
static int take_line(struct importing *im, const char *text, size_t size)
{
    struct line l = {.number = ++im->number};
    if (strspn(text, " \t\r\n") == size) return CLI_OK;
    const char *wrong = strlen(text) < size ? "it has a byte of value 0, so the file is damaged"
                                            : read_line(&l, text);
    bool full = wrong != NULL || l.format != 0 || im->lines == AT_ONCE || im->bytes + l.size > BYTES_AT_ONCE;
    int code = full ? store_lines(im) : CLI_OK;
    if (code == CLI_OK && wrong != NULL) code = cli_fail(im->c, CLI_FAILED, "line %" PRIu64 ": %s", l.number, wrong);
    if (code == CLI_OK && l.format != 0) code = end_without_last(im, l.number - 1);
    if (code == CLI_OK) return add_line(im, &l);
    free(l.data);
    return code;
}

int cli_store_import(const struct cli *c)
{
    int code;
    struct wf_store_file *f = cli_store_open(c, false, &code);
    if (f == NULL) return code;
    struct importing im = {.c = c, .store = f->store, .line = calloc(AT_ONCE, sizeof *im.line)};
    char *text = NULL;
    size_t capacity = 0, size;
    if (im.line == NULL) {
        wf_store_file_release(f);
        return cli_fail(c, CLI_FAILED, "out of memory");
    }
    while (code == CLI_OK && cli_read_line(stdin, &text, &capacity, &size)) code = take_line(&im, text, size);
    if (code == CLI_OK) code = store_lines(&im);
    if (code == CLI_OK && feof(stdin) == 0)
        code = cli_fail(c, CLI_FAILED, "the standard input cannot be read after line %" PRIu64, im.number);
    if (code == CLI_OK) code = end_without_last(&im, im.number);
    wf_store_file_release(f);
    free(im.line);
    free(text);
    if (code != CLI_OK && im.done > 0)
        (void)cli_fail(c, code, "the records of the lines before are imported: %" PRIu64, im.done);
    if (code != CLI_OK) return code;
    if (c->json) printf("{\"imported\": %" PRIu64 "}\n", im.done);
    else printf("%s: %" PRIu64 " records\n", cli_store_shown(c->store), im.done);
    return CLI_OK;
}
