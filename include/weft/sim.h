/* weft/sim.h -- checks of your actors for `weft sim`, which runs a cluster of them in one thread, in virtual time,
 * with injected faults, from a random seed. The same seed gives the same run, step by step. docs/simulation.md
 *
 *     static bool at_most_once(void *arg) { ... }             -- looks at variables of the module that actors write
 *     static void checks(void) { weft_sim_always("each order is shipped at most once", at_most_once, NULL); }
 *     WEFT_SIM(checks)
 *
 * All nodes are in one process and share the module's variables, so a check can see the state of all nodes at one
 * moment. Each seed has its own process, so every run starts with the variables as they were loaded. When a node
 * crashes, its actors end without clean-ups that wait; when it comes back, its first actor starts again.
 *
 * In a simulation a module may use actors, messages, time and other nodes. Sockets, files, threads and real time are
 * not simulated. */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <stdbool.h>
#include <weft/api.h>
WEFT_BEGIN

/* The entry that `weft sim MODULE` looks for, beside WEFT_MODULE: it is called once in each run, before any node
 * starts. */
#define WEFT_SIM_ENTRY "weft_sim_checks"
#ifdef __cplusplus
#define WEFT_SIM(checks)                            \
    extern "C" WEFT_API void weft_sim_checks(void); \
    extern "C" WEFT_API void weft_sim_checks(void)  \
    {                                               \
        checks();                                   \
    }
#else
#define WEFT_SIM(checks)                 \
    WEFT_API void weft_sim_checks(void); \
    WEFT_API void weft_sim_checks(void)  \
    {                                    \
        checks();                        \
    }
#endif

enum { WEFT_SIM_CHECKS = 64, WEFT_SIM_STATES = 64 };

/* [T] To be called from within WEFT_SIM(): `holds` is called after every step of any node, and must return true each
 * time. It must not call anything of weft that waits. `what` is static text, for the report.
 * Errors: WEFT_EFULL (there are WEFT_SIM_CHECKS already; the run fails, because this check is not made), WEFT_EINVAL
 * (`what` or `holds` is NULL, or the call is elsewhere). */
WEFT_API int weft_sim_always(const char *what, bool (*holds)(void *arg), void *arg);
/* [T] As weft_sim_always, for a condition that must be true at least once within the time of --settle after the last
 * injected fault. From that fault on, `holds` is called after every step of any node until it has returned true
 * once. */
WEFT_API int weft_sim_eventually(const char *what, bool (*holds)(void *arg), void *arg);
/* [T] To be called from within WEFT_SIM(): declares a state that at least one seed has to reach. A run of `weft sim`
 * over two or more seeds fails if none of them has reached it, and the report names it. A run with one seed, or with
 * --replay, does not fail for this reason. Without such a state, a check of weft_sim_always may hold only because
 * nothing ever happens. `name` is copied. A name that is declared twice is one state.
 * Errors: WEFT_EFULL (there are WEFT_SIM_STATES already; the run fails, because this state is not looked for),
 * WEFT_EINVAL (`name` is longer than 95 bytes; the run fails, too. Or it is NULL or empty, or the call is
 * elsewhere). */
WEFT_API int weft_sim_expect(const char *name);
/* [T] Call it where the state can be seen, in an actor or in a check. If `condition` is true, this seed has reached
 * the state that was declared by this name. In a simulation a name that was not declared makes the run fail, so that
 * a misspelt name is noticed. Outside of a simulation the call does nothing, and takes a few instructions. */
WEFT_API void weft_sim_sometimes(const char *name, bool condition);
/* [T] In a simulation: makes the run fail with this text (printf format; 255 bytes at most). Outside of a
 * simulation it does nothing. */
WEFT_API void weft_sim_fail(const char *format, ...) WEFT_PRINTF(1, 2);

WEFT_END
#endif
