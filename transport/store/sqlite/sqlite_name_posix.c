/* transport/store/sqlite/sqlite_name_posix.c -- see sqlite_name.h. SQLite itself follows symbolic links here. */
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "sqlite_name.h"

char *sq_name(const char *file)
{
    return sqlite3_mprintf("%s", file);
}

const char *sq_other_kind(const char *file)
{
    struct stat is;
    if (stat(file, &is) < 0 || S_ISREG(is.st_mode)) return NULL;
    return S_ISDIR(is.st_mode)    ? "a folder"
           : S_ISFIFO(is.st_mode) ? "a named pipe"
           : S_ISSOCK(is.st_mode) ? "a socket"
                                  : "a device";
}

bool sq_has_several_names(const char *file)
{
    struct stat is;
    return stat(file, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink > 1;
}

const char *sq_system_text(int number)
{
    /* For errors of the system the text is constant, or of this thread. NOLINTNEXTLINE(concurrency-mt-unsafe) */
    return strerror(number);
}
