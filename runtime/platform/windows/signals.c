/* runtime/platform/windows/signals.c -- the events of a console: SIGINT is its Ctrl-C, SIGBREAK its Ctrl-Break,
 * SIGTERM the end of the console, the session or the system. Ctrl-Break is SIGTERM if SIGBREAK is not caught. The
 * system starts a thread for each event, so no thread of our own is needed. */
#include <signal.h>

#include "system.h"

_Static_assert(SIGINT == PF_SIGINT && SIGTERM == PF_SIGTERM, "as everywhere");

static SRWLOCK changing = SRWLOCK_INIT; /* held while `caught` is changed */
static SRWLOCK calling = SRWLOCK_INIT;  /* held shared while `on` runs */
static bool caught[3];                  /* of SIGINT, SIGTERM, SIGBREAK; under both locks */
static void (*on_one)(int number);

static bool *caught_of(int number)
{
    return &caught[number == SIGINT ? 0 : number == SIGTERM ? 1 : 2];
}

static BOOL WINAPI on_control(DWORD what)
{
    AcquireSRWLockShared(&calling);
    int number = what == CTRL_C_EVENT                               ? SIGINT
                 : what == CTRL_BREAK_EVENT && *caught_of(SIGBREAK) ? SIGBREAK
                                                                    : SIGTERM;
    bool watched = *caught_of(number);
    if (watched) on_one(number);
    ReleaseSRWLockShared(&calling);
    /* After these events the system ends the process as soon as this returns: so do not return, and leave the node
     * the time that the system allows. */
    if (watched && what != CTRL_C_EVENT && what != CTRL_BREAK_EVENT) Sleep(INFINITE);
    return watched;
}

/* The caller holds `changing`; with `calling` as well, no call for a released signal is running when this returns. */
static bool set(int number, bool value)
{
    AcquireSRWLockExclusive(&calling);
    *caught_of(number) = value;
    bool any = caught[0] || caught[1] || caught[2];
    ReleaseSRWLockExclusive(&calling);
    return any;
}

int pf_signal_catch(int number, void (*on)(int number))
{
    if (number != SIGINT && number != SIGTERM && number != SIGBREAK) return WEFT_EINVAL;
    AcquireSRWLockExclusive(&changing);
    bool first = !caught[0] && !caught[1] && !caught[2], again = *caught_of(number);
    if (!again) {
        on_one = on;
        (void)set(number, true);
        /* A process that was started with Ctrl-C disabled, for example in the background, receives it again. */
        (void)SetConsoleCtrlHandler(NULL, FALSE);
        WF_ASSERT(!first || SetConsoleCtrlHandler(on_control, TRUE));
    }
    ReleaseSRWLockExclusive(&changing);
    return again ? WEFT_EEXIST : WEFT_OK;
}

void pf_signal_release(int number)
{
    AcquireSRWLockExclusive(&changing);
    WF_ASSERT(*caught_of(number));
    if (!set(number, false)) (void)SetConsoleCtrlHandler(on_control, FALSE);
    ReleaseSRWLockExclusive(&changing);
}

/* On this system a failed write returns an error and raises no signal. */
void pf_signals_hold_off(struct pf_held_off *out)
{
    *out = (struct pf_held_off){0};
}

void pf_signals_let_go(const struct pf_held_off *h)
{
    (void)h;
}

void pf_signals_before_write(void)
{
}
