/* runtime/platform/windows/signals.c -- requests to end the process: Ctrl-C and Ctrl-Break in its console, and the
 * end of the console, the session or the system. The system starts a thread for each. */
#include <signal.h>
#include <stdlib.h>

#include "system.h"

struct pf_signals {
    void (*on)(void *arg, int number);
    void *arg;
};

static SRWLOCK lock = SRWLOCK_INIT;
static struct pf_signals *watcher; /* under lock */

static BOOL WINAPI on_control(DWORD what)
{
    AcquireSRWLockExclusive(&lock);
    bool watched = watcher != NULL;
    if (watched) watcher->on(watcher->arg, what == CTRL_C_EVENT ? SIGINT : SIGTERM);
    ReleaseSRWLockExclusive(&lock);
    /* After these the process is ended as soon as this returns: leave the node the time the system allows. */
    if (watched && what != CTRL_C_EVENT && what != CTRL_BREAK_EVENT) Sleep(INFINITE);
    return watched;
}

int pf_signals_watch(pf_signals **out, void (*on)(void *arg, int number), void *arg)
{
    struct pf_signals *s = calloc(1, sizeof *s);
    if (s == NULL) return WEFT_ENOMEM;
    *s = (struct pf_signals){.on = on, .arg = arg};
    AcquireSRWLockExclusive(&lock);
    WF_ASSERT(watcher == NULL);
    watcher = s;
    ReleaseSRWLockExclusive(&lock);
    /* A process that was started with Ctrl-C switched off, as in the background, hears it again. */
    (void)SetConsoleCtrlHandler(NULL, FALSE);
    WF_ASSERT(SetConsoleCtrlHandler(on_control, TRUE));
    *out = s;
    return WEFT_OK;
}

void pf_signals_unwatch(pf_signals *s)
{
    if (s == NULL) return;
    (void)SetConsoleCtrlHandler(on_control, FALSE);
    AcquireSRWLockExclusive(&lock);
    watcher = NULL;
    ReleaseSRWLockExclusive(&lock);
    free(s);
}
