/* cli/lacks.h -- what C libraries have under different names, or not at all: posix.c, windows.c. */
#ifndef CLI_LACKS_H
#define CLI_LACKS_H

#include <stdbool.h>
#include <stdio.h>

/* Random bytes, at most 256, fit for keys. False: there are none. */
bool cli_random(void *data, size_t size);
/* A file to write and read, that is gone when it is closed. NULL: there is no place for it. */
FILE *cli_scratch(void);

#endif
