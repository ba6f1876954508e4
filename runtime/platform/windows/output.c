/* runtime/platform/windows/output.c -- standard error. */
#include <stdio.h>

#include "system.h"

_Atomic size_t pf_stderr_queued;

void pf_stderr(const char *data, size_t size)
{
    HANDLE to = GetStdHandle(STD_ERROR_HANDLE);
    while (size > 0) {
        DWORD written = 0;
        DWORD part = (DWORD)WF_MIN(size, (size_t)1 << 20);
        if (!WriteFile(to, data, part, &written, NULL) || written == 0) break; /* the text cannot be written */
        data += written;
        size -= written;
    }
}

/* This system does not tell. */
bool pf_stderr_is_ready(void)
{
    return true;
}

void pf_stderr_patiently(const char *data, size_t size)
{
    pf_stderr(data, size);
}

bool pf_is_remote(pf_handle h)
{
    (void)h;
    return false;
}

bool pf_stderr_is_journal(void)
{
    return false;
}

static DWORD WINAPI flush(void *arg)
{
    (void)arg;
    (void)fflush(stdout);
    return 0;
}

void pf_standard_hold(void)
{
    /* Here handles are not numbered, and no other one gets the place of a closed one. */
}

void pf_flush_stdout(void)
{
    enum { PATIENCE_MS = 1000 }; /* ms to wait, because this system has no call that tries the lock of a stream */
    HANDLE thread = CreateThread(NULL, 0, flush, NULL, 0, NULL);
    if (thread == NULL) return;
    (void)WaitForSingleObject(thread, PATIENCE_MS);
    CloseHandle(thread);
}
