/* runtime/platform/windows/manager.c -- nothing here speaks as systemd does. */
#include "system.h"

void pf_manager_notify(const char *lines)
{
    (void)lines;
}

int64_t pf_manager_watchdog(void)
{
    return 0;
}

static int64_t nanoseconds(FILETIME t)
{
    return (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime) * 100;
}

void pf_usage(struct pf_usage *out)
{
    FILETIME made, ended, kernel, user;
    *out = (struct pf_usage){0};
    if (GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user))
        out->processor = nanoseconds(kernel) + nanoseconds(user);
}
