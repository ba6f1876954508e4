/* runtime/platform/posix/listing.c -- lists the entries of a directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

int pf_listing_open(pf_listing **out, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return pf_file_error(errno);
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return WEFT_ENOMEM;
    }
    *out = (pf_listing *)(void *)dir;
    return WEFT_OK;
}

static enum pf_entry_kind kind_of(const struct dirent *e)
{
    switch (e->d_type) {
    case DT_REG: return PF_ENTRY_FILE;
    case DT_DIR: return PF_ENTRY_DIRECTORY;
    case DT_LNK: return PF_ENTRY_LINK;
    case DT_UNKNOWN: return PF_ENTRY_UNKNOWN;
    default: return PF_ENTRY_OTHER;
    }
}

int pf_listing_next(pf_listing *l, struct pf_entry *out)
{
    for (;;) {
        errno = 0;
        /* A listing is used by one thread at a time. NOLINTNEXTLINE(concurrency-mt-unsafe) */
        const struct dirent *e = readdir((DIR *)(void *)l);
        if (e == NULL) return errno == 0 ? 0 : pf_file_error(errno);
        size_t size = strlen(e->d_name) + 1;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (size > sizeof out->name) return WEFT_ETOOBIG;
        out->kind = kind_of(e);
        memcpy(out->name, e->d_name, size);
        return 1;
    }
}

void pf_listing_close(pf_listing *l)
{
    if (l != NULL) (void)closedir((DIR *)(void *)l);
}
