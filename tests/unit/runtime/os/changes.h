/* tests/unit/runtime/os/changes.h -- shared by the tests of changes on all systems. */
#ifndef WF_TEST_CHANGES_H
#define WF_TEST_CHANGES_H

#include "../folder.h"
#include "../harness.h"

#include <weft/changes.h>

static inline void move_file(int from, int to)
{
    char other[128];
    snprintf(other, sizeof other, "%s", file_path(to));
    want_int(rename(file_path(from), other), 0);
}

static inline weft_change next_change(weft_changes c)
{
    weft_change change;
    want_int(weft_changes_next(c, &change, WEFT_FOREVER), 1);
    return change;
}

/* Now, and from now on. */
static inline void expect_the_end(weft_changes c)
{
    weft_change change;
    weft_wait w = weft_on_changes(c);
    want_int(weft_changes_next(c, &change, WEFT_FOREVER), 0);
    want_int(weft_wait_any(&w, 1, WEFT_NOW), 0);
    want_int(weft_changes_next(c, &change, WEFT_NOW), 0);
}

#endif
