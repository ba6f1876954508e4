/* cli/os/compat.h -- what C libraries have under different names, or not at all: compat_posix.c, compat_windows.c. */
#ifndef CLI_COMPAT_H
#define CLI_COMPAT_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* Gets at most 256 random bytes that are good enough for keys. False: the system provides none. */
bool cli_random(void *data, size_t size);
/* Called by a process that becomes a node, before it has threads: from then on small blocks are merged with their
 * neighbours when they are freed. Otherwise glibc merges all blocks of a large table at once, which takes 25 ms, and
 * may never give them back. */
void cli_merge_memory(void);
/* Makes a file to write and read, which is removed when it is closed. NULL: it could not be created. */
FILE *cli_scratch(void);

/* Reads a line with the newline at its end, if it has one, and ends it with a 0. `*size` is without that 0; a damaged
 * file may have others before it. `*line` is malloc'ed and grows with `*capacity`; both begin as 0, and the caller
 * frees it. False: the end of the file (then feof says so), an error, or there is no memory. */
bool cli_read_line(FILE *from, char **line, size_t *capacity, size_t *size);

/* The characters that may separate the parts of a path. */
extern const char cli_slashes[];
/* Whether something has this name, also a link to nothing. */
bool cli_is_there(const char *path);
/* Makes the path absolute; `out` has PATH_MAX bytes. False: there is no such file. */
bool cli_whole_path(const char *path, char *out);
/* A folder for its owner alone, unless it is there. False: `why`, of `size` bytes, says why not. */
bool cli_make_folder(const char *path, char *why, size_t size);
/* The same with the permissions that the umask allows; also makes the folders above it. */
bool cli_make_folders(const char *path, char *why, size_t size);
/* Writes a file atomically: an existing file is replaced only after the new one is complete and on the disk.
 * `secret`: only its owner may read it. False: `why`, of `size` bytes, has the reason. */
bool cli_replace_file(const char *path, const char *text, bool secret, char *why, size_t size);

/* The variables of the environment, NAME=VALUE, up to a NULL. */
char **cli_environment(void);

/* Returns the bytes of the IP address, 4 or 16; 0: `text` is not an IP address. */
size_t cli_ip(const char *text, unsigned char out[16]);

void cli_utc(time_t t, struct tm *out);
time_t cli_utc_time(struct tm *utc);

#endif
