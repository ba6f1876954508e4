/* runtime/platform/windows/code.c -- see platform.h. */
#include "system.h"

#include <stdio.h>
#include <string.h>

bool pf_code_at(uintptr_t address, struct pf_code *out)
{
    (void)address, (void)out;
    return false;
}

bool pf_library(const char *file, const struct pf_library_row *rows, size_t count, char *why, size_t size)
{
    HMODULE library = LoadLibraryA(file);
    if (library == NULL) snprintf(why, size, "%s: error %lu", file, GetLastError());
    for (size_t i = 0; library != NULL && i < count; i++) {
        FARPROC function = GetProcAddress(library, rows[i].name);
        memcpy(rows[i].out, &function, sizeof function);
        if (function != NULL) continue;
        snprintf(why, size, "%s has no function %s", file, rows[i].name);
        return false;
    }
    return library != NULL;
}
