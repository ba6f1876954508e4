/* runtime/platform/windows/command.c -- makes a program's path, its command line and its environment. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_WIDE = 32767, PATH_LIST_WIDE = 32768 }; /* the system's limits, with the NUL */

/* ---- The program ----------------------------------------------------------------------------------------------- */

/* Makes the path absolute; a `name` without a separator is copied, because it will be searched for. */
static int whole_path(const wchar_t *name, wchar_t out[PF_PATH_WIDE])
{
    if (wcspbrk(name, L"/\\:") == NULL) {
        size_t size = wcslen(name) + 1;
        if (size > PF_PATH_WIDE) return WEFT_ETOOBIG;
        memcpy(out, name, size * sizeof *name);
        return WEFT_OK;
    }
    DWORD size = GetFullPathNameW(name, PF_PATH_WIDE, out, NULL);
    return size == 0 || size >= PF_PATH_WIDE ? WEFT_ENOTFOUND : WEFT_OK;
}

static bool is_batch(const wchar_t *path)
{
    const wchar_t *ending = wcsrchr(path, L'.');
    return ending != NULL && (_wcsicmp(ending, L".bat") == 0 || _wcsicmp(ending, L".cmd") == 0);
}

static int find_program(const char *name, wchar_t **out)
{
    wchar_t given[PF_PATH_WIDE], path[PF_PATH_WIDE], found[PF_PATH_WIDE];
    if (pf_wide(name, given, PF_PATH_WIDE) < 0 || whole_path(given, path) < 0) return WEFT_ENOTFOUND;
    wchar_t *folders = malloc(PATH_LIST_WIDE * sizeof *folders);
    if (folders == NULL) return WEFT_ENOMEM;
    DWORD size = GetEnvironmentVariableW(L"PATH", folders, PATH_LIST_WIDE);
    if (size == 0 || size >= PATH_LIST_WIDE) folders[0] = L'\0';
    size = SearchPathW(folders, path, L".exe", PF_PATH_WIDE, found, NULL);
    free(folders);
    if (size == 0 || size >= PF_PATH_WIDE) return WEFT_ENOTFOUND;
    /* The normal form of the path has no trailing dots and spaces, which the system ignores. */
    size = GetFullPathNameW(found, PF_PATH_WIDE, path, NULL);
    if (size == 0 || size >= PF_PATH_WIDE) return WEFT_ENOTFOUND;
    if (is_batch(path)) return WEFT_EFORMAT;
    *out = _wcsdup(path);
    return *out == NULL ? WEFT_ENOMEM : WEFT_OK;
}

/* ---- The command line ------------------------------------------------------------------------------------------ */

struct line {
    wchar_t *at, *end;
};

static void put(struct line *l, wchar_t c, size_t times)
{
    while (times-- > 0 && l->at < l->end) *l->at++ = c;
}

/* Backslashes are special only before a quote: there each one is doubled, and the quote gets one of its own. */
static void put_argument(struct line *l, const wchar_t *arg)
{
    bool quoted = arg[0] == L'\0' || wcspbrk(arg, L" \t\n\v\"") != NULL;
    if (quoted) put(l, L'"', 1);
    for (; *arg != L'\0'; arg++) {
        size_t slashes = wcsspn(arg, L"\\");
        arg += slashes;
        bool before_quote = *arg == L'"' || (*arg == L'\0' && quoted);
        put(l, L'\\', before_quote ? 2 * slashes : slashes);
        if (*arg == L'\0') break;
        if (*arg == L'"') put(l, L'\\', 1);
        put(l, *arg, 1);
    }
    if (quoted) put(l, L'"', 1);
}

static int make_line(const char *const *argv, wchar_t **out)
{
    int rc = WEFT_OK;
    wchar_t *space = malloc(2 * LINE_MAX_WIDE * sizeof *space);
    if (space == NULL) return WEFT_ENOMEM;
    wchar_t *arg = space + LINE_MAX_WIDE;
    struct line l = {space, space + LINE_MAX_WIDE};
    for (size_t i = 0; argv[i] != NULL && rc == WEFT_OK; i++) {
        rc = pf_wide(argv[i], arg, LINE_MAX_WIDE);
        if (rc < 0) break;
        if (i > 0) put(&l, L' ', 1);
        put_argument(&l, arg);
        rc = WEFT_OK;
    }
    put(&l, L'\0', 1);
    if (rc == WEFT_OK && l.at == l.end) rc = WEFT_ETOOBIG;
    if (rc == WEFT_OK) *out = space;
    else free(space);
    return rc;
}

/* ---- The rest -------------------------------------------------------------------------------------------------- */

/* The variables follow each other, and an empty one ends the list. */
static int make_environment(const char *const *env, wchar_t **out)
{
    size_t space = 2;
    if (env == NULL) return WEFT_OK;
    for (size_t i = 0; env[i] != NULL; i++) space += strlen(env[i]) + 1; /* no character has more units than bytes */
    wchar_t *texts = calloc(space, sizeof *texts), *at = texts;
    if (texts == NULL) return WEFT_ENOMEM;
    for (size_t i = 0; env[i] != NULL; i++) {
        int size = pf_wide(env[i], at, space - (size_t)(at - texts));
        if (size < 0) {
            free(texts);
            return size;
        }
        at += size > 1 ? size : 0;
    }
    *out = texts;
    return WEFT_OK;
}

static int make_directory(const char *path, wchar_t **out)
{
    wchar_t wide[PF_PATH_WIDE];
    if (path == NULL) return WEFT_OK;
    if (pf_wide(path, wide, PF_PATH_WIDE) < 0) return WEFT_ENOTFOUND;
    DWORD there = GetFileAttributesW(wide);
    if (there == INVALID_FILE_ATTRIBUTES || (there & FILE_ATTRIBUTE_DIRECTORY) == 0) return WEFT_ENOTFOUND;
    *out = _wcsdup(wide);
    return *out == NULL ? WEFT_ENOMEM : WEFT_OK;
}

int pf_command_make(struct pf_command *out, const struct pf_process_options *o)
{
    *out = (struct pf_command){NULL, NULL, NULL, NULL};
    int rc = find_program(o->argv[0], &out->program);
    if (rc == WEFT_OK) rc = make_line(o->argv, &out->line);
    if (rc == WEFT_OK) rc = make_environment(o->env, &out->env);
    if (rc == WEFT_OK) rc = make_directory(o->directory, &out->directory);
    if (rc < 0) pf_command_free(out);
    return rc;
}

void pf_command_free(struct pf_command *c)
{
    free(c->program);
    free(c->line);
    free(c->env);
    free(c->directory);
}
