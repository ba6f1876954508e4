/* runtime/platform/windows/manager.c -- this system has no service manager with systemd's protocol. */
#include "system.h"

void pf_manager_notify(const char *lines)
{
    (void)lines;
}

int64_t pf_manager_watchdog(void)
{
    return 0;
}

int pf_manager_listener(const char *name, pf_handle *out)
{
    (void)name;
    *out = PF_NO_HANDLE;
    return WEFT_ENOTSUP;
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
