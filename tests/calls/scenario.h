/* tests/calls/scenario.h -- scenarios during which one call fails: each uses a part of the platform through the
 * public API, and checks whether each result is allowed. */
#ifndef WF_TEST_SCENARIO_H
#define WF_TEST_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft.h>

struct scenario {
    const char *name;
    void (*run)(void);
    int keeps; /* descriptors that stay open for the process's life after its first use */
    bool nng;  /* it is NNG's calls that fail, else those of the platform */
    bool tls;  /* it needs certificates: see certificates_make */
};
extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* Two nodes: links.c. */
void link_nodes(void);
void nng_tcp(void);
void nng_tls(void);
/* In the process that starts all others, which NNG must not have threads in. False: nothing makes any. */
bool certificates_make(void);
void certificates_remove(void);

/* Whether it went well. An error is one only if a call has failed before. */
#define ok(call) ok_at((call), #call, __FILE__, __LINE__)
bool ok_at(int64_t rc, const char *call, const char *file, int line);
/* What was promised, whatever has failed. */
#define must(condition) must_at((condition), #condition, __FILE__, __LINE__)
void must_at(bool holds, const char *text, const char *file, int line);

/* What scenarios share: only a hang reaches PATIENCE; a path of this process's own; a node's orderly end. */
#define PATIENCE weft_after(WEFT_SEC(20))
const char *path_of(const char *name);
void stop(weft_node *n);

#endif
