/* tests/capture.h -- captures what a part of a test writes to standard error. */
#ifndef WF_TEST_CAPTURE_H
#define WF_TEST_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <windows.h>
#undef interface /* words of their own in C */
#undef near
#undef far

typedef struct {
    HANDLE reading, writing, before;
} capture_state;

/* What is written meanwhile has to fit into a pipe. */
__attribute__((unused)) static capture_state capture_start(void)
{
    capture_state c = {.before = GetStdHandle(STD_ERROR_HANDLE)};
    if (!CreatePipe(&c.reading, &c.writing, NULL, 64 * 1024)) abort();
    SetStdHandle(STD_ERROR_HANDLE, c.writing);
    return c;
}

/* As text; its size. */
__attribute__((unused)) static size_t capture_end(capture_state *c, char *out, size_t space)
{
    size_t size = 0;
    DWORD n;
    SetStdHandle(STD_ERROR_HANDLE, c->before);
    CloseHandle(c->writing);
    while (ReadFile(c->reading, out + size, (DWORD)(space - 1 - size), &n, NULL) && n > 0) size += n;
    CloseHandle(c->reading);
    out[size] = '\0';
    return size;
}
#else
#include <unistd.h>

typedef struct {
    int reading, writing, before;
} capture_state;

/* What is written meanwhile has to fit into a pipe. */
__attribute__((unused)) static capture_state capture_start(void)
{
    int ends[2], before = dup(STDERR_FILENO);
    if (before < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) abort();
    return (capture_state){ends[0], ends[1], before};
}

/* As text; its size. */
__attribute__((unused)) static size_t capture_end(capture_state *c, char *out, size_t space)
{
    size_t size = 0;
    if (dup2(c->before, STDERR_FILENO) < 0) abort();
    close(c->before);
    close(c->writing);
    for (ssize_t n; (n = read(c->reading, out + size, space - 1 - size)) > 0;) size += (size_t)n;
    close(c->reading);
    out[size] = '\0';
    return size;
}
#endif
#endif
