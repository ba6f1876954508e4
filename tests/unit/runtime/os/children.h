/* tests/unit/runtime/os/children.h -- shared by the tests of child processes on all systems. */
#ifndef WF_TEST_CHILDREN_H
#define WF_TEST_CHILDREN_H

#include "../harness.h"

#include <weft/process.h>

static const weft_process_stdio PIPE = {WEFT_STDIO_PIPE, 0}, NOTHING = {WEFT_STDIO_NULL, 0};

static inline int try_to_start(const weft_process_options *options)
{
    weft_process p;
    return weft_process_start(&p, options, WEFT_FOREVER);
}

static inline weft_process start(const weft_process_options *options)
{
    weft_process p;
    want_int(weft_process_start(&p, options, WEFT_FOREVER), 0);
    return p;
}

static inline weft_process_status wait_for(weft_process p)
{
    weft_process_status s = {-2, -2};
    want_int(weft_process_wait(p, &s, WEFT_FOREVER), 0);
    return s;
}

/* Reads all bytes until the end. */
static inline void want_text(weft_stream s, const char *text)
{
    char got[512];
    int64_t n = weft_read_exact(s, got, sizeof got - 1, WEFT_FOREVER);
    want(n >= 0);
    got[n] = '\0';
    if (strcmp(got, text) != 0) fprintf(stderr, "got %s\n", got);
    want(strcmp(got, text) == 0);
}

#endif
