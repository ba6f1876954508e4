/* tests/calls/scenario.h -- what is done while one call fails: each uses a part of the platform through the public
 * API, and says of each result whether it may be. */
#ifndef WF_TEST_SCENARIO_H
#define WF_TEST_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scenario {
    const char *name;
    void (*run)(void);
    int keeps; /* descriptors that stay open for the process's life after its first use */
};
extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* Whether it went well. An error is one only if a call has failed before. */
#define ok(call) ok_at((call), #call, __FILE__, __LINE__)
bool ok_at(int64_t rc, const char *call, const char *file, int line);
/* What was promised, whatever has failed. */
#define must(condition) must_at((condition), #condition, __FILE__, __LINE__)
void must_at(bool holds, const char *text, const char *file, int line);

#endif
