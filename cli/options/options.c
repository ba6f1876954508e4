/* cli/options/options.c -- see options.h. */
#include "option_table.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <weft/error.h>

/* A line, of which parts may be a peer's words. A long one is cut. */
static void put_plain(const char *format, va_list args)
{
    char line[8192];
    int n = vsnprintf(line, sizeof line, format, args);
    size_t size = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    for (size_t at = 0; at < size;) { /* messages of our own have several lines */
        size_t part = strcspn(line + at, "\n");
        cli_plain(line + at, part);
        at += part + 1;
    }
    fprintf(stderr, "%s\n", line);
}

int cli_fail(const struct cli *c, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (c != NULL && c->error_text != NULL) {
        vsnprintf(c->error_text, c->error_size, format, args);
    } else {
        if (c != NULL && c->verb != NULL) fprintf(stderr, "weft %s: ", c->verb->name);
        else fputs("weft: ", stderr);
        put_plain(format, args);
    }
    va_end(args);
    return code;
}

static bool output_failed, reader_has_gone;

bool cli_output_failed(void)
{
    if (output_failed) return true;
    /* A write that failed has emptied the buffer, so the flush may succeed; then errno is still that of the write. */
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return false;
    reader_has_gone = errno == EPIPE;
    output_failed = true;
    return true;
}

bool cli_reader_has_gone(void)
{
    return reader_has_gone;
}

static int fail_with_help(const struct cli *c)
{
    if (c->error_text == NULL) fprintf(stderr, "See 'weft %s --help'.\n", c->verb->name);
    return CLI_USAGE;
}

/* ---- Did you mean ---------------------------------------------------------------------------------------------- */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* The number of letters that have to be changed, inserted, removed or swapped; words above 31 letters are never
 * close. */
static size_t distance(const char *a, const char *b)
{
    enum { WORD = 32 };
    size_t na = strlen(a), nb = strlen(b), row[3][WORD];
    if (na >= WORD || nb >= WORD) return WORD;
    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *before = row[(i + 1) % 3], *last = row[(i - 1) % 3], *now = row[i % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            now[j] = smallest(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < now[j]) now[j] = before[j - 2] + 1;
        }
    }
    return row[na % 3][nb];
}

const char *cli_closest(const char *word, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t limit = strlen(word) < 4 ? 1 : 2, least = limit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, known[i]);
        if (d < least) {
            least = d;
            best = known[i];
        }
    }
    return best;
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

/* `where` says which flag, variable or line the value comes from. */
static int bad_value(const struct cli *c, const char *where, const char *value, const char *wanted)
{
    cli_fail(c, 0, "%s: %s is not %s", where, CLI_QUOTE(value), wanted);
    return fail_with_help(c);
}

/* `why` shows as much of the value as may be shown. */
static int bad_for(const struct cli *c, const char *where, const char *why)
{
    cli_fail(c, 0, "%s: %s", where, why);
    return fail_with_help(c);
}

/* The choices of an option, one by one. */
struct choices {
    size_t count;
    const char *word[16];
    char text[128];
};

static void split_choices(const struct cli_option *o, struct choices *out)
{
    char *rest;
    out->count = 0;
    snprintf(out->text, sizeof out->text, "%s", o->choices == NULL ? "" : o->choices);
    for (char *at = strtok_r(out->text, " ", &rest); at != NULL && out->count < 16; at = strtok_r(NULL, " ", &rest))
        out->word[out->count++] = at;
}

static int set_word(struct cli *c, const struct cli_option *o, const char *where, const char *value)
{
    struct choices choices;
    char wanted[192], why[CLI_WHY] = "";
    size_t n = 0;
    *(const char **)((char *)c + o->field) = value;
    if (o->max > 0 && strlen(value) > (size_t)o->max) {
        cli_fail(c, 0, "%s: %s is longer than %d bytes", where, CLI_QUOTE(value), (int)o->max);
        return fail_with_help(c);
    }
    split_choices(o, &choices);
    for (size_t i = 0; i < choices.count; i++)
        if (strcmp(value, choices.word[i]) == 0) return CLI_OK;
    if (o->check == NULL ? choices.count == 0 : o->check(value, why)) return CLI_OK;
    if (why[0] != '\0') return bad_for(c, where, why);
    const char *close = cli_closest(value, choices.word, choices.count);
    for (size_t i = 0; o->wanted == NULL && i < choices.count; i++)
        n += (size_t)snprintf(wanted + n, sizeof wanted - n, "%s%s",
                              i == 0                   ? ""
                              : i + 1 == choices.count ? " or "
                                                       : ", ",
                              choices.word[i]);
    if (o->wanted != NULL) n = (size_t)snprintf(wanted, sizeof wanted, "%s", o->wanted);
    if (close != NULL) snprintf(wanted + n, sizeof wanted - n, "; did you mean '%s'?", close);
    return bad_value(c, where, value, wanted);
}

static int set_number(struct cli *c, const struct cli_option *o, const char *where, const char *value)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    bool read = value[0] != '\0' && *end == '\0' && errno == 0 && !isspace((unsigned char)value[0]);
    if (!read || n < o->min || n > o->max) {
        char wanted[96];
        if (o->max == INT64_MAX) snprintf(wanted, sizeof wanted, "a number of at least %lld", (long long)o->min);
        else snprintf(wanted, sizeof wanted, "a number from %lld to %lld", (long long)o->min, (long long)o->max);
        return bad_value(c, where, value, wanted);
    }
    *(int64_t *)((char *)c + o->field) = n;
    return CLI_OK;
}

static int set_seconds(struct cli *c, const struct cli_option *o, const char *where, const char *value)
{
    char *end;
    double seconds = strtod(value, &end);
    bool read = (isdigit((unsigned char)value[0]) || value[0] == '.') && *end == '\0' && isfinite(seconds);
    char wanted[96], why[CLI_WHY] = "";
    if (!read || seconds < (double)o->min || seconds > (double)o->max ||
        (o->check != NULL && !o->check(value, why))) {
        if (o->wanted != NULL) return bad_value(c, where, value, o->wanted);
        snprintf(wanted, sizeof wanted, "a number of seconds from %lld to %lld, such as 2.5", (long long)o->min,
                 (long long)o->max);
        return bad_value(c, where, value, wanted);
    }
    *(int64_t *)((char *)c + o->field) = llround(seconds * 1e9);
    return CLI_OK;
}

static struct cli_list *list_at(struct cli *c, const struct cli_option *o)
{
    return (struct cli_list *)((char *)c + o->field);
}

static int set_item(struct cli *c, const struct cli_option *o, const char *where, const char *value)
{
    struct cli_list *list = list_at(c, o);
    char why[CLI_WHY] = "";
    size_t most = o->max == 0 ? CLI_LIST_MAX : (size_t)o->max;
    if (list->count == most) return cli_fail(c, CLI_USAGE, "%s: more than %zu of them; leave some out", where, most);
    if (o->check != NULL && !o->check(value, why))
        return why[0] != '\0' ? bad_for(c, where, why) : bad_value(c, where, value, o->wanted);
    list->item[list->count++] = value;
    return CLI_OK;
}

static int set_value(struct cli *c, const struct cli_option *o, const char *where, const char *value)
{
    if (o->given != 0) *(bool *)((char *)c + o->given) = true;
    switch (o->kind) {
    case CLI_FLAG: *(bool *)((char *)c + o->field) = true; return CLI_OK;
    case CLI_WORD: return set_word(c, o, where, value);
    case CLI_LIST: return set_item(c, o, where, value);
    case CLI_NUMBER: return set_number(c, o, where, value);
    case CLI_SECONDS: return set_seconds(c, o, where, value);
    }
    return CLI_USAGE;
}

/* ---- The environment and the file ------------------------------------------------------------------------------ */

static int set_flag_text(struct cli *c, const struct cli_option *o, const char *where, const char *value)
{
    static const char *const yes[] = {"1", "true", "yes", "on"}, *const no[] = {"0", "false", "no", "off"};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(value, yes[i]) == 0) return set_value(c, o, where, value);
        if (strcmp(value, no[i]) == 0) return CLI_OK;
    }
    return bad_value(c, where, value, "1 or 0");
}

int cli_set_text(struct cli *c, enum cli_option_id id, struct cli_origin origin, const char *where, char *value)
{
    const struct cli_option *o = cli_option(id);
    c->origin[id] = origin;
    if (o->kind == CLI_FLAG) return set_flag_text(c, o, where, value);
    if (o->kind != CLI_LIST) return set_value(c, o, where, value);
    char *rest;
    int rc = CLI_OK;
    for (char *item = strtok_r(value, " ,\t", &rest); item != NULL && rc == CLI_OK;
         item = strtok_r(NULL, " ,\t", &rest))
        rc = set_value(c, o, where, item);
    return rc;
}

struct cli_list *cli_list_of(struct cli *c, enum cli_option_id id)
{
    const struct cli_option *o = cli_option(id);
    return o->kind == CLI_LIST ? list_at(c, o) : NULL;
}

/* Options that no flag gave. */
static int from_environment(struct cli *c)
{
    for (const enum cli_option_id *id = c->verb->options; *id != CLI_END; id++) {
        const struct cli_option *o = cli_option(*id);
        char *value = o->variable == NULL || c->origin[*id].from != CLI_BY_DEFAULT ? NULL : getenv(o->variable);
        if (value == NULL || value[0] == '\0') continue;
        struct cli_list *list = cli_list_of(c, *id);
        if (list != NULL) {
            value = list->copy = strdup(value);
            if (value == NULL) return cli_fail(c, CLI_FAILED, "out of memory");
        }
        int rc = cli_set_text(c, *id, (struct cli_origin){CLI_BY_VARIABLE, 0}, o->variable, value);
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}

const char *cli_where(const struct cli *c, enum cli_option_id id, char out[CLI_WHERE])
{
    const struct cli_origin *origin = &c->origin[id];
    const struct cli_option *o = cli_option(id);
    if (origin->from == CLI_BY_VARIABLE) snprintf(out, CLI_WHERE, "%s", o->variable);
    else if (origin->from != CLI_BY_FILE) snprintf(out, CLI_WHERE, "--%s", o->name);
    else if (snprintf(out, CLI_WHERE, "%s:%d: %s", c->file->path, origin->line, o->name) >= CLI_WHERE)
        snprintf(out, CLI_WHERE, "line %d: %s", origin->line, o->name); /* a path of that length */
    return out;
}

/* ---- The words ------------------------------------------------------------------------------------------------- */

struct words {
    char **word;
    int count, next;
};

static int unknown_option(const struct cli *c, const char *word)
{
    const char *names[CLI_OPTIONS_MAX];
    size_t count = 0;
    for (const enum cli_option_id *id = c->verb->options; *id != CLI_END; id++)
        names[count++] = cli_option(*id)->name;
    const char *close = word[1] == '-' ? cli_closest(word + 2, names, count) : NULL;
    if (close != NULL) cli_fail(c, 0, "there is no option %s; did you mean '--%s'?", CLI_QUOTE(word), close);
    else cli_fail(c, 0, "there is no option %s", CLI_QUOTE(word));
    return fail_with_help(c);
}

enum cli_option_id cli_find_option(const struct cli_verb *verb, const char *word, size_t size)
{
    for (const enum cli_option_id *id = verb->options; *id != CLI_END; id++) {
        const struct cli_option *o = cli_option(*id);
        if (word[1] != '-' && size == 2 && o->letter != 0 && o->letter == word[1]) return *id;
        if (word[1] == '-' && strlen(o->name) == size - 2 && memcmp(o->name, word + 2, size - 2) == 0) return *id;
    }
    return CLI_END;
}

bool cli_has_option(const struct cli_verb *verb, enum cli_option_id id)
{
    const enum cli_option_id *at = verb->options;
    while (*at != CLI_END && *at != id) at++;
    return *at == id;
}

/* --name VALUE, --name=VALUE, -n VALUE, --flag. */
static int parse_option(struct cli *c, struct words *w)
{
    const char *word = w->word[w->next++], *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t size = equals == NULL ? strlen(word) : (size_t)(equals - word);
    enum cli_option_id id = cli_find_option(c->verb, word, size);
    if (id == CLI_END) return unknown_option(c, word);
    const struct cli_option *o = cli_option(id);
    char where[32];
    snprintf(where, sizeof where, "--%s", o->name);
    if (o->kind == CLI_FLAG && equals != NULL) return cli_fail(c, CLI_USAGE, "%s takes no value", where);
    if (o->kind != CLI_FLAG && equals == NULL && w->next == w->count)
        return cli_fail(c, CLI_USAGE, "%s needs a value: %s %s", where, where, o->value);
    const char *value = equals != NULL ? equals + 1 : o->kind == CLI_FLAG ? "" : w->word[w->next++];
    /* Which of two values is meant is not known. A file does not take a key twice either. */
    if (o->kind != CLI_FLAG && o->kind != CLI_LIST && c->origin[id].from == CLI_BY_FLAG)
        return cli_fail(c, CLI_USAGE, "%s is given twice; leave one of them out", where);
    c->origin[id] = (struct cli_origin){CLI_BY_FLAG, 0};
    return set_value(c, o, where, value);
}

/* No verb takes an empty one: it is a file, a name, a topic or JSON. */
static bool has_empty(const struct cli *c)
{
    int i = 0;
    while (i < c->argc && c->argv[i][0] != '\0') i++;
    return i < c->argc;
}

static int check_words(const struct cli *c)
{
    const struct cli_verb *v = c->verb;
    if (c->argc < v->args_min) cli_fail(c, 0, "too few arguments: weft %s %s", v->name, v->arguments);
    else if (c->argc > v->args_max) cli_fail(c, 0, "unexpected argument %s", CLI_QUOTE(c->argv[v->args_max]));
    else if (has_empty(c)) cli_fail(c, 0, "an argument is empty: weft %s %s", v->name, v->arguments);
    else if (c->rest_count > 0 && !v->takes_rest) cli_fail(c, 0, "unexpected argument %s", CLI_QUOTE(c->rest[0]));
    else return CLI_OK;
    return fail_with_help(c);
}

int cli_parse_options(struct cli *out, const struct cli_verb *verb, int count, char **words)
{
    struct words w = {words, count, 0};
    int kept = 0;
    out->verb = verb;
    while (w.next < count) {
        char *word = words[w.next];
        int rc = CLI_OK;
        if (strcmp(word, "--") == 0) {
            out->rest = (const char *const *)words + w.next + 1;
            out->rest_count = count - w.next - 1;
            break;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return -1;
        if (word[0] == '-' && word[1] != '\0' && !isdigit((unsigned char)word[1])) {
            rc = parse_option(out, &w);
        } else {
            words[kept++] = word;
            w.next++;
        }
        if (rc != CLI_OK) return rc;
    }
    out->argv = (const char *const *)words;
    out->argc = kept;
    return from_environment(out);
}

int cli_parse(struct cli *out, const struct cli_verb *verb, int count, char **words)
{
    int rc = cli_parse_options(out, verb, count, words);
    return rc != CLI_OK ? rc : check_words(out);
}

/* ---- Help ------------------------------------------------------------------------------------------------------ */

void cli_help(FILE *out, const struct cli_verb *v)
{
    fprintf(out, "usage: weft %s%s%s%s%s\n\n%s.\n", v->name, v->arguments[0] != '\0' ? " " : "", v->arguments,
            v->options[0] != CLI_END ? " [OPTIONS]" : "", v->takes_rest ? " [-- ARGS]" : "", v->summary);
    if (v->about != NULL) fprintf(out, "\n%s\n", v->about);
    fputs("\noptions:\n", out);
    for (const enum cli_option_id *id = v->options; *id != CLI_END; id++) {
        const struct cli_option *o = cli_option(*id);
        char left[64], letter[8] = "    ";
        if (o->letter != 0) snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value == NULL ? "" : " ",
                 o->value == NULL ? "" : o->value);
        fprintf(out, "  %-24s %s", left, o->help);
        if (o->preset != NULL) fprintf(out, " (default: %s)", o->preset);
        if (o->variable != NULL) fprintf(out, " [%s]", o->variable);
        fputc('\n', out);
    }
    fprintf(out, "  %-24s %s\n", "-h, --help", "this text");
    if (v->example != NULL) fprintf(out, "\nexample:\n  %s\n", v->example);
    fputs("\nexit codes: 0 ok, 1 failed, 2 usage, 3 node unreachable, 4 deadline, 5 not drained\n", out);
}

void cli_finish(struct cli *c)
{
    free(c->listen.copy);
    free(c->join.copy);
    free(c->san.copy);
    free(c->discover.copy);
    free(c->dial_only.copy);
    free(c->meta.copy);
    free(c->stored_topics.copy);
    free(c->queues.copy);
    free(c->states.copy);
    if (c->file != NULL) free(c->file->text);
    free(c->file);
}
