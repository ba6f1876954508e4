/* The input is the text of a configuration file. */
#include "fuzz.h"

#include "../../cli/config/config.h"
#include "../../cli/options/option_table.h"

static const struct cli_verb verbs[] = {
    {.name = "run",
     .options = {CLI_NAME, CLI_LISTEN, CLI_JOIN, CLI_WORKERS, CLI_CLUSTER, CLI_LOG, CLI_CARRIER, CLI_PARTITION,
                 CLI_MINORITY, CLI_PEER_LIMIT, CLI_MAX_PATTERNS, CLI_MAX_SUBSCRIPTIONS, CLI_INSECURE,
                 CLI_RESUME_WINDOW, CLI_CONFIG, CLI_END}},
    {.name = "ps", .options = {CLI_NODE, CLI_JSON, CLI_TIMEOUT, CLI_CLUSTER, CLI_TAG, CLI_CONFIG, CLI_END}},
    {.name = "certs init", .options = {CLI_DIR, CLI_CLUSTER, CLI_DAYS, CLI_CONFIG, CLI_END}},
};

struct told {
    int last, count;
};

static void tell(void *arg, int line, const char *key, const char *why)
{
    struct told *t = arg;
    MUST(line >= t->last && key != NULL && why[0] != '\0');
    t->last = line;
    t->count++;
}

/* What stands in it is what a verb gets, and nothing else. */
static void apply(const struct cli_config *parsed, const char *text, size_t size, int verb)
{
    char said[512];
    struct cli c = {.verb = &cli_verbs[verb], .error_text = said, .error_size = sizeof said};
    c.file = malloc(sizeof *c.file);
    MUST(c.file != NULL);
    *c.file = *parsed;
    c.file->text = malloc(size + 1);
    MUST(c.file->text != NULL);
    memcpy(c.file->text, text, size + 1);
    (void)cli_config_parse(c.file, c.file->text, size, tell, &(struct told){0, 0});
    int rc = cli_config_apply(&c);
    MUST(rc == CLI_OK || rc == CLI_USAGE);
    MUST(rc != CLI_OK || (c.workers >= 0 && c.workers <= 64 && c.timeout >= 0 && c.listen.count <= CLI_LIST_MAX));
    for (size_t id = CLI_END + 1; id < cli_option_count; id++)
        MUST(c.origin[id].from == CLI_BY_DEFAULT || (c.origin[id].from == CLI_BY_FILE && c.origin[id].line > 0));
    cli_finish(&c);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    cli_verbs = verbs;
    cli_verb_count = sizeof verbs / sizeof *verbs;
    static struct cli_config f;
    struct told told = {1, 0};
    char *text = malloc(size + 1), *copy = malloc(size + 1);
    MUST(text != NULL && copy != NULL);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    memcpy(copy, text, size + 1);
    snprintf(f.path, sizeof f.path, "weft.conf");
    int mistakes = cli_config_parse(&f, text, size, tell, &told);
    MUST(mistakes == told.count && f.count <= CLI_CONFIG_LINES);
    for (size_t i = 0; i < f.count; i++) {
        const struct cli_config_line *l = &f.line[i];
        MUST(l->number >= 1 && (i == 0 || l->number > f.line[i - 1].number));
        MUST(l->section >= CLI_CONFIG_EVERY && l->section < (int)cli_verb_count && cli_is_setting(l->id));
        MUST(l->value >= text && l->value + strlen(l->value) <= text + size);
    }
    told = (struct told){1, 0};
    MUST(cli_config_try(&f, tell, &told) == told.count);
    for (int verb = 0; verb < (int)cli_verb_count; verb++) apply(&f, copy, size, verb);
    free(copy);
    free(text);
    return 0;
}
