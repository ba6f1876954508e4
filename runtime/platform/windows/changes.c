/* runtime/platform/windows/changes.c -- changes of directories and files.
 *
 * Design notes.
 * (1) A thread for each watch reads the system's records and writes ours into a pipe (pipe.c), which the poller can
 *     wait for. While the pipe is full it reads no records: the system then buffers some, and reports when it had to
 *     drop some.
 * (2) A directory does not report its own removal, and a file cannot be watched. So the parent directory is watched
 *     as well, for this one name. A drive has no parent directory.
 * (3) The thread ends when the reader has closed the pipe, which an event reports, like all else. */
#include <stdlib.h>
#include <string.h>

#include "socket.h"

enum { BUFFER = 16 * 1024, SOCKET_BUFFER = 32 * 1024, NAME_MAX_WIDE = 256 };

struct record {
    uint32_t kind;
    uint32_t size; /* size of the name that follows, with its NUL */
};

struct folder {
    HANDLE handle; /* NULL: not watched */
    OVERLAPPED o;
    bool under_way;
    DWORD data[BUFFER / sizeof(DWORD)];
};

enum { INSIDE, AROUND, FOLDERS };
struct watch {
    SOCKET out;
    HANDLE out_event;
    struct folder of[FOLDERS];
    wchar_t path[PF_PATH_WIDE];
    const wchar_t *name; /* in the parent directory: the last part of `path` */
};

/* ---- Records --------------------------------------------------------------------------------------------------- */

int64_t pf_changes_parse(const void *data, size_t size, struct pf_change *out)
{
    struct record r;
    if (size < sizeof r) return 0;
    memcpy(&r, data, sizeof r);
    if (r.size == 0 || r.size > sizeof out->name) return WEFT_EFORMAT;
    if (size - sizeof r < r.size) return 0;
    out->kind = (enum pf_change_kind)r.kind;
    memcpy(out->name, (const char *)data + sizeof r, r.size);
    out->name[r.size - 1] = '\0';
    return (int64_t)(sizeof r + r.size);
}

static size_t make_record(char *out, enum pf_change_kind kind, const char *name)
{
    struct record r = {(uint32_t)kind, (uint32_t)strlen(name) + 1};
    memcpy(out, &r, sizeof r);
    memcpy(out + sizeof r, name, r.size);
    return sizeof r + r.size;
}

size_t pf_changes_end(void *out)
{
    return make_record(out, PF_CHANGE_END, "");
}

/* False: the reader has closed the pipe. */
static bool tell(struct watch *w, enum pf_change_kind kind, const char *name)
{
    char data[sizeof(struct record) + sizeof((struct pf_change *)0)->name];
    size_t size = make_record(data, kind, name), done = 0;
    while (done < size) {
        int n = send(w->out, data + done, (int)(size - done), 0);
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        WSANETWORKEVENTS events;
        if (WSAGetLastError() != WSAEWOULDBLOCK) return false;
        (void)WaitForSingleObject(w->out_event, INFINITE);
        if (WSAEnumNetworkEvents(w->out, w->out_event, &events) != 0 || (events.lNetworkEvents & FD_CLOSE) != 0)
            return false;
    }
    return true;
}

/* ---- What the system says -------------------------------------------------------------------------------------- */

static enum pf_change_kind kind_of(DWORD action)
{
    switch (action) {
    case FILE_ACTION_ADDED:
    case FILE_ACTION_RENAMED_NEW_NAME: return PF_CHANGE_CREATED;
    case FILE_ACTION_REMOVED:
    case FILE_ACTION_RENAMED_OLD_NAME: return PF_CHANGE_REMOVED;
    default: return PF_CHANGE_MODIFIED;
    }
}

static bool is_folder(const wchar_t *path)
{
    DWORD a = GetFileAttributesW(path);
    return a != INVALID_FILE_ATTRIBUTES && (a & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

static bool has_name(const FILE_NOTIFY_INFORMATION *i, const wchar_t *name)
{
    return CompareStringOrdinal(i->FileName, (int)(i->FileNameLength / sizeof(wchar_t)), name, -1, TRUE) ==
           CSTR_EQUAL;
}

static bool take_inside(struct watch *w, const FILE_NOTIFY_INFORMATION *i)
{
    char name[sizeof((struct pf_change *)0)->name];
    enum pf_change_kind kind = kind_of(i->Action);
    int n = WideCharToMultiByte(CP_UTF8, 0, i->FileName, (int)(i->FileNameLength / sizeof(wchar_t)), name,
                                sizeof name - 1, NULL, NULL);
    name[WF_MAX(n, 0)] = '\0';
    return tell(w, kind, name);
}

/* Returns false also when the watched file is gone, because no record follows that. */
static bool take_around(struct watch *w, const FILE_NOTIFY_INFORMATION *i)
{
    if (!has_name(i, w->name)) return true;
    enum pf_change_kind kind = kind_of(i->Action);
    if (kind == PF_CHANGE_REMOVED) return (void)tell(w, PF_CHANGE_GONE, ""), false;
    return kind != PF_CHANGE_MODIFIED || w->of[INSIDE].handle != NULL || tell(w, kind, "");
}

/* The system had to drop records. */
static bool lose(struct watch *w, int which)
{
    if (which == AROUND && GetFileAttributesW(w->path) == INVALID_FILE_ATTRIBUTES)
        return (void)tell(w, PF_CHANGE_GONE, ""), false;
    return (which == AROUND && w->of[INSIDE].handle != NULL) || tell(w, PF_CHANGE_OVERFLOW, "");
}

static bool ask(struct watch *w, int which)
{
    struct folder *f = &w->of[which];
    DWORD names = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME;
    DWORD wanted = which == AROUND && w->of[INSIDE].handle != NULL
                       ? FILE_NOTIFY_CHANGE_DIR_NAME
                       : names | FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_SIZE;
    HANDLE event = f->o.hEvent;
    if (f->handle == NULL) return true;
    f->o = (OVERLAPPED){.hEvent = event};
    f->under_way = ReadDirectoryChangesW(f->handle, f->data, sizeof f->data, FALSE, wanted, NULL, &f->o, NULL);
    return f->under_way;
}

static bool take(struct watch *w, int which)
{
    struct folder *f = &w->of[which];
    DWORD size = 0;
    f->under_way = false;
    if (!GetOverlappedResult(f->handle, &f->o, &size, TRUE)) {
        if (GetLastError() != ERROR_NOTIFY_ENUM_DIR) return (void)tell(w, PF_CHANGE_GONE, ""), false;
        size = 0;
    }
    const char *at = (const char *)f->data;
    bool good = size > 0 || lose(w, which);
    while (good && size > 0) {
        const FILE_NOTIFY_INFORMATION *i = (const FILE_NOTIFY_INFORMATION *)(const void *)at;
        good = which == INSIDE ? take_inside(w, i) : take_around(w, i);
        if (i->NextEntryOffset == 0) break;
        at += i->NextEntryOffset;
    }
    if (good && !ask(w, which)) return (void)tell(w, PF_CHANGE_GONE, ""), false;
    return good;
}

/* ---- The watch ------------------------------------------------------------------------------------------------- */

static void end_watch(struct watch *w)
{
    for (int i = 0; i < FOLDERS; i++) {
        struct folder *f = &w->of[i];
        DWORD size;
        if (f->under_way && (CancelIoEx(f->handle, &f->o) || GetLastError() == ERROR_NOT_FOUND))
            (void)GetOverlappedResult(f->handle, &f->o, &size, TRUE);
        if (f->handle != NULL) CloseHandle(f->handle);
        if (f->o.hEvent != NULL) CloseHandle(f->o.hEvent);
    }
    if (w->out != INVALID_SOCKET) closesocket(w->out);
    if (w->out_event != NULL) CloseHandle(w->out_event);
    free(w);
}

static DWORD WINAPI run(void *arg)
{
    struct watch *w = arg;
    bool inside = w->of[INSIDE].handle != NULL;
    /* The events of the directory come first, so that its changes are reported before its removal, which the parent
     * reports. */
    HANDLE events[] = {w->out_event, w->of[inside ? INSIDE : AROUND].o.hEvent, w->of[AROUND].o.hEvent};
    DWORD count = 1 + (DWORD)inside + (DWORD)(w->of[AROUND].handle != NULL);
    for (bool good = true; good;) {
        DWORD n = WaitForMultipleObjects(count, events, FALSE, INFINITE) - WAIT_OBJECT_0;
        WSANETWORKEVENTS news = {0};
        if (n == 0)
            good = WSAEnumNetworkEvents(w->out, w->out_event, &news) == 0 && (news.lNetworkEvents & FD_CLOSE) == 0;
        else good = n < count && take(w, n == 1 && inside ? INSIDE : AROUND);
    }
    end_watch(w);
    return 0;
}

static int open_folder(struct folder *f, const wchar_t *path)
{
    HANDLE h = CreateFileW(path, FILE_LIST_DIRECTORY, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                           OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OVERLAPPED, NULL);
    if (h == INVALID_HANDLE_VALUE) return pf_file_error((int)GetLastError());
    f->handle = h;
    f->o.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    return f->o.hEvent == NULL ? WEFT_ENOMEM : WEFT_OK;
}

/* Splits the path in two. A drive's root has no parent directory. */
static int open_around(struct watch *w)
{
    wchar_t *end = wcsrchr(w->path, L'\\');
    if (end == NULL || end[1] == L'\0') return WEFT_OK;
    wchar_t folder[PF_PATH_WIDE];
    size_t size = (size_t)(end - w->path) + 1; /* with the separator: "C:" is another thing than "C:\" */
    memcpy(folder, w->path, size * sizeof *folder);
    folder[size] = L'\0';
    w->name = end + 1;
    return open_folder(&w->of[AROUND], folder);
}

static int open_all(struct watch *w, const char *path)
{
    wchar_t given[PF_PATH_WIDE];
    if (pf_wide(path, given, PF_PATH_WIDE) < 0) return WEFT_ENOTFOUND;
    DWORD size = GetFullPathNameW(given, PF_PATH_WIDE, w->path, NULL);
    if (size == 0 || size >= PF_PATH_WIDE) return WEFT_ENOTFOUND;
    if (size > 3 && w->path[size - 1] == L'\\') w->path[size - 1] = L'\0';
    if (GetFileAttributesW(w->path) == INVALID_FILE_ATTRIBUTES) return pf_file_error((int)GetLastError());
    int rc = is_folder(w->path) ? open_folder(&w->of[INSIDE], w->path) : WEFT_OK;
    int around = rc < 0 ? rc : open_around(w);
    /* Without the right to read the parent directory, only the removal of the directory is not reported. */
    return around < 0 && w->of[INSIDE].handle != NULL && around == WEFT_EACCESS ? WEFT_OK : around;
}

static int open_pipe(struct watch *w, pf_handle *reading)
{
    pf_handle writing;
    int size = SOCKET_BUFFER, rc = pf_pipe(reading, &writing, true, false);
    if (rc < 0) return rc;
    w->out = (SOCKET)writing;
    (void)setsockopt(w->out, SOL_SOCKET, SO_SNDBUF, (const char *)&size, sizeof size);
    (void)setsockopt((SOCKET)*reading, SOL_SOCKET, SO_RCVBUF, (const char *)&size, sizeof size);
    w->out_event = CreateEventW(NULL, FALSE, FALSE, NULL);
    bool good = w->out_event != NULL && WSAEventSelect(w->out, w->out_event, FD_WRITE | FD_CLOSE) == 0;
    return good ? WEFT_OK : WEFT_ENOMEM;
}

int pf_changes_open(pf_handle *out, const char *path)
{
    struct watch *w = calloc(1, sizeof *w);
    HANDLE thread = NULL;
    pf_handle reading = PF_NO_HANDLE;
    if (w == NULL) return WEFT_ENOMEM;
    w->out = INVALID_SOCKET;
    int rc = open_all(w, path);
    if (rc == WEFT_OK) rc = open_pipe(w, &reading);
    /* From here on no change is missed. */
    if (rc == WEFT_OK && !(ask(w, INSIDE) && ask(w, AROUND))) rc = pf_file_error((int)GetLastError());
    if (rc == WEFT_OK && (thread = CreateThread(NULL, 0, run, w, 0, NULL)) == NULL) rc = WEFT_EFULL;
    if (rc < 0) {
        pf_close(reading);
        end_watch(w);
        return rc;
    }
    CloseHandle(thread);
    *out = reading;
    return WEFT_OK;
}
