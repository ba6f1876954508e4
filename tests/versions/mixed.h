/* tests/versions/mixed.h -- what the modules of versions_test.py share. They are compiled for each version of weft, so they
 * use nothing that one of them lacks. */
#ifndef MIXED_H
#define MIXED_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft.h>

/* Global names, groups and retained messages of several nodes, credit: the versions of wire format 1 have none. */
#ifndef TABLES
#define TABLES 1
#endif
#ifndef weft_ignore
#define weft_ignore(call) ((void)(call))
#endif

enum { PATIENCE_S = 60 };

static int64_t soon(void)
{
    return weft_after(WEFT_SEC(PATIENCE_S));
}

static void say_all(const char *begin, const char *format, va_list args)
{
    char line[400];
    int n = snprintf(line, sizeof line, "%s", begin);
    vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    fprintf(stdout, "%s\n", line);
    fflush(stdout);
}

static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_all("", format, args);
    va_end(args);
}

/* A promise: whether it is kept, which one, and what was seen. */
static void check(bool holds, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say_all(holds ? "ok " : "WRONG ", format, args);
    va_end(args);
}

static bool same_pid(weft_pid a, weft_pid b)
{
    return a.node == b.node && a.actor == b.actor;
}

#endif
