/* tests/fuzz/replay.c -- a fuzz target without a fuzzer: every input of a folder once. So the seeds, and each input
 * that has found something, are tests in every build. */
#include <dirent.h>
#include <stdio.h>

#include "fuzz.h"

enum { INPUT_MAX = 1 << 16 };

static void run(const char *folder, const char *name)
{
    char path[4096];
    static uint8_t data[INPUT_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    MUST(f != NULL);
    size_t size = fread(data, 1, sizeof data, f);
    MUST(feof(f));
    fclose(f);
    uint8_t *copy = malloc(size + (size == 0)); /* reading past its end is seen */
    MUST(copy != NULL);
    memcpy(copy, data, size);
    printf("%s, %zu bytes\n", name, size);
    fflush(stdout);
    MUST(LLVMFuzzerTestOneInput(copy, size) == 0);
    free(copy);
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    DIR *d = opendir(argv[1]);
    MUST(d != NULL);
    int count = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        run(argv[1], e->d_name);
        count++;
    }
    closedir(d);
    run("/dev", "null"); /* nothing at all */
    return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
