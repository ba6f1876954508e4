/* cli/os/source_line.c -- see source_line.h: addr2line knows. */
#include "source_line.h"

#include "child.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

bool cli_source_line(const char *file, uint64_t offset, char *out, size_t size)
{
    char program[] = "addr2line", names[] = "-f", plain[] = "-C", of[] = "-e", path[PATH_MAX], at[32];
    char function[256], line[PATH_MAX];
    struct cli_child k;
    snprintf(path, sizeof path, "%s", file);
    snprintf(at, sizeof at, "0x%" PRIx64, offset);
    if (cli_child_start(&k, (char *[]){program, names, plain, of, path, at, NULL}, true, true) != 0) return false;
    bool read = fgets(function, sizeof function, k.out) != NULL && fgets(line, sizeof line, k.out) != NULL;
    (void)cli_child_end(&k);
    if (!read || line[0] == '?') return false;
    function[strcspn(function, "\n")] = line[strcspn(line, "\n")] = '\0';
    char *number = strrchr(line, ':');
    if (number != NULL && number[1] == '?') *number = '\0'; /* built without line numbers */
    snprintf(out, size, "%s at %s", function, line);
    return true;
}
