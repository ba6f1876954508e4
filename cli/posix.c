/* cli/posix.c -- see lacks.h. */
#include "lacks.h"

#include <sys/random.h>
#include <unistd.h>

bool cli_random(void *data, size_t size)
{
    return getentropy(data, size) == 0;
}

FILE *cli_scratch(void)
{
    return tmpfile();
}
