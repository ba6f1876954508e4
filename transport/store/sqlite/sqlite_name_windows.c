/* transport/store/sqlite/sqlite_name_windows.c -- see sqlite_name.h. SQLite follows no symbolic links here, and a short
 * name (STORE~1.DB) or one through a junction is another name for it. The system knows the name of an open file. */
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <sqlite3.h>

#include "sqlite_name.h"

enum { LONGEST = 32768 }; /* characters of a path, with the 0 */

/* Returns the name of what is open, in UTF-8. The system puts \\?\ before it, and \\?\UNC\ before those of other
 * machines. */
static char *to_text(const wchar_t *wide)
{
    char *text = sqlite3_malloc(3 * LONGEST);
    if (text == NULL || WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, 3 * LONGEST, NULL, NULL) == 0) {
        sqlite3_free(text);
        return NULL;
    }
    bool elsewhere = strncmp(text, "\\\\?\\UNC\\", 8) == 0, prefixed = strncmp(text, "\\\\?\\", 4) == 0;
    char *name = elsewhere ? sqlite3_mprintf("\\\\%s", text + 8) : sqlite3_mprintf("%s", text + (prefixed ? 4 : 0));
    sqlite3_free(text);
    return name;
}

static bool to_wide(const char *file, wchar_t wide[LONGEST])
{
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, file, -1, wide, LONGEST) > 0;
}

/* Opens it only to ask what it is. */
static HANDLE open_to_ask(const wchar_t *wide)
{
    const DWORD others = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    return CreateFileW(wide, 0, others, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

/* Writes the final name of the file. False: there is no such file, or it has no such name. */
static bool find_final(const char *file, wchar_t wide[LONGEST])
{
    if (!to_wide(file, wide)) return false;
    HANDLE h = open_to_ask(wide);
    if (h == INVALID_HANDLE_VALUE) return false;
    DWORD size = GetFinalPathNameByHandleW(h, wide, LONGEST, VOLUME_NAME_DOS);
    CloseHandle(h);
    return size > 0 && size < LONGEST;
}

char *sq_name(const char *file)
{
    wchar_t *wide = sqlite3_malloc(LONGEST * (int)sizeof *wide);
    if (wide == NULL) return NULL;
    char *name = find_final(file, wide) ? to_text(wide) : sqlite3_mprintf("%s", file);
    sqlite3_free(wide);
    return name;
}

static const char *kind_of(const wchar_t *wide)
{
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return "a folder";
    HANDLE h = open_to_ask(wide);
    if (h == INVALID_HANDLE_VALUE) return NULL;
    const DWORD type = GetFileType(h);
    CloseHandle(h);
    return type == FILE_TYPE_CHAR ? "a device" : type == FILE_TYPE_PIPE ? "a named pipe" : NULL;
}

const char *sq_other_kind(const char *file)
{
    wchar_t *wide = sqlite3_malloc(LONGEST * (int)sizeof *wide);
    const char *kind = wide != NULL && to_wide(file, wide) ? kind_of(wide) : NULL;
    sqlite3_free(wide);
    return kind;
}

static bool is_linked_twice(const wchar_t *wide)
{
    BY_HANDLE_FILE_INFORMATION is;
    HANDLE h = open_to_ask(wide);
    const bool several = h != INVALID_HANDLE_VALUE && GetFileInformationByHandle(h, &is) != 0 &&
                         is.nNumberOfLinks > 1;
    if (h != INVALID_HANDLE_VALUE) CloseHandle(h);
    return several;
}

bool sq_has_several_names(const char *file)
{
    wchar_t *wide = sqlite3_malloc(LONGEST * (int)sizeof *wide);
    const bool several = wide != NULL && to_wide(file, wide) && is_linked_twice(wide);
    sqlite3_free(wide);
    return several;
}

const char *sq_system_text(int number)
{
    switch (number) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return "no such file or folder";
    case ERROR_ACCESS_DENIED: return "access is denied, or it is a folder";
    case ERROR_SHARING_VIOLATION: return "another program has it open";
    default: return "the system gives no reason";
    }
}
