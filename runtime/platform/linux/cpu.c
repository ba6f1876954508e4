/* runtime/platform/linux/cpu.c -- the number of processors that this process may use, by its affinity and by the
 * quota of its container. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native.h"

static int by_affinity(void)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    size_t most = (size_t)WF_MAX(configured, 1024L);
    cpu_set_t *set = CPU_ALLOC(most);
    if (set == NULL) return 1;
    size_t size = CPU_ALLOC_SIZE(most);
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 1;
    CPU_FREE(set);
    return count;
}

/* The quota of the container's control group, in processors, rounded up; 0: no quota. The file contains "max 100000"
 * or "150000 100000". */
static int by_quota(void)
{
    char text[64];
    int fd = open("/sys/fs/cgroup/cpu.max", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    char *rest;
    long quota = strtol(text, &rest, 10);
    long period = strtol(rest, NULL, 10);
    if (quota <= 0 || period <= 0) return 0;
    return (int)WF_MIN((quota - 1) / period + 1, 100000L);
}

int pf_cpu_count(void)
{
    int count = by_affinity(), quota = by_quota();
    if (quota > 0 && quota < count) count = quota;
    return count < 1 ? 1 : count;
}
