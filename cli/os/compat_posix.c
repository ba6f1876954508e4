/* cli/os/compat_posix.c -- see compat.h. */
#include "compat.h"

#include <limits.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_random(void *data, size_t size)
{
    return getentropy(data, size) == 0;
}

void cli_merge_memory(void)
{
#ifdef M_MXFAST
    (void)mallopt(M_MXFAST, 0);
#endif
}

FILE *cli_scratch(void)
{
    return tmpfile();
}

bool cli_read_line(FILE *from, char **line, size_t *capacity, size_t *size)
{
    const ssize_t got = getline(line, capacity, from);
    *size = got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

const char cli_slashes[] = "/";

bool cli_is_there(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

bool cli_whole_path(const char *path, char *out)
{
    return realpath(path, out) != NULL;
}

bool cli_make_folder(const char *path, char *why, size_t size)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST) return true;
    snprintf(why, size, "%s", strerror(errno));
    return false;
}

bool cli_make_folders(const char *path, char *why, size_t size)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; at[-1] != '\0'; at++) {
        if (*at != '/' && *at != '\0') continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            snprintf(why, size, "%s", strerror(errno));
            return false;
        }
        *at = kept;
    }
    return true;
}

bool cli_replace_file(const char *path, const char *text, bool secret, char *why, size_t size)
{
    char other[PATH_MAX + 128];
    mode_t mode = secret ? 0600 : 0644;
    size_t length = strlen(text);
    snprintf(other, sizeof other, "%s.new-%ld", path, (long)getpid());
    int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    bool ok = fd >= 0 && write(fd, text, length) == (ssize_t)length && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0 && close(fd) < 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && rename(other, path) == 0) return true;
    if (ok) error = errno;
    if (fd >= 0) (void)unlink(other);
    snprintf(why, size, "%s", strerror(error));
    return false;
}

/* ---- Environment, addresses and times -------------------------------------------------------------------------- */

extern char **environ;

char **cli_environment(void)
{
    return environ;
}

size_t cli_ip(const char *text, unsigned char out[16])
{
    if (inet_pton(AF_INET, text, out) == 1) return 4;
    return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

void cli_utc(time_t t, struct tm *out)
{
    gmtime_r(&t, out);
}

time_t cli_utc_time(struct tm *utc)
{
    return timegm(utc);
}
