/* transport/store/sqlite/sqlite_name_windows.c -- see sqlite_name.h. SQLite follows no symbolic links here, and a short
 * name (STORE~1.DB) or one through a junction is another name for it. The system knows the name of an open file. */
#include <stdbool.h>
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

/* Writes the final name of the file. False: there is no such file, or it has no such name. */
static bool find_final(const char *file, wchar_t wide[LONGEST])
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, file, -1, wide, LONGEST) == 0) return false;
    HANDLE h = CreateFileW(wide, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0,
                           NULL);
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
