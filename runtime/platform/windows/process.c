/* runtime/platform/windows/process.c -- child processes.
 *
 * Design notes.
 * (1) A child inherits a list of handles, which are copies of the three streams, and no other inheritable handle of
 *     this process.
 * (2) A thread of the system's pool waits for the end of a child and posts a packet with the tag to the port.
 * (3) A command line is one text. It is written so that the C library of the child splits it into the given
 *     arguments. The interpreter of batch files has other rules, by which an argument could become a command: so
 *     batch files are refused. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "port.h"

enum { NEEDS_ELEVATION = 740 }; /* ERROR_ELEVATION_REQUIRED, which not all headers have */

struct child {
    HANDLE process;
    HANDLE wait; /* NULL: not watched */
    HANDLE port;
    uint64_t tag;
    _Atomic int ended_by; /* the signal; relaxed: the child's handle orders it */
};

static struct child *child_of(const struct pf_process *c)
{
    return (struct child *)(void *)c->handle;
}

static int start_error(DWORD error)
{
    switch (error) {
    case ERROR_BAD_EXE_FORMAT:
    case ERROR_EXE_MACHINE_TYPE_MISMATCH: return WEFT_EFORMAT;
    case NEEDS_ELEVATION: return WEFT_EACCESS;
    case ERROR_FILENAME_EXCED_RANGE: return WEFT_ETOOBIG;
    default: return pf_file_error_of("CreateProcess", (int)error);
    }
}

/* ---- Streams --------------------------------------------------------------------------------------------------- */

/* Makes a copy that the child inherits; NULL: the child has no such stream. */
static int stream_for(const struct pf_process_options *o, int which, HANDLE *out)
{
    static const DWORD standard[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    HANDLE self = GetCurrentProcess(), from = (HANDLE)o->handle[which];
    if (o->stdio[which] == PF_STDIO_NULL) {
        SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
        *out = CreateFileW(L"NUL", which == 0 ? GENERIC_READ : GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                           &inherited, OPEN_EXISTING, 0, NULL);
        if (*out != INVALID_HANDLE_VALUE) return WEFT_OK;
        *out = NULL;
        return pf_error((int)GetLastError());
    }
    if (o->stdio[which] == PF_STDIO_INHERIT) from = GetStdHandle(standard[which]);
    if (DuplicateHandle(self, from, self, out, 0, TRUE, DUPLICATE_SAME_ACCESS)) return WEFT_OK;
    *out = NULL;
    return o->stdio[which] == PF_STDIO_INHERIT ? WEFT_OK : pf_error((int)GetLastError());
}

static void close_streams(const HANDLE stream[3])
{
    for (int i = 0; i < 3; i++)
        if (stream[i] != NULL) (void)CloseHandle(stream[i]);
}

/* ---- Its start ------------------------------------------------------------------------------------------------- */

static int create(struct pf_process *out, const struct pf_command *c, bool detached, STARTUPINFOEXW *start)
{
    PROCESS_INFORMATION made;
    DWORD flags = EXTENDED_STARTUPINFO_PRESENT | CREATE_UNICODE_ENVIRONMENT |
                  (detached ? (DWORD)CREATE_NEW_PROCESS_GROUP : 0);
    if (!CreateProcessW(c->program, c->line, NULL, NULL, start->lpAttributeList != NULL, flags, c->env, c->directory,
                        &start->StartupInfo, &made))
        return start_error(GetLastError());
    (void)CloseHandle(made.hThread);
    child_of(out)->process = made.hProcess;
    out->id = made.dwProcessId;
    return WEFT_OK;
}

/* Starts the child, which inherits only these handles. */
static int create_with(struct pf_process *out, const struct pf_command *c, bool detached, const HANDLE stream[3])
{
    STARTUPINFOEXW start = {.StartupInfo = {.cb = sizeof start,
                                            .dwFlags = STARTF_USESTDHANDLES,
                                            .hStdInput = stream[0],
                                            .hStdOutput = stream[1],
                                            .hStdError = stream[2]}};
    HANDLE given[3];
    size_t count = 0, size = 0;
    for (int i = 0; i < 3; i++)
        if (stream[i] != NULL) given[count++] = stream[i];
    if (count == 0) return create(out, c, detached, &start);
    (void)InitializeProcThreadAttributeList(NULL, 1, 0, &size); /* finds out its size */
    if ((start.lpAttributeList = malloc(size)) == NULL) return WEFT_ENOMEM;
    int rc;
    if (InitializeProcThreadAttributeList(start.lpAttributeList, 1, 0, &size)) {
        if (UpdateProcThreadAttribute(start.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, given,
                                      count * sizeof *given, NULL, NULL))
            rc = create(out, c, detached, &start);
        else rc = pf_unknown_error("UpdateProcThreadAttribute", (int)GetLastError());
        DeleteProcThreadAttributeList(start.lpAttributeList);
    } else {
        rc = pf_unknown_error("InitializeProcThreadAttributeList", (int)GetLastError());
    }
    free(start.lpAttributeList);
    return rc;
}

int pf_process_start(struct pf_process *out, const struct pf_process_options *o)
{
    struct pf_command command;
    HANDLE stream[3] = {NULL, NULL, NULL};
    if (o->argv == NULL || o->argv[0] == NULL || o->argv[0][0] == '\0') return WEFT_EINVAL;
    int rc = pf_command_make(&command, o);
    if (rc < 0) return rc;
    struct child *c = calloc(1, sizeof *c);
    if (c == NULL) rc = WEFT_ENOMEM;
    out->handle = (pf_handle)c;
    for (int i = 0; i < 3 && rc == WEFT_OK; i++) rc = stream_for(o, i, &stream[i]);
    if (rc == WEFT_OK) rc = create_with(out, &command, o->detached, stream);
    close_streams(stream);
    pf_command_free(&command);
    if (rc < 0) free(c);
    return rc;
}

/* ---- Its end --------------------------------------------------------------------------------------------------- */

/* The signal that other systems raise for this exit status of a fault; 0: the child returned this code itself. */
static int signal_of(DWORD code)
{
    switch (code) {
    case STATUS_CONTROL_C_EXIT: return SIGINT;
    case STATUS_ACCESS_VIOLATION:
    case STATUS_STACK_OVERFLOW: return SIGSEGV;
    case STATUS_ILLEGAL_INSTRUCTION:
    case STATUS_PRIVILEGED_INSTRUCTION: return SIGILL;
    case STATUS_INTEGER_DIVIDE_BY_ZERO:
    case STATUS_FLOAT_DIVIDE_BY_ZERO: return SIGFPE;
    default: return 0;
    }
}

static int reap(struct pf_process *p, struct pf_exit *out, DWORD milliseconds)
{
    struct child *c = child_of(p);
    DWORD code;
    if (WaitForSingleObject(c->process, milliseconds) == WAIT_TIMEOUT) return PF_AGAIN;
    *out = (struct pf_exit){.code = -1};
    p->id = 0; /* from here on the number may belong to another process */
    if (!GetExitCodeProcess(c->process, &code)) return pf_unknown_error("GetExitCodeProcess", (int)GetLastError());
    out->signal = atomic_load_explicit(&c->ended_by, memory_order_relaxed);
    if (out->signal == 0) out->signal = signal_of(code);
    if (out->signal == 0) out->code = (int)code;
    return WEFT_OK;
}

int pf_process_reap(struct pf_process *c, struct pf_exit *out)
{
    return reap(c, out, 0);
}

int pf_process_wait(struct pf_process *c, struct pf_exit *out)
{
    return reap(c, out, INFINITE);
}

int pf_process_signal(struct pf_process *p, int number)
{
    struct child *c = child_of(p);
    if (p->id == 0) return WEFT_ECLOSED;
    if (number <= 0) return WEFT_EINVAL;
    if (number != PF_SIGTERM && number != PF_SIGKILL) return WEFT_ENOTSUP;
    if (WaitForSingleObject(c->process, 0) == WAIT_OBJECT_0) return WEFT_ECLOSED;
    int before = atomic_exchange_explicit(&c->ended_by, number, memory_order_relaxed);
    if (TerminateProcess(c->process, 128 + (UINT)number)) return WEFT_OK;
    int rc = pf_error((int)GetLastError());
    atomic_store_explicit(&c->ended_by, before, memory_order_relaxed);
    /* The system also returns this for a child that is just ending by itself. */
    bool over = rc == WEFT_EACCESS && WaitForSingleObject(c->process, 0) == WAIT_OBJECT_0;
    return over ? WEFT_ECLOSED : rc;
}

void pf_process_free(struct pf_process *p)
{
    struct child *c = child_of(p);
    WF_ASSERT(c->wait == NULL);
    (void)CloseHandle(c->process);
    free(c);
    p->handle = PF_NO_HANDLE;
}

static void CALLBACK on_end(void *arg, BOOLEAN timed_out)
{
    const struct child *c = arg;
    (void)timed_out;
    WF_ASSERT(PostQueuedCompletionStatus(c->port, 0, PF_KEY_PROCESS, (OVERLAPPED *)(uintptr_t)c->tag));
}

int pf_native_process_watch(struct pf_poller *p, struct pf_process *process, uint64_t tag)
{
    struct child *c = child_of(process);
    c->port = pf_poller_port(p);
    c->tag = tag;
    if (RegisterWaitForSingleObject(&c->wait, c->process, on_end, c, INFINITE, WT_EXECUTEONLYONCE)) return WEFT_OK;
    c->wait = NULL;
    return pf_error((int)GetLastError());
}

void pf_native_process_unwatch(struct pf_poller *p, struct pf_process *process)
{
    struct child *c = child_of(process);
    (void)p;
    if (c->wait == NULL) return;
    (void)UnregisterWaitEx(c->wait, INVALID_HANDLE_VALUE); /* returns after on_end has returned */
    c->wait = NULL;
}
