/* weft/sim.h -- what has to be true of your actors, for `weft sim`, which runs a cluster of them in one thread, in
 * virtual time, under faults, from a seed; the same seed is the same run, step by step. docs/simulation.md
 *
 *     static bool at_most_once(void *arg) { ... }             -- looks at variables of the module that actors write
 *     static void checks(void) { weft_sim_always("each order is shipped at most once", at_most_once, NULL); }
 *     WEFT_SIM(checks)
 *
 * All nodes are in one process and share the module's variables: so a check can see what is true on all of them at
 * one moment. Each seed has a process of its own, so every run begins with the variables as they were loaded. Actors
 * of a node that crashes are ended without clean-ups that wait; its first actor runs anew when the node comes back.
 *
 * What a module may do in a simulation is what has to do with actors, messages, time and other nodes. Sockets, files,
 * threads and time of the world outside are not simulated. */
#ifndef WEFT_SIM_H
#define WEFT_SIM_H

#include <stdbool.h>
#include <weft/api.h>
WEFT_BEGIN

/* What `weft sim MODULE` looks for, beside WEFT_MODULE: called once in each run, before any node starts. */
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

enum { WEFT_SIM_CHECKS = 64 };

/* [T] From within WEFT_SIM(): `holds` is called after every step of any node, and must return true each time; it must
 * not call anything of weft that waits. `what` is static text, for the report. WEFT_EFULL: there are WEFT_SIM_CHECKS,
 * and the run fails, as this check is not made; WEFT_EINVAL: `what` or `holds` is NULL, or it is called elsewhere. */
WEFT_API int weft_sim_always(const char *what, bool (*holds)(void *arg), void *arg);
/* [T] The same for what has to be true at one moment at least after the last fault is over, within --settle: from
 * then on `holds` is called after every step of any node until it has returned true once. */
WEFT_API int weft_sim_eventually(const char *what, bool (*holds)(void *arg), void *arg);
/* [T] In a simulation: the run fails, with this text (printf; 255 bytes at most). Elsewhere it does nothing. */
WEFT_API void weft_sim_fail(const char *format, ...) WEFT_PRINTF(1, 2);

WEFT_END
#endif
