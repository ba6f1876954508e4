/* cli/os/compat_windows.c -- what is different on Windows: nodes have no control sockets and are asked by their
 * URL. */
#include <stdlib.h>
#include <string.h>
#include <winsock2.h>
/* after winsock2.h */
#include <windows.h>
/* after windows.h */
#include <aclapi.h>
#include <ntsecapi.h>
#include <ws2tcpip.h>

#include "compat.h"
#include "sockets.h"
#include "source_line.h"
#include "values.h"

/* Writes the system's text of the last error. */
static void last_error(char *why, size_t size)
{
    DWORD n = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, GetLastError(), 0, why,
                             (DWORD)size, NULL);
    why[n] = '\0';
    while (n > 0 && strchr("\r\n", why[n - 1]) != NULL) why[--n] = '\0';
}

/* ---- Nodes ----------------------------------------------------------------------------------------------------- */

int cli_control_socket(const struct cli *c, const char *name, char out[PATH_MAX])
{
    out[0] = '\0';
    return cli_check_node_name(c, name);
}

bool cli_socket_answers(const char *path)
{
    (void)path;
    return true; /* nothing is known of it */
}

void cli_each_node(const struct cli *c, void (*each)(const char *name, void *arg), void *arg)
{
    (void)c, (void)each, (void)arg; /* nodes have no sockets here */
}

int cli_node_url(const struct cli *c, char out[PATH_MAX + 8])
{
    if (c->node == NULL || strstr(c->node, "://") == NULL) {
        return cli_fail(c, CLI_USAGE, "on Windows a node is asked by the URL it listens on: %s",
                        "--node tcp://127.0.0.1:PORT, or WEFT_NODE");
    }
    snprintf(out, PATH_MAX + 8, "%s", c->node);
    return CLI_OK;
}

/* ---- compat.h -------------------------------------------------------------------------------------------------- */

bool cli_random(void *data, size_t size)
{
    return RtlGenRandom(data, (ULONG)size);
}

void cli_merge_memory(void)
{
}

FILE *cli_scratch(void)
{
    char folder[MAX_PATH - 14], path[MAX_PATH]; /* the next call takes no longer folder */
    DWORD n = GetTempPathA(sizeof folder, folder);
    if (n == 0 || n >= sizeof folder || GetTempFileNameA(folder, "weft", 0, path) == 0) return NULL;
    return fopen(path, "w+bTD");
}

static bool grow(char **line, size_t *capacity)
{
    const size_t more = *capacity == 0 ? 256 : 2 * *capacity;
    char *grown = realloc(*line, more);
    if (grown == NULL) return false;
    *line = grown;
    *capacity = more;
    return true;
}

bool cli_read_line(FILE *from, char **line, size_t *capacity, size_t *size)
{
    *size = 0;
    for (int c = 0; c != '\n' && (c = getc(from)) != EOF; (*line)[(*size)++] = (char)c)
        if (*size + 1 >= *capacity && !grow(line, capacity)) return false;
    if (*size == 0 || ferror(from) != 0) return false;
    (*line)[*size] = '\0';
    return true;
}

const char cli_slashes[] = "/\\";

bool cli_is_there(const char *path)
{
    return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
}

bool cli_whole_path(const char *path, char *out)
{
    return _fullpath(out, path, PATH_MAX) != NULL && cli_is_there(out);
}

bool cli_source_line(const char *file, uint64_t offset, char *out, size_t size)
{
    (void)file, (void)offset, (void)out, (void)size;
    return false;
}

/* Gives access to this user only; files and folders inside inherit it. */
struct own_access {
    SECURITY_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR descriptor;
    BYTE user[SECURITY_MAX_SID_SIZE + sizeof(TOKEN_USER)];
    PACL list;
};

static bool own_access(struct own_access *a)
{
    HANDLE token;
    DWORD size;
    EXPLICIT_ACCESSA entry = {.grfAccessPermissions = FILE_ALL_ACCESS,
                              .grfAccessMode = SET_ACCESS,
                              .grfInheritance = SUB_CONTAINERS_AND_OBJECTS_INHERIT,
                              .Trustee = {.TrusteeForm = TRUSTEE_IS_SID, .TrusteeType = TRUSTEE_IS_USER}};
    *a = (struct own_access){.attributes = {.nLength = sizeof a->attributes, .lpSecurityDescriptor = &a->descriptor}};
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return false;
    bool ok = GetTokenInformation(token, TokenUser, a->user, sizeof a->user, &size);
    CloseHandle(token);
    if (!ok) return false;
    TOKEN_USER user;
    memcpy(&user, a->user, sizeof user);
    entry.Trustee.ptstrName = user.User.Sid;
    return SetEntriesInAclA(1, &entry, NULL, &a->list) == ERROR_SUCCESS &&
           InitializeSecurityDescriptor(&a->descriptor, SECURITY_DESCRIPTOR_REVISION) &&
           SetSecurityDescriptorDacl(&a->descriptor, TRUE, a->list, FALSE) &&
           SetSecurityDescriptorControl(&a->descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED);
}

bool cli_make_folders(const char *path, char *why, size_t size)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1; at[-1] != '\0'; at++) {
        if (*at != '\0' && strchr(cli_slashes, *at) == NULL) continue;
        char kept = *at;
        *at = '\0';
        DWORD found = GetFileAttributesA(part);
        bool there = at[-1] == ':' || (found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY) != 0);
        if (!there && !CreateDirectoryA(part, NULL)) {
            last_error(why, size);
            return false;
        }
        *at = kept;
    }
    return true;
}

bool cli_make_folder(const char *path, char *why, size_t size)
{
    struct own_access access;
    DWORD found = GetFileAttributesA(path);
    if (found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY) != 0)
        return true; /* a drive as well */
    bool ok = own_access(&access) && CreateDirectoryA(path, &access.attributes);
    if (!ok) last_error(why, size);
    LocalFree(access.list);
    return ok;
}

static bool write_new(const char *path, const char *text, SECURITY_ATTRIBUTES *access)
{
    DWORD size = (DWORD)strlen(text), written;
    HANDLE file = CreateFileA(path, GENERIC_WRITE, 0, access, CREATE_NEW, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    bool ok = WriteFile(file, text, size, &written, NULL) && written == size && FlushFileBuffers(file);
    DWORD error = GetLastError();
    CloseHandle(file);
    if (!ok) (void)DeleteFileA(path);
    SetLastError(error);
    return ok;
}

/* A file that is not secret may be read by the users who may read its folder. */
bool cli_replace_file(const char *path, const char *text, bool secret, char *why, size_t size)
{
    char other[PATH_MAX + 128];
    struct own_access access = {.list = NULL};
    snprintf(other, sizeof other, "%s.new-%lu", path, GetCurrentProcessId());
    bool ok = (!secret || own_access(&access)) && write_new(other, text, secret ? &access.attributes : NULL);
    if (ok && !MoveFileExA(other, path, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
        DWORD error = GetLastError();
        (void)DeleteFileA(other);
        SetLastError(error);
        ok = false;
    }
    if (!ok) last_error(why, size);
    LocalFree(access.list);
    return ok;
}

char **cli_environment(void)
{
    return _environ;
}

size_t cli_ip(const char *text, unsigned char out[16])
{
    if (inet_pton(AF_INET, text, out) == 1) return 4;
    return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

void cli_utc(time_t t, struct tm *out)
{
    (void)gmtime_s(out, &t);
}

time_t cli_utc_time(struct tm *utc)
{
    return _mkgmtime(utc);
}
