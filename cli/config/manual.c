/* cli/config/manual.c -- weft manual: pages of the manual in the language of scdoc, from the tables that --help
 * shows. */
#include <ctype.h>
#include <string.h>

#include "manual.h"
#include "config.h"
#include "option_table.h"

/* Text in which nothing is markup. */
static void plain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (ispunct((unsigned char)text[i]) && strchr("\\*_#.-`|[]<>", text[i]) != NULL) putchar('\\');
        putchar(text[i]);
    }
}

static void plain_text(const char *text)
{
    plain(text, strlen(text));
}

/* Paragraphs; lines that are indented are a table, and kept as they are. */
static void paragraphs(const char *text)
{
    bool kept = false;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        bool keep = text[0] == ' ';
        if (keep != kept) puts(keep ? "\n```" : "```\n");
        if (keep) printf("%.*s", (int)n, text);
        else plain(text, n);
        putchar('\n');
        kept = keep;
        text += n + (text[n] == '\n');
    }
    if (kept) puts("```");
}

static void title(const char *name, const char *summary)
{
    char page[64] = "weft";
    if (name != NULL) snprintf(page, sizeof page, "weft-%s", name);
    for (char *at = page; *at != '\0'; at++)
        if (*at == ' ') *at = '-';
    printf("%s(1)\n\n# NAME\n\n%s - ", page, page);
    plain_text(summary);
    puts("\n");
}

static void exit_codes(void)
{
    puts("# EXIT CODES\n\n"
         "*0*\n\tSuccess.\n\n"
         "*1*\n\tFailure.\n\n"
         "*2*\n\tThe arguments were wrong.\n\n"
         "*3*\n\tThe node cannot be reached.\n\n"
         "*4*\n\tThe deadline has passed.\n\n"
         "*5*\n\tA node ended before all of its actors had.\n");
}

static void help_of(const struct cli_option *o)
{
    printf("\n\t");
    plain_text(o->help);
    if (o->preset == NULL) return;
    printf(" (default: ");
    plain_text(o->preset);
    putchar(')');
}

static void option(const struct cli_option *o)
{
    if (o->letter != 0) printf("*-%c*, ", o->letter);
    printf("*--%s*", o->name);
    if (o->value != NULL) {
        printf(" ");
        plain_text(o->value);
    }
    help_of(o);
    if (o->variable != NULL) {
        printf(". Also from the variable ");
        plain_text(o->variable);
    }
    puts(".\n");
}

static void page_of_verb(const struct cli_verb *v)
{
    title(v->name, v->summary);
    printf("# SYNOPSIS\n\n*weft %s* ", v->name);
    plain_text(v->arguments);
    printf("%s%s\n\n", v->options[0] != CLI_END ? " \\[OPTIONS\\]" : "", v->takes_rest ? " \\[\\-\\- ARGS\\]" : "");
    puts("# DESCRIPTION\n");
    plain_text(v->summary);
    puts(".\n");
    if (v->about != NULL) {
        paragraphs(v->about);
        puts("");
    }
    puts("# OPTIONS\n");
    for (const enum cli_option_id *id = v->options; *id != CLI_END; id++) option(cli_option(*id));
    puts("*-h*, *--help*\n\tPrints this, shorter.\n");
    exit_codes();
    if (v->example != NULL) printf("# EXAMPLE\n\n```\n%s\n```\n\n", v->example);
    puts("# SEE ALSO\n\n*weft*(1)");
}

static void page_of_all(void)
{
    title(NULL, "runs nodes of actors, and inspects and controls running nodes");
    puts("# SYNOPSIS\n\n*weft* VERB \\[OPTIONS\\]\n\n# DESCRIPTION\n\n"
         "A node is a process with worker threads, on which actors run: coroutines with mailboxes. *weft run* starts "
         "one from a module, a shared library, or from the source of one. The other verbs ask a node that runs: the "
         "only one of this user on this machine, or that of *--node*, by its name or by the URL where it listens.\n\n"
         "# VERBS\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        const struct cli_verb *v = &cli_verbs[i];
        printf("*%s* ", v->name);
        plain_text(v->arguments);
        printf("\n\t");
        plain_text(v->summary);
        puts(".\n");
    }
    puts("*help* \\[VERB\\]\n\tDescribes a verb, as *weft* VERB *--help*.\n\n"
         "# ENVIRONMENT\n\n"
         "Most options also come from a variable, which the page of a verb names, or from the configuration file. "
         "A value "
         "given on the command line goes before the variable, and that before the file.\n\n"
         "# FILES\n\n"
         "_$XDG\\_RUNTIME\\_DIR/weft/NODE.sock_, _/tmp/weft\\-UID/NODE.sock_\n\tThe sockets of nodes, which only "
         "their "
         "user may open.\n\n"
         "_~/.config/weft/weft.conf_, _/etc/weft/weft.conf_\n\tThe configuration file, *weft.conf*(5).\n\n"
         "_~/.config/weft/certs_\n\tThe default folder of *weft certs*.\n");
    exit_codes();
    printf("# SEE ALSO\n\n");
    for (size_t i = 0; i < cli_verb_count; i++) {
        printf("%s*weft-", i == 0 ? "" : ", ");
        for (const char *at = cli_verbs[i].name; *at != '\0'; at++) putchar(*at == ' ' ? '-' : *at);
        printf("*(1)");
    }
    puts(", *weft.conf*(5), *weft*(3)");
}

/* The verbs that take the option. */
static void takers(enum cli_option_id id)
{
    const char *between = " Of ";
    for (size_t i = 0; i < cli_verb_count; i++) {
        if (!cli_has_option(&cli_verbs[i], id)) continue;
        printf("%s*%s*", between, cli_verbs[i].name);
        between = ", ";
    }
    puts(".\n");
}

static void key(enum cli_option_id id)
{
    const struct cli_option *o = cli_option(id);
    printf("*%s* = ", o->name);
    plain_text(o->value != NULL ? o->value : "true|false");
    help_of(o);
    putchar('.');
    takers(id);
}

static void page_of_file(void)
{
    puts("weft.conf(5)\n\n# NAME\n\nweft.conf - values of options of *weft*(1)\n\n# SYNOPSIS\n\n"
         "_~/.config/weft/weft.conf_, _/etc/weft/weft.conf_\n\n# DESCRIPTION\n\n"
         "One file is read: that of *--config*, else the one that the variable WEFT\\_CONFIG names, else the user's "
         "own (in $XDG\\_CONFIG\\_HOME/weft, if that is set; in %APPDATA%\\\\weft on Windows), else the one "
         "in /etc. *none* as its name: no file.\n\n"
         "A value comes from the command line, else from the option's variable, else from the file, else it is the "
         "default. *weft config show* shows where each value comes from, *weft config check* reports the mistakes in "
         "the "
         "file. A file with a mistake is refused as a whole.\n\n"
         "A line is _key_ = _value_. Blank lines are ignored, and so is the text behind a *#* at the beginning of "
         "a line or behind a blank. In a value in double quotes blanks and *#* belong to the value. Values that are "
         "lists are "
         "separated by blanks or commas, and a key of a list may be repeated. Numbers and seconds are written as "
         "on the command line.\n\n"
         "Keys before the first section hold for every verb that has the option. Keys under a section, "
         "\\[VERB\\], hold for that verb only, and take precedence.\n\n# KEYS\n");
    for (size_t i = CLI_END + 1; i < cli_option_count; i++)
        if (cli_is_setting((enum cli_option_id)i)) key((enum cli_option_id)i);
    puts("# EXAMPLE\n\n```\n"
         "cluster = chat\n"
         "join    = tcp://10.0.0.1:4001 tcp://10.0.0.2:4001\n"
         "tls     = auto\n"
         "\n"
         "[run]\n"
         "name    = c          # of its certificate\n"
         "listen  = tls+tcp://10.0.0.3:4001\n"
         "workers = 4\n"
         "\n"
         "[ps]\n"
         "timeout = 2.5\n"
         "```\n\n# SEE ALSO\n\n*weft*(1), *weft-config-check*(1), *weft-config-show*(1), *weft-run*(1)");
}

int cli_manual(const struct cli *c)
{
    if (c->argc == 0) {
        page_of_all();
        return CLI_OK;
    }
    if (strcmp(c->argv[0], "weft.conf") == 0 && c->argc == 1) {
        page_of_file();
        return CLI_OK;
    }
    int words;
    const struct cli_verb *v = cli_find_verb(c->argv[0], c->argc > 1 ? c->argv[1] : NULL, &words);
    if (v != NULL && words == c->argc) {
        page_of_verb(v);
        return CLI_OK;
    }
    return cli_fail(c, CLI_USAGE, "there is no verb %s; 'weft help' lists them", CLI_QUOTE(c->argv[0]));
}
