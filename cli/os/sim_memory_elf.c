/* cli/os/sim_memory_elf.c -- allocations of a simulated node that fail: `weft sim --faults memory`.
 *
 * Design notes. libweft and the module are as they are anywhere else. Their calls of malloc and its like go through a
 * table of addresses, which the loader has filled in; here those entries are turned to functions that may say no. It
 * is done in the process of one run, which then ends. Other libraries keep their own tables, and have memory. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim_memory.h"
#include "sim_run.h"

static bool refused(void)
{
    if (!wf_sim_is_scarce()) return false;
    errno = ENOMEM;
    return true;
}

static void *scarce_malloc(size_t size)
{
    return refused() ? NULL : malloc(size);
}

static void *scarce_calloc(size_t count, size_t size)
{
    return refused() ? NULL : calloc(count, size);
}

static void *scarce_realloc(void *block, size_t size)
{
    return refused() ? NULL : realloc(block, size);
}

static void *scarce_aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : aligned_alloc(align, size);
}

static void *scarce_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    return refused() ? MAP_FAILED : mmap(at, size, protection, flags, fd, offset);
}

typedef void any_function(void);

static const struct {
    const char *name;
    any_function *instead;
} scarce[] = {{"malloc", (any_function *)scarce_malloc},
              {"calloc", (any_function *)scarce_calloc},
              {"realloc", (any_function *)scarce_realloc},
              {"aligned_alloc", (any_function *)scarce_aligned_alloc},
              {"mmap", (any_function *)scarce_mmap}};

/* The loader has made the table read-only. */
static bool set(any_function **entry, any_function *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)entry & ~(page - 1);
    if (mprotect((void *)at, page, PROT_READ | PROT_WRITE) < 0) return false;
    *entry = to;
    return true;
}

static bool turn_entries(ElfW(Addr) base, const ElfW(Rela) * rela, size_t size, const ElfW(Sym) * symbols,
                         const char *names)
{
    for (size_t i = 0; rela != NULL && i < size / sizeof *rela; i++) {
        const char *name = names + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;
        for (size_t k = 0; k < sizeof scarce / sizeof scarce[0]; k++)
            if (strcmp(name, scarce[k].name) == 0 &&
                !set((any_function **)(base + rela[i].r_offset), scarce[k].instead))
                return false;
    }
    return true;
}

/* In the library or module with that address in it. */
static bool turn_library(const void *address)
{
    const ElfW(Rela) *calls = NULL, *others = NULL;
    size_t calls_size = 0, others_size = 0;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    struct link_map *map;
    Dl_info info;
    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) return false;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_JMPREL: calls = (const void *)d->d_un.d_ptr; break;
        case DT_PLTRELSZ: calls_size = d->d_un.d_val; break;
        case DT_RELA: others = (const void *)d->d_un.d_ptr; break;
        case DT_RELASZ: others_size = d->d_un.d_val; break;
        case DT_SYMTAB: symbols = (const void *)d->d_un.d_ptr; break;
        case DT_STRTAB: names = (const void *)d->d_un.d_ptr; break;
        default: break;
        }
    }
    return symbols != NULL && names != NULL && turn_entries(map->l_addr, calls, calls_size, symbols, names) &&
           turn_entries(map->l_addr, others, others_size, symbols, names);
}

bool cli_sim_memory(weft_actor *body)
{
    return turn_library(dlsym(RTLD_DEFAULT, "weft_sim_fail")) && turn_library((const void *)(uintptr_t)body);
}
