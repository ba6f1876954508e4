/* runtime/platform/posix/directory.c -- reads and changes directories: platform.h says what each function does. */
#include "platform.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int pf_private_directory_of(const char *path)
{
    char folder[512];
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) return WEFT_OK;
    size_t size = (size_t)(slash - path);
    if (size >= sizeof folder) return WEFT_EADDRESS;
    memcpy(folder, path, size);
    folder[size] = '\0';
    if (mkdir(folder, 0700) == 0 || errno == EEXIST) return WEFT_OK;
    return errno == EACCES || errno == EPERM || errno == EROFS ? WEFT_EACCESS : WEFT_ENOTFOUND;
}

bool pf_file_is_shared(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && (info.st_mode & 077) != 0;
}

struct pf_socket_file pf_socket_file_at(const char *path)
{
    struct stat s;
    if (lstat(path, &s) != 0 || !S_ISSOCK(s.st_mode)) return (struct pf_socket_file){0};
    return (struct pf_socket_file){(uint64_t)s.st_dev, (uint64_t)s.st_ino};
}

bool pf_is_other_file(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && !S_ISSOCK(s.st_mode);
}
