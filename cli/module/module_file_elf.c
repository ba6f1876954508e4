/* cli/module/module_file_elf.c -- what a file that is no module of ours is, where dlopen's own word would say
 * less. */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "module_file.h"

static const char *processor(unsigned machine)
{
    switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_AARCH64: return "AArch64";
    case EM_386: return "i386";
    case EM_ARM: return "ARM";
    case EM_RISCV: return "RISC-V";
    default: return "another processor";
    }
}

/* The processor this command was made for: its own file says it. */
static unsigned our_machine(void)
{
    Elf64_Ehdr head = {0};
    FILE *self = fopen("/proc/self/exe", "rbe");
    if (self == NULL) return EM_NONE;
    size_t n = fread(&head, sizeof head, 1, self);
    fclose(self);
    return n == 1 ? head.e_machine : EM_NONE;
}

bool cli_looks_loadable(const struct cli *c, const char *path)
{
    Elf64_Ehdr head = {0};
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        cli_fail(c, 0, "cannot read %s: %s", CLI_PATH(path), strerror(errno));
        return false;
    }
    size_t n = fread(&head, 1, sizeof head, file);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (error != 0) {
        cli_fail(c, 0, "cannot read %s: %s", CLI_PATH(path), strerror(error));
        return false;
    }
    if (n < sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
        cli_fail(c, 0, "%s is no module: not an ELF file. Give a .c file, or build one with: cc -shared -fPIC %s",
                 path, "$(pkg-config --cflags weft) FILE.c -o FILE.so");
        return false;
    }
    unsigned ours = our_machine();
    if (ours != EM_NONE && head.e_machine != ours) {
        cli_fail(c, 0, "%s is for %s, and this is %s: build it for this machine", CLI_PATH(path),
                 processor(head.e_machine), processor(ours));
        return false;
    }
    if (head.e_type != ET_DYN) {
        cli_fail(c, 0, "%s is an object file or a program, not a module: link it with -shared -fPIC", CLI_PATH(path));
        return false;
    }
    return true;
}
