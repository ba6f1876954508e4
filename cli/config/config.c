/* cli/config/config.c -- the text of a configuration file; see config.h. */
#include "config.h"
#include "option_table.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct cli_config *f;
    cli_config_report *report;
    void *arg;
    int number, section, mistakes;
    bool section_is_known; /* the lines of an unknown section are skipped */
};

static void mistake(struct reader *r, const char *key, const char *format, ...) WEFT_PRINTF(3, 4);
static void mistake(struct reader *r, const char *key, const char *format, ...)
{
    char why[CLI_WHY];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    r->mistakes++;
    r->report(r->arg, r->number, key, why);
}

/* ---- What may be a key ----------------------------------------------------------------------------------------- */

bool cli_is_setting(enum cli_option_id id)
{
    return cli_option(id)->variable != NULL && id != CLI_CONFIG;
}

/* Returns a verb of the section that has this option; NULL: there is none. */
static const struct cli_verb *taker(int section, enum cli_option_id id)
{
    if (section != CLI_CONFIG_EVERY) return cli_has_option(&cli_verbs[section], id) ? &cli_verbs[section] : NULL;
    for (size_t i = 0; i < cli_verb_count; i++)
        if (cli_has_option(&cli_verbs[i], id)) return &cli_verbs[i];
    return NULL;
}

static enum cli_option_id find_key(const char *key)
{
    for (size_t i = CLI_END + 1; i < cli_option_count; i++)
        if (strcmp(cli_option((enum cli_option_id)i)->name, key) == 0) return (enum cli_option_id)i;
    return CLI_END;
}

/* As an option is called: resume_window, --resume-window and WEFT_RESUME_WINDOW are resume-window. */
static void as_option(const char *key, char *out, size_t size)
{
    size_t n = 0;
    while (*key == '-') key++;
    for (const char *at = key; *at != '\0' && n + 1 < size; at++)
        out[n++] = (char)(*at == '_' ? '-' : tolower((unsigned char)*at));
    out[n] = '\0';
    if (strncmp(out, "weft-", 5) == 0) memmove(out, out + 5, n - 4);
}

static void unknown_key(struct reader *r, const char *key)
{
    const char *known[CLI_OPTIONS_ALL];
    char plain[64];
    size_t count = 0;
    for (size_t i = CLI_END + 1; i < cli_option_count; i++)
        if (cli_is_setting((enum cli_option_id)i) && taker(r->section, (enum cli_option_id)i) != NULL)
            known[count++] = cli_option((enum cli_option_id)i)->name;
    as_option(key, plain, sizeof plain);
    const char *close = cli_closest(plain, known, count);
    enum cli_option_id id = find_key(key);
    bool everywhere = r->section == CLI_CONFIG_EVERY;
    if (id != CLI_END && !cli_is_setting(id))
        mistake(r, key, "is valid for one command only; give it on the command line: --%s", key);
    else if (id != CLI_END) mistake(r, key, "weft %s has no such option", cli_verbs[r->section].name);
    else if (close != NULL) mistake(r, key, "there is no such key; did you mean '%s'?", close);
    else
        mistake(r, key, "there is no such key; 'weft config show%s%s' lists them", everywhere ? "" : " ",
                everywhere ? "" : cli_verbs[r->section].name);
}

static void add(struct reader *r, const char *key, char *value)
{
    struct cli_config *f = r->f;
    enum cli_option_id id = find_key(key);
    if (!r->section_is_known) return;
    if (id == CLI_END || !cli_is_setting(id) || taker(r->section, id) == NULL) {
        unknown_key(r, key);
        return;
    }
    for (size_t i = 0; i < f->count && cli_option(id)->kind != CLI_LIST; i++) {
        if (f->line[i].id != id || f->line[i].section != r->section) continue;
        mistake(r, key, "was given in line %d already", f->line[i].number);
        return;
    }
    if (f->count == CLI_CONFIG_LINES) mistake(r, key, "more than %d values", CLI_CONFIG_LINES);
    else f->line[f->count++] = (struct cli_config_line){r->number, r->section, id, value};
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

static char *trim(char *at)
{
    while (*at == ' ' || *at == '\t') at++;
    size_t n = strlen(at);
    while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t')) n--;
    at[n] = '\0';
    return at;
}

/* Ends the text at a '#' behind a blank. */
static void cut_comment(char *at)
{
    for (char *c = at; *c != '\0'; c++)
        if (*c == '#' && (c == at || c[-1] == ' ' || c[-1] == '\t')) *c = '\0';
}

static void read_section(struct reader *r, char *at)
{
    cut_comment(at);
    at = trim(at);
    size_t n = strlen(at);
    r->section_is_known = false;
    if (n < 2 || at[n - 1] != ']') {
        mistake(r, "", "a section is a verb in brackets, such as [run]");
        return;
    }
    at[n - 1] = '\0';
    char *name = trim(at + 1);
    const char *known[64];
    size_t count = 0;
    for (size_t i = 0; i < cli_verb_count && count < 64; i++) {
        known[count++] = cli_verbs[i].name;
        if (strcmp(cli_verbs[i].name, name) != 0) continue;
        r->section = (int)i;
        r->section_is_known = true;
        return;
    }
    const char *close = cli_closest(name, known, count);
    if (close != NULL) mistake(r, "", "there is no verb %s; did you mean [%s]?", CLI_QUOTE(name), close);
    else mistake(r, "", "there is no verb %s; 'weft help' lists them", CLI_QUOTE(name));
}

/* Quotes keep blanks and '#'; within them there is nothing special. False: something is wrong with it. */
static bool read_value(struct reader *r, const char *key, char **value)
{
    char *at = trim(*value);
    if (*at == '"') {
        char *end = strchr(at + 1, '"');
        if (end == NULL) mistake(r, key, "the value has no second '\"'");
        if (end == NULL) return false;
        *end = '\0';
        cut_comment(end + 1);
        if (*trim(end + 1) != '\0') mistake(r, key, "there is text after the second '\"'");
        else *value = at + 1;
        return *value == at + 1;
    }
    cut_comment(at);
    *value = trim(at);
    if (**value == '\0') mistake(r, key, "has no value; leave the line out, or begin it with '#'");
    return **value != '\0';
}

static void read_line(struct reader *r, char *at)
{
    for (const char *c = at; *c != '\0'; c++) {
        if ((unsigned char)*c >= ' ' ? *c != 0x7F : *c == '\t') continue;
        mistake(r, "", "byte %d of the line is a control character", (int)(c - at) + 1);
        return;
    }
    at = trim(at);
    if (*at == '\0' || *at == '#' || *at == ';') return;
    if (*at == '[') {
        read_section(r, at);
        return;
    }
    size_t n = strcspn(at, " \t=:");
    char *equals = at + n + strspn(at + n, " \t");
    bool has_value = *equals == '=';
    char *value = equals + (*equals == '=' || *equals == ':');
    at[n] = '\0';
    if (!has_value) {
        char *rest = trim(value);
        mistake(r, at, "is not followed by '='; write: %.40s = %.40s", at, *rest == '\0' ? "VALUE" : rest);
    } else if (n == 0) mistake(r, "", "there is no key in front of '='");
    else if (read_value(r, at, &value)) add(r, at, value);
}

int cli_config_parse(struct cli_config *f, char *text, size_t size, cli_config_report *report, void *arg)
{
    struct reader r = {f, report, arg, 0, CLI_CONFIG_EVERY, 0, true};
    char *at = text, *end = text + size;
    f->count = 0;
    if (strncmp(at, "\xEF\xBB\xBF", 3) == 0) at += 3; /* some editors put this mark in front of UTF-8 */
    while (at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        *stop = '\0';
        r.number++;
        if (strlen(at) != (size_t)(stop - at)) {
            mistake(&r, "", "contains a zero byte, so it is not a text file");
            break;
        }
        if (stop > at && stop[-1] == '\r') stop[-1] = '\0';
        read_line(&r, at);
        at = stop + 1;
    }
    return r.mistakes;
}

/* ---- Values ---------------------------------------------------------------------------------------------------- */

int cli_config_try(const struct cli_config *f, cli_config_report *report, void *arg)
{
    int wrong = 0;
    size_t items[CLI_CONFIG_LINES]; /* of the list that a line continues, with those of the line */
    for (size_t i = 0; i < f->count; i++) {
        const struct cli_config_line *l = &f->line[i];
        char why[CLI_WHY + CLI_WHERE] = "";
        struct cli c = {.verb = taker(l->section, l->id), .error_text = why, .error_size = sizeof why};
        const char *key = cli_option(l->id)->name;
        struct cli_list *list = cli_list_of(&c, l->id);
        for (size_t before = 0; before < i && list != NULL; before++)
            if (f->line[before].id == l->id && f->line[before].section == l->section) list->count = items[before];
        int rc = cli_set_text(&c, l->id, (struct cli_origin){CLI_BY_FILE, l->number}, key, l->value);
        items[i] = list == NULL ? 0 : list->count;
        if (rc == CLI_OK) continue;
        size_t n = strlen(key);
        report(arg, l->number, key, strncmp(why, key, n) == 0 && why[n] == ':' ? why + n + 2 : why);
        wrong++;
    }
    return wrong;
}

/* Whether the verb's own section has it, too. */
static bool is_overruled(const struct cli_config *f, int verb, const struct cli_config_line *l)
{
    if (l->section == verb) return false;
    for (size_t i = 0; i < f->count; i++)
        if (f->line[i].section == verb && f->line[i].id == l->id) return true;
    return false;
}

int cli_config_apply(struct cli *c)
{
    const struct cli_config *f = c->file;
    int verb = 0;
    while ((size_t)verb < cli_verb_count && strcmp(cli_verbs[verb].name, c->verb->name) != 0) verb++;
    for (size_t i = 0; i < f->count; i++) {
        const struct cli_config_line *l = &f->line[i];
        bool set = c->origin[l->id].from == CLI_BY_FLAG || c->origin[l->id].from == CLI_BY_VARIABLE;
        if (l->section != CLI_CONFIG_EVERY && l->section != verb) continue;
        if (set || !cli_has_option(c->verb, l->id) || is_overruled(f, verb, l)) continue;
        char where[CLI_WHERE];
        c->origin[l->id] = (struct cli_origin){CLI_BY_FILE, l->number};
        int rc = cli_set_text(c, l->id, c->origin[l->id], cli_where(c, l->id, where), l->value);
        if (rc != CLI_OK) return rc;
    }
    return CLI_OK;
}
