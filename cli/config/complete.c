/* cli/config/complete.c -- weft completion: what may stand for the word that is being typed. A shell's script only
 * passes its words on and shows what comes back, so that verbs and options are said once, in their tables. */
#include <string.h>

#include "complete.h"
#include "config_show.h"
#include "manual.h"
#include "option_table.h"
#include "sockets.h"
#include "verbs.h"

/* Instead of a candidate: the shell completes the names of files itself. */
static const char FILES[] = ":files", FOLDERS[] = ":folders";

static const char bash[] = //
    "_weft()\n"
    "{\n"
    "    local line cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
    "        :folders) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$cur\") "
    ";;\n"
    "        *) COMPREPLY+=(\"${line%%$'\\t'*}\") ;;\n"
    "        esac\n"
    "    done < <(weft completion words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _weft weft\n";

static const char zsh[] = //
    "#compdef weft\n"
    "_weft()\n"
    "{\n"
    "    local line\n"
    "    local -a found\n"
    "    for line in \"${(@f)$(weft completion words -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "        :files) _files ;;\n"
    "        :folders) _files -/ ;;\n"
    "        ?*) found+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( $#found )) && _describe weft found\n"
    "}\n"
    "if [[ $funcstack[1] == _weft ]]; then _weft \"$@\"; else compdef _weft weft; fi\n";

static const char fish[] = //
    "function __weft_words\n"
    "    set -l words (commandline -opc) (commandline -ct)\n"
    "    for line in (weft completion words -- $words[2..-1] 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':files'\n"
    "                __fish_complete_path (commandline -ct)\n"
    "            case ':folders'\n"
    "                __fish_complete_directories (commandline -ct)\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c weft -f -a '(__weft_words)'\n";

/* ---- Candidates ------------------------------------------------------------------------------------------------ */

/* A line of what begins with `typed`; the shells that can show why do. */
static void offer(const char *typed, const char *word, size_t size, const char *why)
{
    if (strlen(typed) <= size && strncmp(word, typed, strlen(typed)) == 0) printf("%.*s\t%s\n", (int)size, word, why);
}

static void offer_node(const char *name, void *arg)
{
    offer(arg, name, strlen(name), "a node here");
}

static void offer_choices(const char *choices, const char *typed, const char *why)
{
    for (size_t n; *choices != '\0'; choices += n + (choices[n] != '\0')) {
        n = strcspn(choices, " |");
        offer(typed, choices, n, why);
    }
}

static void offer_values(const struct cli *c, enum cli_option_id id, const char *typed)
{
    const struct cli_option *o = cli_option(id);
    if (o->choices != NULL) offer_choices(o->choices, typed, o->help);
    if (id == CLI_NODE) cli_each_node(c, offer_node, (void *)(uintptr_t)typed);
    if (strncmp(o->value, "DIR", 3) == 0) puts(FOLDERS);
    if (strncmp(o->value, "FILE", 4) == 0) puts(FILES);
}

static void offer_options(const struct cli_verb *v, const char *typed)
{
    for (const enum cli_option_id *id = v->options; *id != CLI_END; id++) {
        const struct cli_option *o = cli_option(*id);
        char word[40];
        snprintf(word, sizeof word, "--%s", o->name);
        offer(typed, word, strlen(word), o->help);
    }
    offer(typed, "--help", 6, "prints the help of the verb");
}

/* The verbs, or the second words of those that begin with `first`. */
static void offer_verbs(const char *first, const char *typed)
{
    const char *before = "";
    for (size_t i = 0; i < cli_verb_count; i++) {
        const struct cli_verb *v = &cli_verbs[i];
        size_t n = strcspn(v->name, " ");
        bool is_first = first != NULL && strlen(first) == n && memcmp(first, v->name, n) == 0;
        if (is_first && v->name[n] == ' ') offer(typed, v->name + n + 1, strlen(v->name + n + 1), v->summary);
        if (first != NULL || strncmp(before, v->name, n + 1) == 0) continue; /* "certs " once */
        offer(typed, v->name, n, v->name[n] == ' ' ? "is followed by another word" : v->summary);
        before = v->name[n] == ' ' ? v->name : "";
    }
    if (first == NULL) offer(typed, "help", 4, "prints the help of a verb");
}

/* The option that the word before is and that still wants its value. */
static enum cli_option_id open_option(const struct cli_verb *v, const char *word)
{
    enum cli_option_id id = word[0] == '-' ? cli_find_option(v, word, strlen(word)) : CLI_END;
    return id == CLI_END || cli_option(id)->kind == CLI_FLAG ? CLI_END : id;
}

/* Prints the possible completions of the last word. */
static void complete(const struct cli *c, const char *const *words, int count)
{
    const char *typed = words[count - 1];
    int taken;
    if (count > 1 && strcmp(words[0], "help") == 0) words++, count--;
    if (count == 1) {
        offer_verbs(NULL, typed);
        return;
    }
    const struct cli_verb *v = cli_find_verb(words[0], count > 2 ? words[1] : NULL, &taken);
    if (v == NULL) {
        if (count == 2) offer_verbs(words[0], typed);
        return;
    }
    for (int i = taken; i < count - 1; i++)
        if (strcmp(words[i], "--") == 0) {
            puts(FILES); /* the arguments of the module, which are not known here */
            return;
        }
    enum cli_option_id open = count - 1 > taken ? open_option(v, words[count - 2]) : CLI_END;
    if (open != CLI_END) offer_values(c, open, typed);
    else if (typed[0] == '-') offer_options(v, typed);
    else if (strstr(v->arguments, "FILE") != NULL) puts(FILES);
    else if (strcmp(v->arguments, "DIR") == 0) puts(FOLDERS);
    else if (v->run == cli_completion) offer_choices(v->arguments, typed, "a shell");
    else if (v->run == cli_manual || v->run == cli_config_show) offer_verbs(NULL, typed);
    if (v->run == cli_manual) offer(typed, "weft.conf", 9, "the configuration file");
}

int cli_completion(const struct cli *c)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    static const char *const scripts[] = {bash, zsh, fish};
    const char *what = c->argv[0];
    if (strcmp(what, "words") == 0) {
        if (c->rest_count > 0) complete(c, c->rest, c->rest_count);
        return CLI_OK;
    }
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(what, shells[i]) != 0) continue;
        fputs(scripts[i], stdout);
        return CLI_OK;
    }
    const char *close = cli_closest(what, shells, 3);
    return cli_fail(c, CLI_USAGE, "there is nothing for %s; there is for bash, zsh and fish%s%s%s", CLI_QUOTE(what),
                    close != NULL ? "; did you mean '" : "", close != NULL ? close : "", close != NULL ? "'?" : "");
}
