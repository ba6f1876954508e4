/* cli/os/compat.h -- what C libraries have under different names, or not at all: compat_posix.c, compat_windows.c. */
#ifndef CLI_COMPAT_H
#define CLI_COMPAT_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Random bytes, at most 256, fit for keys. False: there are none. */
bool cli_random(void *data, size_t size);
/* For a process that is a node, before it has threads: small blocks are merged with their neighbours when they are
 * freed. Else glibc does that to all of a large table at once, which takes 25 ms, and may keep them for good. */
void cli_merge_memory(void);
/* A file to write and read, that is gone when it is closed. NULL: there is no place for it. */
FILE *cli_scratch(void);

/* What may stand between the parts of a path. */
extern const char cli_slashes[];
/* Whether something has this name, also a link to nothing. */
bool cli_is_there(const char *path);
/* The path from the root, of PATH_MAX bytes. False: there is no such file. */
bool cli_whole_path(const char *path, char *out);
/* A folder for its owner alone, unless it is there. False: `why`, of `size` bytes, says why not. */
bool cli_make_folder(const char *path, char *why, size_t size);
/* The same with the permissions that the umask leaves; makes the folders above it, too. */
bool cli_make_folders(const char *path, char *why, size_t size);
/* All or nothing: what was there is replaced only when the new file is whole and on the disk. `secret`: for its owner
 * alone. False: `why`, of `size` bytes, says why not. */
bool cli_replace_file(const char *path, const char *text, bool secret, char *why, size_t size);

/* The variables of the environment, NAME=VALUE, up to a NULL. */
char **cli_environment(void);

/* Bytes of the IP address: 4 or 16; 0: `text` is none. */
size_t cli_ip(const char *text, unsigned char out[16]);

void cli_utc(time_t t, struct tm *out);
time_t cli_utc_time(struct tm *utc);

#endif
