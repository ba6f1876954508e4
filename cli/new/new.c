/* cli/new/new.c -- weft new: a project that builds, runs and has a test. */
#include "new.h"
#include "json.h"
#include "compat.h"
#include "values.h"

#include <limits.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "@NAME@";

/* The text with the name in it, to be freed. NULL: no memory. */
static char *fill(const char *text, const char *name)
{
    size_t size = strlen(text) + 1;
    for (const char *at = text; (at = strstr(at, mark)) != NULL; at++) size += strlen(name);
    char *out = malloc(size), *to = out;
    if (out == NULL) return NULL;
    for (const char *at; (at = strstr(text, mark)) != NULL; text = at + strlen(mark))
        to += snprintf(to, size - (size_t)(to - out), "%.*s%s", (int)(at - text), text, name);
    snprintf(to, size - (size_t)(to - out), "%s", text);
    return out;
}

/* The last part of the path, which becomes the name of a module and of a node. */
static int project_name(const struct cli *c, char out[CLI_NODE_NAME_MAX + 1])
{
    const char *path = c->argv[0];
    size_t end = strlen(path);
    while (end > 0 && strchr(cli_slashes, path[end - 1]) != NULL) end--;
    size_t begin = end;
    while (begin > 0 && strchr(cli_slashes, path[begin - 1]) == NULL) begin--;
    snprintf(out, CLI_NODE_NAME_MAX + 1, "%.*s", (int)(end - begin), path + begin);
    bool fits = end - begin <= CLI_NODE_NAME_MAX && isalpha((unsigned char)out[0]) && cli_is_node_name(out);
    if (fits) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "%s is not a name for a project: a letter, then letters, digits, '_', '-' and '.'",
                    CLI_QUOTE_PART(path + begin, end - begin));
}

static int put_file(const struct cli *c, const struct cli_new_file *f, const char *name)
{
    char path[PATH_MAX], why[160];
    char *text = fill(f->text, name);
    if (text == NULL) return cli_fail(c, CLI_FAILED, "out of memory");
    snprintf(path, sizeof path, "%s/%s", c->argv[0], f->name);
    bool ok = cli_replace_file(path, text, false, why, sizeof why);
    free(text);
    return ok ? CLI_OK : cli_fail(c, CLI_FAILED, "cannot write %s: %s", CLI_PATH(path), why);
}

/* It never overwrites a file, and writes nothing if one of the files cannot be written. */
static int refuse_existing(const struct cli *c)
{
    for (size_t i = 0; i < cli_new_file_count && !c->force; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", c->argv[0], cli_new_files[i].name);
        if (cli_is_there(path))
            return cli_fail(c, CLI_FAILED, "%s is there already; --force replaces it", CLI_PATH(path));
    }
    return CLI_OK;
}

int cli_new(const struct cli *c)
{
    char name[CLI_NODE_NAME_MAX + 1], why[160];
    int rc = project_name(c, name);
    if (rc == CLI_OK && strlen(c->argv[0]) > PATH_MAX - 64) rc = cli_fail(c, CLI_USAGE, "the path is too long");
    if (rc == CLI_OK) rc = refuse_existing(c);
    if (rc != CLI_OK) return rc;
    if (!cli_make_folders(c->argv[0], why, sizeof why))
        return cli_fail(c, CLI_FAILED, "cannot make the folder %s: %s", CLI_PATH(c->argv[0]), why);
    for (size_t i = 0; i < cli_new_file_count && rc == CLI_OK; i++) rc = put_file(c, &cli_new_files[i], name);
    if (rc != CLI_OK) return rc;
    if (c->json) {
        fputs("{\"folder\": ", stdout);
        cli_print_string(stdout, c->argv[0], strlen(c->argv[0]));
        printf(", \"name\": \"%s\", \"files\": %zu}\n", name, cli_new_file_count);
    } else {
        printf("%s: %zu files. Next:\n  cd %s\n  make test\n  make run\n", c->argv[0], cli_new_file_count,
               c->argv[0]);
    }
    return CLI_OK;
}
