/* cli/module.c -- loading a module: every way it can go wrong has a text that says what to do. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

weft_actor *cli_load(const struct cli *c, const char *path)
{
    if (!cli_looks_loadable(c, path)) return NULL;
    /* Without a slash dlopen would search the library folders. */
    char *absolute = realpath(path, NULL);
    if (absolute == NULL) {
        cli_fail(c, 0, "cannot read %s: %s", path, strerror(errno));
        return NULL;
    }
    void *module = dlopen(absolute, RTLD_NOW | RTLD_LOCAL);
    free(absolute);
    if (module == NULL) {
        cli_fail(c, 0, "cannot load %s: %s", path, dlerror());
        return NULL;
    }
    void *entry = dlsym(module, WEFT_MODULE_ENTRY);
    if (entry == NULL) {
        const char *end = strrchr(c->argv[0], '.');
        bool source = end != NULL && strcmp(end, ".c") == 0; /* what the user wrote, not what was made of it */
        cli_fail(c, 0, "%s has no entry point %s: write WEFT_MODULE(first_actor) in it, behind that function%s",
                 source ? c->argv[0] : path, WEFT_MODULE_ENTRY,
                 dlsym(module, "main") == NULL || !source
                     ? ""
                     : "; or, as it has a main, build a program: cc FILE.c $(pkg-config --cflags --libs weft)");
        dlclose(module);
        return NULL;
    }
    weft_actor *body;
    memcpy(&body, &entry, sizeof body); /* ISO C has no cast from an object's address to a function's */
    return body;
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
