/* tests/unit/runtime/folder.h -- a temporary folder of a test, with files named by numbers. */
#ifndef WF_TEST_FOLDER_H
#define WF_TEST_FOLDER_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "temporary.h"

enum { FOLDER_FILES = 64 };

static char folder_path[64];

__attribute__((unused)) static const char *file_path(int n)
{
    static _Thread_local char path[128];
    snprintf(path, sizeof path, "%s/%d", folder_path, n);
    return path;
}

static void folder_make(void)
{
    strcpy(folder_path, "/tmp/weft-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder_path));
}

static void folder_remove(void)
{
    for (int i = 0; i < FOLDER_FILES; i++) (void)unlink(file_path(i));
    ck_assert_int_eq(rmdir(folder_path), 0);
}

#endif
