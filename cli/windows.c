/* cli/windows.c -- what is different on Windows: modules are DLLs and come compiled; nodes have no control sockets
 * and are asked by their URL. */
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <ntsecapi.h>

#include "cli.h"
#include "lacks.h"

/* ---- Modules --------------------------------------------------------------------------------------------------- */

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
        DWORD n = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code, 0, why,
                                 sizeof why, NULL);
        while (n > 0 && strchr("\r\n", why[n - 1]) != NULL) why[--n] = '\0';
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

int cli_sim(const struct cli *c)
{
    return cli_fail(c, CLI_FAILED,
                    "not on Windows: its runs are child processes that begin as copies of their parent");
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX])
{
    out[0] = '\0';
    return cli_check_node_name(c, name);
}

bool cli_socket_answers(const char *path)
{
    (void)path;
    return true; /* nothing is known of it */
}

int cli_node_url(const struct cli *c, char out[PATH_MAX + 8])
{
    if (c->node == NULL || strstr(c->node, "://") == NULL) {
        return cli_fail(c, CLI_USAGE, "on Windows a node is asked by the URL it listens on: %s",
                        "--node tcp://127.0.0.1:PORT, or WEFT_NODE");
    }
    if (strlen(c->node) >= PATH_MAX) return cli_fail(c, CLI_USAGE, "--node: the URL is too long");
    snprintf(out, PATH_MAX + 8, "%s", c->node);
    return CLI_OK;
}

/* ---- lacks.h --------------------------------------------------------------------------------------------------- */

bool cli_random(void *data, size_t size)
{
    return RtlGenRandom(data, (ULONG)size);
}

FILE *cli_scratch(void)
{
    char folder[MAX_PATH - 14], path[MAX_PATH]; /* as long as the next call takes */
    DWORD n = GetTempPathA(sizeof folder, folder);
    if (n == 0 || n >= sizeof folder || GetTempFileNameA(folder, "weft", 0, path) == 0) return NULL;
    return fopen(path, "w+bTD");
}
