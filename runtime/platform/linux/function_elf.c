/* runtime/platform/linux/function_elf.c -- finds the names of static functions. They are in the file's symbol table,
 * which is not loaded into memory. The file is not trusted: each offset is checked against its size.
 * */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"

struct file {
    const unsigned char *at;
    size_t size;
};

/* The name of the program itself may be relative to another directory. */
static const char *path_of(const struct pf_code *code)
{
    uintptr_t headers = getauxval(AT_PHDR), page = pf_page_size() - 1;
    return headers != 0 && (headers & ~page) == (uintptr_t)code->base ? "/proc/self/exe" : code->file;
}

static bool map(const char *path, struct file *out)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    void *at = MAP_FAILED;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0)
        at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return false;
    *out = (struct file){at, (size_t)s.st_size};
    return true;
}

/* NULL: the range is not inside the file. */
static const void *part(const struct file *f, uint64_t offset, uint64_t size)
{
    return offset > f->size || size > f->size - offset ? NULL : f->at + offset;
}

static bool read_section(const struct file *f, const Elf64_Ehdr *head, unsigned i, Elf64_Shdr *out)
{
    if (i >= head->e_shnum) return false;
    const void *at = part(f, head->e_shoff, (uint64_t)head->e_shnum * sizeof *out);
    if (at == NULL) return false;
    memcpy(out, (const Elf64_Shdr *)at + i, sizeof *out);
    return true;
}

/* Returns whether a function of this table contains the code at `offset`. */
static bool search(const struct file *f, const Elf64_Shdr *symbols, const Elf64_Shdr *strings, uint64_t offset,
                   char *out, size_t size)
{
    const unsigned char *table = part(f, symbols->sh_offset, symbols->sh_size);
    const char *names = part(f, strings->sh_offset, strings->sh_size);
    if (table == NULL || names == NULL || strings->sh_size == 0) return false;
    for (uint64_t i = 0; i < symbols->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, table + i * sizeof s, sizeof s);
        if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || offset < s.st_value || offset - s.st_value >= s.st_size) continue;
        if (s.st_name >= strings->sh_size) return false;
        snprintf(out, size, "%.*s", (int)WF_MIN(strings->sh_size - s.st_name, (uint64_t)127), names + s.st_name);
        return out[0] != '\0';
    }
    return false;
}

static bool find(const struct file *f, uint64_t offset, char *out, size_t size)
{
    Elf64_Ehdr head;
    Elf64_Shdr symbols, strings;
    const void *at = part(f, 0, sizeof head);
    if (at == NULL) return false;
    memcpy(&head, at, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof symbols)
        return false;
    for (unsigned i = 0; read_section(f, &head, i, &symbols); i++) {
        if (symbols.sh_type == SHT_SYMTAB && read_section(f, &head, symbols.sh_link, &strings))
            return search(f, &symbols, &strings, offset, out, size);
    }
    return false;
}

bool pf_code_function(const struct pf_code *code, char *out, size_t size)
{
    struct file f;
    if (!map(path_of(code), &f)) return false;
    bool found = find(&f, code->offset, out, size);
    (void)munmap((void *)(uintptr_t)f.at, f.size);
    return found;
}
