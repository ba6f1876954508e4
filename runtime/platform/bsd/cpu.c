/* runtime/platform/bsd/cpu.c -- the number of processors that this process may use: all processors of the machine. */
#include <unistd.h>

#include "native.h"

int pf_cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (int)WF_MIN(count, 100000L);
}
