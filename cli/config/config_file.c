/* cli/config/config_file.c -- where the configuration file is; see config.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config_file.h"
#include "compat.h"

size_t cli_config_places(char out[CLI_CONFIG_PLACES][PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const char *data = getenv("APPDATA"); /* Windows has no /etc that only administrators may write to */
    size_t count = 0;
    int n = -1;
    if (config != NULL && config[0] == '/') n = snprintf(out[0], PATH_MAX, "%s/weft/weft.conf", config);
    else if (home != NULL && home[0] != '\0') n = snprintf(out[0], PATH_MAX, "%s/.config/weft/weft.conf", home);
    else if (data != NULL && data[0] != '\0') n = snprintf(out[0], PATH_MAX, "%s/weft/weft.conf", data);
    if (n > 0 && n < PATH_MAX) count++;
    if (strchr(cli_slashes, '\\') == NULL) snprintf(out[count++], PATH_MAX, "/etc/weft/weft.conf");
    return count;
}

static bool read_file(const struct cli *c, FILE *in, struct cli_config *f, size_t *size)
{
    f->text = malloc(CLI_CONFIG_BYTES + 2);
    if (f->text == NULL) cli_fail(c, CLI_FAILED, "out of memory");
    if (f->text == NULL) return false;
    *size = fread(f->text, 1, CLI_CONFIG_BYTES + 1, in);
    f->text[*size] = '\0';
    if (ferror(in) != 0) cli_fail(c, CLI_FAILED, "cannot read %s: %s", CLI_PATH(f->path), strerror(errno));
    else if (*size > CLI_CONFIG_BYTES)
        cli_fail(c, CLI_FAILED, "%s is longer than %d bytes", CLI_PATH(f->path), CLI_CONFIG_BYTES);
    else return true;
    free(f->text);
    f->text = NULL;
    return false;
}

bool cli_config_load(const struct cli *c, const char *asked, struct cli_config *f, size_t *size)
{
    char places[CLI_CONFIG_PLACES][PATH_MAX];
    size_t count = 1;
    FILE *in = NULL;
    *size = 0;
    f->text = NULL;
    f->count = 0;
    if (asked != NULL && strcmp(asked, "none") == 0) return true;
    if (asked == NULL) count = cli_config_places(places);
    else snprintf(places[0], PATH_MAX, "%s", asked);
    errno = ENOENT;
    for (size_t i = 0; i < count && in == NULL && (errno == ENOENT || errno == ENOTDIR); i++) {
        memcpy(f->path, places[i], PATH_MAX);
        in = fopen(f->path, "rb");
    }
    if (in == NULL) {
        if (asked == NULL && (errno == ENOENT || errno == ENOTDIR)) return true;
        cli_fail(c, CLI_FAILED, "cannot read %s: %s", CLI_PATH(f->path), strerror(errno));
        return false;
    }
    bool ok = read_file(c, in, f, size);
    fclose(in);
    return ok;
}

/* ---- For a verb ------------------------------------------------------------------------------------------------ */

static void print_problem(void *arg, int line, const char *key, const char *why)
{
    const struct cli *c = arg;
    cli_fail(c, 0, "%s:%d: %s%s%s", c->file->path, line, key, key[0] == '\0' ? "" : ": ", why);
}

int cli_configure(struct cli *c)
{
    if (!cli_has_option(c->verb, CLI_CONFIG)) return CLI_OK;
    struct cli_config *f = malloc(sizeof *f);
    size_t size;
    if (f == NULL) return cli_fail(c, CLI_FAILED, "out of memory");
    c->file = f;
    if (!cli_config_load(c, c->config, f, &size)) return CLI_USAGE;
    if (f->text == NULL) return CLI_OK;
    if (cli_config_parse(f, f->text, size, print_problem, c) > 0) return CLI_USAGE;
    return cli_config_apply(c);
}
