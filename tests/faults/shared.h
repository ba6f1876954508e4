/* tests/faults/shared.h -- counters that the test can read while this process runs, and after it was killed. */
#ifndef FAULTS_SHARED_H
#define FAULTS_SHARED_H

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <weft.h>

/* The file, which the test has made, in memory. */
static inline void *map_shared(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    weft_require(at != MAP_FAILED);
    close(fd);
    return at;
}

#endif
