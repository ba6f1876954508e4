/* runtime/platform/posix/code.c -- see platform.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "platform.h"

/* Whether this is an ELF file that was linked for a fixed address: tools expect absolute addresses for it. */
static bool is_at_its_place(const unsigned char *base)
{
    static const unsigned char elf[] = {0x7F, 'E', 'L', 'F'};
    enum { TYPE = 16, EXECUTABLE = 2 };
    return memcmp(base, elf, sizeof elf) == 0 && base[TYPE] == EXECUTABLE;
}

bool pf_code_at(uintptr_t address, struct pf_code *out)
{
    Dl_info info;
    const void *code;
    memcpy(&code, &address, sizeof code);
    if (dladdr(code, &info) == 0 || info.dli_fname == NULL) return false;
    *out = (struct pf_code){.base = info.dli_fbase};
    out->offset = is_at_its_place(info.dli_fbase) ? address : address - (uintptr_t)info.dli_fbase;
    snprintf(out->file, sizeof out->file, "%s", info.dli_fname);
    if (info.dli_sname == NULL) return true;
    snprintf(out->symbol, sizeof out->symbol, "%s", info.dli_sname);
    out->symbol_offset = address - (uintptr_t)info.dli_saddr;
    return true;
}

bool pf_library(const char *file, const struct pf_library_row *rows, size_t count, char *why, size_t size)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
    for (size_t i = 0; whole && i < count; i++) {
        void *function = dlsym(library, rows[i].name);
        memcpy(rows[i].out, &function, sizeof function);
        whole = function != NULL;
    }
    /* Each thread has an error of its own. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    if (!whole) snprintf(why, size, "%s", dlerror());
    return whole;
}
