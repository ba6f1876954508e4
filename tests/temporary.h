/* tests/temporary.h -- mkdtemp, also for Windows. */
#ifndef WF_TEST_TEMPORARY_H
#define WF_TEST_TEMPORARY_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _WIN32
#include <direct.h>
#include <io.h>

/* In the current folder: Windows has no /tmp. */
static inline char *mkdtemp(char *path)
{
    const char *name = strrchr(path, '/');
    if (name != NULL) memmove(path, name + 1, strlen(name));
    return _mktemp(path) != NULL && _mkdir(path) == 0 ? path : NULL;
}
#endif

#endif
