/* tests/unit/actors/core/misuse_kit.h -- captures the log, for tests of its lines about mistakes. */
#ifndef WF_MISUSE_KIT_H
#define WF_MISUSE_KIT_H

#include "log.h"
#include "../node_harness.h"

static pf_mutex *log_lock;
static char logged[256 * 1024];
static size_t logged_size;

static bool take_line(const char *line, size_t size)
{
    pf_mutex_lock(log_lock);
    if (logged_size + size < sizeof logged) {
        memcpy(logged + logged_size, line, size);
        logged_size += size;
        logged[logged_size] = 0;
    }
    pf_mutex_unlock(log_lock);
    return true;
}

__attribute__((unused)) static void log_begin(void)
{
    if (log_lock == NULL) want_int(pf_mutex_create(&log_lock), 0);
    logged_size = 0;
    logged[0] = 0;
    weft_log_repeats(0, 0);
    atomic_store(&wf_log_sink, take_line);
}

__attribute__((unused)) static void log_end(void)
{
    atomic_store(&wf_log_sink, NULL);
}

/* How many lines hold that text. After log_end. */
__attribute__((unused)) static int log_lines(const char *text)
{
    int count = 0;
    for (const char *at = logged; (at = strstr(at, text)) != NULL; count++) {
        at = strchr(at, '\n');
        want(at != NULL);
    }
    return count;
}

#define EXPECT_LINES(text, lines) \
    ck_assert_msg(log_lines(text) == (lines), "%s: %d lines in\n%s", text, log_lines(text), logged)

#endif
