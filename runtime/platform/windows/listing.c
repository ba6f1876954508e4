/* runtime/platform/windows/listing.c -- lists the entries of a directory. */
#include <stdlib.h>
#include <string.h>

#include "system.h"

struct pf_listing {
    HANDLE find;
    WIN32_FIND_DATAW entry;
    bool has_entry; /* `entry` has not been returned yet */
};

int pf_listing_open(pf_listing **out, const char *path)
{
    wchar_t wide[PF_PATH_WIDE];
    int size = pf_wide(path, wide, PF_PATH_WIDE - 2); /* includes the NUL */
    if (size < 0) return WEFT_ENOTFOUND;
    if (size == 1) return WEFT_ENOTFOUND;
    memcpy(wide + size - 1, L"\\*", 3 * sizeof *wide);
    pf_listing *l = malloc(sizeof *l);
    if (l == NULL) return WEFT_ENOMEM;
    l->find = FindFirstFileExW(wide, FindExInfoBasic, &l->entry, FindExSearchNameMatch, NULL, 0);
    l->has_entry = l->find != INVALID_HANDLE_VALUE;
    DWORD error = l->has_entry ? ERROR_SUCCESS : GetLastError();
    wide[size - 1] = L'\0';
    DWORD there = error == ERROR_FILE_NOT_FOUND ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    /* A drive's root has no entries "." and "..", so it may be empty. */
    bool empty = there != INVALID_FILE_ATTRIBUTES && (there & FILE_ATTRIBUTE_DIRECTORY) != 0;
    if (error == ERROR_SUCCESS || empty) {
        *out = l;
        return WEFT_OK;
    }
    free(l);
    return pf_file_error((int)error);
}

static enum pf_entry_kind kind_of(const WIN32_FIND_DATAW *e)
{
    if ((e->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
        (e->dwReserved0 == IO_REPARSE_TAG_SYMLINK || e->dwReserved0 == IO_REPARSE_TAG_MOUNT_POINT))
        return PF_ENTRY_LINK;
    if ((e->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return PF_ENTRY_DIRECTORY;
    return (e->dwFileAttributes & FILE_ATTRIBUTE_DEVICE) != 0 ? PF_ENTRY_OTHER : PF_ENTRY_FILE;
}

int pf_listing_next(pf_listing *l, struct pf_entry *out)
{
    while (l->find != INVALID_HANDLE_VALUE) {
        if (!l->has_entry && !FindNextFileW(l->find, &l->entry))
            return GetLastError() == ERROR_NO_MORE_FILES ? 0 : pf_file_error((int)GetLastError());
        l->has_entry = false;
        const wchar_t *name = l->entry.cFileName;
        if (wcscmp(name, L".") == 0 || wcscmp(name, L"..") == 0) continue;
        out->kind = kind_of(&l->entry);
        /* Invalid UTF-16 becomes U+FFFD. */
        return WideCharToMultiByte(CP_UTF8, 0, name, -1, out->name, sizeof out->name, NULL, NULL) > 0 ? 1
                                                                                                      : WEFT_ETOOBIG;
    }
    return 0;
}

void pf_listing_close(pf_listing *l)
{
    if (l == NULL) return;
    if (l->find != INVALID_HANDLE_VALUE) (void)FindClose(l->find);
    free(l);
}
