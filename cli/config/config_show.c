/* cli/config/config_show.c -- weft config check and show: whether the file is right, and where each value comes
 * from. */
#include <stdlib.h>
#include <string.h>

#include "config_show.h"
#include "config_file.h"
#include "json.h"
#include "compat.h"
#include "option_table.h"

/* ---- check ----------------------------------------------------------------------------------------------------- */

struct check {
    const struct cli *c;
    struct cli_config file;
};

static void print_problem(void *arg, int line, const char *key, const char *why)
{
    const struct check *k = arg;
    if (!k->c->json) {
        fprintf(stderr, "%s:%d: %s%s%s\n", k->file.path, line, key, key[0] == '\0' ? "" : ": ", why);
        return;
    }
    fputs("{\"file\": ", stdout);
    cli_print_string(stdout, k->file.path, strlen(k->file.path));
    printf(", \"line\": %d, \"key\": ", line);
    if (key[0] == '\0') fputs("null", stdout);
    else cli_print_string(stdout, key, strlen(key));
    fputs(", \"error\": ", stdout);
    cli_print_string(stdout, why, strlen(why));
    puts("}");
}

static void print_result(const struct check *k)
{
    if (k->c->json) {
        fputs("{\"file\": ", stdout);
        cli_print_string(stdout, k->file.path, strlen(k->file.path));
        printf(", \"values\": %zu}\n", k->file.count);
    } else {
        printf("%s: %zu values, no mistakes\n", k->file.path, k->file.count);
    }
}

static void print_places(const struct cli *c)
{
    char places[CLI_CONFIG_PLACES][PATH_MAX];
    size_t count = cli_config_places(places);
    if (c->json) puts("{\"file\": null}");
    for (size_t i = 0; i < count && !c->json; i++) printf("%s: there is no such file\n", places[i]);
}

/* Reports variables that look like those of an option but are not, and returns their number. Programs may have such
 * variables of their own. */
static int try_environment(void)
{
    int unread = 0;
    const char *known[CLI_OPTIONS_ALL + 1] = {"WEFT_POISON"}; /* the library's own: docs/debugging.md */
    size_t count = 1;
    for (size_t i = CLI_END + 1; i < cli_option_count; i++)
        if (cli_option((enum cli_option_id)i)->variable != NULL)
            known[count++] = cli_option((enum cli_option_id)i)->variable;
    for (char **at = cli_environment(); at != NULL && *at != NULL; at++) {
        char name[40];
        size_t n = strcspn(*at, "=");
        if (strncmp(*at, "WEFT_", 5) != 0 || n >= sizeof name) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, *at);
        const char *close = cli_closest(name, known, count);
        if (close == NULL || strcmp(close, name) == 0) continue;
        fprintf(stderr, "%s: no option reads this variable; did you mean %s?\n", name, close);
        unread++;
    }
    return unread;
}

int cli_config_check(const struct cli *c)
{
    struct check *k = malloc(sizeof *k);
    size_t size;
    if (k == NULL) return cli_fail(c, CLI_FAILED, "out of memory");
    k->c = c;
    int rc = CLI_OK, mistakes = 0, unread = try_environment();
    if (!cli_config_load(c, c->argc > 0 ? c->argv[0] : c->config, &k->file, &size)) {
        rc = CLI_FAILED;
    } else if (k->file.text == NULL) {
        print_places(c);
    } else {
        mistakes = cli_config_parse(&k->file, k->file.text, size, print_problem, k);
        mistakes += cli_config_try(&k->file, print_problem, k);
        if (mistakes == 0) print_result(k);
        else rc = CLI_FAILED;
        free(k->file.text);
    }
    free(k);
    return rc == CLI_OK && unread > 0 ? CLI_FAILED : rc;
}

/* ---- show ------------------------------------------------------------------------------------------------------ */

static void print_list(const struct cli_list *list, bool json)
{
    if (json) putchar('[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) fputs(json ? ", " : " ", stdout);
        if (json) cli_print_string(stdout, list->item[i], strlen(list->item[i]));
        else fputs(list->item[i], stdout);
    }
    if (json) putchar(']');
}

/* As it may stand in a file. Seconds are kept in nanoseconds. */
static void print_value(const struct cli *v, const struct cli_option *o, bool json)
{
    const void *field = (const char *)v + o->field;
    const char *word = o->kind == CLI_WORD ? *(const char *const *)field : NULL;
    switch (o->kind) {
    case CLI_FLAG: fputs(*(const bool *)field ? "true" : "false", stdout); break;
    case CLI_NUMBER: printf("%lld", (long long)*(const int64_t *)field); break;
    case CLI_SECONDS: printf("%.9g", (double)*(const int64_t *)field / 1e9); break;
    case CLI_LIST: print_list(field, json); break;
    case CLI_WORD:
        if (o == cli_option(CLI_STORE) && cli_store_rules != NULL) word = cli_store_rules->show(word);
        if (json) cli_print_string(stdout, word, strlen(word));
        else if (word[strcspn(word, " \t#")] != '\0') printf("\"%s\"", word);
        else fputs(word, stdout);
        break;
    }
}

static void print_json(const struct cli *v, enum cli_option_id id)
{
    static const char *const from[] = {"default", "flag", "environment", "file"};
    const struct cli_option *o = cli_option(id);
    const struct cli_origin *origin = &v->origin[id];
    printf("{\"key\": \"%s\", \"value\": ", o->name);
    if (origin->from == CLI_BY_DEFAULT && o->kind != CLI_FLAG) fputs("null", stdout);
    else print_value(v, o, true);
    if (origin->from == CLI_BY_DEFAULT && o->preset != NULL) {
        fputs(", \"default\": ", stdout);
        cli_print_string(stdout, o->preset, strlen(o->preset));
    }
    printf(", \"origin\": \"%s\"", from[origin->from]);
    if (origin->from == CLI_BY_VARIABLE) printf(", \"variable\": \"%s\"", o->variable);
    if (origin->from == CLI_BY_FILE && v->file != NULL) {
        fputs(", \"file\": ", stdout);
        cli_print_string(stdout, v->file->path, strlen(v->file->path));
        printf(", \"line\": %d", origin->line);
    }
    puts("}");
}

/* Prints a line of a file; values that were not set are comments. */
static void print_text(const struct cli *v, enum cli_option_id id)
{
    const struct cli_option *o = cli_option(id);
    const struct cli_origin *origin = &v->origin[id];
    char where[CLI_WHERE];
    if (origin->from == CLI_BY_DEFAULT) {
        const char *preset = o->preset != NULL ? o->preset : o->kind == CLI_FLAG ? "false" : "";
        printf("# %s%s%s    # default\n", o->name, preset[0] == '\0' ? "" : " = ", preset);
        return;
    }
    printf("%s = ", o->name);
    print_value(v, o, false);
    printf("    # %s\n", cli_where(v, id, where));
}

static int show(const struct cli *c, struct cli *v)
{
    if (v->origin[CLI_CONFIG].from != CLI_BY_FLAG) v->config = c->config;
    int rc = cli_configure(v);
    if (rc != CLI_OK) return rc;
    const char *path = v->file != NULL && v->file->text != NULL ? v->file->path : NULL;
    if (!c->json) printf("# weft %s; file: %s\n", v->verb->name, path != NULL ? path : "none");
    for (const enum cli_option_id *id = v->verb->options; *id != CLI_END; id++) {
        if (!cli_is_setting(*id)) continue;
        if (c->json) print_json(v, *id);
        else print_text(v, *id);
    }
    return CLI_OK;
}

int cli_config_show(const struct cli *c)
{
    int taken = 1;
    const char *name = c->argc > 0 ? c->argv[0] : "run";
    const struct cli_verb *verb = cli_find_verb(name, c->argc > 1 ? c->argv[1] : NULL, &taken);
    if (verb == NULL || (c->argc > 0 && taken != c->argc))
        return cli_fail(c, CLI_USAGE, "there is no verb %s%s%s; 'weft help' lists them", CLI_QUOTE(name),
                        c->argc > 1 ? " " : "", c->argc > 1 ? CLI_QUOTE(c->argv[1]) : "");
    char **words = calloc((size_t)c->rest_count + 1, sizeof *words);
    struct cli *v = calloc(1, sizeof *v);
    int rc = CLI_FAILED;
    if (words == NULL || v == NULL) {
        rc = cli_fail(c, CLI_FAILED, "out of memory");
    } else {
        for (int i = 0; i < c->rest_count; i++) words[i] = (char *)(uintptr_t)c->rest[i];
        rc = cli_parse_options(v, verb, c->rest_count, words);
        if (rc < 0) rc = cli_fail(c, CLI_USAGE, "'weft %s --help' describes the arguments", verb->name);
        else if (rc == CLI_OK) rc = show(c, v);
        cli_finish(v);
    }
    free(v);
    free(words);
    return rc;
}
