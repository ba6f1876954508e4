/* runtime/platform/windows/directory.c -- directories and files that only this user may use. */
#include <string.h>

#include "system.h"
/* after windows.h */
#include <aclapi.h>

int pf_private_directory_of(const char *path)
{
    char folder[512];
    if (strncmp(path, "\\\\.\\pipe\\", 9) == 0) return WEFT_OK; /* a pipe is in no directory */
    const char *end = NULL;
    for (const char *c = path; *c != '\0'; c++)
        if (*c == '/' || *c == '\\') end = c;
    if (end == NULL || end == path) return WEFT_OK;
    size_t size = (size_t)(end - path);
    if (size >= sizeof folder) return WEFT_EADDRESS;
    memcpy(folder, path, size);
    folder[size] = '\0';
    /* The directory inherits its access rights: in a user's profile no other user has access. */
    if (CreateDirectoryA(folder, NULL) || GetLastError() == ERROR_ALREADY_EXISTS) return WEFT_OK;
    return GetLastError() == ERROR_ACCESS_DENIED ? WEFT_EACCESS : WEFT_ENOTFOUND;
}

/* Whether it is "Everyone", "Authenticated Users", or the group "Users". */
static bool is_many(PSID sid)
{
    return IsWellKnownSid(sid, WinWorldSid) || IsWellKnownSid(sid, WinAuthenticatedUserSid) ||
           IsWellKnownSid(sid, WinBuiltinUsersSid) || IsWellKnownSid(sid, WinBuiltinGuestsSid);
}

bool pf_file_is_shared(const char *path)
{
    PACL list = NULL;
    PSECURITY_DESCRIPTOR all = NULL;
    if (GetNamedSecurityInfoA(path, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, NULL, NULL, &list, NULL, &all) !=
        ERROR_SUCCESS)
        return false;
    bool shared = list == NULL; /* no list: all users may do everything */
    for (DWORD i = 0; list != NULL && i < list->AceCount; i++) {
        ACCESS_ALLOWED_ACE *entry;
        if (!GetAce(list, i, (void **)&entry) || entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE) continue;
        shared |= (entry->Mask & (FILE_READ_DATA | GENERIC_READ | GENERIC_ALL)) != 0 && is_many(&entry->SidStart);
    }
    LocalFree(all);
    return shared;
}

struct pf_socket_file pf_socket_file_at(const char *path)
{
    (void)path;
    return (struct pf_socket_file){0};
}

bool pf_is_other_file(const char *path)
{
    (void)path;
    return false;
}
