/* cli/module/module_windows.c -- modules on Windows: they are DLLs and come compiled. */
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "compile.h"
#include "module.h"

/* Writes the system's text of the last error. */
static void last_error(char *why, size_t size)
{
    DWORD n = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, GetLastError(), 0, why,
                             (DWORD)size, NULL);
    why[n] = '\0';
    while (n > 0 && strchr("\r\n", why[n - 1]) != NULL) why[--n] = '\0';
}

int cli_module(const struct cli *c, const char **path, char made[PATH_MAX])
{
    size_t n = strlen(*path);
    (void)made;
    if (n <= 2 || strcmp(*path + n - 2, ".c") != 0) return CLI_OK;
    return cli_fail(c, CLI_FAILED, "%s: sources are not compiled on Windows; build a module: %s", *path,
                    "x86_64-w64-mingw32-gcc -shared -I INCLUDE FILE.c -o FILE.dll -L LIB -lweft");
}

weft_actor *cli_load(const struct cli *c, const char *path)
{
    char absolute[PATH_MAX], why[160] = "";
    /* Without a folder the system would search its own ones. */
    HMODULE module = _fullpath(absolute, path, sizeof absolute) == NULL ? NULL : LoadLibraryA(absolute);
    if (module == NULL) {
        DWORD code = GetLastError();
        last_error(why, sizeof why);
        cli_fail(c, 0, "cannot load %s: %s (%lu)", path, why, code);
        return NULL;
    }
    FARPROC entry = GetProcAddress(module, WEFT_MODULE_ENTRY);
    if (entry == NULL) {
        cli_fail(c, 0, "%s has no entry point %s: write WEFT_MODULE(first_actor) in it, behind that function", path,
                 WEFT_MODULE_ENTRY);
        FreeLibrary(module);
        return NULL;
    }
    weft_actor *body;
    memcpy(&body, &entry, sizeof body);
    return body;
}

int cli_load_beside(const char *path, weft_migrate **hook, char *why, size_t size)
{
    (void)path, (void)hook;
    snprintf(why, size, "a node on Windows cannot replace its module: start it again");
    return WEFT_ESYSTEM;
}
