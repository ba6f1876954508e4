/* cli/module/module.c -- loading a module: every way it can go wrong has a text that says what to do. */
#include <limits.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module.h"
#include "module_file.h"

/* ---- Who may write it ------------------------------------------------------------------------------------------ */

/* Users who can write the file, or replace it, can run code as this user: so only this user and root may be able to.
 * In a folder with the sticky bit, such as /tmp, users cannot replace files of others. */
static bool is_own(const struct stat *info)
{
    bool sticky = S_ISDIR(info->st_mode) && (info->st_mode & S_ISVTX) != 0;
    return (info->st_uid == getuid() || info->st_uid == 0) && ((info->st_mode & S_IWOTH) == 0 || sticky);
}

/* Checks all folders above the file, up to the root. */
static bool are_folders_own(const struct cli *c, const char *file)
{
    struct stat info;
    char *path = realpath(file, NULL), *slash;
    bool own = path != NULL;
    while (own && (slash = strrchr(path, '/')) != NULL) {
        slash[slash == path] = '\0'; /* the root keeps its own */
        own = stat(path, &info) == 0 && is_own(&info);
        if (slash == path) break;
    }
    if (path == NULL) cli_fail(c, 0, "cannot read %s: %s", CLI_PATH(file), strerror(errno));
    else if (!own)
        cli_fail(
            c, 0,
            "%s is in the folder %s, where others may replace it: the folder must belong to the node's user or to "
            "root, and not be writable by everybody",
            file, path);
    free(path);
    return own;
}

/* `info` is the file's. */
static bool is_guarded(const struct cli *c, const char *path, const struct stat *info)
{
    if (!S_ISREG(info->st_mode)) {
        cli_fail(c, 0, "%s is no file", CLI_PATH(path));
    } else if (!is_own(info)) {
        cli_fail(c, 0,
                 "%s contains code that would run as the node's user: it must belong to that user or to root, and "
                 "not be writable by everybody",
                 path);
    } else {
        return are_folders_own(c, path);
    }
    return false;
}

/* ---- The first one --------------------------------------------------------------------------------------------- */

static void *open_module(const struct cli *c, const char *path)
{
    /* Without a slash dlopen would search the library folders. */
    char *absolute = realpath(path, NULL);
    if (absolute == NULL) {
        cli_fail(c, 0, "cannot read %s: %s", CLI_PATH(path), strerror(errno));
        return NULL;
    }
    void *module = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
    free(absolute);
    if (module == NULL) cli_fail(c, 0, "cannot load %s: %s", CLI_PATH(path), dlerror());
    return module;
}

/* `path` is what to call it. */
static void *find_entry(const struct cli *c, const char *path, void *module)
{
    void *entry = dlsym(module, WEFT_MODULE_ENTRY);
    if (entry != NULL) return entry;
    const char *end = strrchr(path, '.');
    bool source = end != NULL && strcmp(end, ".c") == 0;
    cli_fail(c, 0, "%s has no entry point %s: write WEFT_MODULE(first_actor) in it, behind that function%s",
             CLI_PATH(path), WEFT_MODULE_ENTRY,
             dlsym(module, "main") == NULL || !source
                 ? ""
                 : "; or, as it has a main, build a program: cc FILE.c $(pkg-config --cflags --libs weft)");
    return NULL;
}

weft_actor *cli_load(const struct cli *c, const char *path)
{
    const char *end = strrchr(c->argv[0], '.');
    bool source = end != NULL && strcmp(end, ".c") == 0; /* the name that the user gave, not that of the module */
    struct stat info;
    if (!cli_looks_loadable(c, path)) return NULL;
    if (stat(path, &info) == 0 && !is_guarded(c, path, &info)) return NULL;
    void *module = open_module(c, path); /* says what is wrong with one that is not there */
    void *entry = module == NULL ? NULL : find_entry(c, source ? c->argv[0] : path, module);
    if (entry == NULL) {
        if (module != NULL) dlclose(module);
        return NULL;
    }
    weft_actor *body;
    memcpy(&body, &entry, sizeof body); /* ISO C has no cast from an object's address to a function's */
    return body;
}

/* ---- Beside another one ---------------------------------------------------------------------------------------- */

static int open_own(const struct cli *c, const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) < 0) cli_fail(c, 0, "cannot read %s: %s", CLI_PATH(path), strerror(errno));
    else if (is_guarded(c, path, &info)) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static bool copy_all(int from, int to)
{
    char chunk[65536];
    ssize_t n;
    while ((n = read(from, chunk, sizeof chunk)) > 0) {
        for (ssize_t at = 0, put; at < n; at += put) {
            if ((put = write(to, chunk + at, (size_t)(n - at))) < 0) return false;
        }
    }
    return n == 0;
}

/* The loader takes a path that it has seen for what it has loaded, whatever is there by now: so it gets a copy, under
 * a name of its own, that needs to be there only while it is loaded. */
static void *open_copy(const struct cli *c, const char *path, int from)
{
    const char *folder = getenv("TMPDIR");
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/weft-reload-XXXXXX", folder != NULL && folder[0] == '/' ? folder : "/tmp");
    int to = mkstemp(name);
    if (to < 0 || !copy_all(from, to)) {
        cli_fail(c, 0, "cannot copy %s to %s: %s", CLI_PATH(path), name, strerror(errno));
        if (to >= 0) (void)unlink(name);
        if (to >= 0) close(to);
        return NULL;
    }
    close(to);
    void *module = cli_looks_loadable(c, name) ? open_module(c, name) : NULL;
    (void)unlink(name);
    return module;
}

static const char no_hook[] =
    "%s has no migrate hook %s: what moves actors to its code; write WEFT_MIGRATE(hook) in it";

int cli_load_beside(const char *path, weft_migrate **hook, char *why, size_t size)
{
    const struct cli c = {.error_text = why, .error_size = size};
    int from = open_own(&c, path);
    if (from < 0) return WEFT_ESYSTEM;
    void *module = open_copy(&c, path, from);
    close(from);
    if (module == NULL) return WEFT_ESYSTEM;
    void *found = dlsym(module, WEFT_MODULE_MIGRATE);
    if (find_entry(&c, path, module) == NULL) {
        found = NULL;
    } else if (found == NULL) {
        cli_fail(&c, 0, no_hook, CLI_PATH(path), WEFT_MODULE_MIGRATE);
    }
    if (found == NULL) {
        dlclose(module);
        return WEFT_EFORMAT;
    }
    memcpy(hook, &found, sizeof *hook);
    return WEFT_OK;
}

void (*cli_find(const char *path, const char *name))(void)
{
    char *absolute = realpath(path, NULL);
    void *module = absolute == NULL ? NULL : dlopen(absolute, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *found = module == NULL ? NULL : dlsym(module, name);
    void (*function)(void) = NULL;
    free(absolute);
    if (module != NULL) dlclose(module); /* it stays loaded: cli_load holds it, too */
    memcpy(&function, &found, sizeof function);
    return function;
}
