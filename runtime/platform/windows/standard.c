/* runtime/platform/windows/standard.c -- this process's standard streams.
 *
 * Design notes.
 * (1) They may be consoles, files, sockets or pipes of other processes, most of which the poller does not support. So
 *     each has a thread, which reads or writes it and may block, and a pipe (pipe.c) between that thread and the
 *     poller.
 * (2) Data reaches the stream only when that thread has written it. So the end of a node waits, for a limited time,
 *     for the threads whose stream was closed, because the end of the process would end them.
 * (3) The thread stops reading an input that is closed, if the system can cancel the read under way. A read that is
 *     just starting is not cancelled: it takes a piece of the input, and then the thread ends. */
#include <stdlib.h>

#include "socket.h"

enum { PIECE = 4096, PATIENCE_MS = 10000 };

struct carrier {
    struct carrier *next; /* in the list of all of them, under lock */
    pf_handle ours;       /* the end that the user has; PF_NO_HANDLE: it was closed. Under lock */
    SOCKET theirs;
    HANDLE thing, thread;
    bool out;
};

static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE less = CONDITION_VARIABLE_INIT;
static struct carrier *_Atomic all; /* changed under lock */

static bool write_all(HANDLE to, const char *data, DWORD size)
{
    while (size > 0) {
        DWORD n = 0;
        if (!WriteFile(to, data, size, &n, NULL) || n == 0) return false;
        data += n, size -= n;
    }
    return true;
}

static bool send_all(SOCKET to, const char *data, int size)
{
    while (size > 0) {
        int n = send(to, data, size, 0);
        if (n <= 0) return false;
        data += n, size -= n;
    }
    return true;
}

/* A console's read that returns no data may have been ended by Ctrl-C, which is not the end of the input. */
static bool read_some(HANDLE from, char *data, DWORD space, DWORD *size)
{
    SetLastError(ERROR_SUCCESS);
    return ReadFile(from, data, space, size, NULL) && (*size > 0 || GetLastError() == ERROR_OPERATION_ABORTED);
}

static bool is_wanted(const struct carrier *c)
{
    AcquireSRWLockShared(&lock);
    bool wanted = c->ours != PF_NO_HANDLE;
    ReleaseSRWLockShared(&lock);
    return wanted;
}

static void end(struct carrier *c)
{
    AcquireSRWLockExclusive(&lock);
    struct carrier *before = atomic_load(&all);
    if (before == c) atomic_store(&all, c->next);
    while (before != c && before->next != c) before = before->next;
    if (before != c) before->next = c->next;
    WakeAllConditionVariable(&less);
    ReleaseSRWLockExclusive(&lock);
    closesocket(c->theirs);
    CloseHandle(c->thing);
    CloseHandle(c->thread);
    free(c);
}

static DWORD WINAPI carry(void *arg)
{
    struct carrier *c = arg;
    char data[PIECE];
    DWORD n;
    int got;
    if (c->out) {
        while ((got = recv(c->theirs, data, sizeof data, 0)) > 0 && write_all(c->thing, data, (DWORD)got)) {}
    } else {
        while (is_wanted(c) && read_some(c->thing, data, sizeof data, &n))
            if (!send_all(c->theirs, data, (int)n)) break;
    }
    end(c);
    return 0;
}

static int open_carrier(struct carrier *c)
{
    pf_handle ends[2];
    int rc = pf_pipe(&ends[0], &ends[1], !c->out, c->out);
    if (rc < 0) return rc;
    c->ours = ends[c->out];
    c->theirs = (SOCKET)ends[!c->out];
    c->thread = CreateThread(NULL, 0, carry, c, CREATE_SUSPENDED, NULL);
    if (c->thread != NULL) return WEFT_OK;
    pf_close(ends[0]);
    pf_close(ends[1]);
    return WEFT_EFULL;
}

int pf_standard(pf_handle *out, int which)
{
    static const DWORD names[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    HANDLE self = GetCurrentProcess(), theirs = GetStdHandle(names[which]), thing;
    if (theirs == NULL || theirs == INVALID_HANDLE_VALUE ||
        !DuplicateHandle(self, theirs, self, &thing, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return WEFT_ECLOSED;
    struct carrier *c = calloc(1, sizeof *c);
    int rc = WEFT_ENOMEM;
    if (c != NULL) {
        c->thing = thing;
        c->out = which != 0;
        rc = open_carrier(c);
    }
    if (rc < 0) {
        CloseHandle(thing);
        free(c);
        return rc;
    }
    *out = c->ours; /* the thread frees the rest */
    AcquireSRWLockExclusive(&lock);
    c->next = atomic_load(&all);
    atomic_store(&all, c);
    ReleaseSRWLockExclusive(&lock);
    WF_ASSERT(ResumeThread(c->thread) != (DWORD)-1);
    return WEFT_OK;
}

void pf_standard_closes(pf_handle h)
{
    /* The thread that closes a handle has opened it, so it sees the list. */
    if (atomic_load_explicit(&all, memory_order_relaxed) == NULL) return;
    AcquireSRWLockExclusive(&lock);
    struct carrier *c = atomic_load(&all);
    while (c != NULL && c->ours != h) c = c->next;
    if (c != NULL) {
        c->ours = PF_NO_HANDLE;
        if (!c->out) (void)CancelSynchronousIo(c->thread);
    }
    ReleaseSRWLockExclusive(&lock);
}

static bool is_writing(void)
{
    struct carrier *c = atomic_load(&all);
    while (c != NULL && !(c->out && c->ours == PF_NO_HANDLE)) c = c->next;
    return c != NULL;
}

void pf_standard_drain(void)
{
    AcquireSRWLockExclusive(&lock);
    while (is_writing() && SleepConditionVariableSRW(&less, &lock, PATIENCE_MS, 0)) {}
    ReleaseSRWLockExclusive(&lock);
}
